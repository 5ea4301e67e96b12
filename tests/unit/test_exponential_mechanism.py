"""The exact choice, word by word."""

from fractions import Fraction

import numpy as np
import pytest

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism import exponential_mechanism as module
from duckdb_priv.mechanism.exponential_mechanism import exponential_mechanism


def words(*values):
    """A source of words that yields exactly these."""
    return iter(values).__next__


def test_uniform_integers_use_each_outcome_of_their_bits_once():
    drawn = [module._uniform_below(6, words(word, 0)) for word in range(8)]
    assert drawn == [0, 1, 2, 3, 4, 5, 0, 0]  # 6 and 7 are drawn again
    assert module._uniform_below(1, words()) == 0
    assert module._uniform_below(2**64, words(5)) == 5
    assert module._uniform_below(2**64 + 1, words(3, 1, 2, 9)) == 9  # 2**64 + 1 is too large
    assert module._uniform_below(3 * 2**64, words(6, 1)) == 2 * 2**64 + 1


def test_the_mechanism_refuses_scores_that_are_no_integers():
    with pytest.raises(InvalidParameter, match="at least one integer score, got 2 of type float64"):
        exponential_mechanism(np.array([1.0, 2.0]), Fraction(1), words())
    with pytest.raises(InvalidParameter, match="got 0 of type int64"):
        exponential_mechanism(np.array([], dtype=np.int64), Fraction(1), words())


def test_a_single_score_is_chosen_without_a_bit():
    assert exponential_mechanism(np.array([5]), Fraction(2), words()) == 0
