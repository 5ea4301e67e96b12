"""Advice about codes of a block design: their promises and expected errors."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.block_design import choose_design, operator_of_blocks
from duckdb_priv.mechanism.uniform import amplification_gamma, epsilon_amplification
from duckdb_priv.methods.block_design.arguments import BlockDesignGrid
from duckdb_priv.methods.common.options import (
    EXACT,
    Option,
    Question,
    StatedOption,
    StatedQuestions,
)
from duckdb_priv.release.model import MANY_VALUES


def options(question: Question, grid: BlockDesignGrid) -> Iterator[Option]:
    """Yield an option for every epsilon of the grid, and for the largest epsilon that a requirement allows.

    If no code is better than uniform perturbation at an epsilon, there is no option. The variance of an estimate over n
    records, of which k have the value, is (k a (1 - a) + (n - k) q (1 - q)) / (a - q)^2. a and q are the probabilities
    that a record with and without the value reports a block that contains it (mechanism/block_design.md).
    """
    if not 2 <= question.domain_size <= MANY_VALUES:
        return
    counts, others = question.counts, question.records - question.counts
    largest = question.required.largest(
        lambda rho1, rho2: math.log(amplification_gamma(rho1, rho2)) * (1 - 1e-12), float
    )
    for epsilon in sorted({*grid.epsilons, *largest}):
        amplification = epsilon_amplification(epsilon)
        code = choose_design(question.domain_size, amplification).code
        if code.holding == 1:
            continue
        own, other = code.own(amplification), code.other(amplification)
        variances = counts * own * (1 - own) + others * other * (1 - other)
        yield Option(
            {"epsilon": epsilon},
            (),
            counts,
            np.sqrt(variances) / (own - other),
            EXACT,
            amplification=amplification,
            epsilon=epsilon,
        )


def answering(workspace: Workspace, asked: StatedQuestions) -> Iterator[StatedOption]:
    """Yield the code of a publication, if it is better than uniform perturbation for counts of single values."""
    amplification = asked.amplification
    design = choose_design(asked.size, amplification)
    code = design.code
    if code.holding == 1:
        return
    operator, weights = operator_of_blocks(
        asked.size,
        code.outcomes,
        design.stride,
        design.offsets(),
        code.own(amplification),
        code.other(amplification),
    )
    yield StatedOption(
        asked.promise, (), operator, weights, amplification=amplification, epsilon=asked.epsilon
    )
