"""Computes the errors of the histogram that a release reconstructs for its whole source, for every estimator.

The traits of the estimator's form decide how records were perturbed. The errors that follow from the perturbation are
computed in ``mechanism/histogram_errors.py``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource
from duckdb_priv.estimator.forms import Form, form_of
from duckdb_priv.evaluation.counted_groups import cells_of_groups
from duckdb_priv.mechanism.arrays import Matrix, Vector
from duckdb_priv.mechanism.block_design import operator_of_blocks
from duckdb_priv.mechanism.conditional_poisson import MAX_INCLUSION
from duckdb_priv.mechanism.decoy_variance import remaining_errors
from duckdb_priv.mechanism.histogram_errors import (
    HistogramErrors,
    Sampled,
    of_operator,
    of_samples,
    of_scales,
    of_suppression,
)
from duckdb_priv.mechanism.operator import MAX_CONDITION_NUMBER, condition_number, invert
from duckdb_priv.mechanism.reconstruction_privacy import threshold
from duckdb_priv.mechanism.scaled_count import suppression_bias, suppression_variance
from duckdb_priv.mechanism.uniform import Uniform
from duckdb_priv.methods.common.findings import Subject
from duckdb_priv.methods.common.memory import Memory
from duckdb_priv.methods.common.operator_audit import drawn_operator
from duckdb_priv.methods.common.shuffles import counts_by_size, public_types, scales_by_size
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext.quoting import identifier


def errors_of_histogram(
    workspace: Workspace, attribute: SensitiveAttribute, source: Source, counts: Vector
) -> HistogramErrors:
    """Return the errors of the estimated counts of all values in the whole source; ``counts`` are the true counts.

    ``source`` has the records that entered the release, with their values as the release defines them. Raises
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
    table = f"{identifier(workspace.database)}.main.{identifier(attribute.release)}"
    subject = Subject(workspace, attribute.release, table, source, {}, attribute)
    if form.varied:
        return _of_crowds(subject)
    ((text,),) = workspace.rows(
        "SELECT parameters FROM priv.release WHERE release = ?", [attribute.release]
    )
    if form.perturbed:
        return _of_samples(subject, form, json.loads(text), counts)
    return _of_suppression(subject, json.loads(text))


def _of_draws(attribute: SensitiveAttribute, counts: Vector) -> HistogramErrors:
    """Return the errors if every record is perturbed independently."""
    blocks = attribute.blocks
    if blocks:
        own, other = attribute.numbers["own"][0], attribute.numbers["other"][0]
        places = (blocks.count, blocks.stride, blocks.first)
        return of_operator(*operator_of_blocks(attribute.size, *places, own, other), counts)
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
    return of_suppression(variance, bias)


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
