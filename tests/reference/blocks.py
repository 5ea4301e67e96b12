"""Which values the blocks of a design contain. Derivation: ``mechanism/block_design.md``."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from duckdb_priv.mechanism.difference_family import DifferenceFamily


def holds(family: DifferenceFamily, block: ArrayLike, value: ArrayLike) -> NDArray[np.bool_]:
    """Return whether each block contains each value. Both arguments are arrays of numbers, which broadcast.

    >>> from duckdb_priv.mechanism.difference_family import singer
    >>> holds(singer(2, 3), np.arange(7), 0).tolist()
    [True, False, False, False, True, False, True]
    """
    member = np.zeros(family.code.outcomes, dtype=bool)
    member[family.offsets()] = True
    found: NDArray[np.bool_] = member[
        (np.asarray(block) - np.asarray(value) * family.stride) % len(member)
    ]
    return found
