"""Advice about uniform perturbation: its promises and expected errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.operator import invert
from duckdb_priv.mechanism.questions import uniform_operator
from duckdb_priv.mechanism.sampling_variance import perturbed_variance
from duckdb_priv.mechanism.uniform import Uniform, amplified_retention
from duckdb_priv.methods.common.options import (
    EXACT,
    Option,
    Question,
    StatedOption,
    StatedQuestions,
    retentions_to_try,
)
from duckdb_priv.methods.uniform.arguments import UniformGrid


def options(question: Question, grid: UniformGrid) -> Iterator[Option]:
    """Yield an option for every retention of the grid, and for the largest retention that a requirement allows.

    The variance is that of an estimate over the records that meet a query's conditions (Wang, Han, Fu, section 3;
    derivation: mechanism/uniform.md).
    """
    for retention in retentions_to_try(grid.retentions, question.required, question.domain_size):
        operator = Uniform(retention, question.domain_size)
        variances = perturbed_variance(question.records, question.counts, operator)
        yield Option(
            {"retention": retention},
            (),
            question.counts,
            np.sqrt(variances),
            EXACT,
            amplification=operator.amplification,
            epsilon=operator.ldp_epsilon,
        )


def answering(workspace: Workspace, asked: StatedQuestions) -> Iterator[StatedOption]:
    """Yield the option with the largest retention that keeps the promise."""
    drawn = Uniform(amplified_retention(asked.amplification, asked.size), asked.size)
    operator = uniform_operator(asked.size, drawn.amplification)
    yield StatedOption(
        asked.promise,
        (),
        operator,
        invert(operator),
        amplification=drawn.amplification,
        epsilon=drawn.ldp_epsilon,
    )
