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
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.evaluation.answers import open_reader
from duckdb_priv.evaluation.evaluate import entered_records, levels_of
from duckdb_priv.evaluation.histograms import errors_of_histogram
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.mechanism.arrays import Matrix, Vector
from duckdb_priv.mechanism.operator import MAX_CONDITION_NUMBER, condition_number, invert
from duckdb_priv.methods.common.asked import gram_of
from duckdb_priv.methods.common.cuts import as_published, is_ordered, on_axis
from duckdb_priv.methods.common.hierarchy import generalize
from duckdb_priv.methods.common.operator_audit import stored_operator
from duckdb_priv.release import catalog
from duckdb_priv.release.arguments import NAME, TABLE, TEXT, Arguments, argument, read
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.release.request import Roles
from duckdb_priv.sqltext.quoting import identifier


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
    attribute, operator, counts = _compared(workspace, given, of="aggregate_utility")
    if not _invertible(operator):
        return [{"value": str(-np.inf)}]
    found = dict(
        workspace.rows(
            f"SELECT {identifier(attribute.column)}::VARCHAR, count(*) FROM main.{identifier(attribute.release)}"
            " GROUP BY ALL"
        )
    )
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


def _invertible(operator: Matrix) -> bool:
    """Return whether the operator can be inverted with acceptable errors."""
    return condition_number(operator) <= MAX_CONDITION_NUMBER


def _compared(
    workspace: Workspace, given: Mapping[str, Any], *, of: str
) -> tuple[SensitiveAttribute, Matrix, Vector]:
    """Return an attribute of a release, its operator, and the true counts of its values."""
    (arguments,) = read(given, UtilityArguments, of=of)
    attribute = _find_attribute(workspace, arguments.release)
    counts = _true_counts(workspace, attribute, arguments.source)
    return attribute, stored_operator(attribute), counts


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
    found = dict(
        workspace.rows(f"SELECT {column}::VARCHAR, count(*) FROM {source.table} GROUP BY ALL")
    )
    if not set(found) <= set(attribute.values):
        raise InvalidSource(
            f"column {attribute.name!r} of {source.name!r} has values outside the domain of the release",
            hint="name the source from which the release was published",
        )
    return np.array([found.get(value, 0) for value in attribute.values], dtype=np.float64)
