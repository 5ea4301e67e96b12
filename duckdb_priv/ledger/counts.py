"""Noisy counts of records left out of a release: each is charged to its population once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duckdb_priv.release.catalog import Connection


@dataclass(frozen=True)
class NoisyCount:
    """The cost of one noisy count, or of several counts of the same records together."""

    epsilon: float | None
    """Epsilon for one record; None if the effect of one record has no bound."""
    fingerprint: str
    """Fingerprint of everything that defines the noise, including the true counts."""
    person_rows: int | None
    """The most counted records of one person; None without a person column."""


def charge(
    connection: Connection, population: str, release: str, count: NoisyCount, time: Any
) -> None:
    """Charge a population for noisy counts, unless the same counts with the same noise were charged before."""
    connection.execute(
        "INSERT INTO priv.noisy_count SELECT $1, $2, 1, $3, $4, $5, $6 WHERE NOT EXISTS"
        " (FROM priv.noisy_count WHERE population = $1 AND coins = $5)",
        [population, count.epsilon, time, release, count.fingerprint, count.person_rows],
    )
