"""Parameters that several mechanisms take."""

from __future__ import annotations

from typing import Any

from duckdb_priv.release.arguments import NUMBERS, argument

RETENTION = "the probability that a record keeps its value"
DOMAIN = "the values that the column can have, whether they occur or not"
EPSILON = "the local differential privacy of one value"
RHO1 = "the largest prior of a true value that is protected"
RHO2 = "the posterior that a prior of at most rho1 may rise to"


def retentions() -> Any:
    """Return the argument of ``priv.advise`` that lists retentions."""
    return argument(
        NUMBERS,
        "the retentions to try",
        "[0.2, 0.5]",
        default=(0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    )
