"""Rewrite a whole statement: find the SELECTs that use an attribute, and rewrite each.

The first pass resolves the names of every query, innermost first, and merges queries with the rows or counts that they
read. The second one estimates. A query is of one of three kinds. A *plain* query uses no attribute and is unchanged.
*Rows* passes on rows of a release and is inlined into the outer SELECT. An *estimated* query aggregates rows by an
attribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.checks import (
    by_row,
    check,
    noisy_columns,
    refuse_selected_noise,
    refuse_what_is_not_linear,
    stand_in,
)
from duckdb_priv.ordinary.estimate import Estimation
from duckdb_priv.ordinary.names import Names, first, named, nodes
from duckdb_priv.ordinary.nested import beside_counts, inline_counts, is_counting, merge_counts
from duckdb_priv.ordinary.pivots import pivoted
from duckdb_priv.ordinary.published import ConnectedTables, Release
from duckdb_priv.ordinary.rows import (
    blocked_error,
    called,
    inline,
    is_star,
    output_name,
    passed_on,
    rows_of,
)
from duckdb_priv.ordinary.scope import (
    ENDS,
    ESTIMATED,
    MARK,
    FromItem,
    Scope,
    aliased,
    expand_aliases,
    from_items,
    has_own,
    is_alias,
    own_nodes,
)
from duckdb_priv.ordinary.values import asks_for_values, list_values

CLAUSES = (
    "expressions", "where", "group", "having", "qualify", "order", "windows", "distinct", "limit", "offset",
)  # fmt: skip


class UnevenParts(Exception):
    """Only some parts of a set operation have intervals, so the columns of its parts would differ."""


@dataclass
class Statement:
    """A statement that is being rewritten, in place."""

    connection: ConnectedTables
    names: Names
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values of the parameters of the query."""
    confidence: float | None = None
    """The confidence of the intervals in the current query; None without intervals."""
    changed: bool = False
    """Whether anything is estimated."""
    _original: exp.Query | None = None
    """The original query, until it is described."""
    _described: list[tuple[str, str]] | None = None
    _parts: list[exp.Select] = field(default_factory=list)
    """The SELECTs whose rows the query returns: several in a set operation."""
    _scopes: dict[int, Scope] = field(default_factory=dict)
    """The SELECTs of the query by id, the innermost first."""

    def rewrite(self, query: exp.Query, confidence: float | None) -> None:
        """Rewrite a whole query. Raises QueryRefused if it cannot be estimated."""
        self._write_out_views(query)
        self._original, self._described, self.confidence = query.copy(), None, confidence
        inline_counts(query)
        self._scopes, self._parts = {}, _parts(query)
        result = self.query(query, {}, None)
        if result.asks:
            raise by_row(result.released())
        for scope in self._scopes.values():
            self._estimate(scope)
        if len({tuple(each.meta.get(ENDS, ())) for each in self._parts}) > 1:
            raise UnevenParts

    def _write_out_views(self, query: exp.Query) -> None:
        """Replace views that read a release by their queries."""
        common = {each.alias.lower() for each in nodes(query, exp.CTE)}
        for table in list(nodes(query, exp.Table)):
            if not table.db and table.name.lower() in common:
                continue
            view = self.connection.view(table)
            if view is not None:
                self.names.taken.update(Names.of(view).taken)
                table.replace(view)
                self._write_out_views(view.this)

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
        if len(asked) == len(sources) == 1 and asks_for_values(select, asked[0], scope.around):
            scope.lists = self.changed = True
            return result
        reported = self._looks_at_reports(select, sources)
        estimated = any(each.estimated for each in sources)
        if scope.summed:
            self.changed |= bool(asked)
            select.meta[ESTIMATED] = bool(asked)
            return replace(
                result, estimated=estimated or bool(asked), reported=reported and not asked
            )
        rows = replace(rows_of(result, select, sources), reported=reported, asks=bool(asked))
        if not asked:
            return replace(rows, estimated=estimated)
        _refuse_several(asked)
        if rows.blocked:
            raise blocked_error(rows.blocked, asked[0])
        return rows

    def _estimate(self, scope: Scope) -> None:
        """Write the estimates of a SELECT whose names are resolved, or check how it uses the estimates of others."""
        select, sources, asked = scope.select, scope.sources, scope.asked
        names = [name for item in select.expressions for name in passed_on(item, sources)]
        if scope.lists:
            outputs = self._prepared(select, asked[0], names)
            pairs = zip(select.expressions, outputs, strict=True)
            items = [called(item.unalias(), name) for item, name in pairs]
            list_values(select, asked[0], scope.around, self.connection)
            select.set("expressions", items)
            return
        if scope.summed:
            self._refuse_choices(select, sources, asked)
        if not asked:
            refuse_selected_noise(select, sources)
            scope.noisy = noisy_columns(select, names, sources)
            scope.chosen = any(each.is_chosen for each in sources)
        elif scope.summed:
            _refuse_several(asked)
            outputs = self._prepared(select, asked[0], names)
            scope.chosen = select.args.get("having") is not None
            returned = any(select is each for each in self._parts)
            confidence = self.confidence if returned else None
            estimation = Estimation(scope, self.connection, self.names, outputs, confidence)
            scope.noisy = estimation.rewrite()

    def _prepared(self, select: exp.Select, source: FromItem, names: list[str]) -> list[str]:
        """Check a SELECT that is rewritten; return the names of its columns.

        The first one of a query has those that DuckDB gives the query.
        """
        check(select, source, self.connection, self.parameters)
        assert self._original is not None
        leads = any(select is each for each in self._parts[:1])
        if leads and not first(self._original, exp.Placeholder, exp.Parameter):
            names = [name for name, _ in self.described()] or names
        refuse_what_is_not_linear(select, source)
        return names

    def _looks_at_reports(self, select: exp.Select, sources: list[FromItem]) -> bool:
        """Whether a SELECT passes on reported values, or selects rows by them."""
        stars = any(map(is_star, select.expressions))
        return (
            any(each.reported for each in sources)
            or any(self._is_reported(each) for each in nodes(select, exp.Column))
            or (stars and any(each.release and each.release.reported for each in sources))
        )

    def _is_reported(self, column: exp.Column) -> bool:
        return column.name.lower() in self.connection.reported

    def _refuse_choices(
        self, select: exp.Select, sources: list[FromItem], asked: Sequence[FromItem]
    ) -> None:
        """Refuse sums over records that are selected by reported values or by estimates."""
        choosing = _choosing(select)
        by_estimate = any(each.estimated for each in sources) or any(
            inner.meta.get(ESTIMATED) for part in choosing for inner in nodes(part, exp.Select)
        )
        by_report = any(each.reported for each in sources if each not in asked) or any(
            self._is_reported(each) for part in choosing for each in nodes(part, exp.Column)
        )
        if by_report and (asked or by_estimate):
            raise QueryRefused(
                "what records report, and what is estimated from it, vary together, and cannot be counted together",
                hint="ask for reported values in a query of their own, and join the counts",
            )
        of_release = any(each.release or each.rows for each in sources)
        if self.confidence is not None and by_estimate and of_release:
            raise QueryRefused(
                "the interval of sums over records that another estimate chooses, or is joined to, is not known",
                hint="ask for the other estimate first, and write it as a number; or leave out intervals",
            )

    def described(self) -> list[tuple[str, str]]:
        """Return names and types of the columns of the last rewritten query, over the true table."""
        if self._described is None:
            assert self._original is not None
            self._described = self.connection.describe(stand_in(self._original, self.connection))
        return self._described

    def _source(self, item: exp.Expr, ctes: Mapping[str, FromItem], before: Scope) -> FromItem:
        """Return the item in FROM; a subquery may use the items before it."""
        if isinstance(item, exp.Subquery) and not item.alias:
            item.set("alias", exp.TableAlias(this=named(self.names.fresh("rows")).copy()))
        alias, inner = item.alias_or_name, item.this
        if isinstance(item, exp.Table):
            before.resolve([item])
            known = ctes.get(item.name.lower()) if not item.db else None
            if known is not None:
                return replace(known.renamed(item), alias=alias, node=item)
            release = self.connection.release(item)
            if release is not None:
                self._refuse_table(item)
            columns = aliased(item) or self.connection.columns(item)
            return FromItem({name: name for name in columns}, alias, item, release)
        if isinstance(item, exp.Subquery | exp.Lateral) and isinstance(inner, exp.Query):
            result = self.query(inner, ctes, before)
            for name in ("limit", "offset", "sample", "pivots"):
                if item.args.get(name):
                    result = result.blocked_by("PIVOT" if name == "pivots" else "LIMIT")
            return replace(result.renamed(item), alias=alias, node=item)
        for table in nodes(item, exp.Table):
            if self.connection.release(table) is not None:
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
            self.changed = True
            inline(scope.select, source, scope.sources, self.names)
            scope.select.meta[MARK] = tuple(each.number for each in scope.sources)


def _needs(scope: Scope, source: FromItem) -> bool:
    """Whether a SELECT depends on an attribute of the rows that a subquery passes on."""
    if not source.rows or source.scope is None:
        return False
    weighed = scope.summed and any(_is_weighed(each.release) for each in source.scope.sources)
    columns = nodes(scope.select, exp.Column)
    return source.asks or weighed or any(map(source.passes_attribute, columns))


def _refuse_several(asked: Sequence[FromItem]) -> None:
    """Refuse a SELECT that uses attributes of two releases."""
    if len(asked) > 1:
        raise QueryRefused(
            "two perturbed tables in one SELECT cannot be counted together:"
            f' "{asked[0].alias}" and "{asked[1].alias}"',
            hint="count each in a query of its own, GROUP BY what they share, and join the counts",
        )


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
    passed = [
        name for item in select.expressions if is_star(item) for name in passed_on(item, [source])
    ]
    return (
        any(source.attribute(column) for column in nodes(select, exp.Column))
        or any(name.name.lower() in release.attributes for name in joined)
        or not shown.isdisjoint(passed)
    )


def _parts(query: exp.Expr) -> list[exp.Select]:
    """Return the SELECTs whose rows a query returns."""
    if isinstance(query, exp.SetOperation):
        return [*_parts(query.this), *_parts(query.expression)]
    if isinstance(query, exp.Subquery):
        return _parts(query.this)
    return [query] if isinstance(query, exp.Select) else []


def _is_weighed(release: Release | None) -> bool:
    return release is not None and (release.weighed or release.sampled)


def _choosing(select: exp.Select) -> list[exp.Expr]:
    """Return the conditions, group keys and aggregates of a SELECT."""
    group = select.args.get("group")
    keys = list(group.expressions) if group is not None else []
    found = [select.args["where"]] if select.args.get("where") else []
    found += [join for join in select.args.get("joins") or () if join.args.get("on")]
    for item in select.expressions:
        summed = list(aggregates.aggregates_in(item))
        found += summed
        keys += [] if summed else [item]
    # A key without columns is the same for all records, so it selects none.
    return found + [key for key in keys if has_own(key, exp.Column)]
