"""Codes of a block design: the privacy of uniform perturbation with less noise, for domains of many values.

A record publishes a block of values instead of a value. Blocks that contain its true value are more probable. All
values are in the same number of blocks, and so are all pairs of values. So the count of records whose block contains v
is estimated as under uniform perturbation, with two other probabilities. A block only shows whether a value is in a
set, and the noise of that does not grow with the domain. Derivations: ``block_design.md`` beside this file.

Sources: Ye, Barg, "Optimal schemes for discrete distribution estimation under locally differential privacy" (2018), for
the optimum over all subsets; Feldman, Nelson, Nguyen, Talwar, "Private frequency estimation via projective geometry"
(2022), for hyperplanes; Park, Nam, Lee, "Exactly optimal and communication-efficient private estimation via block
designs" (2023), for balanced designs in general.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import numpy as np

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.difference_family import DifferenceFamily, cosets, singer, singles
from duckdb_priv.mechanism.symmetric_code import Code

MOST_VALUES = 20_000
"""Largest domain. Estimates for larger domains would be noise."""
MOST_BLOCKS = 1 << 17
"""Most blocks of a design, so that the catalog of a release stays small."""
LARGEST_PRIME = 300
"""Largest prime field for hyperplanes. A block contains about one value in 300, which suits an epsilon up to 5.7."""
LARGEST_COSET = 40
"""Largest base block of roots of unity. If larger blocks would be better, hyperplanes are as good."""
WORTHWHILE = 1.03
"""Plain randomized response is chosen unless a code has a standard deviation that is smaller by this factor."""
NEARLY = 1.003
"""Among designs whose standard deviations differ by this factor at most, the one with the fewest blocks is chosen."""

Builder = Callable[[], DifferenceFamily]


def choose_design(values: int, amplification: float) -> DifferenceFamily:
    """Return the design of least variance for a domain of ``values`` values, at a given likelihood ratio.

    If no design is better by the factor ``WORTHWHILE``, this is plain randomized response, whose blocks contain one
    value each. Raises InvalidParameter for fewer than 2 values or more than ``MOST_VALUES``, and for a ratio of at
    most 1.

    >>> choose_design(1383, 9.0).code, choose_design(14, 9.0).code
    (Code(outcomes=1464, holding=133, shared=12), Code(outcomes=14, holding=1, shared=0))
    """
    if values < 2 or values > MOST_VALUES:
        raise InvalidParameter(
            f"a block design needs 2 to {MOST_VALUES} values, got {values}",
            hint="exclude a column with one value; group the values of a column with too many",
        )
    if not (math.isfinite(amplification) and amplification > 1):
        raise InvalidParameter(
            f"the likelihood ratio must be above 1, got {amplification!r}",
            hint="it is exp(epsilon), or priv.amplification_gamma(rho1, rho2)",
        )
    plain = Code(values)
    found = [(code.error(amplification), code, make) for code, make in candidates(values)]
    least = min((error for error, _, _ in found), default=math.inf)
    if least * WORTHWHILE > plain.error(amplification):
        return singles(values)
    near = [each for each in found if each[0] <= least * NEARLY]
    return min(near, key=lambda each: (each[1].outcomes, each[0]))[2]()


def operator_of_blocks(
    values: int, blocks: int, stride: int, first: Sequence[int], own: float, other: float
) -> tuple[Matrix, Matrix]:
    """Return the operator of records that report blocks, and the weight of each block for each value.

    ``first`` lists the blocks that contain the value at position 0. A record's block contains its true value with
    probability ``own``, and a given other value with probability ``other``. Derivation: ``block_design.md``.

    >>> operator, weights = operator_of_blocks(7, 7, 1, (0, 4, 6), 0.75, 0.375)
    >>> operator.shape, bool(np.allclose(weights @ operator, np.eye(7)))
    ((7, 7), True)
    """
    held, numbers = np.zeros((blocks, values)), np.arange(values)
    for each in first:
        held[(each + numbers * stride) % blocks, numbers] = 1
    holding = len(first)
    operator = np.where(held == 1, own / holding, (1 - own) / (blocks - holding))
    return operator, (held.T - other) / (own - other)


@cache
def candidates(values: int) -> list[tuple[Code, Builder]]:
    """Return the codes of all designs with at least ``values`` values, and a function that builds each design."""
    return [*_projective(values), *_cyclotomic(values)]


def _projective(values: int) -> Iterator[tuple[Code, Builder]]:
    for q in primes(2, LARGEST_PRIME):
        t = 3
        while (q**t - 1) // (q - 1) < values:
            t += 1
        sizes = [(q**n - 1) // (q - 1) for n in (t, t - 1, t - 2)]
        if sizes[0] <= MOST_BLOCKS:
            yield Code(*sizes), partial(singer, q, t)


def _cyclotomic(values: int) -> Iterator[tuple[Code, Builder]]:
    for size in range(2, min(LARGEST_COSET, values) + 1):
        prime = next(p for p in primes(values, 100 * values + 1000) if p % size == 1)
        blocks = prime * (prime - 1) // size
        if blocks <= MOST_BLOCKS:
            yield Code(blocks, prime - 1, size - 1), partial(cosets, prime, size)


def primes(first: int, last: int) -> Iterator[int]:
    """Yield the primes from ``first`` to ``last``.

    >>> list(primes(20, 40))
    [23, 29, 31, 37]
    """
    for number in range(max(first, 2), last + 1):
        if all(number % factor for factor in range(2, math.isqrt(number) + 1)):
            yield number
