"""Rewrite a subquery that counts in the same table as a window over the outer query's counts.

So the interval of a share of all records, a quotient of two estimates, includes their covariance.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.grouping import group_keys, has_sets
from duckdb_priv.ordinary.names import column, first, has_only, nodes
from duckdb_priv.ordinary.nested import (
    UNDERSTOOD,
    ColumnsOf,
    become,
    is_counting,
    parts_of,
)
from duckdb_priv.ordinary.scope import FromItem, Scope, expand_aliases, own_nodes


def beside_counts(select: exp.Select, columns_of: ColumnsOf, attributes_of: ColumnsOf) -> None:
    """Replace subqueries that return a single count from the same table by windows over the counts, in place.

    ``attributes_of`` returns the columns of a table that are attributes: groups exist for all their values.

    >>> import sqlglot
    >>> share = sqlglot.parse_one(
    ...     "SELECT a, count(*) / (SELECT count(*) FROM t WHERE b = 1) AS s FROM t WHERE a < 3 AND b = 1 GROUP BY a")
    >>> beside_counts(share, lambda table: ["a", "b"], lambda table: [])
    >>> share.sql()
    'SELECT t.a, COUNT(*) / (SUM(COUNT(*)) OVER ()) AS s FROM t WHERE t.b = 1 GROUP BY t.a QUALIFY t.a < 3'
    """
    table = _only_table(select)
    known = columns_of(table) if table is not None else []
    understood = is_counting(select) and has_only(select, {*UNDERSTOOD, "with_"} - {"having"})
    if table is None or not known or not understood or has_sets(select):
        return
    changed, alias, grouped = select.copy(), table.alias_or_name, bool(select.args.get("group"))
    queries = [each for part in changed.expressions for each in nodes(part, exp.Subquery)]
    if not queries or not all(_counts_in(each, table) for each in queries):
        return
    group_keys(changed, ())
    expand_aliases(changed, Scope([FromItem(dict.fromkeys(known), alias)]))
    queries = [each for part in changed.expressions for each in nodes(part, exp.Subquery)]
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
    own, calls = (
        _only_table(select),
        list(aggregates.aggregates_in(select.expressions[0].unalias())),
    )
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
    parts = [select.args.get(name) for name in ("where", "group")]
    for part in (*select.expressions, *filter(None, parts)):
        for each in list(own_nodes(part, exp.Column)):
            each.replace(column(each.name.lower(), alias))


def _columns(node: exp.Expr) -> set[str]:
    return {each.name.lower() for each in nodes(node, exp.Column)}


def _is_of(node: exp.Expr, columns: set[str]) -> bool:
    """Whether all columns of an expression are in a set."""
    return not first(node, exp.Query) and _columns(node) <= columns
