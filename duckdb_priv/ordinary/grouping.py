"""The group keys of a SELECT. Positions, aliases and ALL are replaced by expressions of the SELECT list."""

from __future__ import annotations

from collections.abc import Collection
from itertools import product

from sqlglot import exp

from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.names import Names, first, nodes, text

SETS = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)
"""Elements of GROUP BY that group in several ways."""


def group_keys(select: exp.Select, taken: Collection[str]) -> dict[exp.Expr, str]:
    """Replace the keys of GROUP BY by expressions, in place; return them with names that are not ``taken``.

    >>> import sqlglot
    >>> query = sqlglot.parse_one("SELECT a, b + 1, count(*) FROM t GROUP BY ROLLUP (1), 2")
    >>> [(key.sql(), name) for key, name in group_keys(query, {"a"}).items()]
    [('a', 'a_2'), ('b + 1', 'key')]
    """
    group = select.args.get("group")
    keys: dict[exp.Expr, str] = {}
    names = Names(set(taken))
    if group is None:
        return keys
    items = select.expressions
    if group.args.get("all"):
        group.set("all", None)
        for item in items:
            if not aggregates.has_aggregates(item.unalias()):
                group.append("expressions", item.unalias().copy())
    for each in list(nodes(group, exp.Literal)):
        if _is_position(each, group) and 0 < int(each.name) <= len(items):
            each.replace(items[int(each.name) - 1].unalias().copy())
    for element in group.expressions:
        for key in grouped_by(element):
            if key not in keys:
                stem = key.name if isinstance(key, exp.Column) else "key"
                keys[key.copy()] = names.fresh(stem)
    return keys


def keys_to_where(select: exp.Select) -> None:
    """Move conditions of HAVING that use only group keys to WHERE, in place.

    >>> import sqlglot
    >>> query = sqlglot.parse_one("SELECT a, count(*) FROM t GROUP BY a HAVING a > 1 AND count(*) > 2")
    >>> keys_to_where(query)
    >>> query.sql()
    'SELECT a, COUNT(*) FROM t WHERE a > 1 GROUP BY a HAVING COUNT(*) > 2'
    """
    having, group = select.args.get("having"), select.args.get("group")
    if having is None or group is None or has_sets(select):
        return
    left: list[exp.Expr] = []
    for each in aggregates.conjuncts(having.this):
        if first(each, exp.Window, exp.Query) or aggregates.has_aggregates(each):
            left.append(each)
        else:
            select.where(each, copy=False)
    select.set("having", exp.Having(this=exp.and_(*left)) if left else None)


def has_sets(select: exp.Expr) -> bool:
    """Whether GROUP BY has ROLLUP, CUBE or GROUPING SETS."""
    group = select.args.get("group")
    return group is not None and any(isinstance(each.unnest(), SETS) for each in group.expressions)


def grouped_by(element: exp.Expr) -> list[exp.Expr]:
    """Return the keys of an element of GROUP BY, which may be a ROLLUP, a CUBE or a list of sets."""
    element = element.unnest()
    if isinstance(element, SETS):
        return [key for each in element.expressions for key in grouped_by(each)]
    return [element]


def grouping_sets(group: exp.Expr) -> list[set[str]]:
    """Return the sets of keys of a GROUP BY; the empty set is the group of all records."""
    return [set[str]().union(*some) for some in product(*map(_sets, group.expressions))]


def _sets(element: exp.Expr) -> list[set[str]]:
    """Return the sets of keys of an element of GROUP BY.

    >>> import sqlglot
    >>> query = sqlglot.parse_one("SELECT 1 GROUP BY ROLLUP (a, (b, c)), GROUPING SETS (a, ())", dialect="duckdb")
    >>> [[sorted(keys) for keys in _sets(each)] for each in query.args["group"].expressions]
    [[[], ['a'], ['a', 'b', 'c']], [['a'], []]]
    """
    within = [set(map(text, grouped_by(each))) for each in element.expressions]
    if isinstance(element, exp.GroupingSets):
        return [keys for each in element.expressions for keys in _sets(each)]
    if isinstance(element, exp.Rollup):
        return [set[str]().union(*within[:number]) for number in range(len(within) + 1)]
    if isinstance(element, exp.Cube):
        chosen = product(*([set[str](), each] for each in within))
        return [set[str]().union(*each) for each in chosen]
    return [set(map(text, grouped_by(element)))]


def _is_position(number: exp.Literal, group: exp.Expr) -> bool:
    """Whether a number is an element of GROUP BY, and not part of an expression."""
    parent = number.parent
    while isinstance(parent, (*SETS, exp.Paren)):
        parent = parent.parent
    return parent is group and not number.is_string
