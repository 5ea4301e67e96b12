"""The parameters of a generalized sample, checked against each other, and the statements of its guarantees.

Source: Li, Qardaji, Su, "On sampling, anonymization, and differential privacy or, k-anonymization meets
differential privacy" (ASIACCS 2012), theorems 3.9 and 3.11; mechanism/sampling.md derives the tight delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from duckdb_priv.errors import GuaranteeViolated, InvalidParameter
from duckdb_priv.mechanism import composition
from duckdb_priv.mechanism.sampling import (
    check_beta,
    sampling_delta,
    sampling_k,
    tight_delta,
)
from duckdb_priv.methods.safe_k.arguments import SafeKArguments
from duckdb_priv.release.model import Guarantee
from duckdb_priv.release.promise import factor

USUAL_DELTA = 1e-6
"""The delta in hints."""


@dataclass(frozen=True)
class Terms:
    """The parameters of a generalized sample."""

    k: int
    beta: float
    epsilon: float
    """The epsilon of the whole release."""
    epsilon1: float
    """The part of epsilon for choosing the levels; 0 if they are given."""

    @classmethod
    def of(cls, arguments: SafeKArguments) -> Terms:
        """Return the checked parameters; raises InvalidParameter or GuaranteeViolated."""
        terms = cls(arguments.k, arguments.beta, arguments.epsilon, arguments.epsilon1 or 0.0)
        check_beta(terms.beta)
        if arguments.levels is None and not 0 < terms.epsilon1 < terms.epsilon:
            raise InvalidParameter(
                f"epsilon1 must lie strictly between 0 and epsilon = {terms.epsilon!r}, got"
                f" {terms.epsilon1!r}",
                hint="it is the part of epsilon that choosing the levels takes; a tenth is usual",
            )
        smallest = -math.log1p(-terms.beta)
        if terms.epsilon1 and terms.rest < smallest:
            raise InvalidParameter(
                f"epsilon - epsilon1 = {terms.rest:g} is below -ln(1 - beta), the least possible"
                f" with beta = {terms.beta!r}",
                hint=f"with this beta use epsilon >= {(terms.epsilon1 + smallest) * (1 + 1e-5):.6g}; with this"
                f" epsilon use beta <= {-math.expm1(-terms.rest) * (1 - 1e-5):.6g}",
            )
        if terms.delta >= terms.beta:
            raise GuaranteeViolated(
                f"k = {terms.k} gives delta = {terms.delta:.3g} at beta = {terms.beta!r}: the bare sample would be"
                " as private",
                hint=f"for delta = {USUAL_DELTA:g}, k must be at least"
                f" {sampling_k(terms.beta, terms.rest, min(USUAL_DELTA, terms.beta / 2))}",
            )
        return terms

    @property
    def rest(self) -> float:
        """The epsilon that is left for the sample."""
        return self.epsilon - self.epsilon1

    @property
    def delta(self) -> float:
        """The delta of the whole release, by theorem 3.9."""
        return sampling_delta(self.k, self.beta, self.rest)

    @property
    def tight(self) -> float:
        """The smallest delta of the sample at the epsilon ``rest``."""
        return tight_delta(self.k, self.beta, self.rest)

    @property
    def threshold(self) -> int:
        """The size of a group in the full table of which k records are sampled on average."""
        return math.ceil(Fraction(self.k) / Fraction(self.beta))


def guarantees_of(terms: Terms, nodes: int) -> list[Guarantee]:
    """Return the guarantees of the release, with their conditions."""
    total = composition.EpsilonDelta(terms.epsilon, terms.delta)
    exchange = composition.substituted(total)
    numbers = {"k": terms.k, "beta": terms.beta, "epsilon": terms.epsilon} | (
        {"epsilon1": terms.epsilon1} if terms.epsilon1 else {}
    )
    after = " after choosing the levels" if terms.epsilon1 else ""
    found = [
        Guarantee(
            "differential_privacy",
            f"Whether any one record is in the source or not changes the probability of any release by a factor of"
            f" {factor(terms.epsilon)} (epsilon = {terms.epsilon:g}), except with probability {terms.delta:.3g}"
            " (delta).",
            value=terms.epsilon,
            parameters={**numbers, "delta": terms.delta},
        ),
        Guarantee(
            "delta",
            "delta is the largest probability, over all possible sizes of a group, that at least k of its records are"
            f" sampled, and a share of more than 1 - (1 - beta) exp(-{terms.rest:g}). Then one record more or less"
            f" could be noticed. The exponent is the epsilon left{after} (Li, Qardaji, Su 2012, theorem 3.9).",
            value=terms.delta,
            parameters=numbers,
        ),
        Guarantee(
            "tight_delta",
            "The smallest delta for which the same holds, exactly: the hockey-stick divergence of the worst two"
            f" samples at the epsilon left{after}.",
            value=terms.tight,
            parameters=numbers,
        ),
        Guarantee(
            "differential_privacy_exchange",
            f"Exchanging a record for another is removing one and adding one: epsilon = {exchange.epsilon:g},"
            f" delta = {exchange.delta:.3g}.",
            value=exchange.epsilon,
            parameters={"epsilon": exchange.epsilon, "delta": exchange.delta},
        ),
        Guarantee(
            "suppression",
            "A class (records that are equal in all published columns) of fewer than"
            f" {terms.k / terms.beta:,.0f} source records (k / beta) is mostly missing, and counts over such classes"
            " are too low. How many records are missing is not published. Intervals reach upwards as far as the"
            " classes that the levels allow could hide.",
            value=terms.k / terms.beta,
            parameters={"k": terms.k, "beta": terms.beta},
        ),
        Guarantee(
            "k_anonymity",
            f"Every published row has at least {terms.k - 1} others that are equal to it.",
            value=float(terms.k),
        ),
    ]
    if terms.epsilon1:
        found.append(
            Guarantee(
                "scheme",
                f"The exponential mechanism chose the levels among {nodes} nodes on the full table, before a fresh"
                " sample was drawn, with probability proportional to"
                f" exp({terms.epsilon1:g} * precision * excess). Precision, which is public, is the mean share of"
                " levels that a node keeps, relative to the finest node; excess is the number of records beyond"
                f" the first {terms.threshold - 1} of each group. One record more raises it by at most 1.",
                value=terms.epsilon1,
                parameters={"epsilon1": terms.epsilon1, "threshold": terms.threshold},
            )
        )
    else:
        found.append(
            Guarantee(
                "scheme",
                "The levels were given: if they were chosen without looking at the data, the scheme is strongly safe.",
            )
        )
    found.append(
        Guarantee(
            "conditions",
            "All of this is about one record; for more records, epsilon and delta add up. It holds if the"
            " hierarchies, k, beta and the choice of columns do not depend on the data, and if nothing else is"
            " published from the same sample, its size and the number of suppressed records included.",
        )
    )
    return found


def warn_of_delta(terms: Terms, rows: int) -> list[str]:
    """Return a warning if delta is large for the number of rows. Only the publisher sees it."""
    if terms.delta * rows >= 1:
        return [
            f"delta = {terms.delta:.3g} is not small: it is at least 1 / {rows}, one over the number of records."
            f" For delta = {USUAL_DELTA:g}, k must be at least {sampling_k(terms.beta, terms.rest, USUAL_DELTA)}"
        ]
    return []
