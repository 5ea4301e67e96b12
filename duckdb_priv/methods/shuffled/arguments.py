"""What ``priv.publish_shuffled`` takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duckdb_priv.methods.common.parameters import DOMAIN
from duckdb_priv.release.arguments import NUMBER, VALUES, Arguments, argument

MIN_EPSILON = 1e-6
"""Below it a record that is alone would not be kept once in a million."""


@dataclass(frozen=True, kw_only=True)
class ShuffledArguments(Arguments):
    """What a record is promised in its group; from it follows how often values are kept."""

    epsilon: float = argument(
        NUMBER, "the differential privacy of a record's value in its group", "1.0"
    )
    delta: float = argument(NUMBER, "the probability with which that may fail", "1e-6")
    domain: Any = argument(VALUES, DOMAIN, "['flu', 'cold', NULL]", default=None)


@dataclass(frozen=True, kw_only=True)
class ShuffledGrid(Arguments):
    """What advice about shuffled groups tries: the epsilon and delta that are asked for."""
