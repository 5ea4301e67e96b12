"""What a card says of a release: read from the release alone, or beside the truth.

Everything here goes through SQL that an analyst can run; only ``read_truth`` looks at the source.
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
from duckdb_priv.card.posteriors import highest_posteriors
from duckdb_priv.card.reliability import reliable_from
from duckdb_priv.engine.source import Source, parse_name
from duckdb_priv.errors import InvalidSource
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.evaluation.answers import Reader, open_reader, reconstruct
from duckdb_priv.evaluation.workload import Draw, draw
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.methods.register import METHODS
from duckdb_priv.release import catalog
from duckdb_priv.release.catalog import Connection
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.reading import count_of, types_of

QUERIES = 1500
"""How many questions the picture of the errors is made from."""
SETS = 3
"""How many public columns, and pairs of them, these are about at most. Each takes a statement, and how far a count is
off depends on its size rather than on what is counted."""
PERSON, OF_VALUE = "privacy_of_a_person", "local_differential_privacy"
ABSENT = ("records_left_out", "values_left_out")
"""The guarantees of all that is published of a person, and of one value, and what says how many records are missing."""
WORDS = ("title", "description", "contact", "licence")
"""What the publisher says of a release, for the header of its card."""
SHOWN, SHOWN_OF_SEVERAL = 12, 6
"""How many values of an attribute are listed, of the only one and of one among several."""
ERRORS = (0.1, 0.25)
"""Shares of a count by which estimates may be off: the card says from which size on each holds."""
MEANINGS = {
    "retention": "probability that a record keeps its value",
    "gamma": "size of the decoy groups",
    "l": "smallest size of the groups, whose values are all different",
    "rho1": "what was thought at most so likely",
    "rho2": "is thought at most so likely afterwards",
    "epsilon": "epsilon",
    "epsilon1": "what the choice of the levels took of epsilon",
    "delta": "delta",
    "k": "smallest group that is published",
    "beta": "probability that a record is sampled",
    "sample_size": "most records that represent one group",
    "together": "rows of a group that were sampled together, 1 where some have left",
    "max_frequency": "largest frequency that is allowed for",
}
"""What parameters are, in words, by their names."""
LEARNED = 10
"""How many values the table of what can be learned has, the most exposed first."""
WORST = ((0.75, "little"), (0.95, "something"), (0.995, "much"))
NEARLY_ALL = "nearly everything"
"""How much someone who was half sure learns, by how sure they may be afterwards."""
SENTENCE = re.compile(r"(?<=\.) (?=[A-Z])")


@dataclass(frozen=True)
class Value:
    """One value of a sensitive attribute."""

    name: str | None
    label: str | None
    """What it means, where its publisher said it."""
    estimate: float
    low: float
    high: float
    before: float
    """Prior: the probability that a record has the value, for someone who knows the frequencies."""
    after: float | None
    """Highest posterior, whatever is reported of the record; None where records are not perturbed one by one."""
    true: int | None
    """How many records have it; None where that is not known."""


@dataclass(frozen=True)
class AttributeCard:
    """A sensitive attribute as the card shows it."""

    name: str
    values: Sequence[Value]
    """Those of the most records first."""
    size: int
    errors: Chart | None
    reliable: Sequence[tuple[float, float | None]]
    """Shares, and the size from which on nearly all counts are within plus and minus this share; empty where nothing
    was asked."""


@dataclass(frozen=True)
class Person:
    """What all that is published of one person can say."""

    statement: str
    half: float | None
    """What someone who was half sure may be sure of afterwards; None where nothing is promised of all together."""
    worst: str
    """How much can be learned in the worst case, in words."""


@dataclass(frozen=True)
class Learned:
    """What can be learned of a person, of one value."""

    column: str
    value: Value
    one: float
    """How likely it is at most after one noisy value."""
    all: float | None
    """And after all that is published of the person."""


@dataclass(frozen=True)
class Truth:
    """What the source says; for the publisher alone."""

    source: str
    counts: Mapping[str, Mapping[str | None, int]]
    """By sensitive attribute: how many records have each value."""
    answers: Mapping[str, tuple[Vector, Vector, Vector, Vector]]
    """By sensitive attribute: true counts, standard errors, signed relative errors, whether intervals cover."""


@dataclass(frozen=True)
class Card:
    """Everything on a card."""

    release: str
    mechanism: str
    rows: int
    created: str
    version: str
    columns: Sequence[tuple[str, str, str, int | None]]
    """Name, role, type and domain size."""
    alone: tuple[int, float] | None
    """How many rows have public columns that nobody else has, and which share of all; None without public columns."""
    labels: catalog.Labels
    """What codes mean, by column."""
    levels: Mapping[str, int]
    """To which level of its hierarchy a column is generalized."""
    parameters: Sequence[tuple[str, str]]
    """Meaning, value."""
    person: Person | None
    learned: Sequence[Learned]
    """Values by how likely they are at most afterwards, the most exposed first."""
    absent: str | None
    """How many records are not here, in words; None where nothing was left out."""
    promises: Sequence[str]
    """What is promised, in words, each sentence once."""
    attributes: Sequence[AttributeCard]
    statements: Sequence[tuple[str, str]]
    """What each does, and the SQL."""
    provenance: Mapping[str, str]
    scaled: bool
    """Whether a row stands for several records."""
    varied: bool
    """Whether rows differ in how far they are perturbed."""
    sampled: bool
    """Whether it is a generalized sample, in which no column is perturbed."""
    truth: str | None
    """The source that the card was computed from; None where it speaks from the release alone."""
    coverage: float | None
    missing: str | None
    """The source that the release could not be compared with, where it should have been."""
    words: Mapping[str, str]
    """What its publisher says of it: title, description, contact, licence; empty if it gave none."""
    warnings: Sequence[str]
    """What its publisher was warned of; only on a card that is not handed out."""


def read_card(
    connection: Connection, release: str, truth: Truth | None = None, missing: str | None = None
) -> Card:
    """Read a card from the current database, which is a publisher's or a release file."""
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
        # Counts of a sample have the same errors, whichever column they are about.
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
        alone=_alone(connection, release),
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
        coverage=float(np.concatenate(covered).mean()) if covered else None,
        missing=missing,
        words=_words(connection, release),
        warnings=_warnings(connection, release) if truth else (),
    )


def _words(connection: Connection, release: str) -> dict[str, str]:
    """Read what the publisher says of a release."""
    cursor = connection.execute("FROM priv.release WHERE release = ?", [release])
    names = [column[0] for column in cursor.description]
    found = dict(zip(names, cursor.fetchall()[0], strict=True))
    return {name: found.get(name) or "" for name in WORDS}


def _alone(connection: Connection, release: str) -> tuple[int, float] | None:
    """Count the rows whose public columns nobody else has."""
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
    """Evaluate a release against its source, as the ledger names it. For the publisher alone.

    Raises duckdb.Error where the source is gone or has changed its columns.
    """
    publication = catalog.last_publication(connection, release)
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
    # Of a sample, the law of sampling: what was suppressed has no standard error of its own.
    beta = publication.parameters.get("beta")
    stderr = "stderr" if beta is None else f"sqrt(true_count * {literal((1 - beta) / beta)})"
    rows = connection.execute(
        f"SELECT attribute, true_count, {stderr}, (estimate - true_count) / true_count, covered::INTEGER"
        f" FROM priv.evaluate({literal(publication.source)}, {literal(release)}, queries := {QUERIES},"
        f" hierarchies := {literal(hierarchies)}) ORDER BY query"
    ).fetchall()
    if hierarchies is not None:
        # All columns of a sample have the same errors, and are shown together.
        rows = [(attributes[0].name, *row[1:]) for row in rows]
    return Truth(
        publication.source,
        counts,
        {
            each.name: _columns([row[1:] for row in rows if row[0] == each.name])
            for each in attributes
        },
    )


def _generalized_counts(
    table: str, column: str, hierarchies: str, parameters: Mapping[str, Any]
) -> str:
    """Count the values that a column has after generalizing."""
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
    """Return what is said of a person, and its epsilon: that of all values and records, as the release states it.

    Where a record has one noisy value, and nothing says how many records a person has, it is that of the value.
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
    """List values of all attributes by how likely they are at most after all that is published of a person."""
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
    """Return all statements, and a sentence that several attributes share but for their names once.

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
    """Join names, as in a sentence."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _parameters(mechanism: str, stated: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List parameters with what they are, in words."""
    rows = []
    method = METHODS.get(mechanism)
    own = {name: meaning for name, (_, meaning) in (method.symbols if method else {}).items()}
    for name, value in stated.items():
        if name == "levels":
            # Beside the columns that they are of.
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
    """Read what the card shows of an attribute; where it is not ``asked`` about, without its errors."""
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
    """Reconstruct every value over the whole release, with what may be believed of a record."""
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
            # Of a value in every decoy group only bounds are known: the middle of them orders it among the others.
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
    """Return estimates and their standard errors, of questions drawn from what the release shows."""
    nothing = np.empty(0)
    if not form_of(attribute).invertible:
        return nothing, nothing, None
    name, column = identifier(attribute.name), identifier(attribute.column)
    value = f"unnest({column})" if form_of(attribute).listed else column
    if attribute.blocks:
        # Any of the values that a block holds; so that all of them are asked for, one by its number.
        every = f"(SELECT list(CAST(value AS {attribute.type}) ORDER BY position) FROM priv.coefficient WHERE"
        every += (
            f" release = {literal(attribute.release)} AND attribute = {literal(attribute.name)})"
        )
        value = f"list_extract({every}, {column}::INTEGER % {attribute.size} + 1)"
    elif not form_of(attribute).listed and attribute.type != "ENUM":
        value = f"{column}::{attribute.type}"
    # The questions are about the attribute, and what is shown of it is what there is to draw them from.
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
    """Drop the temporary tables of questions and answers, however the work on them ends."""
    try:
        yield
    finally:
        for table in ("drawn", "queries", "asked", "answers"):
            # In a transaction that has failed nothing can be dropped, and nothing stays.
            with suppress(duckdb.Error):
                connection.execute(f"DROP TABLE IF EXISTS temp.main._priv_{table}")


def _statements(reader: Reader) -> list[tuple[str, str]]:
    """Write queries that can be copied."""
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
        ("How many truly have a value", f"SELECT priv.reconstructed_count({asked}) FROM {table};"),
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
