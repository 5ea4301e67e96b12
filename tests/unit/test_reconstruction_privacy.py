"""Thresholds of reconstruction privacy: golden numbers, limits, and the exact bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism import reconstruction_privacy
from duckdb_priv.mechanism.reconstruction_privacy import (
    Bound,
    exact_threshold,
    max_epsilon,
    sample_size,
    threshold,
)
from duckdb_priv.mechanism.tails import tails
from duckdb_priv.mechanism.uniform import Uniform

GOLDEN = [
    # retention, domain size, max_frequency, epsilon, delta, equation (9), equation (10)
    (0.5, 14, 0.5, 0.3, 0.3, 111.06988004, 122.30834838),
    (0.5, 14, 1, 0.3, 0.3, 51.69197946, 57.33203830),
    (0.5, 14, 0.2, 0.3, 0.3, 335.24481431, 363.10290924),
    (0.5, 50, 0.5, 0.3, 0.3, 100.00001779, 111.30059702),
    (0.5, 50, 0.2, 0.3, 0.3, 266.14771145, 294.30446328),
    (0.5, 50, 1, 0.3, 0.3, 48.92291181, 54.58010046),
    (0.1, 14, 0.5, 0.3, 0.3, 1168.32520963, 1223.08348376),
    (0.3, 14, 0.5, 0.3, 0.3, 219.23493958, 237.82178851),
    (0.7, 14, 0.5, 0.3, 0.3, 73.06102346, 81.12288413),
    (0.9, 14, 0.5, 0.3, 0.3, 54.11179290, 60.39918438),
    (0.5, 14, 0.5, 0.1, 0.3, 1068.18080532, 1100.77513538),
    (0.5, 14, 0.5, 0.5, 0.3, 37.01028548, 44.03100542),
    (0.5, 14, 0.5, 0.9, 0.3, 9.19309477, 13.58981649),
    (0.5, 14, 0.5, 0.3, 0.14, 181.37944505, 199.73209970),
    (0.5, 14, 0.5, 0.3, 0.46, 71.63696654, 78.88546433),
    (0.5, 10, 0.25, 1.2, 0.3, 11.87909344, 18.72846585),
    (0.5, 14, 0.5, 8 / 7, 0.3, 4.2139048151, 8.4278096303),
    (0.9, 50, 1, 0.9, 0.46, 1.29426, 2.13513),
]


@pytest.mark.parametrize(("p", "m", "f", "epsilon", "delta", "chernoff", "simplified"), GOLDEN)
def test_thresholds(
    p: float, m: int, f: float, epsilon: float, delta: float, chernoff: float, simplified: float
) -> None:
    operator = Uniform(p, m)
    # The last line of the table is printed to fewer digits.
    tolerance = {"rel": 1e-5 if delta == 0.46 and p == 0.9 else 1e-9}
    assert threshold(f, operator, epsilon, delta, "chernoff") == pytest.approx(
        chernoff, **tolerance
    )
    assert threshold(f, operator, epsilon, delta) == pytest.approx(simplified, **tolerance)


def test_thresholds_of_many_groups_are_those_of_each() -> None:
    operator = Uniform(0.5, 14)
    frequencies = np.array([[0.2, 0.5], [0.9, 1.0]])
    bounds: tuple[Bound, ...] = ("simplified", "chernoff", "exact")
    for bound in bounds:
        together = threshold(frequencies, operator, 0.3, 0.1, bound)
        assert together.shape == (2, 2)
        alone = [float(threshold(f, operator, 0.3, 0.1, bound)) for f in frequencies.flat]
        assert together.ravel().tolist() == alone
    assert threshold([], operator, 0.3, 0.1, "exact").shape == (0,)
    assert threshold([], operator, 0.3, 0.1).shape == (0,)


def test_bounds_fall_with_every_parameter_and_are_at_most_a_factor_2_apart() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        p, f, delta = rng.uniform(0.05, 0.95, 3)
        m = int(rng.integers(2, 60))
        epsilon = rng.uniform(0.05, 0.95)
        operator = Uniform(p, m)
        chernoff = threshold(f, operator, epsilon, delta, "chernoff")
        simplified = threshold(f, operator, epsilon, delta)
        assert chernoff <= simplified <= 2 * chernoff
        bounds: tuple[Bound, ...] = ("simplified", "chernoff")
        for bound, here in zip(bounds, (simplified, chernoff), strict=True):
            assert threshold(f * 1.05, operator, epsilon, delta, bound) < here
            assert threshold(f, Uniform(p * 1.05, m), epsilon, delta, bound) < here
            assert threshold(f, operator, epsilon * 1.05, delta, bound) < here
            assert threshold(f, operator, epsilon, delta * 1.05, bound) < here


@pytest.mark.parametrize(
    ("p", "m", "epsilon", "size"),
    [(0.5, 14, 0.3, 57), (0.5, 50, 0.3, 54), (0.2, 50, 0.3, 144), (0.5, 14, 0.1, 515)],
)
def test_public_sample_size(p: float, m: int, epsilon: float, size: int) -> None:
    assert sample_size(Uniform(p, m), epsilon, delta=0.3) == size


def test_a_sample_of_no_record_is_refused_with_the_delta_that_would_do() -> None:
    operator = Uniform(0.9, 50)
    assert threshold(1.0, operator, 0.9, 0.9) == pytest.approx(0.28970, rel=1e-4)
    with pytest.raises(InvalidParameter, match="no group may publish") as error:
        sample_size(operator, 0.9, 0.9)
    assert "delta can be at most 0.69" in str(error.value)
    assert sample_size(operator, 0.9, 0.69) == 1


def test_largest_epsilon() -> None:
    operator = Uniform(0.5, 14)
    assert max_epsilon([0.5, 1.0], operator).tolist() == pytest.approx([8 / 7, 15 / 14])
    threshold([0.2, 0.5], operator, 8 / 7, 0.3)
    with pytest.raises(InvalidParameter, match=r"frequency 1\b") as error:
        threshold([0.2, 1.0], operator, 8 / 7, 0.3)
    assert "(0, 1.07143]" in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": 0.0}, "delta must lie"),
        ({"delta": 1.0}, "delta must lie"),
        ({"delta": math.nan}, "delta must lie"),
        ({"epsilon": 0.0}, "epsilon = 0.0 lies outside"),
        ({"epsilon": math.nan}, "epsilon = nan lies outside"),
        ({"epsilon": 2.0}, "epsilon = 2.0 lies outside"),
        ({"max_frequency": 0.0}, "max_frequency must lie"),
        ({"max_frequency": 1.1}, "max_frequency must lie"),
        ({"max_frequency": math.nan}, "max_frequency must lie"),
        ({"bound": "hoeffding"}, "no bound 'hoeffding'"),
        ({"bound": "exact", "delta": 0.51}, "cannot be met"),
        ({"bound": "exact", "epsilon": 1.0}, r"outside \(0, 1\)"),
    ],
)
def test_refuses(change: dict[str, object], message: str) -> None:
    given: dict[str, object] = {
        "max_frequency": 1.0,
        "operator": Uniform(0.5, 14),
        "epsilon": 0.3,
        "delta": 0.3,
    }
    with pytest.raises(InvalidParameter, match=message):
        threshold(**(given | change))  # type: ignore[arg-type]


def worst_tail(operator: Uniform, epsilon: float, f: float, sizes: np.ndarray, s: int) -> float:
    """Return the smallest tail over all values of all groups of these sizes, published with s."""
    size = np.repeat(sizes, sizes)
    count = np.concatenate([np.arange(1, n + 1) for n in sizes])
    allowed = count <= f * size
    if not allowed.any():
        return 1.0
    size, count = size[allowed], count[allowed]
    return float(np.min(tails(size, count, operator, epsilon, np.minimum(size, s))))


@pytest.mark.parametrize(
    ("p", "m", "epsilon", "delta", "f"),
    [
        (0.5, 14, 0.3, 0.1, 1.0),
        (0.5, 14, 0.3, 0.14, 1.0),
        (0.5, 14, 0.3, 0.05, 0.5),
        (0.2, 50, 0.5, 0.05, 1.0),
        (0.5, 2, 0.3, 0.1, 0.3),
        (0.4, 5, 0.9, 0.02, 0.7),
    ],
)
def test_the_exact_threshold_is_private_and_no_larger_one_is(
    p: float, m: int, epsilon: float, delta: float, f: float
) -> None:
    operator = Uniform(p, m)
    s = int(threshold(f, operator, epsilon, delta, "exact"))
    assert s > 0
    small = np.arange(1, s + 1)
    just_above = np.arange(s + 1, s + 30)
    # Group sizes with no common factor reach nearly every share of a value in the sample.
    large = np.array([101, 499, 997, 1999]) + s
    for sizes in (small, just_above, large):
        assert worst_tail(operator, epsilon, f, sizes, s) >= delta
    for larger in range(s + 1, s + 25):
        whole = worst_tail(operator, epsilon, f, np.arange(1, larger + 1), larger)
        sampled = worst_tail(operator, epsilon, f, np.array([1999, 2999]) + larger, larger)
        assert min(whole, sampled) < delta, f"s = {larger} is private too"


def test_the_exact_threshold_falls_with_frequency_and_delta() -> None:
    operator = Uniform(0.2, 14)
    frequencies = np.linspace(0.3, 1, 50)
    previous = np.full(50, np.inf)
    for delta in (0.05, 0.1, 0.15, 0.2):
        sizes = exact_threshold(frequencies, operator, 0.5, delta)
        assert (np.diff(sizes) <= 0).all()
        assert (sizes <= previous).all()
        previous = sizes


def test_the_paper_s_threshold_is_far_beyond_the_exact_one() -> None:
    operator = Uniform(0.5, 14)
    assert sample_size(operator, 0.3, 0.1) == 109
    assert sample_size(operator, 0.3, 0.1, "exact") == 11


def test_an_exact_delta_that_no_sample_meets_is_refused() -> None:
    operator = Uniform(0.5, 14)
    with pytest.raises(InvalidParameter) as error:
        sample_size(operator, 0.3, 0.3, "exact")
    assert "delta can be at most 0.141" in str(error.value)
    assert sample_size(operator, 0.3, 0.141, "exact") == 5
    # A lone record's estimate never exceeds (1 - q)/p = 1.23, so it is never 1.3 times too high.
    with pytest.raises(InvalidParameter, match=r"even delta = 0\.001"):
        sample_size(Uniform(0.8, 14), 0.3, 0.1, "exact")


def test_sizes_beyond_the_search_are_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = Uniform(0.2, 14)
    monkeypatch.setattr(reconstruction_privacy, "LARGEST_SIZE", 60)
    assert exact_threshold(np.array([1.0]), operator, 0.3, 0.05).tolist() == [60]
