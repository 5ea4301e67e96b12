"""Write the queries of an attribute's numbers, and of each cell's true values with their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duckdb_priv.estimator.weights import formulas, numbers_of, weight
from duckdb_priv.ordinary.names import LINE, text
from duckdb_priv.ordinary.published import Attribute, ConnectedTables, Release, unknown_form
from duckdb_priv.sqltext.literals import exact


def weight_sql(
    attribute: Attribute, reported: str, x: str = "x", y: str = "y", scale: str = "1"
) -> str:
    """Write W[x, y] of an attribute, over the tables ``x`` and ``y``; ``scale`` says how strongly a row is perturbed.

    Raises QueryRefused for an unknown form.
    """
    if attribute.form not in formulas():
        raise unknown_form(attribute)
    return weight(attribute.form, reported, attribute.size, attribute.blocks, x=x, y=y, scale=scale)


def depends_on_reported(attribute: Attribute) -> bool:
    """Whether the weights depend on the reported value's row in ``priv.coefficient``."""
    return "y." in weight_sql(attribute, "")


def law_sql(
    connection: ConnectedTables, release: Release, attribute: Attribute, more: Sequence[str] = ()
) -> str:
    """Write the query of the numbers for an attribute's weights, one row for each value."""
    numbers = "".join(f", {each}" for each in dict.fromkeys([*numbers_of(attribute.form), *more]))
    return f"SELECT position, value{numbers}{LINE}{connection.domain(release, attribute)}"


def classes_sql(
    cells: str,
    columns: Sequence[str],
    attributes: Sequence[Attribute],
    laws: Mapping[str, str],
    weight_name: str,
    shown_name: str,
    positions: Sequence[str] = (),
    partly_unknown: bool = False,
    scale: str = "",
) -> str:
    """Write the query that joins each cell with every combination of true values and its weight.

    ``laws`` names the query of each attribute's numbers. The combination of the reported values is marked as shown.
    ``positions`` names columns that identify the combination. An unknown weight is NaN. ``scale`` names the column that
    says how strongly a cell's rows are perturbed, if that differs.
    """
    selected = [f"c.{text(name)}" for name in columns]
    weights, shown, where = [], [], []
    tables = f"{text(cells)} AS c"
    for number, attribute in enumerate(attributes, start=1):
        numbers = text(laws[attribute.name])
        x, y = (f"x{number}", f"y{number}") if len(attributes) > 1 else ("x", "y")
        reported = f"c.{text(attribute.column)}"
        by_report = depends_on_reported(attribute)
        if by_report:
            tables += f" JOIN {numbers} AS {y} ON {y}.value IS NOT DISTINCT FROM CAST({reported} AS VARCHAR)"
        tables += f" CROSS JOIN {numbers} AS {x}"
        selected.append(f"{true_value(attribute, x)} AS {text(attribute.name)}")
        if positions:
            selected.append(f"{x}.position AS {text(positions[number - 1])}")
        weights.append(weight_sql(attribute, reported, x, y, f"c.{text(scale)}" if scale else "1"))
        if attribute.listed:
            values = f"CAST({reported} AS VARCHAR[])"
            where.append(
                f"CASE WHEN {x}.value IS NULL THEN len({values}) > list_count({values})"
                f" ELSE list_contains({values}, {exact(f'{x}.value')}) END"
            )
            shown.append(f"{x}.value IS NOT DISTINCT FROM list_extract({values}, 1)")
        else:
            shown.append(f"{x}.position = {y}.position" if by_report else f"{x}.position = 0")
    product = " * ".join(f"({each})" for each in weights) if len(weights) > 1 else "".join(weights)
    weight = f"coalesce({product}, 'nan'::DOUBLE)" if partly_unknown else product or "1"
    selected.append(f"{weight} AS {text(weight_name)}")
    selected.append(f"{' AND '.join(shown) or 'true'} AS {text(shown_name)}")
    filtered = f"{LINE}WHERE {' AND '.join(where)}" if where else ""
    return f"SELECT {', '.join(selected)}{LINE}FROM {tables}{filtered}"


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
