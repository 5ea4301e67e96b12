"""Answer queries for lists of values, as dashboard filters send them, from the public domain of an attribute.

It is unknown which values occur; each may. So the list is always complete, whatever the conditions on public columns.
Conditions on the attributes filter it.
"""

from __future__ import annotations

from sqlglot import exp

from duckdb_priv.ordinary.aggregates import aggregates_in, conjuncts
from duckdb_priv.ordinary.grouping import SETS, bare, group_keys
from duckdb_priv.ordinary.law import domains_sql
from duckdb_priv.ordinary.names import named
from duckdb_priv.ordinary.published import ConnectedTables
from duckdb_priv.ordinary.scope import PURE, FromItem, Kind, kind, own_nodes

OF_RECORDS = ("joins", "having", "qualify", "windows", "sample", "pivots")
"""Clauses that need records and not only values."""


def asks_for_values(select: exp.Select, source: FromItem, outer: frozenset[int]) -> bool:
    """Whether a SELECT over one release returns distinct values of attributes, without any count."""
    distinct, group = select.args.get("distinct"), select.args.get("group")
    if any(select.args.get(name) for name in OF_RECORDS) or (distinct and distinct.args.get("on")):
        return False
    if not (distinct or group) or (
        group and any(isinstance(bare(each), SETS) for each in group.expressions)
    ):
        return False
    if _asks_whether(select):
        return False
    keys = [each.unalias() for each in select.expressions]
    keys += group_keys(select.copy(), ()) if group else []
    order = select.args.get("order")
    ordered = [each.this for each in order.expressions] if order else []
    if any(_counts(each) for each in (*keys, *ordered)):
        return False
    kinds = [kind(each, source, outer) for each in keys]
    return (
        Kind.SENSITIVE in kinds
        and all(each in (Kind.SENSITIVE, Kind.CONSTANT) for each in kinds)
        and not any(Kind.PUBLIC in kind(each, source, outer) for each in ordered)
        and all(kind(each, source, outer) in PURE for each in _conditions(select))
    )


def _asks_whether(select: exp.Select) -> bool:
    """Whether the SELECT is used only for whether it returns a row."""
    holder = select.parent
    while isinstance(holder, exp.Subquery | exp.Paren):
        holder = holder.parent
    return isinstance(holder, exp.Exists)


def _counts(node: exp.Expr) -> bool:
    """Whether an expression aggregates or needs several values."""
    return any(True for _ in (*aggregates_in(node), *own_nodes(node, exp.Window, exp.Query)))


def list_values(
    select: exp.Select, source: FromItem, outer: frozenset[int], connection: ConnectedTables
) -> None:
    """Rewrite a SELECT to read the domains of its attributes instead of records, in place."""
    assert source.release is not None
    kept = [each for each in _conditions(select) if kind(each, source, outer) is not Kind.PUBLIC]
    select.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
    named_here = {
        attribute.name: attribute
        for each in select.find_all(exp.Column)
        if (attribute := source.attribute(each)) is not None
    }
    domains = domains_sql(connection, source.release, list(named_here.values()))
    query: exp.Expr = exp.maybe_parse(domains, dialect="duckdb")
    alias = exp.TableAlias(this=named(source.alias).copy())
    select.set("from_", exp.From(this=exp.Subquery(this=query, alias=alias)))


def _conditions(select: exp.Select) -> list[exp.Expr]:
    where = select.args.get("where")
    return conjuncts(where.this) if where is not None else []
