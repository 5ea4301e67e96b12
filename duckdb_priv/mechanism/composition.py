"""(epsilon, delta)-differential privacy, and what it says when neighbours are counted otherwise.

Neighbours differ by one record added or removed; :func:`substituted` restates a guarantee for one
record exchanged. How the guarantees of several releases add up is written in SQL, for the ledger,
and in ``reference/composition.py``. Derivations: ``composition.md`` beside this file. Source: Li,
Qardaji, Su (ASIACCS 2012), section 2.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from duckdb_priv.errors import InvalidParameter


@dataclass(frozen=True)
class EpsilonDelta:
    """(epsilon, delta)-differential privacy.

    >>> EpsilonDelta(0.5, 1e-6)
    EpsilonDelta(epsilon=0.5, delta=1e-06)
    """

    epsilon: float
    """At least 0; infinite where nothing is promised."""
    delta: float = 0.0
    """In [0, 1]."""

    def __post_init__(self) -> None:
        """Refuse numbers that are no guarantee."""
        if not self.epsilon >= 0:
            raise InvalidParameter(
                f"epsilon must be at least 0, got {self.epsilon!r}", hint="0.1 to 2 is usual"
            )
        if not 0 <= self.delta <= 1:
            raise InvalidParameter(
                f"delta must be a probability, got {self.delta!r}", hint="1e-6 is a usual value"
            )


def substituted(release: EpsilonDelta) -> EpsilonDelta:
    """Return what a guarantee for add and remove says where one record is exchanged for another.

    Exchanging is removing and adding: ``(2 epsilon, (1 + exp(epsilon)) delta)``.

    >>> substituted(EpsilonDelta(0.5))
    EpsilonDelta(epsilon=1.0, delta=0.0)
    """
    delta = (1 + exp(release.epsilon)) * release.delta if release.delta else 0.0
    return EpsilonDelta(2 * release.epsilon, min(1.0, delta))


def of_group(release: EpsilonDelta, size: int) -> EpsilonDelta:
    """Return what a guarantee for one record says of so many that come or go together.

    ``(n epsilon, delta (exp(n epsilon) - 1) / (exp(epsilon) - 1))``, the records being added one after the other.

    >>> of_group(EpsilonDelta(0.5), 3)
    EpsilonDelta(epsilon=1.5, delta=0.0)
    >>> round(of_group(EpsilonDelta(0.0, 0.01), 3).delta, 4)
    0.03
    """
    steps = range(size) if release.delta else ()
    delta = sum(exp(step * release.epsilon) for step in steps) * release.delta
    return EpsilonDelta(size * release.epsilon, min(1.0, delta))


def exp(x: float) -> float:
    """Return exp(x), infinite where a float cannot hold it."""
    return math.exp(x) if x < 709 else math.inf
