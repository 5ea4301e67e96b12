"""Advice about decoy groups: their promises and expected errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from duckdb_priv.mechanism.decoy_variance import expected_errors
from duckdb_priv.mechanism.eligibility import largest_gamma, require_gamma
from duckdb_priv.methods.common.options import NORMAL, Option, Question
from duckdb_priv.methods.splu.arguments import SpluGrid
from duckdb_priv.methods.splu.plan import guarantees_of


def options(question: Question, grid: SpluGrid) -> Iterator[Option]:
    """Yield an option for every gamma of the grid for which the table is eligible (mechanism/decoy_variance.md)."""
    largest = min(largest_gamma(question.frequencies), question.domain_size)
    for gamma in grid.gammas:
        require_gamma(gamma)
        if gamma > largest:
            continue
        errors = expected_errors(
            question.frequencies, gamma, question.histograms, question.positions
        )
        if not np.isfinite(errors.variance).all():
            # Some value is in every group, so its counts cannot be reconstructed.
            continue
        own, small, *_ = guarantees_of(question.attribute, gamma)
        yield Option(
            {"gamma": gamma},
            (own.statement, small.statement),
            question.counts,
            np.sqrt(errors.variance),
            f"{NORMAL}, with the variance for well mixed groups, to first order.",
            biases=errors.bias,
        )
