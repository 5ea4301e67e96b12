"""Codes of a block design: golden numbers, the promises of a design, and how near the optimum they come."""

import math

import numpy as np
import pytest
from plausible import FALSE_ALARM
from reference.blocks import holds
from reference.subset_selection import optimal_error
from scipy.stats import chisquare

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.block_design import MOST_BLOCKS, choose_design
from duckdb_priv.mechanism.difference_family import (
    DifferenceFamily,
    cosets,
    prime_factors,
    singer,
    singles,
)
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.mechanism.uniform import Uniform


@pytest.mark.parametrize(
    ("prime", "dimension", "code", "own", "other"),
    [(5, 3, (31, 6, 1), "0.683544", "0.177215"), (11, 4, (1464, 133, 12), "0.473497", "0.090585")],
)
def test_golden_numbers(prime, dimension, code, own, other):
    found = singer(prime, dimension).code
    assert found == code
    assert (f"{found.own(9):.6f}", f"{found.other(9):.6f}") == (own, other)


FAMILIES = [
    singles(5),
    singer(2, 3),
    singer(3, 3),
    singer(2, 5),
    singer(5, 3),
    singer(3, 4),
    cosets(7, 3),
    cosets(13, 4),
    cosets(11, 2),
]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: str(tuple(family.code)))
def test_each_value_is_in_equally_many_blocks_and_any_two_values_are(family):
    code = family.code
    held = holds(family, np.arange(code.outcomes)[:, None], np.arange(family.modulus)).astype(int)
    together = held.T @ held
    assert (np.diag(together) == code.holding).all()
    assert (together[~np.eye(family.modulus, dtype=bool)] == code.shared).all()
    # A symmetric design has equally large blocks; those of a family may be turns of one size only.
    assert len(set(held.sum(axis=1))) == 1


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: str(tuple(family.code)))
def test_the_offsets_list_the_blocks_that_hold_a_value(family):
    for value in range(family.modulus):
        listed = sorted(
            (offset + value * family.stride) % family.code.outcomes for offset in family.offsets()
        )
        blocks = np.flatnonzero(holds(family, np.arange(family.code.outcomes), value))
        assert listed == blocks.tolist()


def test_base_blocks_that_are_not_balanced_are_refused():
    with pytest.raises(InvalidParameter, match="not balanced"):
        DifferenceFamily(7, ((0, 1, 2),))


def test_single_values_are_uniform_perturbation():
    operator, code = Uniform(0.3, 12), Code(12)
    assert code.own(operator.amplification) == pytest.approx(operator.own)
    assert code.other(operator.amplification) == pytest.approx(operator.other)
    assert code.retention(operator.amplification) == pytest.approx(operator.retention)


@pytest.mark.parametrize(
    ("values", "ratio"),
    [(14, 1.0), (50, 1.289), (120, 1.917), (1383, 6.217), (10_000, 16.65)],
)
def test_gain_over_uniform_perturbation_at_likelihood_ratio_nine(values, ratio):
    """At least what projective geometry gives; base blocks of roots of unity give more for small domains."""
    gain = Code(values).error(9.0) / choose_design(values, 9.0).code.error(9.0)
    assert gain >= ratio * 0.9995


def test_the_optimum_over_all_subsets():
    ratios = [Code(m).error(9.0) / optimal_error(m, 9.0) for m in (14, 50, 120, 1383)]
    assert [f"{ratio:.3f}" for ratio in ratios] == ["1.000", "1.334", "1.923", "6.226"]


@pytest.mark.parametrize("values", [120, 163, 400, 1383, 10_000])
def test_within_three_percent_of_the_best_that_any_code_can(values):
    for epsilon in (0.1, 0.5, 1.0, 2.0, math.log(9), 3.0, 4.0, 5.0):
        design = choose_design(values, math.exp(epsilon))
        error = design.code.error(math.exp(epsilon))
        best = optimal_error(values, math.exp(epsilon))
        assert best * (1 - 1e-9) <= error <= 1.03 * best
        assert design.code.outcomes <= MOST_BLOCKS
        assert design.modulus >= values


def test_a_code_is_only_taken_where_it_gains():
    assert choose_design(14, 9.0) == singles(14)
    assert choose_design(2, math.e) == singles(2)
    assert choose_design(50, 9.0).code.holding > 1


@pytest.mark.parametrize("values", [0, 1, 20_001, 10**6])
def test_domains_of_no_use_are_refused(values):
    with pytest.raises(InvalidParameter, match="a block design needs 2 to 20000 values"):
        choose_design(values, 9.0)


@pytest.mark.parametrize("amplification", [1.0, 0.5, math.inf, math.nan])
def test_a_likelihood_ratio_must_be_above_one(amplification):
    with pytest.raises(InvalidParameter, match="the likelihood ratio must be above 1"):
        choose_design(100, amplification)


def test_blocks_are_uniform_among_those_that_hold_the_value():
    """Drawn as a release draws them: one of the offsets with the retention, else any block."""
    family, value, amplification = singer(5, 3), 17, 9.0
    code, random = family.code, np.random.default_rng(7)
    rows = 400_000
    offsets = np.array(family.offsets())[random.integers(code.holding, size=rows)]
    kept = (offsets + value * family.stride) % code.outcomes
    block = np.where(
        random.random(rows) < code.retention(amplification),
        kept,
        random.integers(code.outcomes, size=rows),
    )
    held = holds(family, np.arange(code.outcomes), value)
    law = np.where(held, amplification, 1.0) / code.total(amplification)
    counts = np.bincount(block, minlength=code.outcomes)
    assert chisquare(counts, law * rows).pvalue > FALSE_ALARM
    for other in (0, 3, 30):
        if other != value:
            matching = holds(family, block, other).mean()
            assert matching == pytest.approx(
                code.other(amplification), abs=6.1 * 0.5 / math.sqrt(rows)
            )


def test_prime_factors():
    assert prime_factors(1) == []
    assert prime_factors(97) == [97]
    assert prime_factors(2**5 * 3 * 49) == [2, 3, 7]
