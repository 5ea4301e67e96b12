"""Advice about reconstruction privacy: its promises and expected errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product

import numpy as np

from duckdb_priv.mechanism.reconstruction_privacy import threshold
from duckdb_priv.mechanism.uniform import Uniform
from duckdb_priv.methods.common.options import NORMAL, Option, Question, retentions_to_try
from duckdb_priv.methods.reconstruction_private.arguments import (
    ReconstructionPrivateArguments,
    ReconstructionPrivateGrid,
)
from duckdb_priv.methods.reconstruction_private.plan import Requirement


def options(question: Question, grid: ReconstructionPrivateGrid) -> Iterator[Option]:
    """Yield an option for every retention, epsilon and delta whose samples have at least one record.

    The variance of a query is the sum over its micro groups (mechanism/sampling_variance.md).
    """
    sizes = {
        (retention, epsilon, delta): int(threshold(1.0, operator, epsilon, delta))
        for retention, epsilon, delta in product(
            retentions_to_try(grid.retentions, question.required, question.domain_size),
            grid.reconstruction_epsilons,
            grid.reconstruction_deltas,
        )
        for operator in [Uniform(retention, question.domain_size)]
    }
    sampled = [point for point, size in sizes.items() if size >= 1]
    # Smaller micro groups are never sampled.
    groups = question.micro_groups(min((sizes[point] for point in sampled), default=sys.maxsize))
    for retention, epsilon, delta in sampled:
        arguments = ReconstructionPrivateArguments(
            retention=retention, epsilon=epsilon, delta=delta
        )
        wanted = Requirement.of(arguments, question.domain_size)
        variances = groups.variances(
            wanted.operator, wanted.sample_size, question.records, question.counts
        )
        yield Option(
            {"retention": retention, "epsilon": epsilon, "delta": delta},
            (wanted.guarantee(question.attribute).statement,),
            question.counts,
            np.sqrt(variances),
            f"{NORMAL}, with the exact variance of sampling micro groups and perturbing.",
            amplification=wanted.operator.amplification,
            epsilon=wanted.operator.ldp_epsilon,
        )
