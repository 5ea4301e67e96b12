"""What a release, or a plan for one, is worth: how many records stay true, how exact counts come back.

Source: Chaytor, Wang, "Fine grain perturbation for privacy preserving data publishing".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from duckdb_priv import catalog
from duckdb_priv.audits.operator import stored_operator
from duckdb_priv.errors import InvalidParameter, InvalidSource, PrivError
from duckdb_priv.mechanism.fine_grain import FineGrain
from duckdb_priv.mechanism.fine_grain_program import uniform_retention
from duckdb_priv.mechanism.operator import (
    MAX_CONDITION_NUMBER,
    Matrix,
    Vector,
    condition_number,
    expected_error,
    invert,
    linear_variance,
)
from duckdb_priv.parameters import Request, SensitiveAttribute, listed
from duckdb_priv.procedures import Call, procedure, required
from duckdb_priv.recipes.domain import key_expression
from duckdb_priv.recipes.fine_grain_program import Program, solve_programs
from duckdb_priv.source import open_source


@procedure
def fine_grain_plan(call: Call) -> list[dict[str, Any]]:
    """Show what publish_fine_grain would do, one row for each value, without publishing."""
    request = Request(
        source=required(call.arguments, "source"),
        release="plan",
        sensitive=listed(call.arguments, "sensitive"),
        record_id=(),
        exclude=(),
        replace=False,
    )
    if not request.sensitive:
        raise InvalidParameter(
            "no sensitive column is named", hint="write sensitive := 'disease', or a list"
        )
    programs = solve_programs(call, open_source(call, request))
    return [row for program in programs for row in _plan_rows(program)]


def _plan_rows(program: Program) -> list[dict[str, Any]]:
    """Lay a program's answer out; what is infinite is written as text, for SQL to read."""
    operator, counts = program.operator, np.array(program.domain.counts, dtype=np.float64)
    gamma = program.requirements.gamma()
    uniform = FineGrain(np.full(gamma.size, uniform_retention(gamma)))
    variance = linear_variance(operator.weights(), operator.matrix(), counts)
    condition = str(operator.condition_number)
    stderr = np.where(operator.identifiable, np.sqrt(np.maximum(variance, 0)), np.inf)
    return [
        {
            "attribute": program.domain.attribute,
            "value": value,
            "records": program.domain.counts[n],
            "gamma": str(float(gamma[n])),
            "retention": float(operator.retentions[n]),
            "diagonal": float(operator.own[n]),
            "uniform": float(uniform.own[n]),
            "gain": float(operator.own[n] - uniform.own[n]),
            "stderr": str(float(stderr[n])),
            "condition_number": condition,
        }
        for n, value in enumerate(program.domain.values)
    ]


@procedure
def record_utility(call: Call) -> list[dict[str, Any]]:
    """Compute the share of records that a release is expected to publish as they are."""
    attribute = _find_attribute(call)
    source = catalog.last_publication(call.cursor, attribute.release).source
    counts = _true_counts(call, attribute, source)
    return [{"value": str(float(np.diagonal(stored_operator(attribute)) @ counts / counts.sum()))}]


@procedure
def aggregate_utility(call: Call) -> list[dict[str, Any]]:
    """Compute the mean standard error of the frequencies that a release reconstructs of a source."""
    attribute = _find_attribute(call)
    counts = _true_counts(call, attribute, required(call.arguments, "source"))
    return [{"value": str(_expected_error(stored_operator(attribute), counts))}]


def _expected_error(operator: Matrix, counts: Vector) -> float:
    """Return the mean standard error of the frequencies; infinite where there is no linear estimate."""
    if not condition_number(operator) <= MAX_CONDITION_NUMBER:
        return float("inf")
    return expected_error(invert(operator), operator, counts)


def _find_attribute(call: Call) -> SensitiveAttribute:
    """Find a sensitive attribute by 'release', or by 'release.attribute' where there are several."""
    name = str(required(call.arguments, "release"))
    release, _, attribute = name.partition(".")
    found = catalog.sensitive_attributes(call.cursor, catalog.find_release(call.cursor, release))
    chosen = [each for each in found if attribute.lower() in ("", each.name.lower())]
    if len(chosen) != 1:
        choices = " or ".join(f"'{each.release}.{each.name}'" for each in found)
        raise InvalidParameter(
            f"{name!r} names no single sensitive attribute",
            hint=f"write {choices or 'another release'}",
        )
    return chosen[0]


def _true_counts(call: Call, attribute: SensitiveAttribute, name: str) -> Vector:
    """Count the values of the domain in a source.

    Raises InvalidSource where the source is gone, or has other values.
    """
    try:
        source = open_source(
            call, Request(name, "utility", (attribute.name,), (), exclude=(), replace=False)
        )
    except PrivError as error:
        raise InvalidSource(
            f"the source {name!r} of {attribute.release!r} cannot be read: {error.message}",
            hint=error.hint,
        ) from error
    column = key_expression(attribute.name, source.types[attribute.name])
    found = dict(call.rows(f"SELECT {column}::VARCHAR, count(*) FROM {source.table} GROUP BY ALL"))
    if not set(found) <= set(attribute.values):
        raise InvalidSource(
            f"column {attribute.name!r} of {name!r} has values outside the domain of the release",
            hint="name the source that the release was made from",
        )
    return np.array([found.get(value, 0) for value in attribute.values], dtype=np.float64)
