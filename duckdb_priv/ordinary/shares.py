"""Rewrite a subquery that counts in the same table as a window over the outer query's counts.

So the interval of a share of all records, a quotient of two estimates, includes their covariance.
"""

from __future__ import annotations

from sqlglot import exp

from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.aliases import expand_aliases
from duckdb_priv.ordinary.grouping import SETS, bare, group_keys
from duckdb_priv.ordinary.names import named, text
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
    queries = [each for part in select.expressions for each in part.find_all(exp.Subquery)]
    known = columns_of(table) if table is not None and queries else []
    if table is None or not known or not is_counting(select) or select.args.get("having"):
        return
    if any(value and name not in UNDERSTOOD for name, value in select.args.items()):
        return
    wheres = [_conditions_of_count(each, table) for each in queries]
    changed = select.copy()
    keys = group_keys(changed, ())
    expand_aliases(changed, Scope([FromItem(table.alias_or_name, table, known)]))
    where = changed.args.get("where")
    own = aggregates.conjuncts(where.this) if where is not None else []
    group = changed.args.get("group")
    if any(each is None for each in wheres) or (
        group is not None and any(isinstance(bare(each), SETS) for each in group.expressions)
    ):
        return
    common = [
        each
        for each in own
        if all(_plain(each) in map(_plain, conditions or ()) for conditions in wheres)
    ]
    left = [each for each in own if each not in common]
    last = []
    if group is not None:
        attributes = set(attributes_of(table))
        of_groups = [each for each in left if _is_of(each, set(map(_plain, keys)))]
        last, left = of_groups, [each for each in left if each not in of_groups]
        of_attributes = any(_is_of(each, attributes, some=True) for each in keys)
        if left and (of_attributes or not all(_is_of(each, attributes) for each in left)):
            return
    places = [each for part in changed.expressions for each in part.find_all(exp.Subquery)]
    counts = [each for item in changed.expressions for each in aggregates.aggregates_in(item)]
    if any(each.find(exp.Query) for each in counts):
        return
    for each in counts:
        each.replace(_chosen(each, left))
    shared = set(map(_plain, common))
    for place, conditions in zip(places, wheres, strict=True):
        value = _unqualified(place.this.expressions[0].unalias(), table)
        own_conditions = [
            _unqualified(each, table) for each in conditions or () if _plain(each) not in shared
        ]
        holder = exp.Paren(this=value)
        for each in list(aggregates.aggregates_in(value)):
            found = _chosen(each, own_conditions)
            each.replace(
                exp.Window(this=exp.Sum(this=found), over="OVER") if group is not None else found
            )
        place.replace(holder)
    changed.set("where", exp.Where(this=exp.and_(*common)) if common else None)
    if last:
        add_conditions(changed, "qualify", exp.Qualify, last)
    for name in {*changed.args, *select.args}:
        select.set(name, changed.args.get(name))


def _only_table(select: exp.Select) -> exp.Table | None:
    start = select.args.get("from_")
    if start is None or select.args.get("joins") or not isinstance(start.this, exp.Table):
        return None
    table = start.this
    plain = not any(
        value
        for name, value in table.args.items()
        if name not in ("this", "db", "catalog", "alias")
    )
    return table if plain else None


def _conditions_of_count(query: exp.Subquery, table: exp.Table) -> list[exp.Expr] | None:
    """Return the conditions of a subquery that only counts in the same table; None for any other."""
    select = query.this
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        return None
    if any(
        value and name not in ("expressions", "from_", "where")
        for name, value in select.args.items()
    ):
        return None
    own = _only_table(select)
    if own is None or [own.name, own.db, own.catalog] != [table.name, table.db, table.catalog]:
        return None
    columns = list(select.find_all(exp.Column))
    if any(each.table.lower() not in ("", own.alias_or_name.lower()) for each in columns):
        return None
    value = select.expressions[0].unalias()
    calls = list(aggregates.aggregates_in(value))
    for each in calls:
        call = aggregates.unwrapped(each)
        if not isinstance(call, exp.Count | exp.CountIf | exp.Sum) or call.find(exp.Distinct):
            return None
    where = select.args.get("where")
    if not calls or select.find(exp.Window):
        return None
    if any(each.find(exp.Query) for each in parts_of(select)):
        return None
    return aggregates.conjuncts(where.this) if where is not None else []


def _unqualified(node: exp.Expr, table: exp.Table) -> exp.Expr:
    """Return an expression of a subquery over the same table, for the outer SELECT's table."""
    holder = exp.Paren(this=node.copy())
    for column in holder.find_all(exp.Column):
        column.set("table", named(table.alias_or_name).copy())
        column.set("db", None)
        column.set("catalog", None)
    found: exp.Expr = holder.this
    return found


def _is_of(node: exp.Expr, columns: set[str], *, some: bool = False) -> bool:
    """Whether all columns of an expression, or with ``some`` at least one, are in a set."""
    if node.find(exp.Query):
        return some
    found = [_plain(each) in columns for each in node.find_all(exp.Column)]
    return any(found) if some else all(found)


def _plain(node: exp.Expr) -> str:
    """Write an expression over one table in a normal form, independent of how columns are written."""
    node = node.copy()
    for column in node.find_all(exp.Column):
        for part in ("table", "db", "catalog"):
            column.set(part, None)
        column.set("this", exp.to_identifier(column.name.lower()))
    return text(bare(node))


def _chosen(call: exp.Expr, conditions: list[exp.Expr]) -> exp.Expr:
    """Return an aggregate restricted to records that also meet the conditions."""
    if not conditions:
        return call.copy()
    call, within = call.copy(), []
    if isinstance(call, exp.Filter):
        call, within = call.this, aggregates.conjuncts(call.expression.this)
    condition = exp.and_(*within, *(each.copy() for each in conditions))
    return exp.Filter(this=call, expression=exp.Where(this=condition))
