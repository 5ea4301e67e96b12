"""Names of array types for signatures. Each says what an array holds and its shape; numpy types leave both open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
"""Real numbers of shape (n,)."""
Matrix = NDArray[np.float64]
"""Real numbers of shape (m, n)."""
Floats = NDArray[np.float64]
"""Real numbers of any shape; several such arguments broadcast."""
Integers = NDArray[np.int64]
"""Whole numbers of any shape: codes, sizes, levels."""
Counts = NDArray[np.int64]
"""Numbers of records, one for each value or group: shape (n,)."""
