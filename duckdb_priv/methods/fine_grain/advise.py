"""Advice about fine-grain perturbation: its promises and expected errors."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.fine_grain import FineGrain
from duckdb_priv.mechanism.fine_grain_program import optimal_operator, uniform_retention
from duckdb_priv.mechanism.operator import ldp_epsilon, linear_variance
from duckdb_priv.mechanism.reference_frequencies import rounded
from duckdb_priv.mechanism.requirements import Requirements
from duckdb_priv.methods.common.options import (
    EXACT,
    Option,
    Question,
    StatedOption,
    StatedQuestions,
)
from duckdb_priv.methods.fine_grain.arguments import FineGrainGrid
from duckdb_priv.methods.fine_grain.program import FREQUENCY_EPSILON

MIN_RETENTION = 0.05
"""The min_retention of advised options."""
HALVINGS, NEARLY = 30, 0.999
"""Most steps of the bisection of the tolerance, and the share of the allowed epsilon at which it ends."""


def options(question: Question, grid: FineGrainGrid) -> Iterator[Option]:
    """Yield an option for every tolerance of the grid that constrains some value.

    The variance is that of a linear estimate (mechanism/operator.md). The minimum retention keeps it finite.
    """
    for tolerance in grid.tolerances:
        frequencies = rounded(np.maximum(question.frequencies, 1) / question.frequencies.sum())
        if tolerance * frequencies.min() >= frequencies.sum():
            continue
        operator, least = _tolerated(frequencies, tolerance)
        variances = linear_variance(operator.weights(), operator.matrix(), question.histograms)
        epsilon = ldp_epsilon(operator.matrix())
        yield Option(
            {"tolerance": tolerance, "min_retention": least},
            (_promised(tolerance),),
            question.counts,
            np.sqrt(np.maximum(question.of_asked(variances), 0)),
            EXACT,
            amplification=math.exp(epsilon),
            epsilon=epsilon + FREQUENCY_EPSILON if math.isfinite(epsilon) else None,
        )


def answering(workspace: Workspace, asked: StatedQuestions) -> Iterator[StatedOption]:
    """Yield the option with the largest tolerance for the epsilon, which includes that of the noisy frequencies."""
    left = asked.epsilon - FREQUENCY_EPSILON
    frequencies = rounded(np.maximum(asked.counts, 1) / asked.counts.sum())
    low, high, found = 1.0, float(frequencies.sum() / frequencies.max()), None
    for _ in range(HALVINGS if left > 0 else 0):
        tolerance = (low + high) / 2
        operator, least = _tolerated(frequencies, tolerance)
        reached = ldp_epsilon(operator.matrix())
        if reached > left:
            high = tolerance
            continue
        low, found = tolerance, (tolerance, least, operator)
        if reached > left * NEARLY:
            break
    if found is None:
        return
    tolerance, least, operator = found
    epsilon = ldp_epsilon(operator.matrix())
    yield StatedOption(
        {"tolerance": tolerance, "min_retention": least},
        (_promised(tolerance),),
        operator.matrix(),
        operator.weights(),
        amplification=math.exp(epsilon),
        epsilon=epsilon + FREQUENCY_EPSILON,
    )


def _tolerated(frequencies: Vector, tolerance: float) -> tuple[FineGrain, float]:
    """Return the operator for a tolerance, and its minimum retention, which keeps variances finite."""
    requirements = Requirements.from_tolerance(frequencies, tolerance)
    least = min(MIN_RETENTION, uniform_retention(requirements.gamma()))
    return optimal_operator(frequencies, requirements, min_retention=least), least


def _promised(tolerance: float) -> str:
    return f"The posterior of a value of reference frequency f is at most {tolerance:g} f."
