"""The arguments of ``priv.publish_safe_k``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from duckdb_priv.release.arguments import (
    LEVELS,
    NUMBER,
    NUMBERS,
    TABLE,
    WHOLES,
    Alternatives,
    Arguments,
    argument,
    whole,
)

HIERARCHIES = "the table (attribute, value, level, generalized) of what values become"
LEVEL = "the level that each column is generalized to"


@dataclass(frozen=True, kw_only=True)
class SafeKArguments(Arguments):
    """The smallest group, the sampling rate, and either the levels or the epsilon for choosing them."""

    k: int = argument(whole(1), "the smallest group that is published", "20")
    beta: float = argument(NUMBER, "the share of the records that is sampled", "0.1")
    epsilon: float = argument(NUMBER, "the epsilon of the whole release", "1.0")
    hierarchies: str = argument(TABLE, HIERARCHIES, "'hierarchies'")
    levels: Mapping[str, Any] | None = argument(LEVELS, LEVEL, "{'age': 2, 'sex': 0}", default=None)
    epsilon1: float | None = argument(
        NUMBER, "the part of epsilon that choosing the levels takes", "0.1", default=None
    )

    alternatives: ClassVar = (
        Alternatives(
            "give either levels, or an epsilon1 to choose them with", (("levels",), ("epsilon1",))
        ),
    )


@dataclass(frozen=True, kw_only=True)
class SafeKGrid(Arguments):
    """The parameters that advice about generalized samples tries."""

    hierarchies: str | None = argument(TABLE, HIERARCHIES, "'hierarchies'", default=None)
    levels: Mapping[str, Any] | None = argument(LEVELS, LEVEL, "{'age': 2, 'sex': 0}", default=None)
    ks: Sequence[int] = argument(WHOLES, "the smallest groups to try", "[20]", default=(10, 20, 50))
    betas: Sequence[float] = argument(
        NUMBERS, "the sampling rates to try", "[0.1]", default=(0.05, 0.1, 0.2)
    )
