"""Merge a query with the counting query in its FROM, so that expressions over the counts have intervals too.

A SELECT over a counting subquery is equivalent to the subquery with other expressions: its conditions select groups,
and sums of counts are counts of larger groups. Queries that cannot be merged safely are left unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.grouping import group_keys, has_sets
from duckdb_priv.ordinary.names import first, has_only, named, nodes
from duckdb_priv.ordinary.rows import called, is_star, output_name
from duckdb_priv.ordinary.scope import FromItem, Scope, expand_aliases, from_items

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
