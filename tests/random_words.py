"""Random words that a test draws itself: the same for the same key or seed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np


def keyed(key: object) -> Callable[[int, int], np.ndarray]:
    """Return what draws a number of words of a stream, as the noise of a record is drawn by its id."""

    def words(stream: int, count: int) -> np.ndarray:
        digest = hashlib.shake_256(f"{key}/{stream}".encode()).digest(8 * count)
        return np.frombuffer(digest, np.uint64)

    return words


def seeded_bits(seed: int) -> Callable[[int], np.ndarray]:
    """Return what draws a number of words, which are others at each call."""
    rng = np.random.default_rng(seed)
    return lambda words: rng.integers(0, 2**64, words, dtype=np.uint64)
