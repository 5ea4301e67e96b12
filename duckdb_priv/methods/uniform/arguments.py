"""The arguments of ``priv.publish_uniform``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from duckdb_priv.methods.common.parameters import DOMAIN, EPSILON, RETENTION, RHO1, RHO2, retentions
from duckdb_priv.release.arguments import NUMBER, VALUES, Alternatives, Arguments, argument


@dataclass(frozen=True, kw_only=True)
class UniformArguments(Arguments):
    """A retention, or an epsilon, or a prior and a posterior, from which the retention is computed."""

    retention: float | None = argument(NUMBER, RETENTION, "0.3", default=None)
    epsilon: float | None = argument(NUMBER, EPSILON, "1.0", default=None)
    rho1: float | None = argument(NUMBER, RHO1, "0.1", default=None)
    rho2: float | None = argument(NUMBER, RHO2, "0.5", default=None)
    domain: Any = argument(VALUES, DOMAIN, "['flu', 'cold', NULL]", default=None)

    alternatives: ClassVar = (
        Alternatives(
            "give either a retention, or epsilon, or rho1 and rho2",
            (("retention",), ("epsilon",), ("rho1", "rho2")),
        ),
    )


@dataclass(frozen=True, kw_only=True)
class UniformGrid(Arguments):
    """The parameters that advice about uniform perturbation tries."""

    retentions: Sequence[float] = retentions()
