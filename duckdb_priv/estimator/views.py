"""Views of estimates for tools that cannot call macros.

DuckDB binds a view in its own catalog. So unlike a macro it may name tables and macros of its release file, and it
stays correct if the file is attached but not in use. Its numbers are rounded to whole records and never below 0. The
macros return the exact ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import duckdb

from duckdb_priv.estimator.forms import FORMS, estimable, form_of
from duckdb_priv.estimator.labels import labelled
from duckdb_priv.release import catalog
from duckdb_priv.release.model import SCALE, SensitiveAttribute, group_column
from duckdb_priv.sqltext.quoting import identifier, literal

ENDS = ("value", "estimate", "low", "high", "noisy_count")
"""The columns of every view of estimates, in order, after its group columns."""
MOST_BY = 6
"""Maximum number of views by a public column, so that SHOW TABLES stays short."""
MOST_ROWS = 10_000_000
"""Maximum of rows times values for which a release has a view with one row for each pair."""


def create_sensitive_tables(
    connection: duckdb.DuckDBPyConnection, attributes: Iterable[SensitiveAttribute]
) -> None:
    """Create the second table of each sensitive attribute in a release whose groups list their values."""
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
    """Return the SQL of the views of a release in the current database."""
    columns = catalog.published_columns(connection, release)
    public = {of.name: of.type for of in columns if of.role == "public"}
    attributes = list(attributes)
    few = [*public] if are_few(len(public), attributes) else []
    explained = {of.attribute for of in columns if of.labels}
    (rows,) = connection.execute(
        "SELECT rows_published FROM priv.release WHERE release = ?", [release]
    ).fetchall()[0]
    named: dict[str, tuple[str, str]] = {}
    for attribute in attributes:
        for name, query, comment in _views(attribute, public, few, explained, rows):
            # Two attributes can give the same name, a_b by c and a by b_c: the first one keeps it.
            named.setdefault(name.lower(), (name, f"CREATE VIEW {identifier(name)} AS {query}"))
            named.setdefault(f"{name.lower()} ", (name, _comment(name, comment)))
    return [statement for name, statement in named.values() if name.lower() != release.lower()]


def _comment(name: str, comment: str) -> str:
    return f"COMMENT ON VIEW {identifier(name)} IS {literal(comment)}"


def estimates(attribute: SensitiveAttribute) -> str:
    """Return the name of the view that estimates the count of every value of an attribute.

    >>> from types import SimpleNamespace
    >>> estimates(SimpleNamespace(release="visits", name="disease"))
    'visits_disease_estimates'
    """
    return f"{attribute.release}_{attribute.name}_estimates"


def by(attribute: SensitiveAttribute, column: str) -> str:
    """Return the name of the view that estimates these counts by a public column."""
    return f"{attribute.release}_{attribute.name}_by_{column}"


def heading(column: str) -> str:
    """Return the name of a public column in its view: another one if estimates have a column of that name.

    >>> heading("age"), heading("Value")
    ('age', 'public_Value')
    """
    return f"public_{column}" if column.lower() in (*ENDS, "stderr") else column


def are_few(public: int, attributes: Sequence[SensitiveAttribute]) -> bool:
    """Whether a release with ``public`` public columns has a view by each of them."""
    return public * len(attributes) <= MOST_BY


def _views(
    attribute: SensitiveAttribute,
    public: Mapping[str, str],
    few: Sequence[str],
    explained: Collection[str],
    rows: int,
) -> list[tuple[str, str, str]]:
    """Return name, query and comment of every view of an attribute: over all records, and by each of ``few`` columns.

    ``public`` are the public columns with their types. ``explained`` are the attributes whose codes have labels.
    """
    stem = f"{attribute.release}_{attribute.name}"
    found = [
        (
            estimates(attribute),
            _distribution(attribute, None, public, explained),
            f"ESTIMATES, not counts: how many source records have each {attribute.name}, with 95% intervals.",
        ),
        *(
            (
                by(attribute, column),
                _distribution(attribute, column, public, explained),
                f"ESTIMATES, not counts: how many source records have each {attribute.name}, by {column},"
                " with 95% intervals.",
            )
            for column in few
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
    """Whether every value has weights that differ from counting the rows that show it."""
    form = form_of(attribute)
    every_value = len(estimable(attribute)) == attribute.size
    return form.invertible and form.perturbed and not form.copied and every_value


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
    """Return the name of an attribute's second table in a release whose groups list their values."""
    return f"{release}_{attribute}"


def _values_of_blocks(attribute: SensitiveAttribute) -> str:
    """Write the query that lists the values of each block, from the catalog."""
    kind, name = attribute.type, identifier(attribute.name)
    this = f"release = {literal(attribute.release)} AND attribute = {literal(attribute.name)}"
    return (
        f"SELECT number::VARCHAR AS block, list(CAST(value AS {kind}) ORDER BY position ASC) AS {name} FROM ("
        f"SELECT (held.first + c.position * a.blocks.stride) % a.blocks.number AS number, c.value, c.position"
        f" FROM (FROM priv.attribute WHERE {this}) AS a, (SELECT unnest(blocks.first) AS first FROM priv.attribute"
        f" WHERE {this}) AS held, (FROM priv.coefficient WHERE {this}) AS c) GROUP BY number ORDER BY number"
    )


def _distribution(
    attribute: SensitiveAttribute,
    column: str | None,
    public: Mapping[str, str],
    explained: Collection[str],
) -> str:
    """Write the query of a view of estimates: rounded to whole records and clipped to the possible range."""
    arguments = [literal(f"{attribute.release}.{attribute.name}")]
    groups = {}
    if column is not None:
        alias = heading(column)
        groups = {alias: column}
        grouped = f"{_text(identifier(column), public[column])} AS {identifier(alias)}"
        arguments.append(f"group_columns := {literal(grouped)}")
    if form_of(attribute).weighed:
        arguments.append(f"weight := {literal(SCALE)}")
    if not form_of(attribute).invertible:
        arguments.append("method := 'bayesian'")
    query = (
        f"SELECT {''.join(f'{identifier(alias)}, ' for alias in groups)}value,"
        " TRY_CAST(greatest(least(round(estimate), ceil(high)), 0) AS BIGINT) AS estimate,"
        " TRY_CAST(floor(low) AS BIGINT) AS low, TRY_CAST(ceil(high) AS BIGINT) AS high, noisy_count"
        f" FROM priv.reconstructed_distribution({', '.join(arguments)})"
    )
    return labelled(query, groups | {"value": attribute.name}, explained)


def _text(sql: str, kind: str) -> str:
    """Write a column of a view. An ENUM becomes text: a tool would print all its values in the header."""
    return f"CAST({sql} AS VARCHAR)" if kind.startswith("ENUM") else sql


def _weighted(attribute: SensitiveAttribute, public: Mapping[str, str]) -> str:
    kind = "VARCHAR" if attribute.type == "ENUM" else attribute.type
    name = identifier(attribute.name)
    taken = {column.lower() for column in (*public, attribute.name)}
    weight = "weight" if "weight" not in taken else "estimate_weight"
    key = literal(f"{attribute.release}.{attribute.name}")
    form = form_of(attribute)
    row, scale = f", weight := t.{SCALE}" * form.varied, f" * t.{SCALE}" * form.scaled
    columns = "".join(
        f"{_text(f't.{identifier(column)}', kind)} AS {identifier(column)}, "
        for column, kind in public.items()
    )
    return (
        f"SELECT {columns}CAST(c.value AS {kind}) AS {name},"
        f" priv.weight({key}, t.{identifier(attribute.column)}, c.value{row}){scale} AS {weight}"
        f" FROM {identifier(attribute.release)} AS t, priv.coefficient AS c"
        f" WHERE c.release = {literal(attribute.release)} AND c.attribute = {literal(attribute.name)}"
    )
