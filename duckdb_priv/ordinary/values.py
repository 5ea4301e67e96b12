"""Read the values of an attribute from ``priv.coefficient``, with their numbers and weights.

Queries for lists of values, as dashboard filters send them, are answered from this public domain. It is unknown which
values occur; each may. So the list is always complete, whatever the conditions on public columns. Conditions on the
attributes filter it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from duckdb_priv.estimator.weights import numbers_of, weight
from duckdb_priv.ordinary.aggregates import conditions_of, has_aggregates
from duckdb_priv.ordinary.grouping import group_keys, has_sets
from duckdb_priv.ordinary.names import LINE, nodes, parsed, table_alias, text
from duckdb_priv.ordinary.published import Attribute, ConnectedTables, Release
from duckdb_priv.ordinary.scope import PURE, Kind, Scope, has_own, holder

OF_RECORDS = ("joins", "having", "qualify", "windows", "sample", "pivots")
"""Clauses that need records and not only values."""


def weight_sql(
    attribute: Attribute, reported: str, x: str = "x", y: str = "y", scale: str = "1"
) -> str:
    """Write W[x, y] over the tables ``x`` and ``y``; ``scale`` says how strongly a row is perturbed."""
    return weight(attribute.form, reported, attribute.size, attribute.blocks, x=x, y=y, scale=scale)


def law_sql(
    connection: ConnectedTables, release: Release, attribute: Attribute, more: Sequence[str] = ()
) -> str:
    """Write the query of the numbers for an attribute's weights, one row for each value."""
    numbers = "".join(f", {each}" for each in dict.fromkeys([*numbers_of(attribute.form), *more]))
    return f"SELECT position, value{numbers}{LINE}{connection.domain(release, attribute)}"


def true_value(attribute: Attribute, x: str) -> str:
    """Write the true value of an attribute in its type, from its row in ``priv.coefficient``."""
    return f"{x}.value" if attribute.type == "VARCHAR" else f"CAST({x}.value AS {attribute.type})"


def asks_for_values(scope: Scope) -> bool:
    """Whether a SELECT over one release returns distinct values of attributes, without any count."""
    if not len(scope.asked) == len(scope.sources) == 1:
        return False
    select = scope.select
    distinct, group = select.args.get("distinct"), select.args.get("group")
    of_records = any(select.args.get(name) for name in OF_RECORDS) or has_sets(select)
    if of_records or not (distinct or group) or (distinct and distinct.args.get("on")):
        return False
    keys = [each.unalias() for each in select.expressions]
    order = select.args.get("order")
    ordered = [each.this for each in order.expressions] if order else []

    def counts(node: exp.Expr) -> bool:
        return has_aggregates(node) or has_own(node, exp.Window, exp.Query)

    # EXISTS needs to know only whether there is a row.
    if isinstance(holder(select), exp.Exists) or any(map(counts, (*keys, *ordered))):
        return False
    keys += group_keys(select, ()) if group else []
    return (
        Kind.SENSITIVE in set(map(scope.kind, keys)) <= {Kind.SENSITIVE, Kind.CONSTANT}
        and not any(Kind.PUBLIC in scope.kind(each) for each in ordered)
        and set(map(scope.kind, conditions_of(select))) <= {*PURE}
        and not any(map(counts, keys))
    )


def list_values(scope: Scope, connection: ConnectedTables) -> None:
    """Rewrite a SELECT to read the domains of its attributes instead of records, in place."""
    select, (source,) = scope.select, scope.asked
    assert source.release is not None
    kept = [each for each in conditions_of(select) if scope.kind(each) is not Kind.PUBLIC]
    select.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
    named_here = {
        attribute.name: attribute
        for each in nodes(select, exp.Column)
        if (attribute := source.attribute(each)) is not None
    }
    domains = (
        f"(SELECT {true_value(each, 'coefficient')} AS {text(each.name)}"
        f" {connection.domain(source.release, each)}) AS {text(each.name)}"
        for each in named_here.values()
    )
    query = parsed(f"SELECT * FROM {', '.join(domains)}")
    rows = exp.Subquery(this=query, alias=table_alias(source.alias))
    select.set("from_", exp.From(this=rows))
