"""What fine-grain perturbation promises, and the errors to expect of it, at every tolerance to try."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from duckdb_priv.mechanism.fine_grain_program import optimal_operator, uniform_retention
from duckdb_priv.mechanism.operator import ldp_epsilon, linear_variance
from duckdb_priv.mechanism.reference_frequencies import rounded
from duckdb_priv.mechanism.requirements import Requirements
from duckdb_priv.methods.common.options import EXACT, Option, Question
from duckdb_priv.methods.fine_grain.arguments import FineGrainGrid

MIN_RETENTION = 0.05
"""The smallest retention that fine-grain perturbation is advised with."""


def options(question: Question, grid: FineGrainGrid) -> Iterator[Option]:
    """Fine-grain perturbation at every tolerance of the grid that asks anything of these frequencies.

    The variance is that of any linear estimate (mechanism/operator.md); the smallest retention keeps it finite.
    """
    for tolerance in grid.tolerances:
        frequencies = rounded(np.maximum(question.frequencies, 1) / question.frequencies.sum())
        if tolerance * frequencies.min() >= frequencies.sum():
            continue
        requirements = Requirements.from_tolerance(frequencies, tolerance)
        least = min(MIN_RETENTION, uniform_retention(requirements.gamma()))
        operator = optimal_operator(frequencies, requirements, min_retention=least)
        variances = linear_variance(operator.weights(), operator.matrix(), question.histograms)
        epsilon = ldp_epsilon(operator.matrix())
        yield Option(
            {"tolerance": tolerance, "min_retention": least},
            (f"The posterior of a value of reference frequency f is at most {tolerance:g} f.",),
            question.counts,
            np.sqrt(np.maximum(question.of_asked(variances), 0)),
            EXACT,
            amplification=math.exp(epsilon),
            epsilon=epsilon if math.isfinite(epsilon) else None,
        )
