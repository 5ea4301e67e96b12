"""Cyclic block designs, from difference families: all values, and all pairs of values, are in equally many blocks.

A difference family has a few *base blocks* of numbers modulo n. Every difference except 0 occurs equally often in them.
The base blocks shifted by 0 to n - 1 are the blocks of a balanced design. With s base blocks, block ``shift * s + j``
contains v if and only if ``v - shift`` (modulo n) is in base block j. So the block numbers of v are those of 0 plus
``v * s``. A short list of numbers describes thousands of blocks, and membership takes one subtraction and one look-up.
Derivations: ``block_design.md`` beside this file.

Sources: Singer, "A theorem in finite projective geometry and some applications to number theory" (1938), for the
hyperplanes of a projective space as one base block; Wilson, "Cyclotomy and difference families in elementary abelian
groups" (1972), for the cosets of the roots of unity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.symmetric_code import Code


@dataclass(frozen=True)
class DifferenceFamily:
    """A balanced design: base blocks of numbers modulo ``modulus``, and all their shifts."""

    modulus: int
    """Number of values of the design; a domain may use fewer."""
    bases: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        """Raise InvalidParameter unless every difference except 0 occurs equally often."""
        indicator = np.zeros((len(self.bases), self.modulus))
        for row, base in zip(indicator, self.bases, strict=True):
            row[list(base)] = 1
        spectrum = np.abs(np.fft.rfft(indicator, axis=1)) ** 2
        differences = np.rint(np.fft.irfft(spectrum.sum(axis=0), self.modulus))
        if len(set(differences[1:])) > 1:
            raise InvalidParameter(
                f"the base blocks modulo {self.modulus} are not balanced",
                hint="every difference except 0 must occur equally often in them",
            )

    @property
    def code(self) -> Code:
        """The number of blocks, of blocks that contain a given value, and of those that contain two given values.

        >>> singer(5, 3).code
        Code(outcomes=31, holding=6, shared=1)
        """
        holding = sum(map(len, self.bases))
        inner = sum(len(base) * (len(base) - 1) for base in self.bases)
        shared = inner // (self.modulus - 1) if self.modulus > 1 else 0
        return Code(self.modulus * len(self.bases), holding, shared)

    @property
    def stride(self) -> int:
        """The difference between the block numbers of consecutive values."""
        return len(self.bases)

    def offsets(self) -> list[int]:
        """Return the blocks of value 0. The blocks of a value v are ``(offset + v * stride) mod`` the number of blocks.

        >>> singer(2, 3).offsets()
        [0, 4, 6]
        """
        return sorted(
            -element % self.modulus * self.stride + j
            for j, base in enumerate(self.bases)
            for element in base
        )


def is_balanced(blocks: int, stride: int, first: Sequence[int], shared: int) -> bool:
    """Return whether all pairs of values share exactly ``shared`` blocks; arguments are as in ``sums_by_block``.

    >>> is_balanced(7, 1, [0, 4, 6], 1), is_balanced(7, 1, [0, 1, 2], 1)
    (True, False)
    """
    held = np.zeros(blocks)
    held[list(first)] = 1
    together = np.fft.irfft(np.abs(np.fft.rfft(held)) ** 2, blocks)
    return bool((np.rint(together[stride::stride]) == shared).all())


def sums_by_block(
    values: NDArray[np.float64], blocks: int, stride: int, first: Sequence[int]
) -> NDArray[np.float64]:
    """Return, for each block, the sum of the numbers of the values that it contains.

    ``values`` has a number for each value, in order. ``first`` lists the blocks of the first value; each next value
    has block numbers that are larger by ``stride``, modulo the number of ``blocks``.

    >>> sums_by_block(np.array([1.0, 10.0]), 7, 1, [0, 4, 6]).tolist()
    [11.0, 10.0, 0.0, 0.0, 1.0, 10.0, 1.0]
    """
    moved = np.arange(len(values)) * stride
    sums = np.zeros(blocks)
    for block in first:
        # A block contains a value at most once, so no index occurs twice.
        sums[(moved + block) % blocks] += values
    return sums


def least_by_value(
    of_blocks: NDArray[np.float64], values: int, stride: int, first: Sequence[int]
) -> NDArray[np.float64]:
    """Return, for each value, the minimum of the numbers ``of_blocks`` over the blocks that contain it.

    >>> least_by_value(np.arange(7.0), 2, 1, [1, 4, 6]).tolist()
    [1.0, 0.0]
    """
    moved = np.arange(values) * stride
    least = np.full(values, np.inf)
    for block in first:
        least = np.minimum(least, of_blocks[(moved + block) % len(of_blocks)])
    return least


def singles(values: int) -> DifferenceFamily:
    """Return the design of plain randomized response, whose blocks contain one value each."""
    return DifferenceFamily(values, ((0,),))


@lru_cache(maxsize=64)
def cosets(prime: int, size: int) -> DifferenceFamily:
    """Return the design whose base blocks are the cosets of the ``size``-th roots of unity modulo a prime.

    ``size`` must divide ``prime - 1``. Any two values share ``size - 1`` blocks.

    >>> cosets(7, 3).bases
    ((1, 2, 4), (3, 5, 6))
    """
    step = (prime - 1) // size
    root = next(g for g in range(2, prime + 1) if _order(g, prime) == prime - 1) if prime > 2 else 1
    powers = [1]
    while len(powers) < prime - 1:
        powers.append(powers[-1] * root % prime)
    return DifferenceFamily(prime, tuple(tuple(sorted(powers[j::step])) for j in range(step)))


def _order(number: int, prime: int) -> int:
    """Return the multiplicative order of a number modulo a prime."""
    order = prime - 1
    for factor in prime_factors(prime - 1):
        while order % factor == 0 and pow(number, order // factor, prime) == 1:
            order //= factor
    return order


@lru_cache(maxsize=64)
def singer(prime: int, dimension: int) -> DifferenceFamily:
    """Return the design whose blocks are the hyperplanes of a projective space over a prime field.

    Points are vectors of length ``dimension``. The space has ``K = (q^t - 1) / (q - 1)`` points, the powers of a
    generator, so they are numbered modulo K. One hyperplane is the set of zeros of a linear recurrence of order t; the
    others are its shifts.

    >>> singer(2, 3).bases
    ((0, 1, 3),)
    """
    points = (prime**dimension - 1) // (prime - 1)
    state = [0] * (dimension - 1) + [1]
    coefficients = _generator(prime, dimension)
    zeros = []
    for place in range(points):
        if state[0] == 0:
            zeros.append(place)
        state.append(sum(c * s for c, s in zip(coefficients, state, strict=True)) % prime)
        del state[0]
    return DifferenceFamily(points, (tuple(zeros),))


def _generator(prime: int, dimension: int) -> Sequence[int]:
    """Return c such that the powers of x, with ``x^t = c_0 + c_1 x + ...``, are all points of the space."""
    points = (prime**dimension - 1) // (prime - 1)
    factors = prime_factors(points)
    for number in range(1, prime**dimension):
        low = [number // prime**place % prime for place in range(dimension)]
        orders = (points, *(points // factor for factor in factors))
        if low[0] and [not any(_power(n, low, prime)[1:]) for n in orders] == [
            True,
            *(False,) * len(factors),
        ]:
            return low
    raise AssertionError("every finite field has a primitive element")


def _power(exponent: int, low: Sequence[int], prime: int) -> list[int]:
    """Return ``x^exponent`` where ``x^t`` is the polynomial ``low``, coefficients modulo a prime."""
    degree = len(low)
    result, square = [1] + [0] * (degree - 1), [0, 1] + [0] * (degree - 2)
    while exponent:
        if exponent & 1:
            result = _product(result, square, low, prime)
        square = _product(square, square, low, prime)
        exponent >>= 1
    return result


def _product(a: Sequence[int], b: Sequence[int], low: Sequence[int], prime: int) -> list[int]:
    full = np.convolve(a, b) % prime
    for place in range(len(full) - 1, len(low) - 1, -1):
        lead, full[place] = full[place], 0
        full[place - len(low) : place] = (
            full[place - len(low) : place] + lead * np.array(low)
        ) % prime
    return [int(c) for c in full[: len(low)]]


def prime_factors(number: int) -> list[int]:
    """Return the distinct primes that divide a number.

    >>> prime_factors(1464)
    [2, 3, 61]
    """
    found, factor = [], 2
    while factor * factor <= number:
        if number % factor == 0:
            found.append(factor)
            while number % factor == 0:
                number //= factor
        factor += 1
    return [*found, number] if number > 1 else found
