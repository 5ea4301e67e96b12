"""The calculators of the schema ``priv``: functions of numbers, under their SQL names.

They are apart from the other functions because they load scipy, which a session without them never needs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import get_args

import numpy as np

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism import sampling
from duckdb_priv.mechanism.reconstruction_privacy import Bound, tail_bounds, threshold
from duckdb_priv.mechanism.shuffled_retention import shuffled_epsilon, shuffled_retention
from duckdb_priv.mechanism.splu import (
    exact_large_sum_threshold,
    large_sum_threshold,
    small_sum_privacy,
)
from duckdb_priv.mechanism.tails import Tails
from duckdb_priv.mechanism.uniform import Uniform


def reconstruction_threshold(
    bound: Bound,
    max_frequency: float,
    domain_size: int,
    retention: float,
    epsilon: float,
    delta: float,
) -> float:
    """Return how many records of a group reconstruction privacy perturbs independently."""
    return float(threshold(max_frequency, Uniform(retention, domain_size), epsilon, delta, bound))


def tail_bound(
    side: str,
    bound: Bound,
    frequency: float,
    domain_size: int,
    retention: float,
    epsilon: float,
    group_size: int,
) -> float:
    """Bound the probability that a share in a group is reconstructed too high (or too low) by the factor epsilon."""
    found = tail_bounds(frequency, Uniform(retention, domain_size), epsilon, group_size, bound)
    return float(getattr(found, side))


CALCULATORS: dict[str, Callable[..., float]] = {
    "sampling_delta": sampling.sampling_delta,
    "sampling_k": sampling.sampling_k,
    "sampling_epsilon": sampling.sampling_epsilon,
    "amplified_epsilon": sampling.amplified_epsilon,
    "amplified_delta": sampling.amplified_delta,
    "small_sum_privacy": small_sum_privacy,
    "large_sum_threshold": large_sum_threshold,
    "exact_large_sum_threshold": exact_large_sum_threshold,
    "shuffled_epsilon": shuffled_epsilon,
    "shuffled_retention": shuffled_retention,
    **{
        f"{bound}_reconstruction_threshold": partial(reconstruction_threshold, bound)
        for bound in get_args(Bound)
    },
    **{
        f"{bound}_{side}_tail_bound": partial(tail_bound, side, bound)
        for bound in get_args(Bound)
        for side in Tails._fields
    },
}


@lru_cache(maxsize=100_000)
def calculated(name: str, numbers: tuple[float | None, ...]) -> dict[str, float | str]:
    """Return the ``value`` of a calculator, or the ``mistake`` in its arguments.

    >>> calculated("sampling_k", (0.1, 1.0, 1e-6))
    {'value': 9.0}
    >>> print(calculated("amplified_epsilon", (None, 1.0))["mistake"])
    priv.amplified_epsilon was given NULL, or what is no number
    Hint: all its arguments are numbers
    """
    if None in numbers:
        return {
            "mistake": f"priv.{name} was given NULL, or what is no number\nHint: all its arguments are numbers"
        }
    try:
        # Messages show a whole number, such as k, without a decimal point.
        with np.errstate(all="ignore"):
            value = float(
                CALCULATORS[name](
                    *(int(x) if x.is_integer() else x for x in numbers if x is not None)
                )
            )
    except InvalidParameter as error:
        return {"mistake": str(error)}
    except (ArithmeticError, ValueError):
        return {
            "mistake": f"priv.{name} cannot be computed for these numbers\nHint: one of them is too large or too small"
        }
    return {"value": value}
