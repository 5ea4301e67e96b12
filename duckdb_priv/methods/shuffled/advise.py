"""Advice about shuffled groups: their promises and expected errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from duckdb_priv.mechanism.sampling_variance import perturbed_variance
from duckdb_priv.mechanism.shuffled_retention import scaled_retention, scales_of_sizes
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.mechanism.uniform import MAX_EPSILON, Uniform
from duckdb_priv.methods.common.options import EXACT, Option, Question
from duckdb_priv.methods.shuffled.arguments import MIN_EPSILON, ShuffledGrid
from duckdb_priv.release.promise import factor


def options(question: Question, grid: ShuffledGrid) -> Iterator[Option]:
    """Yield an option with the required epsilon and delta, if both are required.

    The variance of a count is a sum over groups. In each group it is that of uniform perturbation, with the retention
    for the size of the group (mechanism/shuffle.md).
    """
    required = question.required
    if required.epsilon is None or not MIN_EPSILON <= required.epsilon <= MAX_EPSILON:
        return
    if not 0 < required.delta < 1:
        return
    groups = question.micro_groups(0)
    if groups.size.max(initial=0) < 2:
        return
    sizes = np.unique(groups.size)
    codes = (Code(question.domain_size),)
    scales = scales_of_sizes(codes, sizes.tolist(), required.epsilon, required.delta)
    operators = [
        Uniform(scaled_retention(scale, question.domain_size), question.domain_size)
        for scale in scales.values()
    ]
    variances = np.zeros(len(question.counts))
    for size, operator in zip(sizes, operators, strict=True):
        of_size = groups.size == size
        number, held = groups.number[of_size].astype(np.float64), groups.held[of_size]
        noise = number * perturbed_variance(groups.size[of_size], held, operator)
        variances += np.bincount(groups.query[of_size], noise, minlength=len(variances))
    largest = operators[-1]
    yield Option(
        {"epsilon": required.epsilon, "delta": required.delta},
        (
            "For someone who knows all other records and sees the release, but not the secret, it changes the odds"
            f" between two values of a record by a factor of {factor(required.epsilon)} (epsilon ="
            f" {required.epsilon:g}), except with probability delta = {required.delta:g}. For someone who learns which"
            " row is a record's:",
        ),
        question.counts,
        np.sqrt(variances),
        EXACT,
        amplification=largest.amplification,
        epsilon=required.epsilon,
        delta=required.delta,
    )
