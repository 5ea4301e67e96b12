"""``priv.laplace_count``: a count with noise; its price is in the ledger before the count is returned."""

from __future__ import annotations

from collections import Counter

import duckdb
import pyarrow as pa

from duckdb_priv.engine.group_kernels import noisy_counts
from duckdb_priv.engine.instance import Instance
from duckdb_priv.engine.udfs import Udf
from duckdb_priv.release.catalog import now
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.templates import section


class NoisyCounts:
    """Returns counts with noise, and stores their cost in the current database.

    The cost is written on a cursor of its own, so that it stays if the caller's transaction is rolled back: the caller
    has seen the count.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    def functions(self) -> tuple[Udf, ...]:
        """Return the functions that SQL calls."""
        return (
            Udf(
                "_priv_laplace_count",
                self._answer,
                ("BIGINT", "DOUBLE", "VARCHAR", "VARCHAR"),
                "STRUCT(value BIGINT, mistake VARCHAR)",
            ),
        )

    def _answer(
        self,
        numbers: pa.ChunkedArray,
        epsilons: pa.ChunkedArray,
        populations: pa.ChunkedArray,
        databases: pa.ChunkedArray,
    ) -> pa.Array:
        answers = noisy_counts(numbers, epsilons)
        given = [
            (population, epsilon)
            for population, epsilon, answer in zip(
                populations.to_pylist(), epsilons.to_pylist(), answers.to_pylist(), strict=True
            )
            if answer["mistake"] is None
        ]
        try:
            self._charge(databases[0].as_py(), Counter(given))
        except duckdb.Error:
            mistake = {
                "mistake": "what the count costs cannot be written into the ledger of this database\n"
                "Hint: USE the database that was prepared for publishing, opened for writing"
            }
            return pa.array([mistake] * len(answers), answers.type)
        return answers

    def _charge(self, database: str, calls: Counter[tuple[str, float]]) -> None:
        if not calls:
            return
        cursor = self.instance.cursor()
        try:
            cursor.executemany(
                section("publishing", "charge_noisy_count", database=identifier(database)),
                [[*of, number, now()] for of, number in calls.items()],
            )
        finally:
            cursor.close()
