"""The guessing game of LDP-Auditor (Arcolezi, Gambs 2023): what an outsider can prove of epsilon by playing.

All of one table have one value, all of another table another. Both are published, and a player sees what a record
shows. The player says "the first" if it shows, or may show, the first value and not the other. How often that is right
in the one table and wrong in the other bounds epsilon from below, with 99% confidence (Clopper, Pearson). A bound
above the promise would prove it wrong; one far below it proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from scipy.stats import beta

from benchmarks.evidence.releases import connect, exported, local_epsilon

DOMAIN = [f"value {place}" for place in range(14)]
FIRST, OTHER = DOMAIN[0], DOMAIN[7]
ALPHA = 0.01
GAMES: Mapping[str, str] = {
    "uniform": f"retention := 0.3, domain := {DOMAIN}",
    "matrix": "matrix := 'exchange'",
    "shuffled": f"epsilon := 1.0, delta := 1e-6, domain := {DOMAIN}",
    "block_design": f"epsilon := 1.0, domain := {DOMAIN}",
}
"""Mechanisms whose operator does not depend on who else is in the table, and how they are called."""
EQUAL = f"= '{FIRST}'"
GUESSES = {
    "block_design": f"IN (SELECT block FROM game_secret_blocks WHERE list_contains(secret, '{FIRST}')"
    f" AND NOT list_contains(secret, '{OTHER}'))",
}
"""What is taken for a sign of the first value."""


def play(mechanism: str, records: int, folder: Path) -> tuple[float, float]:
    """Return the epsilon that is promised of a record whose row is known, and the largest that is proven."""
    stated, promises = [], []
    for value in (FIRST, OTHER):
        with connect() as publisher:
            publisher.execute(f"CREATE TABLE domain AS SELECT unnest({DOMAIN}) AS value")
            publisher.execute(
                "CREATE TABLE exchange AS SELECT a.value AS original, b.value AS published,"
                " if(a.value = b.value, 0.35, 0.05) AS probability FROM domain AS a, domain AS b"
            )
            publisher.execute(
                f"CREATE TABLE everybody AS SELECT i AS id, 'all' AS place, '{value}' AS secret"
                f" FROM range({records}) AS t(i)"
            )
            publisher.execute(
                f"FROM priv.publish_{mechanism}('everybody', 'game', sensitive := 'secret', record_id := 'id',"
                f" {GAMES[mechanism]})"
            ).fetchall()
            with exported(publisher, "game", folder) as reader:
                promises.append(local_epsilon(reader) or 0.0)
                guess = f"noisy_secret {GUESSES.get(mechanism, EQUAL)}"
                stated += reader.execute(f"SELECT count(*) FROM game WHERE {guess}").fetchall()[0]
    right, wrong = stated
    least = beta.ppf(ALPHA / 2, right, records - right + 1)
    most = beta.ppf(1 - ALPHA / 2, wrong + 1, records - wrong)
    return max(promises), math.log(least / most)
