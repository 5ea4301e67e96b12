"""Write out views, resolve the names of a query, and merge each SELECT with the queries whose rows or counts it reads.

A query is of one of three kinds. A *plain* query uses no attribute and is unchanged. *Rows* passes on rows of a release
and is inlined into the outer SELECT. An *estimated* query aggregates rows by an attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import zip_longest

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.aggregates import is_aggregate
from duckdb_priv.ordinary.checks import UNNEST, blocked_error, by_row, unnests
from duckdb_priv.ordinary.merge import beside_counts, inline, is_counting, merge_counts
from duckdb_priv.ordinary.names import Names, column_names, first, nodes, table_alias, tables_in
from duckdb_priv.ordinary.pivots import pivoted
from duckdb_priv.ordinary.scope import (
    ESTIMATED,
    MARK,
    FromItem,
    QueryState,
    Scope,
    aliased,
    from_items,
    has_own,
    is_star,
    output_name,
    own_nodes,
    passed_on,
)
from duckdb_priv.ordinary.values import asks_for_values

CLAUSES = (
    "expressions", "where", "group", "having", "qualify", "order", "windows", "distinct", "limit", "offset",
)  # fmt: skip
BLOCKING = {
    "distinct": "DISTINCT", "limit": "LIMIT", "offset": "OFFSET", "qualify": "QUALIFY", "sample": "a sample",
    "pivots": "PIVOT",
}  # fmt: skip
"""Clauses of a SELECT after which rows cannot be counted by an attribute."""


def write_out_views(state: QueryState) -> None:
    """Replace views that read a release by their queries, in place."""
    queries: list[exp.Expr] = [state.query]
    for query in queries:
        for table in tables_in(query):
            view = state.connection.view(table)
            if view is not None:
                state.names.taken.update(Names.of(view).taken)
                table.replace(view)
                queries.append(view.this)
    state.original = state.query.copy()


def resolve(state: QueryState) -> None:
    """Resolve a whole query, in place. Raises QueryRefused if it returns single records by what they truly are."""
    result = _Resolver(state).query(state.query, {}, None)
    if result.asks:
        raise by_row(result.released())


class _Resolver:
    """Resolves the names of one query. ``ctes`` are the results of common table expressions, by name."""

    def __init__(self, state: QueryState) -> None:
        self._state, self._connection, self._scopes = state, state.connection, state.scopes

    def query(self, query: exp.Expr, ctes: Mapping[str, FromItem], outer: Scope | None) -> FromItem:
        """Resolve a query and its subqueries; return its result."""
        known = self._with(query, ctes, outer)
        if isinstance(query, exp.Subquery):
            inner = self.query(query.this, known, outer)
            limited = query.args.get("limit") or query.args.get("offset")
            return inner.blocked_by("LIMIT") if limited else inner
        if isinstance(query, exp.SetOperation):
            return self._set_operation(query, known, outer)
        return self._select(query, known, outer) if isinstance(query, exp.Select) else FromItem({})

    def _with(
        self, query: exp.Expr, ctes: Mapping[str, FromItem], outer: Scope | None
    ) -> Mapping[str, FromItem]:
        """Resolve the common table expressions of a query; return all that the query may refer to."""
        clause = query.args.get("with_")
        if clause is None:
            return ctes
        known = dict(ctes)
        for cte in list(clause.expressions):
            name = cte.alias.lower()
            if clause.args.get("recursive"):
                known[name] = FromItem({})
            known[name] = self.query(cte.this, known, outer).renamed(cte)
            if known[name].asks:
                # A query that counts these rows inlines them.
                cte.pop()
        if not clause.expressions:
            query.set("with_", None)
        return known

    def _set_operation(
        self, query: exp.SetOperation, ctes: Mapping[str, FromItem], outer: Scope | None
    ) -> FromItem:
        one, two = (self.query(each, ctes, outer) for each in (query.this, query.expression))
        if one.asks or two.asks:
            raise QueryRefused(
                f"{query.key.upper()} of rows that are chosen by what they truly are cannot be counted",
                hint="count in each part, and combine the counts",
            )
        passing = two if two.rows and not one.rows else one
        together = replace(
            passing,
            columns=dict(zip_longest(one.columns, passing.columns.values())),
            estimated=one.estimated or two.estimated,
            reported=one.reported or two.reported,
        )
        return together.blocked_by(query.key.upper())

    def _select(
        self, select: exp.Select, ctes: Mapping[str, FromItem], outer: Scope | None
    ) -> FromItem:
        """Resolve the names of a SELECT, and merge it with the subqueries in its FROM if necessary."""
        scope = Scope([], outer, select)
        for item in select.expressions:
            output_name(item)
        for item in from_items(select):
            scope.sources.append(self._source(item, ctes, scope))
        self._resolve(scope, ctes)
        for absorbed in (*beside_counts(scope, self._scopes), merge_counts(scope)):
            self._scopes.pop(id(absorbed), None)
        scope.summed, sources = is_counting(select), scope.sources
        # Subqueries that pass on rows are inlined, if this SELECT uses an attribute of these rows.
        while source := next((each for each in sources if _needs(scope, each)), None):
            if source.blocked:
                raise blocked_error(source.blocked, source.released())
            self._state.changed = True
            inline(scope, source, self._scopes, self._state.names)
            select.meta[MARK] = tuple(each.number for each in sources)
        scope.outputs = {
            name: value
            for item in select.expressions
            for name, value in passed_on(item, sources).items()
        }
        scope.asked = asked = [each for each in sources if _asks(scope, each)]
        self._scopes[id(select)] = scope
        result = FromItem({name.lower(): name for name in scope.outputs}, scope=scope)
        if asks_for_values(scope):
            scope.lists = self._state.changed = True
            return result
        if len(asked) > 1:
            raise QueryRefused(
                "two perturbed tables in one SELECT cannot be counted together:"
                f' "{asked[0].alias}" and "{asked[1].alias}"',
                hint="count each in a query of its own, GROUP BY what they share, and join the counts",
            )
        result.estimated = any(each.estimated for each in sources)
        if scope.summed:
            select.meta[ESTIMATED] = bool(asked)
            self._state.changed |= bool(asked)
            result.estimated |= bool(asked)
        if not (scope.summed and asked):
            result.reported = self._looks_at_reports(scope)
        if not scope.summed:
            result.asks = bool(asked)
            result.rows = any(each.release or each.rows for each in sources)
            result.blocked = _blocked(scope) if result.rows else None
            if asked and result.blocked:
                raise blocked_error(result.blocked, asked[0])
        return result

    def _looks_at_reports(self, scope: Scope) -> bool:
        """Whether a SELECT passes on reported values, or selects rows by them."""
        sources, names = scope.sources, column_names(scope.select)
        named_here = not names.isdisjoint(self._connection.reported)
        stars = any(map(is_star, scope.select.expressions))
        return named_here or any(
            each.reported or (stars and each.release and each.release.reported) for each in sources
        )

    def _source(self, item: exp.Expr, ctes: Mapping[str, FromItem], before: Scope) -> FromItem:
        """Return the item in FROM; a subquery may use the items before it."""
        if isinstance(item, exp.Subquery) and not item.alias:
            item.set("alias", table_alias(self._state.names.fresh("rows")))
        alias, inner = item.alias_or_name, item.this
        if isinstance(item, exp.Subquery | exp.Lateral) and isinstance(inner, exp.Query):
            result = self.query(inner, ctes, before)
            for name in ("limit", "offset", "sample", "pivots"):
                if item.args.get(name):
                    result = result.blocked_by("PIVOT" if name == "pivots" else "LIMIT")
            return replace(result.renamed(item), alias=alias, node=item)
        before.resolve([item])
        release, columns = None, aliased(item)
        if isinstance(item, exp.Table):
            known = ctes.get(item.name.lower()) if not item.db else None
            if known is not None:
                return replace(known.renamed(item), alias=alias, node=item)
            release = self._connection.release(item)
            if release is not None and item.args.get("pivots"):
                raise pivoted()
            if release is not None and columns:
                raise QueryRefused(
                    "the columns of a release cannot be given other names in FROM",
                    hint="rename them in the SELECT list",
                )
            columns = columns or self._connection.columns(item)
        elif any(self._connection.release(table) for table in nodes(item, exp.Table)):
            if first(item, exp.Pivot):
                raise pivoted()
            raise QueryRefused(
                "tables that are joined within parentheses cannot be estimated from",
                hint="write the joins without the parentheses",
            )
        return FromItem({name: name for name in columns}, alias, item, release)

    def _resolve(self, scope: Scope, ctes: Mapping[str, FromItem]) -> None:
        """Resolve every name in a SELECT and in its subqueries."""
        select = scope.select
        expand_aliases(select, scope)
        select.meta[MARK] = tuple(each.number for each in scope.sources)
        for name in CLAUSES:
            found = select.args.get(name)
            for node in found if isinstance(found, list) else [found] if found else []:
                own = own_nodes(node, exp.Column)
                scope.resolve(
                    each for each in own if name != "order" or not _is_alias(each, select)
                )
                self._subqueries(node, scope, ctes)
        for number, join in enumerate(select.args.get("joins") or ()):
            if join.args.get("on"):
                Scope(scope.sources[: number + 2], scope.outer).resolve([join.args["on"]])
                self._subqueries(join.args["on"], scope, ctes)

    def _subqueries(self, node: exp.Expr, scope: Scope, ctes: Mapping[str, FromItem]) -> None:
        for query in list(own_nodes(node, exp.Query)):
            result = self.query(query, ctes, scope)
            if result.estimated:
                query.meta[ESTIMATED] = True
            if result.asks and isinstance(query.parent, exp.Exists):
                raise QueryRefused(
                    "nobody knows whether such a record exists, only how many there are",
                    hint="count them: (SELECT count(*) FROM … WHERE …), and compare the count",
                )
            if result.asks:
                raise by_row(result.released())


def _blocked(scope: Scope) -> str | None:
    """Return why the rows of a SELECT cannot be counted by an attribute, if they cannot."""
    select, sources = scope.select, scope.sources
    limit, release = select.args.get("limit"), sources[0].release
    number = limit.expression if isinstance(limit, exp.Limit) else None
    keeps = int(number.name) if number is not None and number.is_int else 0
    if len(sources) == 1 and release and not (release.scale or release.sampled):
        # Tools add a LIMIT that keeps all rows, so that users do not fetch a whole table by mistake.
        select.set("limit", None if keeps >= release.rows > 0 else limit)
    why = [each.blocked for each in sources if each.blocked]
    why += [UNNEST for item in select.expressions if unnests(item)]
    why += ["a window" for item in select.expressions if has_own(item, exp.Window)]
    why += [word for name, word in BLOCKING.items() if select.args.get(name)]
    return why[0] if why else None


def _needs(scope: Scope, source: FromItem) -> bool:
    """Whether a SELECT depends on an attribute of the rows that a subquery passes on."""
    if not source.rows:
        return False
    weighed = scope.summed and any(map(_is_weighed, source.scope.sources))
    columns = nodes(scope.select, exp.Column)
    return source.asks or weighed or any(map(source.passes_attribute, columns))


def _asks(scope: Scope, source: FromItem) -> bool:
    """Whether a SELECT uses an attribute of one of its tables."""
    select, release = scope.select, source.release
    if release is None or (scope.summed and _is_weighed(source)):
        return release is not None
    joins = select.args.get("joins") or ()
    joined = {name.name.lower() for join in joins for name in join.args.get("using") or ()}
    # Attributes whose published column has the same name are part of a star.
    shown = {name for name, each in release.attributes.items() if each.column.lower() == name}
    stars = [passed_on(item, [source]) for item in select.expressions if is_star(item)]
    passed = {value.name.lower() for found in stars for value in found.values()}
    return bool(
        any(map(source.attribute, nodes(select, exp.Column)))
        or joined & release.attributes.keys()
        or shown & passed
    )


def _is_weighed(source: FromItem) -> bool:
    return source.release is not None and (source.release.weighed or source.release.sampled)


def expand_aliases(select: exp.Select, scope: Scope) -> None:
    """Replace the aliases that a SELECT uses itself by their expressions, in place.

    In WHERE, GROUP BY and later in the SELECT list, a table's column precedes an alias. In HAVING and QUALIFY, a group
    key does. In ORDER BY the alias comes first, and is kept.

    >>> import sqlglot
    >>> query = sqlglot.parse_one("SELECT a + 1 AS b, count(*) AS n FROM t GROUP BY b HAVING n > 3 ORDER BY n")
    >>> expand_aliases(query, Scope([]))
    >>> query.sql()
    'SELECT a + 1 AS b, COUNT(*) AS n FROM t GROUP BY (a + 1) HAVING (COUNT(*)) > 3 ORDER BY n'
    """
    aliases: dict[str, exp.Expr] = {}

    def expand(node: exp.Expr | None, kept: Callable[[exp.Column], object]) -> None:
        for column in list(own_nodes(node, exp.Column)) if node is not None else ():
            value = aliases.get(column.name.lower())
            if value is not None and not column.table and not kept(column):
                column.replace(exp.paren(value.copy()))

    for item in select.expressions:
        expand(item, scope.find)
        if isinstance(item, exp.Alias):
            aliases.setdefault(item.alias.lower(), item.this)
    for name in ("where", "group"):
        expand(select.args.get(name), scope.find)
    group = select.args.get("group")
    keys = column_names(group) if group else set()
    for name in ("having", "qualify"):
        expand(
            select.args.get(name), lambda each: each.name.lower() in keys or _within_aggregate(each)
        )


def _is_alias(column: exp.Column, select: exp.Select) -> bool:
    """Whether a column in ORDER BY is an alias of the SELECT."""
    if column.table or _within_aggregate(column):
        return False
    return column.name.lower() in {item.alias.lower() for item in select.expressions}


def _within_aggregate(column: exp.Column) -> bool:
    node = column.parent
    while node is not None and not isinstance(node, exp.Query):
        if is_aggregate(node) and not isinstance(node.parent, exp.Window):
            return True
        node = node.parent
    return False
