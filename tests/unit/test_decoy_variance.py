"""The errors to expect of decoy groups, where they are known exactly."""

from __future__ import annotations

import numpy as np
import pytest

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.decoy_variance import expected_errors
from duckdb_priv.mechanism.splu_reconstruction import choose

EVEN = np.full(20, 200.0)
UNEVEN = np.array([20_000.0, 9_000, 7_000, *[4_000] * 20])


@pytest.mark.parametrize("counts", [EVEN, UNEVEN])
def test_a_whole_table_is_estimated_as_it_is_shown(counts):
    """What is published of a value that f records hold is binomial(gamma f, 1/gamma)."""
    errors = expected_errors(
        counts, 5, np.tile(counts[:, np.newaxis], counts.size), np.arange(counts.size)
    )
    assert errors.variance == pytest.approx(counts * (1 - 1 / 5), rel=1e-9)


def test_the_form_for_uneven_values_is_unbiased():
    assert choose(UNEVEN, 5).method == "conditional_poisson"
    subset = np.linspace(0, 1, UNEVEN.size) * UNEVEN / 10
    errors = expected_errors(UNEVEN, 5, subset[:, np.newaxis], [3])
    assert abs(errors.bias[0]) < 1e-6


def test_a_small_subset_has_the_variance_of_independent_records():
    """One record in ten thousand of a value: groups hardly ever repeat, and the histogram is as good as known."""
    counts = np.full(10, 1e6)
    subset = np.full((10, 1), 100.0)
    own, other = 0.2, 0.8 / 9
    lead = own - other
    weights = np.where(np.arange(10) == 0, 1 - other, -other) / lead
    shown = np.full(10, 100.0)
    assert expected_errors(counts, 5, subset, [0]).variance == pytest.approx(
        weights**2 @ shown - 100, rel=1e-3
    )


def test_an_ineligible_table_is_refused():
    with pytest.raises(InvalidParameter, match="gamma = 2 is the largest that works"):
        expected_errors([3, 2, 2, 1], 3, np.ones((4, 1)), [0])
