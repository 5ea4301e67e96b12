"""From which size on counts can be relied upon."""

from __future__ import annotations

import numpy as np
import pytest

from duckdb_priv.card.charts import Z95, reliable_from


def test_noise_that_grows_with_the_root_gives_the_size_at_which_it_is_small_enough() -> None:
    counts = np.arange(1.0, 5000.0)
    size = reliable_from(counts, np.sqrt(counts), 0.1)
    assert size is not None
    assert size - 10 <= (Z95 / 0.1) ** 2 <= size


def test_few_that_are_worse_do_not_matter_and_many_do() -> None:
    counts = np.arange(100.0, 200.0)
    good = np.full(100, 1.0)
    few, many = good.copy(), good.copy()
    few[::25], many[::10] = 100.0, 100.0
    assert reliable_from(counts, few, 0.1) == pytest.approx(110, abs=10)
    assert (reliable_from(counts, many, 0.1) or 0) > 180


def test_without_counts_nothing_is_reported() -> None:
    assert reliable_from(np.empty(0), np.empty(0), 0.1) is None
