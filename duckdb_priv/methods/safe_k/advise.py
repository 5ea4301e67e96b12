"""What generalized samples promise, and the errors to expect of them, at all rates and sizes to try."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from duckdb_priv.mechanism.sampling import check_beta, sampling_delta, sampling_k
from duckdb_priv.methods.common.options import NORMAL, Option, Question
from duckdb_priv.methods.safe_k.arguments import SafeKGrid
from duckdb_priv.methods.safe_k.terms import Terms, guarantees_of

SAMPLE_EPSILON = 1.0
"""The epsilon for which samples are advised where none is required."""


def options(question: Question, grid: SafeKGrid) -> Iterator[Option]:
    """Generalized samples at every rate beta and smallest group k, and at the least k that a required delta allows.

    What happens to a count is the sum over its groups of mechanism/scaled_count.md. What small groups lose is a bias
    that no analyst can undo, so it counts as an error. Without hierarchies there are none.
    """
    if grid.hierarchies is None:
        return
    table, required = question.generalized(grid.hierarchies, grid.levels or {}), question.required
    epsilon = SAMPLE_EPSILON if required.epsilon is None else required.epsilon
    for beta in grid.betas:
        check_beta(beta)
        if epsilon < -math.log1p(-beta):
            continue
        smallest = [sampling_k(beta, epsilon, required.delta)] if 0 < required.delta < beta else []
        for k in sorted({*grid.ks, *smallest}):
            if sampling_delta(k, beta, epsilon) >= beta:
                continue
            terms = Terms(k, beta, epsilon, epsilon1=0.0)
            yield Option(
                {
                    "k": k,
                    "beta": beta,
                    "epsilon": epsilon,
                    "hierarchies": table.hierarchies,
                    "levels": table.levels,
                },
                (guarantees_of(terms, nodes=1)[0].statement,),
                table.counts,
                np.sqrt(table.variances(k, beta)),
                "The questions are about generalized values, so they are broader than those of other options."
                f" {NORMAL}, with the exact bias and variance of sampling and suppressing: rough where groups are as"
                " often suppressed as not.",
                biases=table.bias(k, beta),
                epsilon=epsilon,
                delta=terms.delta,
                suppressed=table.suppressed(k, beta),
            )
