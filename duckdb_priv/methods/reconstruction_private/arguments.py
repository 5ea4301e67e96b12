"""The arguments of ``priv.publish_reconstruction_private``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from duckdb_priv.methods.common.parameters import DOMAIN, RETENTION, retentions
from duckdb_priv.release.arguments import (
    NUMBER,
    NUMBERS,
    VALUES,
    Alternatives,
    Arguments,
    argument,
    choice,
)

if TYPE_CHECKING:
    from duckdb_priv.mechanism.reconstruction_privacy import Bound


@dataclass(frozen=True, kw_only=True)
class ReconstructionPrivateArguments(Arguments):
    """The retention, and the required error of estimates for single groups."""

    retention: float | None = argument(NUMBER, RETENTION, "0.3", default=None)
    ldp_epsilon: float | None = argument(
        NUMBER,
        "the local differential privacy of one value, epsilon being a relative error here",
        "1.0",
        default=None,
    )
    epsilon: float = argument(NUMBER, "the relative error that must not be rare", "0.3")
    delta: float = argument(NUMBER, "how likely that error is to be, either way", "0.05")
    bound: Bound = argument(
        choice("simplified", "chernoff", "exact"),
        "how the sample size is computed",
        "'exact'",
        default="simplified",
    )
    max_frequency: float = argument(
        NUMBER, "the largest frequency in a group that is promised for", "1.0", default=1.0
    )
    sampling: Literal["public", "paper"] = argument(
        choice("public", "paper"),
        "how large groups are sampled, 'paper' being for comparison only",
        "'public'",
        default="public",
    )
    domain: Any = argument(VALUES, DOMAIN, "['flu', 'cold', NULL]", default=None)

    alternatives: ClassVar = (
        Alternatives(
            "retention is missing, or the ldp_epsilon that it follows from",
            (("retention",), ("ldp_epsilon",)),
        ),
    )


@dataclass(frozen=True, kw_only=True)
class ReconstructionPrivateGrid(Arguments):
    """The parameters that advice about reconstruction privacy tries."""

    retentions: Sequence[float] = retentions()
    reconstruction_epsilons: Sequence[float] = argument(
        NUMBERS, "the epsilons of reconstruction privacy to try", "[0.3]", default=(0.3,)
    )
    reconstruction_deltas: Sequence[float] = argument(
        NUMBERS, "the deltas of reconstruction privacy to try", "[0.3]", default=(0.3,)
    )
