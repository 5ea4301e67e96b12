"""The total epsilon and delta of several releases of one source, as the ledger computes them in SQL.

The rules hold for releases with independent randomness, including fresh samples. They do not hold for two uses of one
sample: safe k-anonymity does not compose with another algorithm on its sample. Derivations:
``mechanism/composition.md``.
Sources: Dwork, Rothblum, Vadhan (FOCS 2010), theorem III.3, and Kairouz, Oh, Viswanath (ICML 2015) for different
epsilons; McSherry (SIGMOD 2009), theorem 4, for partitions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.composition import EpsilonDelta, exp


def basic_composition(releases: Sequence[EpsilonDelta]) -> EpsilonDelta:
    """Return the sums of epsilon and delta, which hold even if each release was chosen after seeing earlier ones.

    >>> basic_composition([EpsilonDelta(0.5), EpsilonDelta(1.0, 1e-6)])
    EpsilonDelta(epsilon=1.5, delta=1e-06)
    """
    return EpsilonDelta(
        math.fsum(release.epsilon for release in releases),
        min(1.0, math.fsum(release.delta for release in releases)),
    )


def advanced_composition(releases: Sequence[EpsilonDelta], slack: float) -> EpsilonDelta:
    """Return the bound of advanced composition. For many small releases, its epsilon is smaller than the sum.

    epsilon is ``sqrt(2 ln(1/slack) sum e_i**2) + sum e_i (exp(e_i) - 1)``, and delta is the sum plus ``slack``. This
    epsilon can exceed the sum of epsilons. Both bounds hold, so a ledger may use the smaller one. The parameters of all
    releases must be fixed in advance; the releases need not be.
    Raises InvalidParameter unless slack lies strictly between 0 and 1.

    >>> loss = advanced_composition([EpsilonDelta(0.1, 1e-7)] * 50, slack=1e-6)
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
    drift = math.fsum(loss * (exp(loss) - 1) for loss in losses)
    deltas = math.fsum(release.delta for release in releases)
    return EpsilonDelta(spread + drift, min(1.0, deltas + slack))


def parallel_composition(releases: Sequence[EpsilonDelta]) -> EpsilonDelta:
    """Return the maxima of epsilon and delta, for releases of disjoint parts of a source that a public rule defines.

    Adding or removing a record changes one part only. Exchanging a record may change two parts; ``substituted`` of the
    result covers that.

    >>> parallel_composition([EpsilonDelta(0.5, 1e-6), EpsilonDelta(1.0)])
    EpsilonDelta(epsilon=1.0, delta=1e-06)
    """
    return EpsilonDelta(
        max((release.epsilon for release in releases), default=0.0),
        max((release.delta for release in releases), default=0.0),
    )
