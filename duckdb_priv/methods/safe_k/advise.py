"""Advice about generalized samples: their promises and expected errors."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from duckdb_priv.mechanism.sampling import check_beta, sampling_delta, sampling_k
from duckdb_priv.methods.common.options import NORMAL, Option, Question
from duckdb_priv.methods.safe_k.arguments import SafeKGrid
from duckdb_priv.methods.safe_k.terms import Terms, guarantees_of

SAMPLE_EPSILON = 1.0
"""The epsilon of advised samples if none is required."""


def options(question: Question, grid: SafeKGrid) -> Iterator[Option]:
    """Yield an option for every rate beta and smallest group k, and for the least k that a required delta allows.

    The bias and variance of a count are sums over its groups (mechanism/scaled_count.md). Suppressing small groups adds
    a bias that analysts cannot correct, so it counts as an error. Without hierarchies there are no options.
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
