"""Arrays by what they hold, as signatures name them.

numpy's types say what an element is and leave the shape open; these names say the shape as well, for readers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
"""Real numbers, one for each of something: shape (n,)."""
Matrix = NDArray[np.float64]
"""Real numbers in rows and columns: shape (m, n)."""
Floats = NDArray[np.float64]
"""Real numbers of any shape, which are broadcast against each other."""
Integers = NDArray[np.int64]
"""Whole numbers of any shape: codes, sizes, levels."""
Counts = NDArray[np.int64]
"""How many records there are of each of something: shape (n,)."""
