"""Answers a workload in sets of queries: true counts from a table, and estimates from a release.

Queries over the same public attributes are answered together: one scan counts their cells. Releases answer with
``priv.reconstructed_distribution``, so the evaluated estimates are those that analysts get, for every mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from duckdb_priv.engine.source import Source, key_expression, open_source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, echoed
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.evaluation.workload import TABLE
from duckdb_priv.release.catalog import Connection, sensitive_attributes
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.release.request import Roles
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.reading import types_of

UNPERTURBED = ("public", "generalized")
"""Roles of the columns that conditions may use."""
METHODS = ("inverse", "bayesian")
"""Methods of priv.reconstructed_distribution."""


@dataclass(frozen=True)
class Reader:
    """The parts of a release that answering a workload needs."""

    release: str
    types: Mapping[str, str]
    """The type of each column that conditions may use: public and generalized columns."""
    attributes: Sequence[SensitiveAttribute]
    scale: str | None
    """The column with the scale of a row; None without one."""


def open_reader(connection: Connection, release: str) -> Reader:
    """Read a release's columns and attributes from the catalog of the current database."""
    roles = dict(
        connection.execute(
            "SELECT attribute, role FROM priv.attribute WHERE release = ?", [release]
        ).fetchall()
    )
    described = types_of(connection, f"main.{identifier(release)}")
    return Reader(
        release,
        {name: kind for name, kind in described.items() if roles.get(name) in UNPERTURBED},
        sensitive_attributes(connection, release),
        next((name for name, role in roles.items() if role == "scale"), None),
    )


def open_workload(workspace: Workspace, name: str) -> None:
    """Load a user's workload from its table.

    Raises InvalidParameter if the numbers of queries are not unique or are missing.
    """
    roles = Roles(sensitive=("attribute", "value"), exclude=("query", "conditions"))
    table = open_source(workspace, name, roles)
    workspace.cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE {TABLE.split('.')[-1]} AS SELECT query::BIGINT AS query,"
        " conditions::MAP(VARCHAR, VARCHAR) AS conditions, attribute::VARCHAR AS attribute,"
        f" value::VARCHAR AS value FROM {table.table}"
    )
    (wrong,) = workspace.rows(f"SELECT count(*) - count(DISTINCT query) FROM {TABLE}")[0]
    if wrong:
        raise InvalidParameter(
            f"{wrong} rows of the workload have no unique number in the column query",
            hint="number the rows with row_number() OVER ()",
        )


def count(connection: Connection, source: Source) -> None:
    """Count the records that satisfy each query's conditions, and those of them that have its value.

    ``_priv_histograms`` has a row for each query and value that occurs, ``_priv_counts`` one for each query.
    """
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE _priv_histograms"
        " (query BIGINT, asked VARCHAR, value VARCHAR, records BIGINT)"
    )
    for attribute, names in asked_together(connection):
        column = spelled([attribute], source.sensitive, source.name, "sensitive")[0]
        columns = spelled(names, source.public, source.name, "public")
        lay_out(connection, attribute, names, [source.types[name] for name in columns])
        cells = _numbered(identifier(name) for name in columns)
        connection.execute(
            f"""
            INSERT INTO _priv_histograms
            WITH cell AS (
                SELECT {"".join(f"{cell}, " for cell in cells)}{key_expression(column, source.types[column])}
                    AS _priv_value, count(*) AS _priv_count
                FROM {source.table} AS _priv_source WHERE {_in_cells(columns)} GROUP BY ALL
            ), counted AS (
                SELECT * EXCLUDE (_priv_value), _priv_value::VARCHAR AS value FROM cell
            )
            SELECT query, asked.value, counted.value, coalesce(_priv_count, 0)
            FROM _priv_asked AS asked LEFT JOIN counted ON {same_cell(len(columns), "counted")}
            """
        )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE _priv_counts AS SELECT query, sum(records)::BIGINT AS records,"
        " coalesce(sum(records) FILTER (value IS NOT DISTINCT FROM asked), 0)::BIGINT AS true_count"
        " FROM _priv_histograms GROUP BY query"
    )


def reconstruct(
    connection: Connection, readers: Iterable[Reader], *, method: str, confidence: float
) -> None:
    """Write the releases' estimate, stderr, low and high of each query to ``_priv_answers``.

    Raises InvalidParameter for a query that a release cannot answer.
    """
    if method not in METHODS:
        raise InvalidParameter(
            f"method must be one of {', '.join(map(repr, METHODS))}, got {echoed(method)}",
            hint="leave method out for unbiased estimates with intervals",
        )
    if isinstance(confidence, bool) or not 0 < confidence < 1:
        raise InvalidParameter(
            f"confidence must lie strictly between 0 and 1, got {confidence!r}",
            hint="0.95 is usual",
        )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE _priv_answers (release VARCHAR, query BIGINT,"
        " estimate DOUBLE, stderr DOUBLE, low DOUBLE, high DOUBLE)"
    )
    asked = asked_together(connection)
    for reader in readers:
        named = {attribute.name.lower(): attribute for attribute in reader.attributes}
        for name in sorted({attribute for attribute, _ in asked}):
            spelled([name], named, reader.release, "sensitive")
            _check_values(connection, named[name])
            if method == "inverse" and not form_of(named[name]).invertible:
                raise InvalidParameter(
                    f"release {reader.release!r} was made with a singular operator, which has no inverse",
                    hint="write method := 'bayesian'",
                )
        for name, names in asked:
            columns = spelled(names, reader.types, reader.release, "public")
            lay_out(connection, name, names, [reader.types[column] for column in columns])
            distribution = _distribution(
                reader,
                named[name],
                method,
                confidence,
                group_columns=", ".join(_numbered(identifier(column) for column in columns)),
                condition=_in_cells(columns),
            )
            connection.execute(
                f"""
                INSERT INTO _priv_answers
                SELECT {literal(reader.release)}, query, estimate, stderr, low, high
                FROM _priv_asked AS asked JOIN ({distribution}) AS shown
                    ON asked.value IS NOT DISTINCT FROM shown.value::VARCHAR
                    AND {same_cell(len(columns), "shown")}
                """
            )
        # Cells for which the release has no row.
        unanswered = f"query NOT IN (SELECT query FROM _priv_answers WHERE release = {literal(reader.release)})"
        for (name,) in connection.execute(
            f"SELECT DISTINCT lower(attribute) AS attribute FROM {TABLE} WHERE {unanswered} ORDER BY attribute"
        ).fetchall():
            nothing = _distribution(reader, named[name], method, confidence, condition="false")
            connection.execute(
                f"""
                INSERT INTO _priv_answers
                SELECT {literal(reader.release)}, query, estimate, stderr, low, high
                FROM {TABLE} AS asked JOIN ({nothing}) AS shown
                    ON asked.value IS NOT DISTINCT FROM shown.value::VARCHAR
                WHERE lower(attribute) = {literal(name)} AND {unanswered}
                """
            )


def _distribution(
    reader: Reader,
    attribute: SensitiveAttribute,
    method: str,
    confidence: float,
    *,
    group_columns: str = "",
    condition: str,
) -> str:
    arguments = {
        "group_columns": literal(group_columns or None),
        "condition": literal(condition),
        "weight": literal(
            identifier(reader.scale) if reader.scale and form_of(attribute).weighed else None
        ),
        "method": literal(method),
        "confidence": literal(confidence),
    }
    named = ", ".join(f"{name} := {value}" for name, value in arguments.items())
    of = literal(f"{reader.release}.{attribute.name}")
    return f"FROM priv.reconstructed_distribution({of}, {named})"


def asked_together(connection: Connection) -> list[tuple[str, list[str]]]:
    """List each sensitive attribute with each set of public attributes that queries use together, in lower case."""
    return connection.execute(
        "SELECT DISTINCT lower(attribute) AS attribute,"
        f" list_sort([lower(name) FOR name IN map_keys(conditions)]) AS names FROM {TABLE} ORDER BY ALL"
    ).fetchall()


def spelled(names: Iterable[str], known: Iterable[str], table: str, role: str) -> list[str]:
    """Return names in a table's spelling; raises InvalidParameter for unknown names."""
    spelling = {name.lower(): name for name in known}
    for name in names:
        if name not in spelling:
            raise InvalidParameter(
                f"the workload uses {name!r}, which is not a {role} column of {table!r}",
                hint="it has " + ", ".join(map(repr, spelling.values())),
            )
    return [spelling[name] for name in names]


def lay_out(
    connection: Connection, attribute: str, names: Sequence[str], types: Sequence[str]
) -> None:
    """Materialize the queries over one set of attributes, with a typed column for each attribute."""
    texts = ", ".join(
        f"map_extract_value(_priv_lower, {literal(name)}) AS _priv_t{n}"
        for n, name in enumerate(names)
    )
    typed = "".join(
        f", TRY_CAST(_priv_t{n} AS {kind}) AS _priv_c{n}" for n, kind in enumerate(types)
    )
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE _priv_asked AS
        SELECT *{typed} FROM (
            SELECT query, value{f", {texts}" if names else ""} FROM (
                SELECT *, map_from_entries([{{'k': lower(e.key), 'v': e.value}}
                    FOR e IN map_entries(conditions)]) AS _priv_lower FROM {TABLE}
            ) WHERE lower(attribute) = {literal(attribute)}
                AND list_sort(map_keys(_priv_lower)) = {_texts(names)}
        )
        """
    )
    for n, (name, kind) in enumerate(zip(names, types, strict=True)):
        wrong = connection.execute(
            f"SELECT query, _priv_t{n} FROM _priv_asked"
            f" WHERE _priv_t{n} IS NOT NULL AND _priv_c{n} IS NULL ORDER BY query LIMIT 1"
        ).fetchall()
        if wrong:
            raise InvalidParameter(
                f"query {wrong[0][0]} has the condition {name} = {wrong[0][1]!r}, which is not a {kind}",
                hint="write values in the type of the column",
            )


def _check_values(connection: Connection, attribute: SensitiveAttribute) -> None:
    wrong = connection.execute(
        f"SELECT query, value FROM {TABLE} AS asked WHERE lower(attribute) = lower(?) AND NOT EXISTS ("
        " FROM priv.coefficient AS c WHERE c.release = ? AND c.attribute = ?"
        " AND c.value IS NOT DISTINCT FROM asked.value) ORDER BY query LIMIT 1",
        [attribute.name, attribute.release, attribute.name],
    ).fetchall()
    if wrong:
        raise InvalidParameter(
            f"query {wrong[0][0]} counts {attribute.name} = {wrong[0][1]!r}, which is not in the attribute's domain"
            f" in {attribute.release!r}",
            hint="FROM priv.coefficient lists the values",
        )


def _texts(names: Sequence[str]) -> str:
    return f"[{', '.join(map(literal, names))}]::VARCHAR[]"


def _numbered(columns: Iterable[str]) -> list[str]:
    """Give columns numbered aliases that cannot collide with names of the user."""
    return [f"{column} AS _priv_c{n}" for n, column in enumerate(columns)]


def _in_cells(columns: Sequence[str]) -> str:
    """Write the condition that a row is in a cell of one of the queries; missing values are equal inside a struct."""
    if not columns:
        return "true"
    asked, own = (
        ", ".join(f"_priv_c{n} := {name}" for n, name in enumerate(names))
        for names in (
            [f"_priv_cell._priv_c{n}" for n in range(len(columns))],
            [identifier(column) for column in columns],
        )
    )
    return f"struct_pack({own}) IN (SELECT struct_pack({asked}) FROM temp.main._priv_asked AS _priv_cell)"


def same_cell(size: int, other: str) -> str:
    """Write the condition that a query in ``_priv_asked AS asked`` and a row of another table have the same cell."""
    return " AND ".join(
        [
            "true",
            *(f"asked._priv_c{n} IS NOT DISTINCT FROM {other}._priv_c{n}" for n in range(size)),
        ]
    )
