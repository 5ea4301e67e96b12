"""Check that a table can be divided into decoy groups: no value may be in more than 1 of gamma records.

Derivation: ``decoy_groups.md``.
Source: Fu, Wang and others, "Small sum privacy and large sum utility in data publishing"; the
condition is that of Anatomy (Xiao, Tao, 2006).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from duckdb_priv.errors import InvalidParameter


def require_gamma(gamma: int, name: str = "gamma") -> None:
    """Raise ``InvalidParameter`` unless gamma is an integer of at least 2. ``name`` is the user's word for gamma.

    >>> require_gamma(5)
    """
    if isinstance(gamma, bool) or not isinstance(gamma, int | np.integer) or gamma < 2:
        raise InvalidParameter(
            f"{name} must be an integer of at least 2, got {gamma!r}",
            hint="each record shows one of that many values; 5 to 10 is usual",
        )


def largest_gamma(counts: ArrayLike) -> int:
    """Return the largest gamma for which a histogram is eligible: rows // largest count.

    Groups of gamma distinct values need every value in at most 1/gamma of the records.

    >>> largest_gamma([3, 2, 2, 1])
    2
    """
    histogram = np.asarray(counts, np.int64)
    return int(histogram.sum() // histogram.max()) if histogram.any() else 0


def require_eligible(
    counts: ArrayLike, gamma: int, column: str | None = None, name: str = "gamma"
) -> None:
    """Raise ``InvalidParameter`` unless groups of gamma distinct values can be made.

    ``counts`` has one entry per value of the ``column``, the missing value included. The message shows no value, and
    calls gamma ``name``. No value may be in more than rows / gamma records. That is necessary, because a group holds a
    value at most once, and sufficient: ``decoy_groups.MixedGroups`` constructs such groups.

    >>> require_eligible([3, 2, 2, 1], 2)
    >>> require_eligible([3, 2, 2, 1], 3, "disease")
    Traceback (most recent call last):
    duckdb_priv.errors.InvalidParameter: a value of 'disease' is in 3 of 8 rows, more than 1 in gamma = 3
    Hint: gamma = 2 is the largest that works here; or suppress the most frequent value, or divide it
    """
    require_gamma(gamma, name)
    histogram = np.asarray(counts, np.int64)
    rows, distinct = int(histogram.sum()), int(np.count_nonzero(histogram))
    of = "the column" if column is None else repr(column)
    if distinct < gamma:
        raise InvalidParameter(
            f"{name} = {gamma} needs at least {gamma} distinct values, {of} has {distinct}",
            hint=f"choose a smaller {name}, or publish the column by another mechanism",
        )
    most = int(histogram.max())
    if most * gamma > rows:
        best = largest_gamma(histogram)
        raise InvalidParameter(
            f"a value of {of} is in {most:,} of {rows:,} rows, more than 1 in {name} = {gamma}",
            hint=(
                f"{name} = {best} is the largest that works here; or suppress the most frequent value, or divide it"
                if best >= 2
                else f"no {name} works for a value in more than half of the rows; suppress it"
            ),
        )
