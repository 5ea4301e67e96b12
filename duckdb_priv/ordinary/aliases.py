"""Replace the aliases that a SELECT uses itself by their expressions, with DuckDB's rules of precedence.

In WHERE, GROUP BY and later in the SELECT list, a table's column precedes an alias. In HAVING and QUALIFY, a group key
does. In ORDER BY the alias comes first, and is kept.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from duckdb_priv.ordinary.aggregates import is_aggregate
from duckdb_priv.ordinary.names import nodes
from duckdb_priv.ordinary.scope import Scope


def expand_aliases(select: exp.Select, scope: Scope) -> None:
    """Replace the aliases of a SELECT by their expressions, in place.

    >>> import sqlglot
    >>> query = sqlglot.parse_one("SELECT a + 1 AS b, count(*) AS n FROM t GROUP BY b HAVING n > 3 ORDER BY n")
    >>> expand_aliases(query, Scope([]))
    >>> query.sql()
    'SELECT a + 1 AS b, COUNT(*) AS n FROM t GROUP BY (a + 1) HAVING (COUNT(*)) > 3 ORDER BY n'
    """
    aliases: dict[str, exp.Expr] = {}

    def unless_column(column: exp.Column) -> exp.Expr | None:
        return None if scope.find(column) else aliases.get(column.name.lower())

    for item in select.expressions:
        _replace(item, unless_column)
        if isinstance(item, exp.Alias):
            aliases.setdefault(item.alias.lower(), item.this)
    for name in ("where", "group"):
        if select.args.get(name):
            _replace(select.args[name], unless_column)
    keys = _keys(select)

    def unless_key(column: exp.Column) -> exp.Expr | None:
        return None if column.name.lower() in keys else aliases.get(column.name.lower())

    for name in ("having", "qualify"):
        if select.args.get(name):
            _replace(select.args[name], unless_key, outside_aggregates=True)


def is_alias(column: exp.Column, select: exp.Select) -> bool:
    """Whether a column in ORDER BY is an alias of the SELECT."""
    if column.table or _within_aggregate(column):
        return False
    return column.name.lower() in {item.alias.lower() for item in select.expressions}


def _keys(select: exp.Select) -> set[str]:
    group = select.args.get("group")
    return {column.name.lower() for column in nodes(group, exp.Column)} if group else set()


def _replace(
    node: exp.Expr,
    meant: Callable[[exp.Column], exp.Expr | None],
    *,
    outside_aggregates: bool = False,
) -> None:
    for column in list(nodes(node, exp.Column)):
        if column.table or isinstance(column.this, exp.Star):
            continue
        if column.find_ancestor(exp.Query) is not node.find_ancestor(exp.Query):
            continue
        if outside_aggregates and _within_aggregate(column):
            continue
        value = meant(column)
        if value is not None:
            column.replace(exp.paren(value.copy()))


def _within_aggregate(column: exp.Column) -> bool:
    node = column.parent
    while node is not None and not isinstance(node, exp.Query):
        if is_aggregate(node) and not isinstance(node.parent, exp.Window):
            return True
        node = node.parent
    return False
