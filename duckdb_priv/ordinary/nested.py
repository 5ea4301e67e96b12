"""Merge a query with the counting query in its FROM, so that expressions over the counts have intervals too.

A SELECT over a counting subquery is equivalent to the subquery with other expressions: its conditions select groups,
and sums of counts are counts of larger groups. Queries that cannot be merged safely are left unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.aliases import expand_aliases
from duckdb_priv.ordinary.grouping import group_keys, has_sets
from duckdb_priv.ordinary.names import first, has_only, named, nodes
from duckdb_priv.ordinary.rows import is_star, output_name
from duckdb_priv.ordinary.scope import FromItem, Scope, from_items

UNDERSTOOD = {
    "expressions", "from_", "joins", "where", "group", "having", "qualify", "order", "limit", "with_",
}  # fmt: skip
"""Clauses of queries that can be merged."""
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
            for name in {*merged.args, *select.args} - {"with_"}:
                select.set(name, merged.args.get(name))
    return found


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
    if start is None or select.args.get("joins") or not isinstance(start.this, exp.Subquery):
        return None
    item, inner = start.this, start.this.this
    alias = item.args.get("alias") or exp.TableAlias(this=exp.to_identifier(""))
    if not isinstance(inner, exp.Select) or inner.args.get("with_") or not is_counting(inner):
        return None
    if (
        not has_only(item, ("this", "alias"))
        or alias.columns
        or any(map(is_star, inner.expressions))
    ):
        return None
    if not (has_only(select, UNDERSTOOD) and has_only(inner, UNDERSTOOD)):
        return None
    if any(first(part, exp.Query) for part in (*parts_of(select), *inner.expressions)):
        return None
    names = {output_name(each).lower() for each in inner.expressions}
    if len(names) < len(inner.expressions):
        return None
    return _Nest(select.copy(), inner.copy(), alias.name)


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
        source = FromItem(list(self.passed), self.alias)
        if self.outer.args.get("group"):
            group_keys(self.outer, ())
        expand_aliases(self.outer, Scope([source]))
        return self._larger_groups() if is_counting(self.outer) else self._same_groups()

    def _write_out(self, columns_of: ColumnsOf) -> bool:
        """Replace aliases and positions in the inner SELECT by expressions, because its list will change."""
        group_keys(self.inner, ())
        sources = []
        for item in from_items(self.inner):
            known = columns_of(item)
            if not known:
                aliases = {
                    each.alias.lower()
                    for each in self.inner.expressions
                    if isinstance(each, exp.Alias)
                }
                used = [
                    column
                    for name in ("where", "group", "having", "qualify")
                    if self.inner.args.get(name)
                    for column in nodes(self.inner.args[name], exp.Column)
                ]
                return not any(not each.table and each.name.lower() in aliases for each in used)
            sources.append(FromItem(known, item.alias_or_name))
        expand_aliases(self.inner, Scope(sources))
        return True

    def _same_groups(self) -> exp.Select | None:
        """Merge a SELECT that computes expressions for each group, or selects groups."""
        outer, inner = self.outer, self.inner
        within = [
            any(first(each, exp.Window) for each in parts_of(select)) for select in (inner, outer)
        ]
        chooses = outer.args.get("where") or outer.args.get("qualify")
        if inner.args.get("limit") and (
            chooses or within[1] or outer.args.get("order") or outer.args.get("limit")
        ):
            return None
        if within[0] and within[1]:
            return None
        items = self._items()
        if items is None:
            return None
        found = inner.copy()
        found.set("expressions", items)
        last = outer.args.get("qualify")
        conditions = [self._put(each) for each in aggregates.conditions_of(outer)]
        if conditions:
            clause, kind = ("qualify", exp.Qualify) if within[0] else ("having", exp.Having)
            add_conditions(found, clause, kind, conditions)
        if last:
            add_conditions(found, "qualify", exp.Qualify, [self._put(last.this)])
        if inner.args.get("order"):
            found.set("order", self._ordered_inside(inner.args["order"]))
        if outer.args.get("order"):
            found.set("order", self._ordered(outer.args["order"]))
        if outer.args.get("limit"):
            found.set("limit", outer.args["limit"])
        return found

    def _items(self) -> list[exp.Expr] | None:
        """Return the outer SELECT list over the tables of the inner SELECT."""
        items: list[exp.Expr] = []
        for each in self.outer.expressions:
            if is_star(each):
                star = each.this if isinstance(each, exp.Column) else each
                if any(star.args.get(name) for name in ("except_", "replace", "rename")):
                    return None
                for inner in self.inner.expressions:
                    items.append(_called(inner.unalias().copy(), output_name(inner)))
                continue
            name = output_name(each)
            known = self.passed.get(name.lower()) if isinstance(each, exp.Column) else None
            if known is not None:
                name = output_name(known)
            items.append(_called(self._put(each.unalias()).unnest(), name))
        return items

    def _ordered(self, order: exp.Expr) -> exp.Expr:
        """Return the ORDER BY of the outer SELECT, in which its aliases take precedence."""
        order = order.copy()
        given = {output_name(each).lower() for each in self.outer.expressions if not is_star(each)}
        for each in order.expressions:
            column = each.this
            alias = (
                isinstance(column, exp.Column) and not column.table and column.name.lower() in given
            )
            if not alias:
                each.set("this", self._put(column))
        return order

    def _ordered_inside(self, order: exp.Expr) -> exp.Expr:
        """Return the ORDER BY of the inner SELECT, whose aliases may not exist any more."""
        order = order.copy()
        for each in order.expressions:
            value = each.this
            if isinstance(value, exp.Literal) and not value.is_string:
                each.set("this", self.inner.expressions[int(value.name) - 1].unalias().copy())
                continue
            for column in list(nodes(value, exp.Column)):
                known = self.passed.get(column.name.lower()) if not column.table else None
                if known is not None:
                    new = exp.paren(known.unalias().copy())
                    if column is value:
                        each.set("this", new)
                    else:
                        column.replace(new)
        return order

    def _larger_groups(self) -> exp.Select | None:
        """Merge a SELECT that sums the counts of groups."""
        outer, inner = self.outer, self.inner
        if not inner.args.get("group") or has_sets(inner):
            return None
        if any(inner.args.get(name) for name in ("having", "qualify", "limit")):
            return None
        if any(first(each, exp.Window) for each in inner.expressions):
            return None
        sums = self._sums_of_counts()
        if sums is None:
            return None
        for part in parts_of(outer):
            for column in list(nodes(part, exp.Column)):
                value = self._meaning(column)
                if column.name in sums:
                    column.replace(exp.paren(sums[column.name].copy()))
                elif value is not None:
                    if aggregates.has_aggregates(value):
                        return None
                    new = value.copy() if isinstance(value, exp.Column) else exp.paren(value.copy())
                    named = column.parent is outer
                    column.replace(_called(new.unnest(), column.name) if named else new)
        outer.set("from_", inner.args["from_"])
        outer.set("joins", inner.args.get("joins"))
        if inner.args.get("where"):
            outer.where(inner.args["where"].this, copy=False)
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
        if known is None:
            return None
        known = known.unnest()
        if not aggregates.is_count_or_sum(known):
            return None
        conditions = [self._put(each) for each in conditions]
        if any(map(aggregates.has_aggregates, conditions)):
            return None
        return aggregates.restricted(known, conditions)

    def _meaning(self, column: exp.Column) -> exp.Expr | None:
        if column.table.lower() in ("", self.alias.lower()) and not isinstance(
            column.this, exp.Star
        ):
            known = self.passed.get(column.name.lower())
            return known.unalias() if known is not None else None
        return None

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


def _called(value: exp.Expr, name: str) -> exp.Expr:
    return exp.Alias(this=value, alias=named(name).copy())


def add_conditions(
    select: exp.Select, name: str, kind: type[exp.Expr], conditions: list[exp.Expr]
) -> None:
    """Add conditions to a clause of a SELECT, in place."""
    old = select.args.get(name)
    select.set(name, kind(this=exp.and_(*([old.this] if old is not None else []), *conditions)))
