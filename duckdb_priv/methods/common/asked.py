"""Questions about an ordered attribute as a matrix: ranges, prefixes, the mean, values, or the ranges in a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, UnknownName, echoed
from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.questions import (
    listed_gram,
    mean_gram,
    prefixes_gram,
    ranges_gram,
    values_gram,
    with_missing,
)
from duckdb_priv.methods.common.cuts import on_axis
from duckdb_priv.methods.common.tables import read_columns

WORDS = ("ranges", "prefixes", "mean", "values")
HINT = f"write {', '.join(map(repr, WORDS))}, or name a table with the columns low, high and weight"


def gram_of(
    workspace: Workspace,
    source: Source,
    kind: str,
    points: Sequence[float],
    questions: object,
    *,
    missing: bool,
) -> Matrix:
    """Return the Gram matrix of the questions: the mean of c c' over their coefficients c at the given points.

    ``missing`` adds the missing value, last. Raises InvalidParameter for unknown questions, or one without a value.
    """
    size = len(points)
    if not isinstance(questions, str):
        raise InvalidParameter("no questions are named for a sensitive column", hint=HINT)
    if questions == "mean":
        gram = mean_gram(points)
    elif questions in WORDS:
        known = {"ranges": ranges_gram, "prefixes": prefixes_gram, "values": values_gram}
        gram = known[questions](size)
    else:
        gram = _listed(workspace, source, kind, points, questions)
    return with_missing(gram) if missing else gram


def _listed(
    workspace: Workspace, source: Source, kind: str, points: Sequence[float], table: str
) -> Matrix:
    """Return the Gram matrix of weighted ranges in a table."""
    columns = {"low": "low::VARCHAR", "high": "high::VARCHAR", "weight": "weight::DOUBLE"}
    try:
        rows = read_columns(workspace, source, "questions", table, columns)
    except UnknownName as unknown:
        raise UnknownName(unknown.message, hint=f"{HINT}. {unknown.hint}") from None
    if not rows:
        raise InvalidParameter(f"the table of questions {echoed(table)} has no row", hint=HINT)
    lows, highs, weights = zip(*sorted(rows, key=repr), strict=True)
    asked, at = [], np.array(points)
    for low, high, weight in zip(
        on_axis(workspace, lows, kind), on_axis(workspace, highs, kind), weights, strict=True
    ):
        if low is None or high is None or not (weight is not None and 0 < weight < np.inf):
            raise InvalidParameter(
                f"the table of questions {echoed(table)} has a row without a range, or without a weight above 0",
                hint="fill low, high and weight, with finite values of the column's type",
            )
        asked.append((at >= low) & (at <= high))
    if not all(holds.any() for holds in asked):
        raise InvalidParameter(
            f"a row of the table of questions {echoed(table)} names no bin: none has its value from low to high",
            hint="the value of a bin is its middle, or an edge where numbers are rounded at random",
        )
    return listed_gram(np.array(asked, np.float64), weights)


def named(questions: object) -> str:
    """Return the name of the questions for a message.

    >>> named("ranges"), named("my_ranges")
    ('ranges', 'the questions in my_ranges')
    """
    plain = ("ranges", "prefixes", "values")
    if questions == "mean":
        return "the mean"
    return str(questions) if questions in plain else f"the questions in {questions}"
