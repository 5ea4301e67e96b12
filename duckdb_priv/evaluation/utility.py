"""Computes the utility of a release: the share of true values, and the errors of reconstructed frequencies.

Source: Chaytor, Wang, "Fine grain perturbation for privacy preserving data publishing".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from duckdb_priv.engine.source import Source, key_expression, open_source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource, PrivError, echoed
from duckdb_priv.estimator.forms import Form, form_of
from duckdb_priv.evaluation.answers import open_reader
from duckdb_priv.evaluation.counted_groups import cells_of_groups
from duckdb_priv.evaluation.evaluate import entered_records, levels_of
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.mechanism.arrays import Matrix, Vector
from duckdb_priv.mechanism.conditional_poisson import MAX_INCLUSION
from duckdb_priv.mechanism.decoy_variance import remaining_errors
from duckdb_priv.mechanism.histogram_errors import (
    HistogramErrors,
    Sampled,
    of_operator,
    of_samples,
    of_scales,
)
from duckdb_priv.mechanism.operator import MAX_CONDITION_NUMBER, condition_number, invert
from duckdb_priv.mechanism.reconstruction_privacy import threshold
from duckdb_priv.mechanism.sampling_variance import suppression_bias, suppression_variance
from duckdb_priv.mechanism.uniform import Uniform
from duckdb_priv.methods.common.asked import gram_of
from duckdb_priv.methods.common.cuts import as_published, is_ordered, on_axis
from duckdb_priv.methods.common.findings import Subject
from duckdb_priv.methods.common.hierarchy import generalize
from duckdb_priv.methods.common.memory import Memory
from duckdb_priv.methods.common.operator_audit import (
    block_operator,
    drawn_operator,
    stored_operator,
)
from duckdb_priv.methods.common.shuffles import counts_by_size, public_types, scales_by_size
from duckdb_priv.release import catalog
from duckdb_priv.release.arguments import NAME, TABLE, TEXT, Arguments, argument, read
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.release.request import Roles
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.reading import counts_of


@dataclass(frozen=True, kw_only=True)
class AttributeName(Arguments):
    """A sensitive attribute of a release."""

    release: str = argument(
        NAME, "the release, or 'release.attribute' where it has several", "'visits_public'"
    )


@dataclass(frozen=True, kw_only=True)
class UtilityArguments(AttributeName):
    """A sensitive attribute of a release, and the table with the truth."""

    source: str = argument(NAME, "the table with the truth", "'visits'")


def record_utility(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compute the expected share of records whose published value is the true one."""
    (arguments,) = read(given, AttributeName, of="record_utility")
    attribute = _find_attribute(workspace, arguments.release)
    source = last_of(workspace.cursor, attribute.release).source
    counts = _true_counts(workspace, attribute, source)
    return [{"value": str(float(np.diagonal(stored_operator(attribute)) @ counts / counts.sum()))}]


def aggregate_utility(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compute 1 minus the mean of abs(f - f'), for true frequencies f and reconstructed frequencies f'."""
    (arguments,) = read(given, UtilityArguments, of="aggregate_utility")
    attribute = _find_attribute(workspace, arguments.release)
    counts = _true_counts(workspace, attribute, arguments.source)
    operator = stored_operator(attribute)
    if condition_number(operator) > MAX_CONDITION_NUMBER:
        return [{"value": str(-np.inf)}]
    table = workspace.table(attribute.release)
    found = dict(counts_of(workspace.cursor, identifier(attribute.column), table))
    observed = np.array([found.get(value, 0) for value in attribute.values], dtype=np.float64)
    off = np.abs(invert(operator) @ observed - counts).mean() / counts.sum()
    return [{"value": str(float(1 - off))}]


@dataclass(frozen=True, kw_only=True)
class ErrorArguments(UtilityArguments):
    """A release, the table with the truth, and the stated questions."""

    questions: str | None = argument(
        TEXT,
        "'ranges', 'prefixes', 'mean', 'values', or a table (low, high, weight)",
        "'ranges'",
        default=None,
    )
    hierarchies: str | None = argument(
        TABLE, "the hierarchies that a generalized release was made with", "'table'", default=None
    )


def expected_error(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compute the mean error of reconstructed frequencies, or of stated questions."""
    (arguments,) = read(given, ErrorArguments, of="expected_error")
    attribute = _find_attribute(workspace, arguments.release)
    source = _open_truth(workspace, attribute, arguments.source, arguments.hierarchies)
    counts = _count(workspace, attribute, source)
    errors = errors_of_histogram(workspace, attribute, source, counts)
    if arguments.questions is None:
        found = float(errors.of_values().mean())
    else:
        found = errors.of(_asked(workspace, attribute, arguments.source, arguments.questions))
    return [{"value": str(found / counts.sum())}]


def _asked(
    workspace: Workspace, attribute: SensitiveAttribute, name: str, questions: str
) -> Matrix:
    """Return the matrix of questions about a release's values; values without an axis get the distance 1."""
    source = open_source(workspace, name, Roles(sensitive=(attribute.name,)))
    kind = source.types[attribute.name]
    values = [value for value in attribute.values if value is not None]
    at = on_axis(workspace, values, kind) if is_ordered(kind) else [None]
    points = [each for each in at if each is not None]
    if len(points) < len(values):
        kind, points = "BIGINT", [*map(float, range(len(values)))]
    missing = attribute.has_missing
    return gram_of(workspace, source, kind, points, questions, missing=missing)


def _find_attribute(workspace: Workspace, name: str) -> SensitiveAttribute:
    """Return a sensitive attribute by the name 'release', or 'release.attribute' if there are several."""
    release, _, attribute = name.partition(".")
    found = catalog.sensitive_attributes(
        workspace.cursor, catalog.find_release(workspace.cursor, release)
    )
    chosen = [each for each in found if attribute.lower() in ("", each.name.lower())]
    if len(chosen) != 1:
        choices = " or ".join(f"'{each.release}.{each.name}'" for each in found)
        raise InvalidParameter(
            f"{name!r} does not name exactly one sensitive attribute",
            hint=f"write {choices or 'another release'}",
        )
    return chosen[0]


def _true_counts(workspace: Workspace, attribute: SensitiveAttribute, name: str) -> Vector:
    """Count the values of the domain in a source, as ``_open_truth`` and ``_count`` do."""
    return _count(workspace, attribute, _open_truth(workspace, attribute, name))


def _open_truth(
    workspace: Workspace, attribute: SensitiveAttribute, name: str, hierarchies: str | None = None
) -> Source:
    """Return the records of a source that entered a release, with their values as the release defines them.

    Raises InvalidSource if the source is gone.
    """
    release = attribute.release
    reader = open_reader(workspace.cursor, release)
    try:
        source = open_source(workspace, name, Roles(sensitive=(attribute.name,)))
        source = entered_records(workspace, source, reader) or source
    except PrivError as error:
        raise InvalidSource(
            f"the source {echoed(name)} of {release!r} cannot be read: {error.message}",
            hint=error.hint,
        ) from error
    if form_of(attribute).perturbed:
        return as_published(workspace, source, release)
    if hierarchies is None:
        raise InvalidParameter(
            f"{release!r} has generalized values, which need the hierarchies of its publication",
            hint="write hierarchies := 'table', with the table of hierarchies that it was published with",
        )
    return generalize(workspace, source, hierarchies, levels_of(workspace, [reader]))


def _count(workspace: Workspace, attribute: SensitiveAttribute, source: Source) -> Vector:
    """Count the values of the domain; raises InvalidSource if the source has other values."""
    column = key_expression(attribute.name, source.types[attribute.name])
    found = dict(counts_of(workspace.cursor, column, source.table))
    if not set(found) <= set(attribute.values):
        raise InvalidSource(
            f"column {attribute.name!r} of {source.name!r} has values outside the domain of the release",
            hint="name the source from which the release was published",
        )
    return np.array([found.get(value, 0) for value in attribute.values], dtype=np.float64)


def errors_of_histogram(
    workspace: Workspace, attribute: SensitiveAttribute, source: Source, counts: Vector
) -> HistogramErrors:
    """Return the errors of the estimated counts of all values in the whole source; ``counts`` are the true counts.

    The traits of the estimator's form decide how records were perturbed. ``source`` has the records that entered the
    release, with their values as the release defines them. Raises
    InvalidSource if the errors depend on groups of the source and the source has changed.
    """
    form = form_of(attribute)
    if form.baseline:
        # These releases publish their counts over the whole table.
        return HistogramErrors(np.zeros((attribute.size, attribute.size)))
    if form.grouped:
        return _of_decoys(workspace, attribute, counts)
    if attribute.blocks or (form.drawn and not form.scaled):
        return _of_draws(attribute, counts)
    table = workspace.table(attribute.release)
    subject = Subject(workspace, attribute.release, table, source, {}, attribute)
    if form.varied:
        return _of_crowds(subject)
    stated = catalog.release_row(workspace.cursor, attribute.release)["parameters"]
    if form.perturbed:
        return _of_samples(subject, form, stated, counts)
    return _of_suppression(subject, stated)


def _of_draws(attribute: SensitiveAttribute, counts: Vector) -> HistogramErrors:
    """Return the errors if every record is perturbed independently."""
    if attribute.blocks:
        return of_operator(*block_operator(attribute, attribute.blocks), counts)
    operator = drawn_operator(attribute)
    assert operator is not None
    if condition_number(operator) > MAX_CONDITION_NUMBER:
        every = tuple(range(attribute.size))
        return HistogramErrors(np.zeros_like(operator), silent=every)
    return of_operator(operator, invert(operator), counts)


def _of_decoys(
    workspace: Workspace, attribute: SensitiveAttribute, counts: Vector
) -> HistogramErrors:
    """Return the errors of decoy groups, from which records may have left."""
    gamma = round(attribute.constants["gamma"])
    batches = Memory(workspace, attribute.release).batches(
        attribute.name, attribute.values, true=True
    )
    parts = [remaining_errors(each.drawn, each.remaining, gamma).covariance for each in batches]
    if not parts:
        parts = [remaining_errors(counts, counts, gamma).covariance]
    everywhere = gamma * counts > MAX_INCLUSION * counts.sum()
    silent = () if len(parts) > 1 else tuple(np.flatnonzero(everywhere).tolist())
    return HistogramErrors(np.sum(parts, axis=0), silent=silent)


def _of_crowds(subject: Subject) -> HistogramErrors:
    """Return the errors of shuffled groups, where the retention depends on the size of the micro group."""
    found = counts_by_size(subject)
    scales = {size: least for size, least, _, _ in scales_by_size(subject)}
    if found is None or {*found} != {*scales}:
        raise _changed(subject)
    return of_scales([scales[size] for size in found], np.array([*found.values()]))


def _of_samples(
    subject: Subject, form: Form, stated: Mapping[str, Any], counts: Vector
) -> HistogramErrors:
    """Return the errors if large micro groups are represented by samples, whose rows represent several records."""
    own, other = (subject.attribute.numbers[name][0] for name in ("own", "other"))
    uniform = Uniform(own - other, subject.attribute.size)
    operator: Matrix = uniform.matrix()
    least = stated["sample_size"] if not form.copied else 0
    cells = cells_of_groups(*_grouped(subject), subject.attribute, least)
    taken = np.full(cells.size.shape, float(stated["sample_size"]))
    if form.copied:
        frequency = cells.most / cells.size
        rule = (stated["epsilon"], stated["delta"], stated["bound"])
        taken = np.minimum(threshold(frequency, uniform, *rule), cells.size)
    sampled = Sampled(cells.group, cells.value, cells.held, cells.size, taken)
    return of_samples(operator, invert(operator), counts, sampled, copied=form.copied)


def _of_suppression(subject: Subject, stated: Mapping[str, Any]) -> HistogramErrors:
    """Return the errors of a sample from which small groups of equal records are suppressed."""
    cells = cells_of_groups(*_grouped(subject), subject.attribute, 0)
    size, limits = subject.attribute.size, (stated["k"], stated["beta"])
    bias, variance = (
        np.bincount(cells.value, law(cells.held, *limits), minlength=size)
        for law in (suppression_bias, suppression_variance)
    )
    # No group is in two counts, so they are independent.
    return HistogramErrors(np.diag(variance), bias.astype(np.float64))


def _grouped(subject: Subject) -> tuple[Workspace, Source, list[str]]:
    """Return the source with its public columns, by which micro groups are counted."""
    public, source = public_types(subject), subject.source
    if source is None or not {*public} <= {*source.types}:
        raise _changed(subject)
    return subject.workspace, source, [*public]


def _changed(subject: Subject) -> InvalidSource:
    return InvalidSource(
        f"the errors of {subject.release!r} depend on the groups of its source, and the source has changed",
        hint="name the source from which the release was published, or refresh the release",
    )
