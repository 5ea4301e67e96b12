"""What fine-grain perturbation promises, and the errors to expect of it, at every tolerance to try."""

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
from duckdb_priv.methods.fine_grain.reference import FREQUENCY_EPSILON

MIN_RETENTION = 0.05
"""The smallest retention that fine-grain perturbation is advised with."""
HALVINGS, NEARLY = 30, 0.999
"""How often the interval of tolerances is halved, and which share of an epsilon is enough."""


def options(question: Question, grid: FineGrainGrid) -> Iterator[Option]:
    """Fine-grain perturbation at every tolerance of the grid that asks anything of these frequencies.

    The variance is that of any linear estimate (mechanism/operator.md); the smallest retention keeps it finite.
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
    """The largest tolerance with which the retentions, counted with noise, and what a record shows have the epsilon."""
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
    """Return the operator of a tolerance, and its smallest retention, which keeps variances finite."""
    requirements = Requirements.from_tolerance(frequencies, tolerance)
    least = min(MIN_RETENTION, uniform_retention(requirements.gamma()))
    return optimal_operator(frequencies, requirements, min_retention=least), least


def _promised(tolerance: float) -> str:
    return f"The posterior of a value of reference frequency f is at most {tolerance:g} f."
