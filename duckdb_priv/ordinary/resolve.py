"""Resolve the names of a query, and merge it with the queries whose rows or counts it reads, the innermost first.

A query is of one of three kinds. A *plain* query uses no attribute and is unchanged. *Rows* passes on rows of a release
and is inlined into the outer SELECT. An *estimated* query aggregates rows by an attribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.checks import by_row
from duckdb_priv.ordinary.names import first, named, nodes
from duckdb_priv.ordinary.nested import beside_counts, is_counting, merge_counts
from duckdb_priv.ordinary.pivots import pivoted
from duckdb_priv.ordinary.published import Release
from duckdb_priv.ordinary.rows import (
    blocked_error,
    inline,
    is_star,
    output_name,
    passed_on,
    rows_of,
)
from duckdb_priv.ordinary.scope import (
    ESTIMATED,
    MARK,
    FromItem,
    Scope,
    aliased,
    expand_aliases,
    from_items,
    is_alias,
    own_nodes,
)
from duckdb_priv.ordinary.statement import QueryState
from duckdb_priv.ordinary.values import asks_for_values

CLAUSES = (
    "expressions", "where", "group", "having", "qualify", "order", "windows", "distinct", "limit", "offset",
)  # fmt: skip


def resolve(state: QueryState) -> None:
    """Resolve a whole query, in place. Raises QueryRefused if it returns single records by what they truly are."""
    result = _Resolver(state).query(state.query, {}, None)
    if result.asks:
        raise by_row(result.released())


class _Resolver:
    """Resolves the names of one query."""

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
        self._merge(scope)
        scope.outputs = {
            name: value
            for item in select.expressions
            for name, value in passed_on(item, sources).items()
        }
        scope.asked = asked = [each for each in sources if _asks(select, each, scope.summed)]
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
        result = replace(
            result,
            estimated=any(each.estimated for each in sources),
            reported=self._looks_at_reports(select, sources),
        )
        if scope.summed:
            select.meta[ESTIMATED] = bool(asked)
            self._state.changed |= bool(asked)
            return replace(result, estimated=True, reported=False) if asked else result
        rows = replace(rows_of(result, select, sources), asks=bool(asked))
        if asked and rows.blocked:
            raise blocked_error(rows.blocked, asked[0])
        return rows

    def _looks_at_reports(self, select: exp.Select, sources: list[FromItem]) -> bool:
        """Whether a SELECT passes on reported values, or selects rows by them."""
        stars = any(map(is_star, select.expressions))
        return (
            any(each.reported for each in sources)
            or any(
                each.name.lower() in self._connection.reported for each in nodes(select, exp.Column)
            )
            or (stars and any(each.release and each.release.reported for each in sources))
        )

    def _source(self, item: exp.Expr, ctes: Mapping[str, FromItem], before: Scope) -> FromItem:
        """Return the item in FROM; a subquery may use the items before it."""
        if isinstance(item, exp.Subquery) and not item.alias:
            item.set("alias", exp.TableAlias(this=named(self._state.names.fresh("rows")).copy()))
        alias, inner = item.alias_or_name, item.this
        if isinstance(item, exp.Table):
            before.resolve([item])
            known = ctes.get(item.name.lower()) if not item.db else None
            if known is not None:
                return replace(known.renamed(item), alias=alias, node=item)
            release = self._connection.release(item)
            if release is not None:
                self._refuse_table(item)
            columns = aliased(item) or self._connection.columns(item)
            return FromItem({name: name for name in columns}, alias, item, release)
        if isinstance(item, exp.Subquery | exp.Lateral) and isinstance(inner, exp.Query):
            result = self.query(inner, ctes, before)
            for name in ("limit", "offset", "sample", "pivots"):
                if item.args.get(name):
                    result = result.blocked_by("PIVOT" if name == "pivots" else "LIMIT")
            return replace(result.renamed(item), alias=alias, node=item)
        for table in nodes(item, exp.Table):
            if self._connection.release(table) is not None:
                if first(item, exp.Pivot):
                    raise pivoted()
                raise QueryRefused(
                    "tables that are joined within parentheses cannot be estimated from",
                    hint="write the joins without the parentheses",
                )
        before.resolve([item])
        return FromItem({name: name for name in aliased(item)}, alias, item)

    def _refuse_table(self, table: exp.Table) -> None:
        if table.args.get("pivots"):
            raise pivoted()
        if table.args.get("alias") and table.args["alias"].columns:
            raise QueryRefused(
                "the columns of a release cannot be given other names in FROM",
                hint="rename them in the SELECT list",
            )

    def _resolve(self, scope: Scope, ctes: Mapping[str, FromItem]) -> None:
        """Resolve every name in a SELECT and in its subqueries."""
        select = scope.select
        expand_aliases(select, scope)
        select.meta[MARK] = tuple(each.number for each in scope.sources)
        for name in CLAUSES:
            found = select.args.get(name)
            for node in found if isinstance(found, list) else [found] if found else []:
                own = own_nodes(node, exp.Column)
                scope.resolve(each for each in own if name != "order" or not is_alias(each, select))
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
            if result.asks:
                if isinstance(query.parent, exp.Exists):
                    raise QueryRefused(
                        "nobody knows whether such a record exists, only how many there are",
                        hint="count them: (SELECT count(*) FROM … WHERE …), and compare the count",
                    )
                raise by_row(result.released())

    def _merge(self, scope: Scope) -> None:
        """Inline subqueries that pass on rows, if this SELECT uses an attribute of these rows."""
        while source := next((each for each in scope.sources if _needs(scope, each)), None):
            if source.blocked:
                raise blocked_error(source.blocked, source.released())
            self._state.changed = True
            inline(scope, source, self._scopes, self._state.names)
            scope.select.meta[MARK] = tuple(each.number for each in scope.sources)


def _needs(scope: Scope, source: FromItem) -> bool:
    """Whether a SELECT depends on an attribute of the rows that a subquery passes on."""
    if not source.rows or source.scope is None:
        return False
    weighed = scope.summed and any(_is_weighed(each.release) for each in source.scope.sources)
    columns = nodes(scope.select, exp.Column)
    return source.asks or weighed or any(map(source.passes_attribute, columns))


def _asks(select: exp.Select, source: FromItem, summed: bool) -> bool:
    """Whether a SELECT uses an attribute of one of its tables."""
    release = source.release
    if release is None:
        return False
    if summed and _is_weighed(release):
        return True
    joined = [
        name for join in select.args.get("joins") or () for name in join.args.get("using") or ()
    ]
    # Attributes whose published column has the same name are part of a star.
    shown = {name for name, each in release.attributes.items() if each.column.lower() == name}
    stars = [passed_on(item, [source]) for item in select.expressions if is_star(item)]
    passed = [value.name.lower() for found in stars for value in found.values()]
    return (
        any(source.attribute(column) for column in nodes(select, exp.Column))
        or any(name.name.lower() in release.attributes for name in joined)
        or not shown.isdisjoint(passed)
    )


def _is_weighed(release: Release | None) -> bool:
    return release is not None and (release.weighed or release.sampled)
