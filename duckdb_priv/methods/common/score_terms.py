"""Completing an attribute with the terms that its intervals need, computed from the published histogram."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from duckdb_priv.engine.plan import Complete, Plan
from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.operator import half_step
from duckdb_priv.mechanism.score_terms import likely_shares, score_terms


def completed_by(operators: Mapping[str, tuple[Matrix, Matrix]]) -> Complete:
    """Return the function that completes a plan's attributes, from the weights and the operator of each."""
    return partial(_complete, operators=operators)


def _complete(
    plan: Plan,
    published: Mapping[str, Mapping[str | None, int]],
    *,
    operators: Mapping[str, tuple[Matrix, Matrix]],
) -> Plan:
    attributes = []
    for attribute in plan.attributes:
        weights, operator = operators[attribute.name]
        histogram = [published[attribute.name].get(value, 0) for value in attribute.values]
        terms = score_terms(weights, operator, likely_shares(weights, operator, histogram))
        numbers = {name: of.tolist() for name, of in terms._asdict().items()}
        numbers["half_step"] = half_step(weights).tolist()
        attributes.append(replace(attribute, numbers={**attribute.numbers, **numbers}))
    return replace(plan, attributes=attributes)
