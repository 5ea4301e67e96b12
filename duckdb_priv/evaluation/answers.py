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
from duckdb_priv.release.catalog import Connection, published_columns, sensitive_attributes
from duckdb_priv.release.given import check_confidence
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.release.request import Roles
from duckdb_priv.sqltext.quoting import identifier, listed, literal
from duckdb_priv.sqltext.reading import make_table, types_of
from duckdb_priv.sqltext.templates import section

UNPERTURBED = ("public", "generalized")
"""Roles of the columns that conditions may use."""
SQL = "evaluation/answers"
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
    roles = {of.attribute: of.role for of in published_columns(connection, release)}
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
    make_table(workspace.cursor, TABLE, section(SQL, "given", table=table.table))
    ((wrong,),) = workspace.rows(section(SQL, "unnumbered"))
    if wrong:
        raise InvalidParameter(
            f"{wrong} rows of the workload have no unique number in the column query",
            hint="number the rows with row_number() OVER ()",
        )


def count(connection: Connection, source: Source) -> None:
    """Count the records that satisfy each query's conditions, and those of them that have its value.

    ``_priv_histograms`` has a row for each query and value that occurs, ``_priv_counts`` one for each query.
    """
    connection.execute(section(SQL, "histograms"))
    for attribute, names in asked_together(connection):
        column = spelled([attribute], source.sensitive, source.name, "sensitive")[0]
        columns = spelled(names, source.public, source.name, "public")
        lay_out(connection, attribute, names, [source.types[name] for name in columns])
        connection.execute(
            section(
                SQL,
                "count_cells",
                cells="".join(f"{cell}, " for cell in _numbered(columns)),
                value=key_expression(column, source.types[column]),
                table=source.table,
                in_cells=_in_cells(columns),
                same_cell=same_cell(len(columns), "counted"),
            )
        )
    make_table(connection, "_priv_counts", section(SQL, "counts"))


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
    check_confidence(confidence)
    connection.execute(section(SQL, "answers"))
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
        release = literal(reader.release)
        for name, names in asked:
            columns = spelled(names, reader.types, reader.release, "public")
            lay_out(connection, name, names, [reader.types[column] for column in columns])
            shown = distribution(
                reader,
                named[name],
                method,
                confidence,
                group_columns=", ".join(_numbered(columns)),
                condition=_in_cells(columns),
            )
            same = same_cell(len(columns), "shown")
            connection.execute(
                section(SQL, "reconstructed", release=release, distribution=shown, same_cell=same)
            )
        # Cells for which the release has no row.
        for (name,) in connection.execute(
            section(SQL, "attributes_without_rows"), [reader.release]
        ).fetchall():
            nothing = distribution(reader, named[name], method, confidence, condition="false")
            connection.execute(
                section(
                    SQL,
                    "reconstructed_without_rows",
                    release=release,
                    distribution=nothing,
                    attribute=literal(name),
                )
            )


def distribution(
    reader: Reader,
    attribute: SensitiveAttribute,
    method: str,
    confidence: float = 0.95,
    *,
    group_columns: str = "",
    condition: str | None = None,
) -> str:
    """Write the query of an attribute's distribution, by groups and among the rows that satisfy a condition."""
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
    return connection.execute(section(SQL, "asked_together")).fetchall()


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
    texts = "".join(
        f", map_extract_value(_priv_lower, {literal(name)}) AS _priv_t{n}"
        for n, name in enumerate(names)
    )
    typed = "".join(
        f", TRY_CAST(_priv_t{n} AS {kind}) AS _priv_c{n}" for n, kind in enumerate(types)
    )
    fillings = {"attribute": literal(attribute), "names": listed(names)}
    make_table(
        connection, "_priv_asked", section(SQL, "asked", typed=typed, texts=texts, **fillings)
    )
    for n, (name, kind) in enumerate(zip(names, types, strict=True)):
        query = section(SQL, "untyped", text=f"_priv_t{n}", value=f"_priv_c{n}")
        wrong = connection.execute(query).fetchall()
        if wrong:
            raise InvalidParameter(
                f"query {wrong[0][0]} has the condition {name} = {wrong[0][1]!r}, which is not a {kind}",
                hint="write values in the type of the column",
            )


def _check_values(connection: Connection, attribute: SensitiveAttribute) -> None:
    wrong = connection.execute(
        section(SQL, "unknown_value"), [attribute.name, attribute.release]
    ).fetchall()
    if wrong:
        raise InvalidParameter(
            f"query {wrong[0][0]} counts {attribute.name} = {wrong[0][1]!r}, which is not in the attribute's domain"
            f" in {attribute.release!r}",
            hint="FROM priv.coefficient lists the values",
        )


def _numbered(columns: Iterable[str]) -> list[str]:
    """Give columns numbered aliases that cannot collide with names of the user."""
    return [f"{identifier(column)} AS _priv_c{n}" for n, column in enumerate(columns)]


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
