"""Rewrite a subquery that counts in the same table as a window over the outer query's counts.

So the interval of a share of all records, a quotient of two estimates, includes their covariance.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.aliases import expand_aliases
from duckdb_priv.ordinary.grouping import group_keys, has_sets
from duckdb_priv.ordinary.names import first, has_only, named, nodes, text
from duckdb_priv.ordinary.nested import (
    UNDERSTOOD,
    ColumnsOf,
    add_conditions,
    is_counting,
    parts_of,
)
from duckdb_priv.ordinary.scope import FromItem, Scope


def beside_counts(select: exp.Select, columns_of: ColumnsOf, attributes_of: ColumnsOf) -> None:
    """Replace subqueries that return a single count from the same table by windows over the counts, in place.

    ``attributes_of`` returns the columns of a table that are attributes: groups exist for all their values.

    >>> import sqlglot
    >>> share = sqlglot.parse_one(
    ...     "SELECT a, count(*) / (SELECT count(*) FROM t WHERE b = 1) AS s FROM t WHERE a < 3 AND b = 1 GROUP BY a")
    >>> beside_counts(share, lambda table: ["a", "b"], lambda table: [])
    >>> share.sql()
    'SELECT a, COUNT(*) / (SUM(COUNT(*)) OVER ()) AS s FROM t WHERE b = 1 GROUP BY a QUALIFY a < 3'
    """
    table = _only_table(select)
    queries = [each for part in select.expressions for each in nodes(part, exp.Subquery)]
    if table is None or not queries or not is_counting(select) or select.args.get("having"):
        return
    known = columns_of(table)
    wheres = [_conditions_of_count(each, table) for each in queries]
    if not known or not has_only(select, UNDERSTOOD) or has_sets(select) or None in wheres:
        return
    changed, grouped = select.copy(), select.args.get("group") is not None
    keys = group_keys(changed, ())
    expand_aliases(changed, Scope([FromItem(known, table.alias_or_name)]))
    counts = [each for item in changed.expressions for each in aggregates.aggregates_in(item)]
    given = [[_plain(each) for each in conditions or ()] for conditions in wheres]
    common, left = _split(
        aggregates.conditions_of(changed), lambda each: all(_plain(each) in one for one in given)
    )
    last: list[exp.Expr] = []
    if grouped:
        attributes, plain_keys = set(attributes_of(table)), set(map(_plain, keys))
        last, left = _split(left, lambda each: _is_of(each, plain_keys))
        of_attributes = any(_is_of(each, attributes, some=True) for each in keys)
        if left and (of_attributes or not all(_is_of(each, attributes) for each in left)):
            return
    if any(first(each, exp.Query) for each in counts):
        return
    places = [each for part in changed.expressions for each in nodes(part, exp.Subquery)]
    for each in counts:
        each.replace(aggregates.restricted(each, left))
    shared = set(map(_plain, common))
    for place, conditions in zip(places, wheres, strict=True):
        own = [each for each in conditions or () if _plain(each) not in shared]
        place.replace(_beside(place, [_unqualified(each, table) for each in own], table, grouped))
    changed.set("where", exp.Where(this=exp.and_(*common)) if common else None)
    if last:
        add_conditions(changed, "qualify", exp.Qualify, last)
    for name in {*changed.args, *select.args}:
        select.set(name, changed.args.get(name))


def _split(
    parts: list[exp.Expr], meets: Callable[[exp.Expr], bool]
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    found = [each for each in parts if meets(each)]
    return found, [each for each in parts if each not in found]


def _beside(
    query: exp.Subquery, conditions: list[exp.Expr], table: exp.Table, grouped: bool
) -> exp.Paren:
    """Return the value of a subquery over the outer SELECT, which may have groups."""
    holder = exp.Paren(this=_unqualified(query.this.expressions[0].unalias(), table))
    for each in list(aggregates.aggregates_in(holder)):
        found = aggregates.restricted(each, conditions)
        each.replace(exp.Window(this=exp.Sum(this=found), over="OVER") if grouped else found)
    return holder


def _only_table(select: exp.Select) -> exp.Table | None:
    start = select.args.get("from_")
    if start is None or select.args.get("joins") or not isinstance(start.this, exp.Table):
        return None
    table = start.this
    return table if has_only(table, ("this", "db", "catalog", "alias")) else None


def _conditions_of_count(query: exp.Subquery, table: exp.Table) -> list[exp.Expr] | None:
    """Return the conditions of a subquery that only counts in the same table; None for any other."""
    select = query.this
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        return None
    if not has_only(select, ("expressions", "from_", "where")):
        return None
    own = _only_table(select)
    if own is None or [own.name, own.db, own.catalog] != [table.name, table.db, table.catalog]:
        return None
    columns = list(nodes(select, exp.Column))
    if any(each.table.lower() not in ("", own.alias_or_name.lower()) for each in columns):
        return None
    value = select.expressions[0].unalias()
    calls = list(aggregates.aggregates_in(value))
    if not calls or not all(map(aggregates.is_count_or_sum, calls)):
        return None
    if first(select, exp.Window) or any(first(each, exp.Query) for each in parts_of(select)):
        return None
    return aggregates.conditions_of(select)


def _unqualified(node: exp.Expr, table: exp.Table) -> exp.Expr:
    """Return an expression of a subquery over the same table, for the outer SELECT's table."""
    holder = exp.Paren(this=node.copy())
    for column in nodes(holder, exp.Column):
        column.set("table", named(table.alias_or_name).copy())
        column.set("db", None)
        column.set("catalog", None)
    found: exp.Expr = holder.this
    return found


def _is_of(node: exp.Expr, columns: set[str], *, some: bool = False) -> bool:
    """Whether all columns of an expression, or with ``some`` at least one, are in a set."""
    if first(node, exp.Query):
        return some
    found = [_plain(each) in columns for each in nodes(node, exp.Column)]
    return any(found) if some else all(found)


def _plain(node: exp.Expr) -> str:
    """Write an expression over one table in a normal form, independent of how columns are written."""
    node = node.copy()
    for column in nodes(node, exp.Column):
        for part in ("table", "db", "catalog"):
            column.set(part, None)
        column.set("this", exp.to_identifier(column.name.lower()))
    return text(node.unnest())
