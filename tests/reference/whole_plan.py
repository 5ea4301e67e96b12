"""Make decoy groups of a whole histogram at once, after checking its eligibility."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.anatomy import LargestFirstGroups
from duckdb_priv.mechanism.decoy_groups import DecoyGroups, MixedGroups, WordStreams
from duckdb_priv.mechanism.eligibility import require_eligible


def mixed_groups(counts: ArrayLike, gamma: int, words: WordStreams) -> DecoyGroups:
    """Return well mixed groups (``MixedGroups``) of an eligible histogram, all at once.

    ``counts`` must sum to a multiple of gamma (``leave_out``). Memory holds two value codes and one 32-bit group per
    row.
    """
    plan = MixedGroups(whole_groups(counts, gamma), gamma, words)
    return plan.between(0, plan.tiles)


def largest_first_groups(counts: ArrayLike, gamma: int, words: WordStreams) -> DecoyGroups:
    """Return groups made by the paper's algorithm (``LargestFirstGroups``)."""
    return LargestFirstGroups(whole_groups(counts, gamma), gamma, words).block(0)


def whole_groups(counts: ArrayLike, gamma: int) -> NDArray[np.int64]:
    """Return the histogram; raises ``InvalidParameter`` unless it is eligible and fills groups of gamma."""
    require_eligible(counts, gamma)
    histogram = np.asarray(counts, np.int64)
    rows = int(histogram.sum())
    if rows % gamma:
        raise InvalidParameter(
            f"{rows} rows do not fill groups of {gamma}",
            hint=f"leave {rows % gamma} of them out first (leave_out)",
        )
    return histogram
