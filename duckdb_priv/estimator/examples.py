"""Example questions with their SQL, stored in the release file, for readers who do not know the release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import duckdb

from duckdb_priv.estimator.estimated import counted_table
from duckdb_priv.estimator.estimated_names import SCHEMA
from duckdb_priv.estimator.forms import estimable, form_of
from duckdb_priv.release import catalog
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext.quoting import identifier, literal, plain_identifier

VIEW = "priv.example"
FEWEST, MOST = 2, 30
"""Smallest and largest number of values of a public column that examples group by."""
SHOWN = 3
"""Maximum number of attributes with their own questions."""


def statements(
    connection: duckdb.DuckDBPyConnection, release: str, attributes: Sequence[SensitiveAttribute]
) -> list[str]:
    """Return the SQL that creates ``priv.example`` for a release of the current database."""
    rows = ",\n    ".join(
        f"({number}, {literal(question)}, {literal(statement)})"
        for number, (question, statement) in enumerate(
            questions(connection, release, attributes), start=1
        )
    )
    return [
        f"CREATE VIEW {VIEW} AS FROM (VALUES\n    {rows}\n) AS t(number, question, statement)",
        f"COMMENT ON VIEW {VIEW} IS 'Questions that run on this very file: copy a statement, and change it.'",
    ]


def questions(
    connection: duckdb.DuckDBPyConnection, release: str, attributes: Sequence[SensitiveAttribute]
) -> Iterator[tuple[str, str]]:
    """Yield questions, each with the statement that answers it."""
    yield (
        "What is published, and how?",
        "SELECT release, mechanism, parameters, rows_published FROM priv.release;",
    )
    yield (
        "Which columns are there, and which are partly random?",
        "SELECT attribute, column_name, role, type, domain_size FROM priv.attribute;",
    )
    yield (
        "What does it promise to the people in it?",
        "SELECT attribute, statement FROM priv.guarantee;",
    )
    meanings = {
        of.attribute: dict(of.labels) for of in catalog.published_columns(connection, release)
    }
    if any(meanings.values()):
        yield "What do its codes mean?", "FROM priv.label;"
    if counted_table(connection, release, attributes).summable:
        for question, select, rows in ordinary(attributes[0]):
            yield (
                f"The same in ordinary SQL: {question}",
                f"USE {SCHEMA}; {select} {rows}; USE main;",
            )
    for attribute in attributes[:SHOWN]:
        group = group_column(connection, attribute, attributes)
        yield from _about(attribute, group, meanings[attribute.name])


def ordinary(attribute: SensitiveAttribute) -> Iterator[tuple[str, str, str]]:
    """Yield a question in ordinary SQL: its words, its SELECT list, and the rest; nothing if no value can be estimated.

    It counts every value, or one value if others are in every decoy group: these have no estimate.
    """
    name, table = plain_identifier(attribute.name), plain_identifier(attribute.release)
    counted = "count(*), count_low(), count_high()"
    value = _first(attribute)
    if len(estimable(attribute)) == attribute.size:
        question = f"how many records have each {attribute.name}?"
        yield question, f"SELECT {name}, {counted}", f"FROM {table} GROUP BY {name} ORDER BY {name}"
    elif value is not None:
        question = f"how many records have {attribute.name} = {value}?"
        yield question, f"SELECT {counted}", f"FROM {table} WHERE {name} = {literal(value)}"


def _first(attribute: SensitiveAttribute) -> str | None:
    return next((each for each in estimable(attribute) if each is not None), None)


def _about(
    attribute: SensitiveAttribute, group: str | None, meanings: Mapping[str | None, str]
) -> Iterator[tuple[str, str]]:
    form, name, table = form_of(attribute), attribute.name, identifier(attribute.release)
    weight = ", weight := 'scale'" if form.weighed else ""
    method = "" if form.invertible else ", method := 'bayesian'"
    key = literal(f"{attribute.release}.{name}")
    yield (
        f"How many records have each {name}, with 95% intervals?",
        f"FROM priv.reconstructed_distribution({key}{weight}{method});",
    )
    value = _first(attribute)
    if value is None or not form.invertible:
        return
    chosen = f"{name} = {value}" + (f" ({meanings[value]})" if value in meanings else "")
    arguments = f"{key}, {identifier(attribute.column)}, {literal(value)}"
    scale = ", weight := scale" if form.weighed else ""
    interval = f"unnest(priv.reconstructed_interval({arguments}{scale}))"
    yield f"How many records have {chosen}?", f"SELECT {interval} FROM {table};"
    if group is not None:
        column = identifier(group)
        yield (
            f"How many records have {chosen}, by {group}?",
            f"SELECT {column}, {interval} FROM {table} GROUP BY {column} ORDER BY {column};",
        )


def group_column(
    connection: duckdb.DuckDBPyConnection,
    attribute: SensitiveAttribute,
    attributes: Sequence[SensitiveAttribute],
) -> str | None:
    """Return the public column with the fewest values that can be grouped by, if there is one."""
    asked = {each.column for each in attributes if form_of(each).perturbed} | {attribute.column}
    columns = [
        of.name
        for of in catalog.published_columns(connection, attribute.release)
        if of.name not in asked and of.role in ("public", "sensitive")
    ]
    if not columns:
        return None
    counted = ", ".join(f"count(DISTINCT {identifier(name)})" for name in columns)
    (counts,) = connection.execute(
        f"SELECT {counted} FROM {identifier(attribute.release)}"
    ).fetchall()
    found = [
        (count, name)
        for count, name in zip(counts, columns, strict=True)
        if FEWEST <= count <= MOST
    ]
    return min(found)[1] if found else None
