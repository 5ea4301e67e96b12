"""The highest posteriors of a card are those of the whole operator, and large domains need no square matrix."""

from __future__ import annotations

import numpy as np
import pytest

from duckdb_priv.methods.common.operator_audit import drawn_operator, highest_posteriors
from duckdb_priv.release.model import SensitiveAttribute


def attribute(form: str, **numbers: tuple[float, ...]) -> SensitiveAttribute:
    size = len(next(iter(numbers.values())))
    return SensitiveAttribute("r", "s", "ENUM", tuple(map(str, range(size))), form, numbers)


def uniform(size: int, other: float) -> SensitiveAttribute:
    own = 1 - (size - 1) * other
    return attribute("two_weights", own=(own,) * size, other=(other,) * size)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("empty", [False, True])
def test_they_are_those_of_the_whole_operator(seed: int, empty: bool) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    prior = rng.dirichlet(np.ones(size))
    if empty:
        prior[0] = 0
        prior /= prior.sum()
    for of in (
        uniform(size, rng.uniform(0.01, 0.15)),
        attribute("rank_one", retention=tuple(rng.uniform(0, 1, size))),
    ):
        joint = drawn_operator(of) * prior
        shown = joint.sum(axis=1, keepdims=True)
        expected = np.divide(joint, shown, out=np.zeros_like(joint), where=shown > 0).max(axis=0)
        assert highest_posteriors(of, prior) == pytest.approx(expected)


@pytest.mark.parametrize("prior", [(0.2, 0.5, 0.3), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)])
def test_those_of_any_operator(prior: tuple[float, ...]) -> None:
    operator = np.array([[0.5, 0.25, 0.0], [0.25, 0.5, 0.5], [0.25, 0.25, 0.5]])
    lists = {"operator": operator.T.tolist()}
    of = SensitiveAttribute("r", "s", "ENUM", ("a", "b", "c"), "operator", {}, lists)
    joint = operator * np.array(prior)
    shown = joint.sum(axis=1, keepdims=True)
    expected = np.divide(joint, shown, out=np.zeros_like(joint), where=shown > 0).max(axis=0)
    assert highest_posteriors(of, np.array(prior)) == pytest.approx(expected)


def test_a_domain_of_100000_values_needs_no_square_matrix() -> None:
    size = 100_000
    of = uniform(size, 0.5 / size)
    own = of.numbers["own"][0]
    assert highest_posteriors(of, np.full(size, 1 / size)) == pytest.approx(own)
