"""The arguments of ``priv.publish_shuffled``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duckdb_priv.methods.common.parameters import DOMAIN
from duckdb_priv.release.arguments import NUMBER, VALUES, Arguments, argument

MIN_EPSILON = 1e-6
"""Smallest epsilon. With less, a record that is unique in its group would be kept less than once in a million."""


@dataclass(frozen=True, kw_only=True)
class ShuffledArguments(Arguments):
    """The (epsilon, delta) guarantee of a record in its group, from which the retentions are computed."""

    epsilon: float = argument(
        NUMBER, "the differential privacy of a record's value in its group", "1.0"
    )
    delta: float = argument(NUMBER, "the probability with which that may fail", "1e-6")
    domain: Any = argument(VALUES, DOMAIN, "['flu', 'cold', NULL]", default=None)


@dataclass(frozen=True, kw_only=True)
class ShuffledGrid(Arguments):
    """No parameters: advice about shuffled groups uses the required epsilon and delta."""
