"""Reconstruction privacy: how many records of one micro group may be perturbed independently.

A value of frequency f in a group of n records is reconstructed as ``F'``, the unbiased estimate
from the perturbed records. (epsilon, delta)-reconstruction privacy asks that ``F'`` be wrong by
more than the factor epsilon, upwards and downwards, each with probability delta at least. The
threshold ``s_g`` is the number of independent trials up to which a bound on those tails stays
above delta: ``simplified`` and ``chernoff`` are the paper's bounds, which bound the tails from
*above* and so prove nothing; ``exact`` computes the tails themselves.

Derivations, and what the paper's "if and only if" misses: ``reconstruction_privacy.md``.
Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", sections 4 and 5.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import kl_div

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.exact_threshold import exact_threshold
from duckdb_priv.mechanism.uniform import Uniform

Bound = Literal["simplified", "chernoff", "exact"]


def max_epsilon(max_frequency: ArrayLike, operator: Uniform) -> NDArray[np.float64]:
    """Return the largest relative error that can happen downwards, ``1 + q / (p f)``.

    Beyond it an estimate would have to be smaller than the smallest one that n records can
    give, so the lower tail is exactly 0 and nothing can be asked of it.

    >>> float(max_epsilon(0.5, Uniform(retention=0.5, domain_size=14))) == 8 / 7
    True
    """
    return 1 + operator.other / (operator.retention * _frequencies(max_frequency))


def threshold(
    max_frequency: ArrayLike,
    operator: Uniform,
    epsilon: float,
    delta: float,
    bound: Bound = "simplified",
) -> NDArray[np.float64]:
    """Return ``s_g``, the number of records that may be perturbed independently, per group.

    ``max_frequency`` holds the largest frequency of a sensitive value in each group (any shape,
    the shape of the answer). A group violates the requirement when it has more records.
    ``simplified`` is equation (10), ``chernoff`` equation (9), up to twice as strict; ``exact``
    is a whole number of records, 0 where no number satisfies the definition.

    >>> operator = Uniform(retention=0.5, domain_size=14)
    >>> threshold([0.5, 1.0], operator, epsilon=0.3, delta=0.3).round(2).tolist()
    [122.31, 57.33]
    >>> threshold([0.5, 1.0], operator, epsilon=0.3, delta=0.3, bound="chernoff").round(2).tolist()
    [111.07, 51.69]
    >>> threshold([0.5, 1.0], operator, epsilon=0.3, delta=0.1, bound="exact").tolist()
    [27.0, 11.0]
    """
    frequencies = _frequencies(max_frequency)
    _check_requirement(frequencies, operator, epsilon, delta, bound)
    if bound == "exact":
        return exact_threshold(frequencies, operator, epsilon, delta).astype(np.float64)
    shown = frequencies * operator.retention + operator.other
    theta = epsilon * operator.retention * frequencies / shown
    # kl_div(1 - theta, 1) is theta + (1 - theta) ln(1 - theta), 1 at theta = 1.
    exponent = kl_div(1 - theta, 1.0) if bound == "chernoff" else theta**2 / 2
    return np.asarray(-np.log(delta) / (shown * exponent), dtype=np.float64)


def sample_size(
    operator: Uniform,
    epsilon: float,
    delta: float,
    bound: Bound = "simplified",
    max_frequency: float = 1.0,
) -> int:
    """Return the public number s of records published of every group that has more.

    It depends on public numbers alone. The paper's own threshold uses each group's secret largest
    frequency, which its duplicates then give away. Thresholds fall with the frequency, so the s
    for ``max_frequency`` serves every group whose frequencies do not exceed it; 1 serves all.

    >>> sample_size(Uniform(retention=0.5, domain_size=14), epsilon=0.3, delta=0.3)
    57
    """
    size = int(threshold(max_frequency, operator, epsilon, delta, bound))
    if size < 1:
        raise InvalidParameter(
            f"no group may publish even one record under epsilon = {epsilon} and delta = {delta} "
            f"(bound := '{bound}', max_frequency := {max_frequency})",
            hint=_feasible_delta(operator, epsilon, bound, max_frequency)
            + "; a smaller epsilon or retention allows more",
        )
    return size


def _feasible_delta(operator: Uniform, epsilon: float, bound: Bound, max_frequency: float) -> str:
    """Say up to which delta, in thousandths, at least one record may be published."""
    low, high = 0, 500 if bound == "exact" else 1000
    while high - low > 1:  # thresholds fall as delta grows
        middle = (low + high) // 2
        satisfied = threshold(max_frequency, operator, epsilon, middle / 1000, bound) >= 1
        low, high = (middle, high) if satisfied else (low, middle)
    return (
        f"here delta can be at most {low / 1000}"
        if low
        else "here even delta = 0.001 asks too much"
    )


def _frequencies(max_frequency: ArrayLike) -> NDArray[np.float64]:
    frequencies = np.asarray(max_frequency, dtype=np.float64)
    outside = ~((frequencies > 0) & (frequencies <= 1))
    if outside.any():
        raise InvalidParameter(
            f"max_frequency must lie in (0, 1], got {frequencies[outside].flat[0]}",
            hint="1 is always right; less only where no group has a more frequent value",
        )
    return frequencies


def _check_requirement(
    frequencies: NDArray[np.float64],
    operator: Uniform,
    epsilon: float,
    delta: float,
    bound: Bound,
) -> None:
    if bound not in get_args(Bound):
        raise InvalidParameter(
            f"there is no bound {bound!r}", hint="choose 'simplified', 'chernoff' or 'exact'"
        )
    if not 0 < delta < 1:
        raise InvalidParameter(
            f"delta must lie strictly between 0 and 1, got {delta}",
            hint="0 asks for nothing (publish_uniform does that), 1 cannot be met; 0.1 is usual",
        )
    if bound == "exact" and delta > 0.5:
        raise InvalidParameter(
            f"delta = {delta} cannot be met: an estimate that is too high and one that is too low "
            "exclude each other, so both cannot be more likely than 1/2",
            hint="choose delta below 0.5",
        )
    if frequencies.size == 0:
        return
    # The limit falls with the frequency: the most frequent value decides.
    largest = np.max(frequencies)
    limit = float(max_epsilon(largest, operator))
    # Always above 1, where the exact tails, which fall as epsilon grows, need no search.
    interval = "(0, 1)" if bound == "exact" else f"(0, {limit:.6g}]"
    if not (0 < epsilon < 1 if bound == "exact" else 0 < epsilon <= limit):
        raise InvalidParameter(
            f"epsilon = {epsilon} lies outside {interval}, what is valid for groups in which the "
            f"most frequent value has frequency {largest:.6g}",
            hint=f"choose epsilon in {interval}: no estimate falls short by more",
        )
