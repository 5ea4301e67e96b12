"""Reads the content of a release's card, from the release alone or together with its source.

All statements are SQL that an analyst can run. Only ``read_truth`` reads the source.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np

from duckdb_priv.card.charts import Chart, error_chart, reliable_from
from duckdb_priv.engine.source import Source, quoted_name
from duckdb_priv.errors import InvalidSource
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.evaluation.answers import Reader, distribution, open_reader, reconstruct
from duckdb_priv.evaluation.workload import DrawArguments, draw
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.methods.common.operator_audit import highest_posteriors
from duckdb_priv.methods.register import METHODS
from duckdb_priv.publisher.absent import ABSENT
from duckdb_priv.publisher.persons import OF_VALUE, PERSON
from duckdb_priv.release import catalog
from duckdb_priv.release.catalog import Connection
from duckdb_priv.release.model import Guarantee, SensitiveAttribute
from duckdb_priv.sqltext.quoting import identifier, identifiers, literal
from duckdb_priv.sqltext.reading import count_of, types_of
from duckdb_priv.sqltext.templates import section

QUERIES = 1500
"""The number of queries from which the chart of errors is drawn."""
WISH = DrawArguments(queries=QUERIES, max_public_attributes=2, min_selectivity=0.0, seed="card")
"""The queries that are drawn from a release without its source."""
SETS = 3
"""The most public columns and pairs of columns that these queries use. Each needs a statement, and the error of a count
depends on its size more than on its columns."""
SHOWN, SHOWN_OF_SEVERAL = 12, 6
"""The number of values that are listed for a single attribute, and for each of several attributes."""
WARNINGS = "SELECT warning FROM priv.warning WHERE release = ? ORDER BY number"
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

    @property
    def coverage(self) -> float | None:
        """The share of the intervals that cover the true count; None without queries."""
        covered = [answer[3] for answer in self.answers.values()]
        return float(np.concatenate(covered).mean()) if covered else None


@dataclass(frozen=True)
class Card:
    """The content of a card."""

    release: str
    row: Mapping[str, Any]
    """The catalog row of the release."""
    columns: Sequence[catalog.PublishedColumn]
    alone: tuple[int, float] | None
    """The number and the share of rows that are unique in the public columns; None without public columns."""
    labels: catalog.Labels
    """The labels of values, by column."""
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
    scaled: bool
    """Whether a row represents several records."""
    varied: bool
    """Whether the perturbation differs between rows."""
    sampled: bool
    """Whether the release is a generalized sample without perturbed columns."""
    truth: Truth | None
    """The comparison with the source; None if the card was computed from the release alone."""
    missing: str | None
    """The source if the comparison with it failed; else None."""
    warnings: Sequence[str]
    """The warnings of the publication; only on the publisher's card."""


def read_card(
    connection: Connection, release: str, truth: Truth | None = None, missing: str | None = None
) -> Card:
    """Read the content of a card from the current database: the publisher's, or a release file."""
    row = catalog.release_row(connection, release)
    columns = catalog.published_columns(connection, release)
    reader = open_reader(connection, release)
    attributes = reader.attributes
    labels = {of.attribute: of.labels for of in columns if of.labels}
    sampled = not any(form_of(each).perturbed for each in attributes)
    guarantees = catalog.guarantees(connection, release)
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
        row=row,
        columns=sorted(columns, key=lambda of: of.role == "public"),
        alone=_unique_rows(connection, release, reader.types),
        labels=labels,
        parameters=_parameters(row["mechanism"], row["parameters"]),
        person=person,
        learned=_learned(cards, epsilon),
        absent=" ".join(each.statement for each in guarantees if each.name in ABSENT) or None,
        promises=_once([each for each in guarantees if each.name not in (PERSON, *ABSENT)]),
        attributes=[replace(each, values=each.values[:shown]) for each in cards],
        statements=_statements(reader),
        scaled=any(form_of(each).scaled for each in attributes),
        varied=any(form_of(each).varied for each in attributes),
        sampled=sampled and bool(attributes),
        truth=truth,
        missing=missing,
        warnings=[warning for (warning,) in connection.execute(WARNINGS, [release]).fetchall()]
        if truth
        else (),
    )


def _unique_rows(
    connection: Connection, release: str, public: Iterable[str]
) -> tuple[int, float] | None:
    """Return the number and the share of rows that are unique in the public columns; None without such columns."""
    if not (columns := identifiers(public)):
        return None
    table = f"main.{identifier(release)}"
    query = section("audits", "unique_rows", records="count(*)", table=table, columns=columns)
    ((alone, share),) = connection.execute(query).fetchall()
    return alone, share or 0.0


def read_truth(connection: Connection, release: str) -> Truth:
    """Compare a release with its source, whose name is in the ledger. For the publisher only.

    Raises duckdb.Error if the source is gone or its columns have changed.
    """
    publication = last_of(connection, release)
    table = quoted_name(publication.source)
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
    return (
        f"SELECT h.generalized::VARCHAR, count(*) FROM {table} AS s JOIN {quoted_name(hierarchies)} AS h"
        f" ON lower(h.attribute) = lower({literal(column)}) AND h.level = {parameters['levels'][column]}"
        f" AND h.value::VARCHAR IS NOT DISTINCT FROM s.{identifier(column)}::VARCHAR GROUP BY ALL"
    )


def _columns(rows: Sequence[Sequence[float]]) -> tuple[Vector, Vector, Vector, Vector]:
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return table[:, 0], table[:, 1], table[:, 2], table[:, 3]


def _person(
    guarantees: Sequence[Guarantee],
) -> tuple[Person | None, float | None]:
    """Return the guarantee about a person and its epsilon, for all values and records of the person.

    If the release states none and has one sensitive attribute, the guarantee is that of one value.
    """
    of_persons = [each for each in guarantees if each.name == PERSON]
    of_values = [each for each in guarantees if each.name == OF_VALUE and each.attribute]
    if of_persons:
        epsilon, statement = of_persons[-1].value, of_persons[-1].statement
    elif len(of_values) == 1:
        epsilon, statement = of_values[0].value, SENTENCE.split(of_values[0].statement)[0]
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


def _once(guarantees: Sequence[Guarantee]) -> list[str]:
    """Return all statements; a sentence that differs only in the attribute's name is returned once for all attributes.

    >>> _once([Guarantee("x", f"Of {name}: 2. Same.", attribute=name) for name in "ab"] + [Guarantee("y", "Rest.")])
    ['Of a or b: 2. Same.', 'Rest.']
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for each in guarantees:
        of_any = rf"\b{re.escape(each.attribute)}\b" if each.attribute else None
        text = re.sub(of_any, "\0", each.statement) if of_any else each.statement
        groups.setdefault((each.name, text), []).append(each.attribute or "")
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
    method = "inverse" if form_of(attribute).invertible else "bayesian"
    found = {
        value: (estimate, low, high)
        for value, estimate, low, high in connection.execute(
            # A value in every decoy group has only bounds, so their middle orders it among the other values.
            "SELECT value::VARCHAR, coalesce(estimate, (low + high) / 2), coalesce(low, estimate),"
            f" coalesce(high, estimate) FROM ({distribution(reader, attribute, method)})"
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
) -> tuple[Vector, Vector, None] | None:
    """Return the estimates and standard errors of queries that are drawn from the release; None if none can be."""
    if not form_of(attribute).invertible:
        return None
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
            draw(connection, shown, WISH, SETS)
        except InvalidSource:
            return None
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
