"""Views for people who click: ordinary tables of estimates, for tools that know nothing of the macros.

A view is bound in the catalog it stands in, so unlike a macro it may name tables and macros of its release
file, and stays right where the file is attached and not in use.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import duckdb

from duckdb_priv.estimator.forms import FORMS, form_of
from duckdb_priv.estimator.labels import labelled
from duckdb_priv.release import catalog
from duckdb_priv.release.model import SCALE, SensitiveAttribute, group_column
from duckdb_priv.sqltext.quoting import identifier, literal

MOST_ROWS = 10_000_000
"""Rows times values up to which a release carries a view with one row for each of both."""


def create_sensitive_tables(
    connection: duckdb.DuckDBPyConnection, attributes: Iterable[SensitiveAttribute]
) -> None:
    """Create the second table of a release whose groups list their values, one for each sensitive attribute."""
    for attribute in attributes:
        if form_of(attribute).listed:
            name, query, comment = _sensitive_table(attribute)
            connection.execute(f"CREATE VIEW {identifier(name)} AS {query}")
            connection.execute(_comment(name, comment))


def drop_sensitive_tables(connection: duckdb.DuckDBPyConnection, release: str) -> None:
    """Drop the second tables of a release."""
    for of in catalog.published_columns(connection, release):
        if of.form is not None and FORMS[of.form].listed:
            connection.execute(
                f"DROP VIEW IF EXISTS {identifier(_name_of_table(release, of.attribute))}"
            )


def statements(
    connection: duckdb.DuckDBPyConnection, release: str, attributes: Iterable[SensitiveAttribute]
) -> list[str]:
    """Return the SQL of the views of a release, whose catalog rows are in the current database."""
    columns = catalog.published_columns(connection, release)
    public = [of.name for of in columns if of.role == "public"]
    explained = {of.attribute for of in columns if of.labels}
    (rows,) = connection.execute(
        "SELECT rows_published FROM priv.release WHERE release = ?", [release]
    ).fetchall()[0]
    named: dict[str, tuple[str, str]] = {}
    for attribute in attributes:
        for name, query, comment in _views(attribute, public, explained, rows):
            # Two attributes can make one name, a_b by c and a by b_c: the first keeps it.
            named.setdefault(name.lower(), (name, f"CREATE VIEW {identifier(name)} AS {query}"))
            named.setdefault(f"{name.lower()} ", (name, _comment(name, comment)))
    return [statement for name, statement in named.values() if name.lower() != release.lower()]


def _comment(name: str, comment: str) -> str:
    return f"COMMENT ON VIEW {identifier(name)} IS {literal(comment)}"


def _views(
    attribute: SensitiveAttribute, public: Sequence[str], explained: Collection[str], rows: int
) -> list[tuple[str, str, str]]:
    """Return name, query and comment of every view of one attribute; the codes of those ``explained`` have labels."""
    stem = f"{attribute.release}_{attribute.name}"
    found = [
        (
            f"{stem}_estimates",
            _distribution(attribute, None, explained),
            f"ESTIMATES, not counts: how many source records have each {attribute.name}, with 95% intervals.",
        ),
        *(
            (
                f"{stem}_by_{column}",
                _distribution(attribute, column, explained),
                f"ESTIMATES, not counts: how many source records have each {attribute.name}, by {column},"
                " with 95% intervals.",
            )
            for column in public
        ),
    ]
    if form_of(attribute).listed:
        found.append(_sensitive_table(attribute))
    if attribute.blocks:
        found.append(
            (
                f"{stem}_blocks",
                _values_of_blocks(attribute),
                f"The values of {attribute.name} in each block, of which records report the number.",
            )
        )
    if rows * attribute.size <= MOST_ROWS and _has_weights(attribute):
        found.append(
            (
                f"{stem}_weights",
                _weighted(attribute, public),
                f"One row per published row and value of {attribute.name}: SUM(weight), by any public columns and"
                f" {attribute.name}, ESTIMATES the number of source records. Never count the rows.",
            )
        )
    return found


def _has_weights(attribute: SensitiveAttribute) -> bool:
    """Whether every value has weights, and counting the rows that show it is not all that they say."""
    form = form_of(attribute)
    return form.invertible and form.perturbed and not form.copied


def _sensitive_table(attribute: SensitiveAttribute) -> tuple[str, str, str]:
    name, column = identifier(attribute.name), identifier(attribute.column)
    group = identifier(group_column(attribute.name))
    return (
        _name_of_table(attribute.release, attribute.name),
        f"SELECT {group}, unnest({column}) AS {name}, 1 AS count"
        f" FROM (SELECT DISTINCT {group}, {column} FROM {identifier(attribute.release)})",
        f"The values of {attribute.name} in every group of {attribute.release}, and how many of its records have each.",
    )


def _name_of_table(release: str, attribute: str) -> str:
    """Name the second table of a release whose groups list the values of an attribute."""
    return f"{release}_{attribute}"


def _values_of_blocks(attribute: SensitiveAttribute) -> str:
    """Write the query that lists the values of each block, made from the catalog."""
    kind, name = attribute.type, identifier(attribute.name)
    this = f"release = {literal(attribute.release)} AND attribute = {literal(attribute.name)}"
    return (
        f"SELECT (held.first + c.position * a.blocks.stride) % a.blocks.number AS block,"
        f" list(CAST(c.value AS {kind}) ORDER BY c.position ASC) AS {name}"
        f" FROM (FROM priv.attribute WHERE {this}) AS a, (SELECT unnest(blocks.first) AS first FROM priv.attribute"
        f" WHERE {this}) AS held, (FROM priv.coefficient WHERE {this}) AS c GROUP BY block ORDER BY block"
    )


def _distribution(
    attribute: SensitiveAttribute, column: str | None, explained: Collection[str]
) -> str:
    arguments = [literal(f"{attribute.release}.{attribute.name}")]
    if column is not None:
        arguments.append(f"group_columns := {literal(identifier(column))}")
    if form_of(attribute).weighed:
        arguments.append(f"weight := {literal(SCALE)}")
    if not form_of(attribute).invertible:
        arguments.append("method := 'bayesian'")
    query = f"FROM priv.reconstructed_distribution({', '.join(arguments)})"
    if column is not None and column.lower() == "value":
        # The answer has two columns of that name, and codes could be taken for those of the other.
        return query
    groups = {} if column is None else {column: column}
    return labelled(query, groups | {"value": attribute.name}, explained)


def _weighted(attribute: SensitiveAttribute, public: Sequence[str]) -> str:
    kind = "VARCHAR" if attribute.type == "ENUM" else attribute.type
    name = identifier(attribute.name)
    weight = (
        "weight" if "weight" not in {column.lower() for column in public} else "estimate_weight"
    )
    key = literal(f"{attribute.release}.{attribute.name}")
    form = form_of(attribute)
    row, scale = f", weight := t.{SCALE}" * form.varied, f" * t.{SCALE}" * form.scaled
    columns = "".join(f"t.{identifier(column)}, " for column in public)
    return (
        f"SELECT {columns}CAST(c.value AS {kind}) AS {name},"
        f" priv.weight({key}, t.{identifier(attribute.column)}, c.value{row}){scale} AS {weight}"
        f" FROM {identifier(attribute.release)} AS t, priv.coefficient AS c"
        f" WHERE c.release = {literal(attribute.release)} AND c.attribute = {literal(attribute.name)}"
    )
