"""``priv.laplace_count``: a count with noise; its price is in the ledger before the count is returned."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from duckdb_priv.engine.instance import Instance
from duckdb_priv.engine.udfs import Udf
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.discrete_laplace import laplace_count
from duckdb_priv.release.catalog import now
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.templates import section


def noisy_count(instance: Instance) -> Udf:
    """Return the function that SQL calls. It stores the cost of a count in the current database.

    The cost is written on a cursor of its own, so that it stays if the caller's transaction is rolled back: the caller
    has seen the count.
    """

    def answer(
        numbers: pa.ChunkedArray,
        epsilons: pa.ChunkedArray,
        populations: pa.ChunkedArray,
        databases: pa.ChunkedArray,
    ) -> pa.Array:
        answers = noisy_counts(numbers, epsilons)
        given = zip(populations.to_pylist(), epsilons.to_pylist(), answers.to_pylist(), strict=True)
        calls = Counter((of, epsilon) for of, epsilon, one in given if one["mistake"] is None)
        try:
            _charge(instance, databases[0].as_py(), calls)
        except duckdb.Error:
            mistake = {
                "mistake": "what the count costs cannot be written into the ledger of this database\n"
                "Hint: USE the database that was prepared for publishing, opened for writing"
            }
            return pa.array([mistake] * len(answers), answers.type)
        return answers

    return Udf(
        "_priv_laplace_count",
        answer,
        ("BIGINT", "DOUBLE", "VARCHAR", "VARCHAR"),
        "STRUCT(value BIGINT, mistake VARCHAR)",
    )


def _charge(instance: Instance, database: str, calls: Counter[tuple[str, float]]) -> None:
    if not calls:
        return
    cursor = instance.cursor()
    try:
        cursor.executemany(
            section("publishing", "charge_noisy_count", database=identifier(database)),
            [[*of, number, now()] for of, number in calls.items()],
        )
    finally:
        cursor.close()


def noisy_counts(numbers: pa.ChunkedArray, epsilons: pa.ChunkedArray) -> pa.Array:
    """Add discrete Laplace noise to whole numbers, or return the mistake in an argument."""
    values = numbers.to_pylist()
    budgets = epsilons.to_pylist()
    answers: list[dict[str, Any]] = [{} for _ in values]
    for epsilon in set(budgets):
        rows = [row for row, budget in enumerate(budgets) if budget == epsilon]
        try:
            if epsilon is None or any(values[row] is None for row in rows):
                raise InvalidParameter(
                    "priv.laplace_count was given NULL, or what is no number",
                    hint="both its arguments are numbers, and n is a whole one",
                )
            noisy = laplace_count(np.array([values[row] for row in rows], np.int64), epsilon)
        except InvalidParameter as error:
            for row in rows:
                answers[row] = {"mistake": str(error)}
            continue
        for row, value in zip(rows, noisy.tolist(), strict=True):
            answers[row] = {"value": value}
    return pa.array(answers, pa.struct({"value": pa.int64(), "mistake": pa.string()}))
