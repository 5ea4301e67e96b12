"""The operator for questions, which is searched once."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.questions import choose_operator

SEARCH = 1
"""Grows when the search finds other operators for the same questions."""


def chosen_operator(
    workspace: Workspace, attribute: str, gram: Matrix, amplification: float
) -> Matrix:
    """Return the operator for questions: the one that was chosen for them before, if there is one."""
    key = hashlib.sha256(json.dumps([SEARCH, amplification, gram.tolist()]).encode()).hexdigest()
    found = workspace.rows("SELECT operator FROM priv.chosen_operator WHERE questions = ?", [key])
    if found:
        return np.array(found[0][0], np.float64).reshape(gram.shape)

    def report(share: float) -> None:
        workspace.stage(f"choosing the operator of {attribute}: {share:.0%}")

    operator = choose_operator(gram, amplification, report)
    workspace.rows(
        "INSERT INTO priv.chosen_operator VALUES (?, ?)", [key, operator.ravel().tolist()]
    )
    return operator


def named(questions: Any) -> str:
    """Return how questions are called in a sentence.

    >>> named("ranges"), named("my_ranges")
    ('ranges', 'the questions in my_ranges')
    """
    plain = ("ranges", "prefixes", "values")
    if questions == "mean":
        return "the mean"
    return questions if questions in plain else f"the questions in {questions}"
