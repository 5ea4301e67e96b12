"""Labels of codes in a release file: one row for each value that the publisher has explained."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from duckdb_priv.sqltext.quoting import identifier, literal

VIEW = "priv.label"


def statements() -> list[str]:
    """Return the SQL that creates ``priv.label`` from the catalog of the current database."""
    return [
        f"CREATE VIEW {VIEW} AS SELECT attribute, column_name, entry.value AS value, entry.label AS label"
        " FROM (SELECT attribute, column_name, unnest(labels) AS entry FROM priv.attribute)",
        f"COMMENT ON VIEW {VIEW} IS 'What the codes of a column mean, as its publisher says.'",
    ]


def labelled(query: str, columns: Mapping[str, str], explained: Collection[str]) -> str:
    """Add label columns, <attribute>_label, before the columns of a query.

    ``columns`` maps columns of the query to the attributes whose values they hold, in the order of the rows.
    ``explained`` are the attributes whose codes have labels.
    """
    coded = [(column, attribute) for column, attribute in columns.items() if attribute in explained]
    if not coded:
        return query
    names, joins = [], []
    for number, (column, attribute) in enumerate(coded):
        label = f"_priv_label_{number}"
        names.append(f"{label}.label AS {identifier(f'{attribute}_label')}")
        joins.append(
            f"LEFT JOIN {VIEW} AS {label} ON {label}.attribute = {literal(attribute)}"
            f" AND {label}.value IS NOT DISTINCT FROM _priv_found.{identifier(column)}::VARCHAR"
        )
    order = ", ".join(f"_priv_found.{identifier(column)}" for column in columns)
    return (
        f"SELECT {', '.join(names)}, _priv_found.* FROM ({query}) AS _priv_found {' '.join(joins)}"
        f" ORDER BY {order}"
    )
