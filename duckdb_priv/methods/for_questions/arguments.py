"""The arguments of ``priv.publish_for_questions``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from duckdb_priv.methods.common.parameters import EPSILON, RHO1, RHO2
from duckdb_priv.release.arguments import (
    ANYTHING,
    FLAG,
    NUMBER,
    TABLES,
    Alternatives,
    Arguments,
    argument,
    choice,
)

MIDDLE, RANDOM = "middle", "random"


@dataclass(frozen=True, kw_only=True)
class ForQuestionsArguments(Arguments):
    """The questions, the guarantee and the edges; a struct gives each of several columns its own."""

    questions: Any = argument(
        TABLES,
        "'ranges', 'prefixes', 'mean', 'values', or a table (low, high, weight)",
        "'ranges'",
    )
    bins: Any = argument(
        ANYTHING,
        "the edges of the bins, or how many bins of equal width there are: 64 unless stated",
        "[0, 20, 40, 65, 100]",
        default=None,
    )
    low: Any = argument(ANYTHING, "the lower edge of the first bin", "0", default=None)
    high: Any = argument(ANYTHING, "the upper edge of the last bin", "100", default=None)
    epsilon: float | None = argument(NUMBER, EPSILON, "1.0", default=None)
    rho1: float | None = argument(NUMBER, RHO1, "0.1", default=None)
    rho2: float | None = argument(NUMBER, RHO2, "0.5", default=None)
    rounding: str = argument(
        choice(MIDDLE, RANDOM),
        "whether a number becomes the middle of its bin, or one of the two edges beside it",
        "'random'",
        default=MIDDLE,
    )
    clip: bool = argument(
        FLAG, "whether what is outside of all bins goes to the outer ones", "true", default=False
    )

    alternatives: ClassVar = (
        Alternatives(
            "give either epsilon, or rho1 and rho2",
            (("epsilon",), ("rho1", "rho2")),
        ),
    )
