"""The questions that an operator is chosen for, as numbers."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, echoed
from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.questions import (
    choose_operator,
    listed_gram,
    mean_gram,
    prefixes_gram,
    ranges_gram,
    values_gram,
    with_missing,
)
from duckdb_priv.methods.common.tables import read_columns
from duckdb_priv.methods.for_questions.bins import Binned, on_axis

SEARCH = 1
"""Grows when the search finds other operators for the same questions."""


def gram_of(workspace: Workspace, source: Source, binned: Binned, questions: str) -> Matrix:
    """Return what is minimized for questions: one of four words, or the name of a table of ranges."""
    size = len(binned.points)
    known = {
        "ranges": lambda: ranges_gram(size),
        "prefixes": lambda: prefixes_gram(size),
        "mean": lambda: mean_gram(binned.points),
        "values": lambda: values_gram(size),
    }
    gram = (
        known[questions]()
        if questions in known
        else _listed(workspace, source, binned, questions, [*known])
    )
    return with_missing(gram) if None in binned.domain.values else gram


def _listed(
    workspace: Workspace, source: Source, binned: Binned, table: str, known: list[str]
) -> Matrix:
    """Read ranges with their weights from a table."""
    words = ", ".join(map(repr, known))
    hint = f"write {words}, or name a table with the columns low, high and weight"
    if not isinstance(table, str):
        raise InvalidParameter(f"no questions are named for {binned.domain.attribute!r}", hint=hint)
    rows = read_columns(
        workspace,
        source,
        "questions",
        table,
        {
            "low": "low::VARCHAR",
            "high": "high::VARCHAR",
            "weight": "weight::DOUBLE",
        },
    )
    if not rows:
        raise InvalidParameter(f"the table of questions {echoed(table)} has no row", hint=hint)
    kind, points = binned.domain.cut.kind, np.array(binned.points)
    lows, highs, weights = zip(*sorted(rows, key=repr), strict=True)
    asked = []
    for low, high, weight in zip(
        on_axis(workspace, lows, kind), on_axis(workspace, highs, kind), weights, strict=True
    ):
        if low is None or high is None or not (weight is not None and 0 < weight < np.inf):
            raise InvalidParameter(
                f"the table of questions {echoed(table)} has a row without a range, or without a weight above 0",
                hint="fill low, high and weight, with finite values of the column's type",
            )
        asked.append((points >= low) & (points <= high))
    if not all(holds.any() for holds in asked):
        raise InvalidParameter(
            f"a row of the table of questions {echoed(table)} names no bin: none has its value from low to high",
            hint=f"the values are those of the bins of {binned.domain.attribute}, from {binned.domain.values[0]}",
        )
    return listed_gram(np.array(asked, np.float64), weights)


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
