"""(epsilon, delta)-differential privacy, and its conversion to other neighbouring relations.

Neighbouring tables differ by one record added or removed. :func:`substituted` converts a guarantee to one exchanged
record, :func:`of_group` to several records. The ledger composes the guarantees of several releases in SQL; tests
compare it with ``reference/composition.py``. Derivations: ``composition.md`` beside this file. Source: Li, Qardaji,
Su (ASIACCS 2012), section 2.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class EpsilonDelta:
    """(epsilon, delta)-differential privacy.

    >>> EpsilonDelta(0.5, 1e-6)
    EpsilonDelta(epsilon=0.5, delta=1e-06)
    """

    epsilon: float
    """At least 0; infinite if nothing is guaranteed."""
    delta: float = 0.0
    """In [0, 1]."""


def substituted(release: EpsilonDelta) -> EpsilonDelta:
    """Convert a guarantee for one record added or removed to a guarantee for one record exchanged.

    An exchange removes one record and adds another: ``(2 epsilon, (1 + exp(epsilon)) delta)``.

    >>> substituted(EpsilonDelta(0.5))
    EpsilonDelta(epsilon=1.0, delta=0.0)
    """
    delta = (1 + exp(release.epsilon)) * release.delta if release.delta else 0.0
    return EpsilonDelta(2 * release.epsilon, min(1.0, delta))


def of_group(release: EpsilonDelta, size: int) -> EpsilonDelta:
    """Convert a guarantee for one record to a guarantee for ``size`` records that are added or removed together.

    Adding the n records one after the other gives
    ``(n epsilon, delta (exp(n epsilon) - 1) / (exp(epsilon) - 1))``.

    >>> of_group(EpsilonDelta(0.5), 3)
    EpsilonDelta(epsilon=1.5, delta=0.0)
    >>> round(of_group(EpsilonDelta(0.0, 0.01), 3).delta, 4)
    0.03
    """
    steps = range(size) if release.delta else ()
    delta = sum(exp(step * release.epsilon) for step in steps) * release.delta
    return EpsilonDelta(size * release.epsilon, min(1.0, delta))


def exp(x: float) -> float:
    """Return exp(x), or infinity if the result is too large for a float."""
    return math.exp(x) if x < 709 else math.inf
