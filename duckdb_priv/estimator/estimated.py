"""The schema ``estimated`` of a release file: whoever says ``USE estimated`` counts as if the table were the true one.

It holds a view with the name of the release, whose columns are the public columns and the attributes, and macros that
take the place of DuckDB's aggregates: ``count(*)`` sums weights. The view is bound anew for every statement. It reads
the text of the statement and counts the published records by what the statement names, before each of these cells
stands with every true value that its records may have; so what a statement does not name costs nothing
(``estimated_cells``).

It fails closed. The statement must sum (``sql/analyst/estimated/guard.sql``), the schema must be the one in use, and a
count of known weights must find that the macros are what is called. The weight is a column that the macros alone
name: where it is missing, or there are two of it, they raise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb

from duckdb_priv.estimator import estimated_names as names
from duckdb_priv.estimator.estimated_cells import FOLDER, WeightedTable, cells, guard
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.release import catalog
from duckdb_priv.release.model import SCALE, SensitiveAttribute
from duckdb_priv.sqltext.aggregates import qualified
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import body, fill, read, sections


def statements(
    connection: duckdb.DuckDBPyConnection, release: str, attributes: Sequence[SensitiveAttribute]
) -> list[str]:
    """Return the SQL of the schema, for a release whose catalog rows and table are in the current database."""
    counted = counted_table(connection, release, attributes)
    view = f"{names.SCHEMA}.{identifier(release)}"
    return [
        f"CREATE SCHEMA {names.SCHEMA}",
        *_macros(counted),
        f"CREATE VIEW {view} AS {_view(counted)}",
        f"COMMENT ON VIEW {view} IS "
        + literal(
            f"{release} as if it were the true table: after USE {names.SCHEMA}, count(*), sum and avg of it are"
            " ESTIMATES."
        ),
        *(
            f"COMMENT ON COLUMN {view}.{identifier(name)} IS {literal(said)}"
            for name, said in _comments(connection, release, counted).items()
        ),
    ]


SAID = {
    "public": "Published as it is.",
    "generalized": "Made coarser.",
    "sensitive": "Its true values: count(*), sum and avg by it or over it are ESTIMATES.",
}
"""By role of a column: what its comment says."""


def _comments(
    connection: duckdb.DuckDBPyConnection, release: str, counted: WeightedTable
) -> dict[str, str]:
    """Return what the comments on the columns of the view say, by column."""
    said = {
        of.attribute: "\n".join(filter(None, [of.description, SAID[of.role]]))
        for of in catalog.published_columns(connection, release)
        if of.role in SAID
    }
    if counted.summable:
        weights = "The aggregates of this schema read it. Leave it out."
        said |= {name.strip('"'): weights for name in (names.WEIGHT, names.SPREAD)}
    return said


def counted_table(
    connection: duckdb.DuckDBPyConnection, release: str, attributes: Sequence[SensitiveAttribute]
) -> WeightedTable:
    """Return the table that the view counts."""
    hidden = {SCALE, *(each.column for each in attributes)} if attributes else set()
    hidden = {name.lower() for name in hidden}
    described = connection.execute(f"DESCRIBE main.{identifier(release)}").fetchall()
    types = {name: kind for name, kind, *_ in described}
    ((rows,),) = connection.execute(
        "SELECT rows_published FROM priv.release WHERE release = ?", [release]
    ).fetchall()
    return WeightedTable(
        release,
        {name: kind for name, kind in types.items() if name.lower() not in hidden},
        attributes,
        rows,
    )


def _macros(counted: WeightedTable) -> Iterator[str]:
    texts = sections(FOLDER, "aggregates")
    # Weights of several attributes are multiplied: what a histogram fixes of each, it does not fix of the product.
    histogram = len(counted.attributes) == 1 and form_of(counted.attributes[0]).from_histogram
    places = {
        **texts,
        "row_type": names.SPREAD_TYPE,
        "kept": texts["kept"] if histogram else "1",
        "records": literal(float(max(counted.rows, 1))),
        "unweighed": counted.message("unweighed"),
    }
    for name, arguments in names.COUNTS.items():
        text = fill(texts[names.ALIKE.get(name, name)], places)
        yield f"CREATE MACRO {names.SCHEMA}.{name}({arguments}) AS {qualified(text)}"
    refused = f"system.main.error({counted.message('sums')})"
    for name in names.OTHERS:
        yield f"CREATE MACRO {names.SCHEMA}.{name}(x, y := NULL, z := NULL) AS {refused}"


def _view(counted: WeightedTable) -> str:
    public, table = [*map(identifier, counted.public)], f"main.{identifier(counted.release)}"
    if not counted.summable:
        refused = f"system.main.error({counted.message('form')})"
        unknown = (
            f"CAST({refused} AS {counted.true_type(each)}) AS {identifier(each.name)}"
            for each in counted.attributes
        )
        return (
            f"SELECT {', '.join([*public, *unknown])} FROM {table} WHERE CAST({refused} AS BOOLEAN)"
        )
    columns = [*public, *(identifier(each.name) for each in counted.attributes)]
    conditions = fill(
        body(read(FOLDER, "conditions")),
        {
            "schema": literal(names.SCHEMA),
            "weight": names.WEIGHT,
            "guard": guard(counted),
            **{f"says.{name}": counted.message(name) for name in names.MESSAGES},
        },
    )
    return (
        f"SELECT {', '.join([*columns, names.WEIGHT, names.SPREAD])} FROM query({cells(counted)})"
        f" WHERE {conditions}"
    )
