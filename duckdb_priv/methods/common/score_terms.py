"""Completes an attribute by what its intervals need to know, which follows from the histogram that was published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.operator import half_step
from duckdb_priv.mechanism.score_terms import likely_shares, score_terms
from duckdb_priv.release.model import SensitiveAttribute


def completed_by(
    operators: Mapping[str, tuple[Matrix, Matrix]],
) -> Callable[[SensitiveAttribute, Sequence[int]], SensitiveAttribute]:
    """Return what completes attributes, from the weights and the operator of each."""

    def complete(attribute: SensitiveAttribute, histogram: Sequence[int]) -> SensitiveAttribute:
        weights, operator = operators[attribute.name]
        terms = score_terms(weights, operator, likely_shares(weights, operator, histogram))
        numbers = {name: of.tolist() for name, of in terms._asdict().items()}
        numbers["half_step"] = half_step(weights).tolist()
        return replace(attribute, numbers={**attribute.numbers, **numbers})

    return complete
