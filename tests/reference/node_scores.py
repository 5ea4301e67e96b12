"""Scores of a generalization by the sizes of its classes, beside the excess that releases use.

Derivation: ``mechanism/lattice.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from duckdb_priv.mechanism.arrays import Integers


@dataclass(frozen=True)
class Quality:
    """A score that is computed from class sizes, and its sensitivity."""

    measure: Callable[[Integers, int], int]
    """Function of class sizes and threshold that returns the score; a larger score is better."""
    sensitivity: Callable[[int], int]
    """Function of the threshold that returns the largest change of the score when one record is added or removed."""
    monotone: bool
    """Whether adding a record never lowers the score."""


EXCESS = Quality(lambda c, k: int(np.maximum(c - (k - 1), 0).sum()), lambda k: 1, monotone=True)
"""Number of records beyond the first ``threshold - 1`` of each class."""
KEPT = Quality(lambda c, k: int(c[c >= k].sum()), lambda k: k, monotone=True)
"""Number of records in classes of at least ``threshold`` records."""
SUPPRESSED = Quality(lambda c, k: -int(c[c < k].sum()), lambda k: max(k - 1, 1), monotone=False)
"""Minus the number of records in classes of fewer than ``threshold`` records."""
SMALL_CLASSES = Quality(lambda c, k: -int((c < k).sum()), lambda k: 1, monotone=False)
"""Minus the number of classes of fewer than ``threshold`` records."""
QUALITIES = (EXCESS, KEPT, SUPPRESSED, SMALL_CLASSES)
