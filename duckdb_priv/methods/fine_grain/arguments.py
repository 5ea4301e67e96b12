"""The arguments of ``priv.publish_fine_grain`` and ``priv.fine_grain_plan``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from duckdb_priv.methods.common.parameters import DOMAIN
from duckdb_priv.release.arguments import (
    NUMBER,
    NUMBERS,
    TABLES,
    VALUES,
    Alternatives,
    Arguments,
    argument,
    choice,
)

if TYPE_CHECKING:
    from duckdb_priv.mechanism.requirements import Direction


@dataclass(frozen=True, kw_only=True)
class FineGrainArguments(Arguments):
    """A requirement for each value, or one tolerance for all values."""

    requirements: Any = argument(
        TABLES, "the table (value, rho1, rho2) of what is required", "'table'", default=None
    )
    tolerance: float | None = argument(
        NUMBER, "how many times its frequency the posterior of a value may be", "20", default=None
    )
    direction: Direction = argument(
        choice("both", "upward"), "which way posteriors are bounded", "'both'", default="both"
    )
    min_retention: float | None = argument(
        NUMBER, "the retention that every value has at least", "0.05", default=None
    )
    domain: Any = argument(VALUES, DOMAIN, "['flu', 'cold', NULL]", default=None)
    frequencies: Any = argument(
        TABLES,
        "the table (value, frequency) of what is publicly known of the values",
        "'table'",
        default=None,
    )
    frequency_epsilon: float | None = argument(
        NUMBER, "what counting the values for the retentions may cost", "0.1", default=None
    )

    alternatives: ClassVar = (
        Alternatives(
            "give either requirements or a tolerance", (("requirements",), ("tolerance",))
        ),
    )


@dataclass(frozen=True, kw_only=True)
class FineGrainGrid(Arguments):
    """The parameters that advice about fine-grain perturbation tries."""

    tolerances: Sequence[float] = argument(
        NUMBERS, "the tolerances to try", "[10, 20]", default=(5, 10, 20, 50)
    )
