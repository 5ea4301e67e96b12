"""The candidate of ``priv.advise`` that chooses an operator for stated questions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.operator import invert
from duckdb_priv.mechanism.questions import claimed_amplification
from duckdb_priv.methods.common.options import StatedOption, StatedQuestions
from duckdb_priv.methods.for_questions.plan import chosen_operator


def answering(workspace: Workspace, asked: StatedQuestions) -> Iterator[StatedOption]:
    """Yield the operator that a publication takes; it is stored, so that publishing need not search again."""
    operator = chosen_operator(workspace, asked.attribute, asked.gram, asked.amplification)
    amplification = claimed_amplification(operator)
    yield StatedOption(
        {**asked.given, **asked.promise},
        (),
        operator,
        invert(operator),
        cuts=True,
        amplification=amplification,
        epsilon=float(np.log(amplification)),
    )
