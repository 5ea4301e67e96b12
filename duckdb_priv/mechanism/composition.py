"""What several differentially private releases of one source add up to.

Neighbours differ by one record added or removed; :func:`substituted` restates a guarantee for one
record exchanged. The rules hold for releases with randomness of their own, fresh samples included.
They do not hold for two uses of one sample: safe k-anonymity composes with nothing that runs on the
sample it used. Derivations: ``composition.md`` beside this file. Sources: Dwork, Rothblum, Vadhan
(FOCS 2010), theorem III.3, and Kairouz, Oh, Viswanath (ICML 2015) for different epsilons; McSherry
(SIGMOD 2009), theorem 4, for partitions; Li, Qardaji, Su (ASIACCS 2012), section 2.6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from duckdb_priv.errors import InvalidParameter


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy.

    >>> Guarantee(0.5, 1e-6)
    Guarantee(epsilon=0.5, delta=1e-06)
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


def basic_composition(releases: Sequence[Guarantee]) -> Guarantee:
    """Return the sums: valid however each release was chosen after seeing those before it.

    >>> basic_composition([Guarantee(0.5), Guarantee(1.0, 1e-6)])
    Guarantee(epsilon=1.5, delta=1e-06)
    """
    return Guarantee(
        math.fsum(release.epsilon for release in releases),
        min(1.0, math.fsum(release.delta for release in releases)),
    )


def advanced_composition(releases: Sequence[Guarantee], slack: float) -> Guarantee:
    """Return a smaller epsilon than the sum, for many small releases, at the price of ``slack``.

    epsilon is ``sqrt(2 ln(1/slack) sum e_i**2) + sum e_i (exp(e_i) - 1)``, delta is the sum plus
    ``slack``. It can exceed the sum of epsilons; both bounds hold, so a ledger may take the smaller
    one. The parameters of all releases, though not the releases, must be fixed in advance.
    Raises InvalidParameter unless slack lies strictly between 0 and 1.

    >>> loss = advanced_composition([Guarantee(0.1, 1e-7)] * 50, slack=1e-6)
    >>> f"{loss.epsilon:.4f} {loss.delta:.0e}"
    '4.2428 6e-06'
    """
    if not 0 < slack < 1:
        raise InvalidParameter(
            f"slack must lie strictly between 0 and 1, got {slack!r}",
            hint="it is added to delta; 1e-6 is a usual value",
        )
    losses = [release.epsilon for release in releases]
    spread = math.sqrt(2 * -math.log(slack) * math.fsum(loss * loss for loss in losses))
    drift = math.fsum(loss * (_exp(loss) - 1) for loss in losses)
    deltas = math.fsum(release.delta for release in releases)
    return Guarantee(spread + drift, min(1.0, deltas + slack))


def parallel_composition(releases: Sequence[Guarantee]) -> Guarantee:
    """Return the maxima: for releases of disjoint parts of a source, split by a public rule.

    A record added or removed touches one part only. Exchanging a record may touch two: take
    :func:`substituted` of the result, which covers that.

    >>> parallel_composition([Guarantee(0.5, 1e-6), Guarantee(1.0)])
    Guarantee(epsilon=1.0, delta=1e-06)
    """
    return Guarantee(
        max((release.epsilon for release in releases), default=0.0),
        max((release.delta for release in releases), default=0.0),
    )


def substituted(release: Guarantee) -> Guarantee:
    """Return what a guarantee for add and remove says where one record is exchanged for another.

    Exchanging is removing and adding: ``(2 epsilon, (1 + exp(epsilon)) delta)``.

    >>> substituted(Guarantee(0.5))
    Guarantee(epsilon=1.0, delta=0.0)
    """
    delta = (1 + _exp(release.epsilon)) * release.delta if release.delta else 0.0
    return Guarantee(2 * release.epsilon, min(1.0, delta))


def _exp(x: float) -> float:
    """Return exp(x), infinite where a float cannot hold it."""
    return math.exp(x) if x < 709 else math.inf
