"""Merge a query with the counting query in its FROM, so that expressions over the counts have intervals too.

A SELECT over a counting subquery is equivalent to the subquery with other expressions: its conditions select groups,
and sums of counts are counts of larger groups. A subquery that counts in the same table becomes a window over the
outer query's counts, so that the interval of a share of all records, a quotient of two estimates, includes their
covariance. Queries that cannot be merged safely are left unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.grouping import group_keys, has_sets
from duckdb_priv.ordinary.names import first, has_only, named, nodes
from duckdb_priv.ordinary.rows import called, is_star, output_name
from duckdb_priv.ordinary.scope import FromItem, Scope, expand_aliases, from_items, own_nodes

UNDERSTOOD = {
    "expressions", "from_", "joins", "where", "group", "having", "qualify", "order", "limit",
}  # fmt: skip
"""Clauses of queries that can be merged; the outer one may also have WITH."""
ColumnsOf = Callable[["exp.Expr"], list[str]]
"""Returns the columns of an item in FROM, in lower case; an empty list if they are unknown."""


def flatten(query: exp.Query, columns_of: ColumnsOf) -> bool:
    """Merge queries with the counting queries in their FROM, in place, innermost first; return whether any was merged.

    >>> import sqlglot
    >>> nested = sqlglot.parse_one(
    ...     "WITH c AS (SELECT a, count(*) n FROM t GROUP BY 1) SELECT a, n / sum(n) OVER () AS s FROM c WHERE n > 3",
    ...     dialect="duckdb")
    >>> flatten(nested, lambda table: ["a", "b"])
    True
    >>> nested.sql("duckdb")
    'SELECT a AS a, COUNT(*) / SUM(COUNT(*)) OVER () AS s FROM t GROUP BY a HAVING COUNT(*) > 3'
    """
    _inline_with(query)
    found = False
    for select in reversed(list(nodes(query, exp.Select))):
        nest = _nest(select)
        merged = nest.merged(columns_of) if nest is not None else None
        if merged is not None:
            found = True
            become(select, merged)
    return found


def become(select: exp.Select, other: exp.Select) -> None:
    """Give a SELECT the clauses of another one, in place."""
    for name in {*other.args, *select.args} - {"with_"}:
        select.set(name, other.args.get(name))


def _inline_with(query: exp.Query) -> None:
    """Inline counting common table expressions that are used once."""
    for cte in list(nodes(query, exp.CTE)):
        clause, name = cte.parent, cte.alias.lower()
        if not isinstance(clause, exp.With) or clause.args.get("recursive"):
            continue
        used = [each for each in nodes(query, exp.Table) if each.name.lower() == name]
        again = [each for each in nodes(query, exp.CTE) if each.alias.lower() == name]
        if len(used) != 1 or len(again) != 1 or cte.args["alias"].columns:
            continue
        (table,) = used
        counts = _counts_within(cte.this)
        plain = has_only(table, ("this", "alias"))
        if counts and plain and isinstance(table.parent, exp.From):
            alias = table.args.get("alias") or exp.TableAlias(this=named(table.name).copy())
            table.replace(exp.Subquery(this=cte.this.copy(), alias=alias.copy()))
            cte.pop()
            if not clause.expressions:
                clause.pop()


def _counts_within(query: exp.Expr) -> bool:
    """Whether a query counts, or passes on the counts of the query in its FROM."""
    if not isinstance(query, exp.Select) or is_counting(query):
        return isinstance(query, exp.Select)
    start = query.args.get("from_")
    return (
        start is not None
        and isinstance(start.this, exp.Subquery)
        and _counts_within(start.this.this)
    )


def _nest(select: exp.Select) -> _Nest | None:
    """Return a SELECT with the counting SELECT in its FROM, if both are supported."""
    start = select.args.get("from_")
    item = start.this if start is not None else None
    if not isinstance(item, exp.Subquery) or not isinstance(item.this, exp.Select):
        return None
    inner = item.this
    names = {output_name(each).lower() for each in inner.expressions}
    if (
        not is_counting(inner)
        or select.args.get("joins")
        or not has_only(item, ("this", "alias"))
        or (item.args.get("alias") and item.args["alias"].columns)
        or any(map(is_star, inner.expressions))
        or not (has_only(select, {*UNDERSTOOD, "with_"}) and has_only(inner, UNDERSTOOD))
        or any(first(part, exp.Query) for part in (*parts_of(select), *inner.expressions))
        or len(names) < len(inner.expressions)
    ):
        return None
    return _Nest(select.copy(), inner.copy(), item.alias)


@dataclass
class _Nest:
    """A SELECT, the counting SELECT in its FROM, and the name of the latter."""

    outer: exp.Select
    inner: exp.Select
    alias: str

    def merged(self, columns_of: ColumnsOf) -> exp.Select | None:
        """Return one equivalent SELECT; None if there is none."""
        if not self._write_out(columns_of):
            return None
        self.passed = {output_name(each).lower(): each for each in self.inner.expressions}
        group_keys(self.outer, ())
        expand_aliases(self.outer, Scope([FromItem(dict(self.passed), self.alias)]))
        return self._larger_groups() if is_counting(self.outer) else self._same_groups()

    def _write_out(self, columns_of: ColumnsOf) -> bool:
        """Replace aliases and positions in the inner SELECT by expressions, because its list will change."""
        group_keys(self.inner, ())
        sources = [
            FromItem(dict.fromkeys(columns_of(each)), each.alias_or_name)
            for each in from_items(self.inner)
        ]
        if all(each.columns for each in sources):
            expand_aliases(self.inner, Scope(sources))
            return True
        # Which names are aliases is not known, so none may look like one.
        expanded = self.inner.copy()
        expand_aliases(expanded, Scope([]))
        return expanded == self.inner

    def _same_groups(self) -> exp.Select | None:
        """Merge a SELECT that computes expressions for each group, or selects groups."""
        outer, inner = self.outer, self.inner
        in_inner, in_outer = (
            any(first(each, exp.Window) for each in parts_of(select)) for select in (inner, outer)
        )
        last = outer.args.get("qualify")
        changes_rows = outer.args.get("where") or last or outer.args.get("order")
        limited = inner.args.get("limit") and (changes_rows or in_outer or outer.args.get("limit"))
        items = self._items()
        if limited or (in_inner and in_outer) or items is None:
            return None
        conditions = [self._put(each) for each in aggregates.conditions_of(outer)]
        choose = inner.qualify if in_inner else inner.having
        choose(*conditions, copy=False)
        if last:
            inner.qualify(self._put(last.this), copy=False)
        if inner.args.get("order"):
            self._order_inside(inner.args["order"])
        inner.set("expressions", items)
        if outer.args.get("order"):
            inner.set("order", self._ordered(outer.args["order"]))
        if outer.args.get("limit"):
            inner.set("limit", outer.args["limit"])
        return inner

    def _items(self) -> list[exp.Expr] | None:
        """Return the outer SELECT list over the tables of the inner SELECT."""
        items: list[exp.Expr] = []
        for each in self.outer.expressions:
            if is_star(each):
                star = each.this if isinstance(each, exp.Column) else each
                if any(star.args.get(name) for name in ("except_", "replace", "rename")):
                    return None
                items += [
                    called(inner.unalias().copy(), output_name(inner))
                    for inner in self.inner.expressions
                ]
                continue
            known = self.passed.get(each.name.lower()) if isinstance(each, exp.Column) else None
            name = output_name(each if known is None else known)
            items.append(called(self._put(each.unalias()).unnest(), name))
        return items

    def _ordered(self, order: exp.Expr) -> exp.Expr:
        """Return the ORDER BY of the outer SELECT, in which its aliases take precedence."""
        given = {output_name(each).lower() for each in self.outer.expressions if not is_star(each)}
        for each in order.expressions:
            column = each.this
            alias = (
                isinstance(column, exp.Column) and not column.table and column.name.lower() in given
            )
            if not alias:
                each.set("this", self._put(column))
        return order

    def _order_inside(self, order: exp.Expr) -> None:
        """Replace aliases and positions in the ORDER BY of the inner SELECT, since they may not exist any more."""
        items = [each.unalias() for each in self.inner.expressions]
        for each in order.expressions:
            value = each.this
            if value.is_int:
                each.set("this", items[int(value.name) - 1].copy())
                continue
            for column in list(nodes(value, exp.Column)):
                known = self.passed.get(column.name.lower()) if not column.table else None
                if known is not None:
                    column.replace(exp.paren(known.unalias().copy()))

    def _larger_groups(self) -> exp.Select | None:
        """Merge a SELECT that sums the counts of groups."""
        outer, inner = self.outer, self.inner
        if (
            not inner.args.get("group")
            or has_sets(inner)
            or any(inner.args.get(name) for name in ("having", "qualify", "limit"))
            or any(first(each, exp.Window) for each in inner.expressions)
        ):
            return None
        sums = self._sums_of_counts()
        if sums is None:
            return None
        for column in [each for part in parts_of(outer) for each in nodes(part, exp.Column)]:
            value = self._meaning(column)
            if column.name in sums:
                column.replace(exp.paren(sums[column.name].copy()))
            elif value is not None:
                if aggregates.has_aggregates(value):
                    return None
                new = value.copy() if isinstance(value, exp.Column) else exp.paren(value.copy())
                as_item = column.parent is outer
                column.replace(called(new.unnest(), column.name) if as_item else new)
        for name in ("from_", "joins"):
            outer.set(name, inner.args.get(name))
        outer.where(*aggregates.conditions_of(inner), copy=False)
        return outer

    def _sums_of_counts(self) -> dict[str, exp.Expr] | None:
        """Replace the aggregates of the outer SELECT by columns, which stand for sums; None if one is no such sum."""
        sums: dict[str, exp.Expr] = {}
        for part in parts_of(self.outer):
            for each in list(aggregates.aggregates_in(part)):
                new = self._sum_of_counts(each)
                if new is None or each is part:
                    return None
                place = f"_priv_sum_{len(sums)}"
                sums[place] = new
                each.replace(exp.column(place))
        return sums

    def _sum_of_counts(self, node: exp.Expr) -> exp.Expr | None:
        """Return a sum over groups as a sum over their records."""
        node, conditions = aggregates.without_filter(node)
        if not isinstance(node, exp.Sum):
            return None
        value: exp.Expr = node.this.unnest()
        branch = aggregates.only_branch(value)
        if branch is not None:
            conditions, value = [*conditions, branch[0]], branch[1].unnest()
        known = self._meaning(value) if isinstance(value, exp.Column) else None
        if known is None or not aggregates.is_count_or_sum(known.unnest()):
            return None
        conditions = [self._put(each) for each in conditions]
        if any(map(aggregates.has_aggregates, conditions)):
            return None
        return aggregates.restricted(known.unnest(), conditions)

    def _meaning(self, column: exp.Column) -> exp.Expr | None:
        """Return the expression of a column of the inner SELECT."""
        if is_star(column) or column.table.lower() not in ("", self.alias.lower()):
            return None
        known = self.passed.get(column.name.lower())
        return known.unalias() if known is not None else None

    def _put(self, node: exp.Expr) -> exp.Expr:
        """Return an expression of the outer SELECT over the tables of the inner one."""
        holder = exp.Paren(this=node.copy())
        for column in list(nodes(holder, exp.Column)):
            value = self._meaning(column)
            if value is not None:
                simple = isinstance(value, exp.Column | exp.Literal | exp.Func)
                column.replace(value.copy() if simple else exp.paren(value.copy()))
        found: exp.Expr = holder.this
        return found


def parts_of(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the expressions of a SELECT outside its FROM."""
    for name in ("expressions", "where", "group", "having", "qualify", "order"):
        found = select.args.get(name)
        yield from found if isinstance(found, list) else [found] if found is not None else []


def is_counting(select: exp.Select) -> bool:
    """Whether a SELECT groups, or aggregates without groups."""
    if select.args.get("group"):
        return True
    return any(map(aggregates.has_aggregates, parts_of(select)))


def beside_counts(
    select: exp.Select, columns_of: ColumnsOf, attributes_of: Callable[[exp.Table], list[str]]
) -> None:
    """Replace subqueries that return a single count from the same table by windows over the counts, in place.

    ``attributes_of`` returns the columns of a table that are attributes: groups exist for all their values.

    >>> import sqlglot
    >>> share = sqlglot.parse_one(
    ...     "SELECT a, count(*) / (SELECT count(*) FROM t WHERE b = 1) AS s FROM t WHERE a < 3 AND b = 1 GROUP BY a")
    >>> beside_counts(share, lambda table: ["a", "b"], lambda table: [])
    >>> share.sql()
    'SELECT t.a, COUNT(*) / (SUM(COUNT(*)) OVER ()) AS s FROM t WHERE t.b = 1 GROUP BY t.a QUALIFY t.a < 3'
    """
    table, queries = _only_table(select), _subqueries(select)
    if table is None or not queries or not all(_counts_in(each, table) for each in queries):
        return
    understood = is_counting(select) and has_only(select, {*UNDERSTOOD, "with_"} - {"having"})
    known = columns_of(table)
    if not understood or not known or has_sets(select):
        return
    changed, alias, grouped = select.copy(), table.alias_or_name, bool(select.args.get("group"))
    group_keys(changed, ())
    expand_aliases(changed, Scope([FromItem(dict.fromkeys(known), alias)]))
    queries = _subqueries(changed)
    for each in (changed, *(query.this for query in queries)):
        _qualify(each, alias)
    keys = group_keys(changed, ())
    counts = [each for item in changed.expressions for each in aggregates.aggregates_in(item)]
    given = [aggregates.conditions_of(each.this) for each in queries]
    common, left = _split(
        aggregates.conditions_of(changed), lambda each: all(each in one for one in given)
    )
    last: list[exp.Expr] = []
    if grouped:
        attributes = set(attributes_of(table))
        key_columns = {each.name.lower() for each in keys if isinstance(each, exp.Column)}
        last, left = _split(left, lambda each: _is_of(each, key_columns))
        of_attributes = any(first(each, exp.Query) or _columns(each) & attributes for each in keys)
        if left and (of_attributes or not all(_is_of(each, attributes) for each in left)):
            return
    if any(first(each, exp.Query) for each in counts):
        return
    for each in counts:
        each.replace(aggregates.restricted(each, left))
    for query, conditions in zip(queries, given, strict=True):
        query.replace(_beside(query, [each for each in conditions if each not in common], grouped))
    changed.set("where", exp.Where(this=exp.and_(*common)) if common else None)
    changed.qualify(*last, copy=False)
    become(select, changed)


def _subqueries(select: exp.Select) -> list[exp.Subquery]:
    return [each for part in select.expressions for each in nodes(part, exp.Subquery)]


def _split(
    parts: list[exp.Expr], meets: Callable[[exp.Expr], bool]
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    found = [each for each in parts if meets(each)]
    return found, [each for each in parts if each not in found]


def _beside(query: exp.Subquery, conditions: list[exp.Expr], grouped: bool) -> exp.Paren:
    """Return the value of a subquery over the outer SELECT, which may have groups."""
    holder = exp.Paren(this=query.this.expressions[0].unalias().copy())
    for each in list(aggregates.aggregates_in(holder)):
        found = aggregates.restricted(each, conditions)
        each.replace(exp.Window(this=exp.Sum(this=found), over="OVER") if grouped else found)
    return holder


def _only_table(select: exp.Select) -> exp.Table | None:
    start = select.args.get("from_")
    table = start.this if start is not None and not select.args.get("joins") else None
    plain = isinstance(table, exp.Table) and has_only(table, ("this", "db", "catalog", "alias"))
    return table if plain else None


def _counts_in(query: exp.Subquery, table: exp.Table) -> bool:
    """Whether a subquery only counts in this table."""
    select = query.this
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        return False
    own = _only_table(select)
    calls = list(aggregates.aggregates_in(select.expressions[0].unalias()))
    return (
        has_only(select, ("expressions", "from_", "where"))
        and own is not None
        and [own.name, own.db, own.catalog] == [table.name, table.db, table.catalog]
        and all(
            each.table.lower() in ("", own.alias_or_name.lower())
            for each in nodes(select, exp.Column)
        )
        and bool(calls)
        and all(map(aggregates.is_count_or_sum, calls))
        and not first(select, exp.Window)
        and not any(first(each, exp.Query) for each in parts_of(select))
    )


def _qualify(select: exp.Select, alias: str) -> None:
    """Write the columns of a table in one way, so that expressions can be compared."""
    own = ("", select.args["from_"].this.alias_or_name.lower())
    parts = [select.args.get(name) for name in ("where", "group")]
    for part in (*select.expressions, *filter(None, parts)):
        for each in list(own_nodes(part, exp.Column)):
            # A star is no column, and a field of a struct looks like a column of a table.
            if not isinstance(each.this, exp.Star) and each.table.lower() in own:
                name, table = named(each.name.lower()).copy(), named(alias).copy()
                each.replace(exp.Column(this=name, table=table))


def _columns(node: exp.Expr) -> set[str]:
    return {each.name.lower() for each in nodes(node, exp.Column)}


def _is_of(node: exp.Expr, columns: set[str]) -> bool:
    """Whether all columns of an expression are in a set."""
    return not first(node, exp.Query) and _columns(node) <= columns
