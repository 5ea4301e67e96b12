"""What ``priv.publish_coins`` takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duckdb_priv.release.arguments import WHOLES, Arguments, argument, whole


@dataclass(frozen=True, kw_only=True)
class CoinsArguments(Arguments):
    """How many coins are thrown."""

    coins: int = argument(whole(1), "the number of coins that are thrown for each record", "2")


@dataclass(frozen=True, kw_only=True)
class CoinsGrid(Arguments):
    """What advice tries."""

    coins_to_try: Sequence[int] = argument(
        WHOLES, "the numbers of coins to try", "[1, 2]", default=(1, 2)
    )
