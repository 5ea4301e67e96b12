"""The arguments of ``priv.publish_block_design``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from duckdb_priv.methods.common.parameters import DOMAIN, EPSILON, RHO1, RHO2
from duckdb_priv.release.arguments import (
    NUMBER,
    NUMBERS,
    VALUES,
    Alternatives,
    Arguments,
    argument,
)


@dataclass(frozen=True, kw_only=True)
class BlockDesignArguments(Arguments):
    """An epsilon, or a prior and a posterior. These and the number of values determine the design."""

    epsilon: float | None = argument(NUMBER, EPSILON, "2.0", default=None)
    rho1: float | None = argument(NUMBER, RHO1, "0.1", default=None)
    rho2: float | None = argument(NUMBER, RHO2, "0.5", default=None)
    domain: Any = argument(VALUES, DOMAIN, "['flu', 'cold', NULL]", default=None)

    alternatives: ClassVar = (
        Alternatives(
            "give either epsilon, or rho1 and rho2",
            (("epsilon",), ("rho1", "rho2")),
        ),
    )


@dataclass(frozen=True, kw_only=True)
class BlockDesignGrid(Arguments):
    """The parameters that advice about codes of a block design tries."""

    epsilons: Sequence[float] = argument(
        NUMBERS,
        "the epsilons to try",
        "[1.0, 2.0]",
        default=(0.5, 1.0, 2.0, 3.0, 4.0),
    )
