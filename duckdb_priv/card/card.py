"""Reads the content of a release's card, from the release alone or together with its source.

All statements are SQL that an analyst can run. Only ``read_truth`` reads the source.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np

from duckdb_priv.card.charts import Chart, error_chart
from duckdb_priv.card.figures import highest_posteriors, reliable_from
from duckdb_priv.engine.source import Source, parse_name
from duckdb_priv.errors import InvalidSource
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.evaluation.answers import Reader, open_reader, reconstruct
from duckdb_priv.evaluation.workload import Draw, draw
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.methods.register import METHODS
from duckdb_priv.release import catalog
from duckdb_priv.release.catalog import Connection
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.reading import count_of, types_of

QUERIES = 1500
"""The number of queries from which the chart of errors is drawn."""
SETS = 3
"""The most public columns and pairs of columns that these queries use. Each needs a statement, and the error of a count
depends on its size more than on its columns."""
PERSON, OF_VALUE = "privacy_of_a_person", "local_differential_privacy"
"""The guarantees about all published values of a person, and about one value."""
ABSENT = ("records_left_out", "values_left_out")
"""The guarantees that state how many records are missing."""
WORDS = ("title", "description", "contact", "licence")
"""The publisher's own texts in the header of the card."""
SHOWN, SHOWN_OF_SEVERAL = 12, 6
"""The number of values that are listed for a single attribute, and for each of several attributes."""
ERRORS = (0.1, 0.25)
"""Relative errors for which the card gives the smallest count that is that exact."""
MEANINGS = {
    "retention": "probability that a record keeps its value",
    "gamma": "size of the decoy groups",
    "l": "smallest size of the groups, whose values are all different",
    "rho1": "highest prior for which rho2 holds",
    "rho2": "bound on the posterior",
    "epsilon": "epsilon",
    "epsilon1": "part of epsilon for the choice of the levels",
    "delta": "delta",
    "k": "smallest group that is published",
    "beta": "probability that a record is sampled",
    "sample_size": "most records that represent one group",
    "together": "rows of a group that were sampled together; 1 if some have left",
    "max_frequency": "largest frequency of a value for which the guarantee holds",
}
"""Descriptions of parameters by name."""
LEARNED = 10
"""The number of values in the table of posteriors, the highest first."""
WORST = ((0.75, "little"), (0.95, "something"), (0.995, "much"))
NEARLY_ALL = "nearly everything"
"""How much someone with a prior of one half can learn, by the highest posterior."""
SENTENCE = re.compile(r"(?<=\.) (?=[A-Z])")


@dataclass(frozen=True)
class Value:
    """One value of a sensitive attribute."""

    name: str | None
    label: str | None
    """The publisher's label of the value; None without one."""
    estimate: float
    low: float
    high: float
    before: float
    """The prior: the probability that a record has the value, given only the frequencies."""
    after: float | None
    """The highest posterior over all noisy values; None if records are not perturbed independently."""
    true: int | None
    """The true count; None on a card without the source."""


@dataclass(frozen=True)
class AttributeCard:
    """The part of a card about a sensitive attribute."""

    name: str
    values: Sequence[Value]
    """The values, the most frequent first."""
    size: int
    errors: Chart | None
    reliable: Sequence[tuple[float, float | None]]
    """Relative errors, each with the size from which on nearly all counts are that exact; empty without queries."""


@dataclass(frozen=True)
class Person:
    """The guarantee about all published values of one person."""

    statement: str
    half: float | None
    """The highest posterior for a prior of one half; None without a common guarantee for all values."""
    worst: str
    """How much can be learned in the worst case, in words."""


@dataclass(frozen=True)
class Learned:
    """The highest posteriors of one value."""

    column: str
    value: Value
    one: float
    """The highest posterior after one noisy value."""
    all: float | None
    """The highest posterior after all published values of the person; None if there is no bound."""


@dataclass(frozen=True)
class Truth:
    """True counts from the source, for the publisher only."""

    source: str
    counts: Mapping[str, Mapping[str | None, int]]
    """The count of each value among all records of the source, by sensitive attribute."""
    whole: bool
    """Whether all records of the source entered the release."""
    answers: Mapping[str, tuple[Vector, Vector, Vector, Vector]]
    """True counts, standard errors, signed relative errors, and whether the intervals cover, by sensitive attribute."""


@dataclass(frozen=True)
class Card:
    """The content of a card."""

    release: str
    mechanism: str
    rows: int
    created: str
    version: str
    columns: Sequence[tuple[str, str, str, int | None]]
    """Name, role, type and domain size."""
    alone: tuple[int, float] | None
    """The number and the share of rows that are unique in the public columns; None without public columns."""
    labels: catalog.Labels
    """The labels of values, by column."""
    levels: Mapping[str, int]
    """The level of its hierarchy to which each column is generalized."""
    parameters: Sequence[tuple[str, str]]
    """Descriptions and values."""
    person: Person | None
    learned: Sequence[Learned]
    """Values with their posteriors, the highest first."""
    absent: str | None
    """A sentence about missing records; None if no record is missing."""
    promises: Sequence[str]
    """The statements of the guarantees, each sentence once."""
    attributes: Sequence[AttributeCard]
    statements: Sequence[tuple[str, str]]
    """Titles and SQL of example queries."""
    provenance: Mapping[str, str]
    scaled: bool
    """Whether a row represents several records."""
    varied: bool
    """Whether the perturbation differs between rows."""
    sampled: bool
    """Whether the release is a generalized sample without perturbed columns."""
    truth: str | None
    """The source with which the release was compared; None if the card was computed from the release alone."""
    whole: bool
    """Whether all records of this source entered the release."""
    coverage: float | None
    missing: str | None
    """The source if the comparison with it failed; else None."""
    words: Mapping[str, str]
    """The publisher's title, description, contact and licence; empty texts if there are none."""
    warnings: Sequence[str]
    """The warnings of the publication; only on the publisher's card."""


def read_card(
    connection: Connection, release: str, truth: Truth | None = None, missing: str | None = None
) -> Card:
    """Read the content of a card from the current database: the publisher's, or a release file."""
    mechanism, parameters, provenance, rows, created, version = connection.execute(
        "SELECT mechanism, parameters, domain_provenance, rows_published, created_at, library_version"
        " FROM priv.release WHERE release = ?",
        [release],
    ).fetchall()[0]
    reader = open_reader(connection, release)
    attributes = reader.attributes
    labels = {
        of.attribute: of.labels
        for of in catalog.published_columns(connection, release)
        if of.labels
    }
    sampled = not any(form_of(each).perturbed for each in attributes)
    covered = [answer[3] for answer in truth.answers.values()] if truth else []
    guarantees = connection.execute(
        "SELECT attribute, guarantee, value, statement FROM priv.guarantee WHERE release = ?",
        [release],
    ).fetchall()
    person, epsilon = _person(guarantees)
    cards = [
        # In a sample, counts of all columns have the same errors, so one chart is enough.
        _read_attribute(
            connection,
            reader,
            each,
            dict(labels.get(each.name, ())),
            truth,
            asked=not sampled or each is attributes[0],
        )
        for each in attributes
    ]
    shown = SHOWN if sampled or len(cards) == 1 else SHOWN_OF_SEVERAL
    return Card(
        release=release,
        mechanism=mechanism,
        rows=rows,
        created=f"{created:%Y-%m-%d %H:%M} UTC",
        version=version,
        columns=connection.execute(
            "SELECT attribute, role, type, domain_size FROM priv.attribute WHERE release = ?"
            " ORDER BY role = 'public', attribute",
            [release],
        ).fetchall(),
        alone=_unique_rows(connection, release),
        labels=labels,
        levels=json.loads(parameters).get("levels", {}),
        parameters=_parameters(mechanism, json.loads(parameters)),
        person=person,
        learned=_learned(cards, epsilon),
        absent=" ".join(phrase for _, name, _, phrase in guarantees if name in ABSENT) or None,
        promises=_once([each for each in guarantees if each[1] not in (PERSON, *ABSENT)]),
        attributes=[replace(each, values=each.values[:shown]) for each in cards],
        statements=_statements(reader),
        provenance=json.loads(provenance),
        scaled=any(form_of(each).scaled for each in attributes),
        varied=any(form_of(each).varied for each in attributes),
        sampled=sampled and bool(attributes),
        truth=truth.source if truth else None,
        whole=truth is None or truth.whole,
        coverage=float(np.concatenate(covered).mean()) if covered else None,
        missing=missing,
        words=_words(connection, release),
        warnings=_warnings(connection, release) if truth else (),
    )


def _words(connection: Connection, release: str) -> dict[str, str]:
    """Read the publisher's texts about a release."""
    cursor = connection.execute("FROM priv.release WHERE release = ?", [release])
    names = [column[0] for column in cursor.description]
    found = dict(zip(names, cursor.fetchall()[0], strict=True))
    return {name: found.get(name) or "" for name in WORDS}


def _unique_rows(connection: Connection, release: str) -> tuple[int, float] | None:
    """Return the number and the share of rows that are unique in the public columns; None without such columns."""
    public = connection.execute(
        "SELECT attribute FROM priv.attribute WHERE release = ? AND role IN ('public', 'generalized')",
        [release],
    ).fetchall()
    if not public:
        return None
    columns = ", ".join(identifier(name) for (name,) in public)
    ((alone, share),) = connection.execute(
        "SELECT count(*) FILTER (rows = 1), coalesce(count(*) FILTER (rows = 1) / sum(rows), 0) FROM"
        f" (SELECT count(*) AS rows FROM main.{identifier(release)} GROUP BY {columns})"
    ).fetchall()
    return alone, share


def _warnings(connection: Connection, release: str) -> list[str]:
    rows = connection.execute(
        "SELECT warning FROM priv.warning WHERE release = ? ORDER BY number", [release]
    )
    return [warning for (warning,) in rows.fetchall()]


def read_truth(connection: Connection, release: str) -> Truth:
    """Compare a release with its source, whose name is in the ledger. For the publisher only.

    Raises duckdb.Error if the source is gone or its columns have changed.
    """
    publication = last_of(connection, release)
    table = ".".join(map(identifier, parse_name(publication.source)))
    attributes = catalog.sensitive_attributes(connection, release)
    hierarchies = publication.parameters.get("hierarchies")
    counts = {
        each.name: dict(
            connection.execute(
                f"SELECT {identifier(each.name)}::VARCHAR, count(*) FROM {table} GROUP BY ALL"
                if hierarchies is None
                else _generalized_counts(table, each.name, hierarchies, publication.parameters)
            ).fetchall()
        )
        for each in attributes
    }
    # For a sample, the standard error is that of sampling, since suppressed groups have none.
    beta = publication.parameters.get("beta")
    stderr = "stderr" if beta is None else f"sqrt(true_count * {literal((1 - beta) / beta)})"
    rows = connection.execute(
        f"SELECT attribute, true_count, {stderr}, (estimate - true_count) / true_count, covered::INTEGER,"
        " true_count = true_count_all"
        f" FROM priv.evaluate({literal(publication.source)}, {literal(release)}, queries := {QUERIES},"
        f" hierarchies := {literal(hierarchies)}) ORDER BY query"
    ).fetchall()
    if hierarchies is not None:
        # All columns of a sample have the same errors, and are shown in one chart.
        rows = [(attributes[0].name, *row[1:]) for row in rows]
    return Truth(
        publication.source,
        counts,
        all(row[-1] for row in rows),
        {
            each.name: _columns([row[1:-1] for row in rows if row[0] == each.name])
            for each in attributes
        },
    )


def _generalized_counts(
    table: str, column: str, hierarchies: str, parameters: Mapping[str, Any]
) -> str:
    """Write the query that counts the generalized values of a column."""
    levels = ".".join(map(identifier, parse_name(hierarchies)))
    return (
        f"SELECT h.generalized::VARCHAR, count(*) FROM {table} AS s JOIN {levels} AS h"
        f" ON lower(h.attribute) = lower({literal(column)}) AND h.level = {parameters['levels'][column]}"
        f" AND h.value::VARCHAR IS NOT DISTINCT FROM s.{identifier(column)}::VARCHAR GROUP BY ALL"
    )


def _columns(rows: Sequence[Sequence[float]]) -> tuple[Vector, Vector, Vector, Vector]:
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return table[:, 0], table[:, 1], table[:, 2], table[:, 3]


def _person(
    guarantees: Sequence[tuple[str | None, str, float | None, str]],
) -> tuple[Person | None, float | None]:
    """Return the guarantee about a person and its epsilon, for all values and records of the person.

    If the release states none and has one sensitive attribute, the guarantee is that of one value.
    """
    stated = {
        name: (value, statement) for _, name, value, statement in guarantees if name == PERSON
    }
    of_values = [
        (value, statement)
        for attribute, name, value, statement in guarantees
        if name == OF_VALUE and attribute is not None
    ]
    if PERSON in stated:
        epsilon, statement = stated[PERSON]
    elif len(of_values) == 1:
        epsilon, statement = of_values[0]
        statement = SENTENCE.split(statement)[0]
        statement += " With several records of one person, epsilon is multiplied by their number."
    else:
        return None, None
    half = None if epsilon is None else 1 / (1 + math.exp(-min(epsilon, 700.0)))
    worst = next((words for most, words in WORST if (half or 0) <= most), NEARLY_ALL)
    return Person(statement, half, worst), epsilon


def _learned(attributes: Sequence[AttributeCard], epsilon: float | None) -> list[Learned]:
    """List the values of all attributes with their highest posteriors, the highest first."""
    factor = None if epsilon is None else math.exp(min(epsilon, 700.0))
    found = [
        Learned(
            attribute.name,
            value,
            value.after,
            None
            if factor is None
            else max(factor * value.before / (1 + value.before * (factor - 1)), value.after),
        )
        for attribute in attributes
        for value in attribute.values
        if value.after is not None and value.before > 0
    ]
    return sorted(found, key=lambda each: -(each.all or each.one))[:LEARNED]


def _once(guarantees: Sequence[tuple[str | None, str, float | None, str]]) -> list[str]:
    """Return all statements; a sentence that differs only in the attribute's name is returned once for all attributes.

    >>> _once([("a", "x", 1.0, "Of a: 2. Same."), ("b", "x", 1.0, "Of b: 2. Same."), (None, "y", None, "Rest.")])
    ['Of a or b: 2. Same.', 'Rest.']
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for attribute, name, _, statement in guarantees:
        text = re.sub(rf"\b{re.escape(attribute)}\b", "\0", statement) if attribute else statement
        groups.setdefault((name, text), []).append(attribute or "")
    of: dict[str, list[str]] = {}
    for (_, text), names in groups.items():
        for sentence in SENTENCE.split(text):
            of.setdefault(sentence, []).extend(names)
    found, shared = [], []
    for (_, text), names in groups.items():
        own = [each for each in SENTENCE.split(text) if "\0" not in each or of[each] == names]
        found.append(" ".join(own).replace("\0", _listed(names)))
        shared += [each for each in SENTENCE.split(text) if each not in own]
    return [
        *filter(None, found),
        *(each.replace("\0", _listed(of[each])) for each in dict.fromkeys(shared)),
    ]


def _listed(names: Sequence[str]) -> str:
    """Join names with commas and "or"."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _parameters(mechanism: str, stated: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the descriptions and values of parameters."""
    rows = []
    method = METHODS.get(mechanism)
    own = {name: meaning for name, (_, meaning) in (method.symbols if method else {}).items()}
    for name, value in stated.items():
        if name == "levels":
            # The levels are shown in the table of columns.
            continue
        meaning = (MEANINGS | own).get(name, name.replace("_", " "))
        parts = value.items() if isinstance(value, dict) else [(None, value)]
        for part, number in parts:
            rows.append((meaning if part is None else f"{meaning}: {part}", _written(number)))
    return rows


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read_attribute(
    connection: Connection,
    reader: Reader,
    attribute: SensitiveAttribute,
    labels: Mapping[str | None, str],
    truth: Truth | None,
    *,
    asked: bool,
) -> AttributeCard:
    """Read the part of the card about an attribute; its errors only if ``asked``."""
    values = _values(connection, reader, attribute, labels, truth)
    answers = truth.answers.get(attribute.name) if truth else None
    drawn: tuple[Vector, Vector, Vector | None] | None = None
    if asked:
        drawn = answers[:3] if answers else _answers(connection, reader, attribute)
    return AttributeCard(
        name=attribute.name,
        values=sorted(values, key=lambda value: -value.estimate),
        size=attribute.size,
        errors=error_chart(*drawn) if drawn else None,
        reliable=[(error, reliable_from(*drawn[:2], error)) for error in ERRORS]
        if drawn and len(drawn[0])
        else (),
    )


def _values(
    connection: Connection,
    reader: Reader,
    attribute: SensitiveAttribute,
    labels: Mapping[str | None, str],
    truth: Truth | None,
) -> list[Value]:
    """Return every value with its estimated count over the whole release, its prior and its highest posterior."""
    weight = (
        f", weight := {literal(identifier(reader.scale))}"
        if reader.scale and form_of(attribute).weighed
        else ""
    )
    method = "inverse" if form_of(attribute).invertible else "bayesian"
    of = literal(f"{attribute.release}.{attribute.name}")
    found = {
        value: (estimate, low, high)
        for value, estimate, low, high in connection.execute(
            # A value in every decoy group has only bounds, so their middle orders it among the other values.
            "SELECT value::VARCHAR, coalesce(estimate, (low + high) / 2), coalesce(low, estimate),"
            " coalesce(high, estimate)"
            f" FROM priv.reconstructed_distribution({of}, method := '{method}'{weight})"
        ).fetchall()
    }
    known = truth.counts[attribute.name] if truth else None
    weights = np.array(
        [
            max(float(known.get(value, 0) if known is not None else found[value][0]), 0.0)
            for value in attribute.values
        ]
    )
    before = weights / max(weights.sum(), 1e-300)
    after = highest_posteriors(attribute, before)
    return [
        Value(
            value,
            labels.get(value),
            estimate,
            low,
            high,
            float(before[n]),
            None if after is None else float(after[n]),
            None if known is None else known.get(value, 0),
        )
        for n, value in enumerate(attribute.values)
        for estimate, low, high in [found[value]]
    ]


def _answers(
    connection: Connection, reader: Reader, attribute: SensitiveAttribute
) -> tuple[Vector, Vector, None]:
    """Return the estimates and standard errors of queries that are drawn from the release."""
    nothing = np.empty(0)
    if not form_of(attribute).invertible:
        return nothing, nothing, None
    name, column = identifier(attribute.name), identifier(attribute.column)
    value = f"unnest({column})" if form_of(attribute).listed else column
    if attribute.blocks:
        # A row shows a block of values. Its number modulo the domain size picks one, so that queries use every value.
        every = f"(SELECT list(CAST(value AS {attribute.type}) ORDER BY position) FROM priv.coefficient WHERE"
        every += (
            f" release = {literal(attribute.release)} AND attribute = {literal(attribute.name)})"
        )
        value = f"list_extract({every}, {column}::INTEGER % {attribute.size} + 1)"
    elif not form_of(attribute).listed and attribute.type != "ENUM":
        value = f"{column}::{attribute.type}"
    # Queries are about the attribute, but are drawn from the noisy column, since the release has no other.
    table = f"(SELECT * EXCLUDE ({column}), {value} AS {name} FROM main.{identifier(attribute.release)})"
    types = types_of(connection, table)
    rows = count_of(connection, table)
    shown = Source(
        table, attribute.release, types, tuple(reader.types), (attribute.name,), (), (), rows
    )
    with _without_traces(connection):
        try:
            draw(connection, shown, Draw(QUERIES, 2, 1, max(rows, 1), "card", SETS))
        except InvalidSource:
            return nothing, nothing, None
        reconstruct(connection, [reader], method="inverse", confidence=0.95)
        found = connection.execute(
            "SELECT estimate, stderr FROM _priv_answers WHERE estimate >= 1"
        ).fetchnumpy()
    return found["estimate"], found["stderr"], None


@contextmanager
def _without_traces(connection: Connection) -> Iterator[None]:
    """Drop the temporary tables of queries and answers at the end."""
    try:
        yield
    finally:
        for table in ("drawn", "queries", "asked", "answers"):
            # In a failed transaction DROP fails, but the tables are rolled back.
            with suppress(duckdb.Error):
                connection.execute(f"DROP TABLE IF EXISTS temp.main._priv_{table}")


def _statements(reader: Reader) -> list[tuple[str, str]]:
    """Write example queries with their titles."""
    release, attributes = reader.release, reader.attributes
    if not attributes:
        return []
    attribute = attributes[0]
    table, column = identifier(release), identifier(attribute.column)
    key = literal(release if len(attributes) == 1 else f"{release}.{attribute.name}")
    scaled = bool(reader.scale) and form_of(attribute).weighed
    weight = f", weight := {identifier(str(reader.scale))}" if scaled else ""
    weight_text = f", weight := {literal(identifier(str(reader.scale)))}" if scaled else ""
    asked = f"{key}, {column}, {literal(attribute.values[0])}{weight}"
    found = [
        ("The count of one value", f"SELECT priv.reconstructed_count({asked}) FROM {table};"),
        (
            "With a 95% interval",
            f"SELECT unnest(priv.reconstructed_interval({asked})) FROM {table};",
        ),
        ("Every value", f"FROM priv.reconstructed_distribution({key}{weight_text});"),
    ]
    groups = [name for name in reader.types if name != attribute.name]
    if groups:
        by = identifier(groups[0])
        found.append(
            (
                "By a public column",
                f"SELECT {by}, priv.reconstructed_count({asked})\nFROM {table} GROUP BY {by} ORDER BY {by};",
            )
        )
    return found
