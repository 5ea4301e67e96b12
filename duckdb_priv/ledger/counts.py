"""Counts with noise that a release holds of records that are not in it: each is charged to its population once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duckdb_priv.release.catalog import Connection


@dataclass(frozen=True)
class NoisyCount:
    """What a count costs, or several of the same records together."""

    epsilon: float | None
    """Of one record; None where nothing bounds what one changes."""
    fingerprint: str
    """Fingerprint of all that defines the noise, the numbers included."""
    person_rows: int | None
    """The most of the counted records that one person has; None where people are not named."""


def charge(
    connection: Connection, population: str, release: str, count: NoisyCount, time: Any
) -> None:
    """Charge a population for counts of a release, unless it has paid for the same noise of the same numbers."""
    connection.execute(
        "INSERT INTO priv.noisy_count SELECT $1, $2, 1, $3, $4, $5, $6 WHERE NOT EXISTS"
        " (FROM priv.noisy_count WHERE population = $1 AND coins = $5)",
        [population, count.epsilon, time, release, count.fingerprint, count.person_rows],
    )
