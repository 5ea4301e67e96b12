"""What to expect of coins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from duckdb_priv.mechanism.sampling_variance import perturbed_variance
from duckdb_priv.mechanism.uniform import Uniform
from duckdb_priv.methods.common.options import EXACT, Option, Question
from toy_method.arguments import CoinsGrid


def options(question: Question, grid: CoinsGrid) -> Iterator[Option]:
    """Every number of coins of the grid."""
    for coins in grid.coins_to_try:
        operator = Uniform(1 - 2.0**-coins, question.domain_size)
        variance = perturbed_variance(question.records, question.counts, operator)
        yield Option(
            {"coins": coins},
            (),
            question.counts,
            np.sqrt(variance),
            EXACT,
            amplification=operator.amplification,
            epsilon=operator.ldp_epsilon,
        )
