"""Safe k-anonymization beside Mondrian's, by what count queries over Adult get.

A record shows of each attribute a set of values: those below its generalized one, or those between the limits of its
class. A query asks for ranges of three attributes; a record counts with the share of its sets that the ranges hold.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

import duckdb_priv
from benchmarks.safe_k import GIVEN, load_adult
from duckdb_priv.mechanism.sampling import sampling_k

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from reference.mondrian import boxes, mondrian

EPSILON, DELTA = 1.0, 1e-6
BETAS = (0.1, 0.2, 0.4, 0.6)
QUERIES = 1_000
ASKED = 3
"""How many attributes a query names."""
SELECTIVITY = 0.005
NAMES = sorted(GIVEN)
Shares = NDArray[np.float64]
Query = tuple[Sequence[int], Sequence[NDArray[np.bool_]]]
"""Places of the attributes, and for each of them which of its values are asked for."""


def compare(data: Path, queries: int) -> list[tuple[float, int, int, float, int, float]]:
    """Return for each rate beta: k; rows and error of a safe release; classes and error of Mondrian's."""
    found = []
    with duckdb_priv.connect() as con:
        load_adult(con, data)
        con.execute(
            "CREATE TABLE leaf AS SELECT attribute, value, row_number() OVER (PARTITION BY attribute"
            " ORDER BY TRY_CAST(value AS BIGINT), value) - 1 AS code FROM hierarchies WHERE level = 0"
        )
        codes, sizes = _codes(con), _sizes(con)
        asked, true = _draw(codes, sizes, queries)
        for beta in BETAS:
            k = sampling_k(beta, EPSILON, DELTA)
            shown, safe = _safe(con, k, beta, asked, sizes)
            labels = mondrian(codes, k)
            low, high = boxes(codes, labels)
            cut = np.array([_overlap(low, high, query) for query in asked])
            found.append(
                (beta, k, shown, _error(safe, true), int(labels.max()) + 1, _error(cut, true))
            )
    return found


def _codes(con: duckdb.DuckDBPyConnection) -> NDArray[np.int64]:
    """Return the place of each record's value among the leaves of its hierarchy, (records, attributes)."""
    columns = ", ".join(f"{name}.code AS {name}" for name in NAMES)
    joins = " ".join(
        f"JOIN leaf AS {name} ON {name}.attribute = '{name}' AND {name}.value = adult.{name}::VARCHAR"
        for name in NAMES
    )
    listed = con.execute(f"SELECT {columns} FROM adult {joins}").fetchnumpy()
    return np.stack([listed[name].astype(np.int64) for name in NAMES], axis=1)


def _sizes(con: duckdb.DuckDBPyConnection) -> list[int]:
    counted = dict(
        con.execute("SELECT attribute, count(*) FROM leaf GROUP BY attribute").fetchall()
    )
    return [counted[name] for name in NAMES]


def _draw(
    codes: NDArray[np.int64], sizes: Sequence[int], queries: int
) -> tuple[list[Query], NDArray[np.float64]]:
    """Draw ranges around the values of a record each, until enough queries count enough records."""
    rng = np.random.default_rng(3)
    drawn: list[Query] = []
    true: list[int] = []
    while len(drawn) < queries:
        places = rng.choice(len(NAMES), ASKED, replace=False)
        middle = codes[rng.integers(len(codes)), places]
        wanted = []
        for place, code in zip(places, middle, strict=True):
            reach = rng.integers(0, max(sizes[place] // 3, 1) + 1)
            values = np.arange(sizes[place])
            wanted.append(np.abs(values - code) <= reach)
        inside = np.logical_and.reduce(
            [asks[codes[:, place]] for place, asks in zip(places, wanted, strict=True)]
        )
        if (count := int(inside.sum())) >= SELECTIVITY * len(codes):
            drawn.append((places.tolist(), wanted))
            true.append(count)
    return drawn, np.array(true, np.float64)


def _overlap(low: NDArray[np.int64], high: NDArray[np.int64], query: Query) -> float:
    """Count the records, each with the share of its box that is asked for."""
    share = np.ones(len(low))
    for place, asks in zip(*query, strict=True):
        below = np.concatenate([[0], np.cumsum(asks)])
        width = high[:, place] - low[:, place] + 1
        share *= (below[high[:, place] + 1] - below[low[:, place]]) / width
    return float(share.sum())


def _safe(
    con: duckdb.DuckDBPyConnection,
    k: int,
    beta: float,
    asked: Sequence[Query],
    sizes: Sequence[int],
) -> tuple[int, NDArray[np.float64]]:
    """Publish with levels that do not depend on the records; return how many rows are shown, and the answers."""
    columns = con.execute("SELECT column_name FROM (DESCRIBE adult)").fetchall()
    excluded = [name for (name,) in columns if name not in GIVEN]
    ((shown,),) = con.execute(
        f"SELECT rows_published FROM priv.publish_safe_k('adult', 'published', k := {k}, beta := {beta},"
        f" epsilon := {EPSILON}, levels := {GIVEN!r}, hierarchies := 'hierarchies', exclude := {excluded!r},"
        " replace := true)"
    ).fetchall()
    listed = con.execute(
        "SELECT "
        + ", ".join(f"{name}::VARCHAR AS {name}" for name in NAMES)
        + ", scale FROM published"
    ).fetchnumpy()
    kinds, holds = [], []
    for name, size in zip(NAMES, sizes, strict=True):
        below = con.execute(
            "SELECT generalized, code FROM hierarchies JOIN leaf USING (attribute, value)"
            f" WHERE attribute = '{name}' AND hierarchies.level = {GIVEN[name]}"
        ).fetchnumpy()
        names, place = np.unique(below["generalized"].astype(str), return_inverse=True)
        held = np.zeros((len(names), size))
        held[place, below["code"].astype(np.int64)] = 1
        holds.append(held / held.sum(axis=1, keepdims=True))
        kinds.append(np.searchsorted(names, listed[name].astype(str)))
    answers = []
    for places, wanted in asked:
        share = listed["scale"].copy()
        for place, asks in zip(places, wanted, strict=True):
            share *= (holds[place] @ asks)[kinds[place]]
        answers.append(share.sum())
    return int(shown), np.array(answers)


def _error(answers: NDArray[np.float64], true: NDArray[np.float64]) -> float:
    return float((np.abs(answers - true) / true).mean())
