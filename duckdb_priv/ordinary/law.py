"""Write the weights, the numbers and the values of an attribute, from its rows in ``priv.coefficient``."""

from __future__ import annotations

from collections.abc import Sequence

from duckdb_priv.estimator.weights import formulas, numbers_of, weight
from duckdb_priv.ordinary.names import LINE, text
from duckdb_priv.ordinary.published import Attribute, ConnectedTables, Release, unknown_form


def weight_sql(
    attribute: Attribute, reported: str, x: str = "x", y: str = "y", scale: str = "1"
) -> str:
    """Write W[x, y] of an attribute, over the tables ``x`` and ``y``; ``scale`` says how strongly a row is perturbed.

    Raises QueryRefused for an unknown form.
    """
    if attribute.form not in formulas():
        raise unknown_form(attribute)
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


def domains_sql(
    connection: ConnectedTables, release: Release, attributes: Sequence[Attribute]
) -> str:
    """Write the query of all combinations of values in the attributes' domains."""
    domains = (
        f"(SELECT {true_value(each, 'coefficient')} AS {text(each.name)} {connection.domain(release, each)})"
        f" AS {text(each.name)}"
        for each in attributes
    )
    return f"SELECT * FROM {', '.join(domains)}"
