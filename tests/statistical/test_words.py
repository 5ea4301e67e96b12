"""Keyed and fresh 64-bit words are uniform and independent."""

from __future__ import annotations

import numpy as np
import pytest
from plausible import FALSE_ALARM
from scipy.stats import binom, chi2, kstest

from duckdb_priv.engine.randomness import FreshBits, KeyedBits

COUNT = 190_000
BITS = KeyedBits.derive(bytes(range(32)), "statistics")


def of_integers(start: int = 0, code: int = 0, bits: KeyedBits = BITS, half: int = 0) -> np.ndarray:
    ids = np.arange(start, start + COUNT, dtype=np.int64)
    return bits.draw_for_integers(ids, np.full(COUNT, code, np.uint32))[:, half]


def of_texts(pattern: str, half: int = 0) -> np.ndarray:
    ids = [(pattern % number).encode() for number in range(COUNT)]
    offsets = np.cumsum([0, *map(len, ids)]).astype(np.int64)
    return BITS.draw_for_texts(
        np.frombuffer(b"".join(ids), np.uint8), offsets, np.zeros(COUNT, np.uint32)
    )[:, half]


WORDS = {
    "integers": lambda: of_integers(),
    "negative integers": lambda: of_integers(-(2**62)),
    "codes": lambda: BITS.draw_for_integers(
        np.zeros(COUNT, np.int64), np.arange(COUNT, dtype=np.uint32)
    )[:, 0],
    "second halves": lambda: of_integers(half=1),
    "second halves of texts": lambda: of_texts("record number %09d of the hospital", half=1),
    "short texts": lambda: of_texts("%d"),
    "texts of several blocks": lambda: of_texts("record number %09d of the hospital"),
    "fresh": lambda: FreshBits().draw(COUNT),
}


@pytest.fixture(scope="module", params=WORDS)
def words(request) -> np.ndarray:
    return WORDS[request.param]()


def test_words_are_uniform(words):
    assert kstest(words / 2.0**64, "uniform").pvalue > FALSE_ALARM


def test_every_bit_is_set_half_of_the_time(words):
    bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    deviation = np.abs(bits.sum(axis=0) - COUNT / 2).max()
    # There are 64 tests, one for each bit, so each has a share of the false alarms.
    assert deviation <= binom.isf(FALSE_ALARM / 128, COUNT, 0.5) - COUNT / 2


def test_bits_of_a_word_are_pairwise_independent(words):
    bits = ((words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).astype(np.float32)
    signs = 2 * bits - 1
    # Each sum is an integer below 2 ** 24, which 32 bits hold exactly.
    products = signs.T @ signs
    np.fill_diagonal(products, 0)
    bound = 2 * binom.isf(FALSE_ALARM / (64 * 63), COUNT, 0.5) - COUNT
    assert np.abs(products).max() <= bound


def test_neighbouring_words_are_independent(words):
    digits = (words >> np.uint64(60)).astype(int)
    pairs = np.bincount(digits[:-1] * 16 + digits[1:], minlength=256)
    # Overlapping pairs count each word twice. Less the statistic of single words, 240 degrees remain (Good 1953).
    statistic = sum_of_squares(pairs) - sum_of_squares(np.bincount(digits, minlength=16))
    # Counts are not exactly normal, so the bound uses half of the false alarms.
    assert statistic < chi2.isf(FALSE_ALARM / 2, 240)


def sum_of_squares(counts: np.ndarray) -> float:
    """Pearson's statistic against equal chances."""
    return float(((counts - counts.mean()) ** 2).sum() / counts.mean())


def test_no_word_comes_twice(words):
    """The probability that two of 190,000 uniform words are equal is 1e-9."""
    assert len(np.unique(words)) == COUNT


OTHERS = {
    "another secret": lambda: of_integers(bits=KeyedBits.derive(bytes(32), "statistics")),
    "another context": lambda: of_integers(bits=KeyedBits.derive(bytes(range(32)), "statistic")),
    "another code": lambda: of_integers(code=1),
    "ids shifted by one": lambda: of_integers(1),
    "ids as texts": lambda: of_texts("%d"),
    "the other half": lambda: of_integers(half=1),
}


@pytest.mark.parametrize("other", OTHERS)
def test_words_of_others_are_independent(other):
    """At every bit position, two words agree in half of all cases."""
    different = of_integers() ^ OTHERS[other]()
    bits = (different[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    deviation = np.abs(bits.sum(axis=0) - COUNT / 2).max()
    assert deviation <= binom.isf(FALSE_ALARM / 128, COUNT, 0.5) - COUNT / 2
    assert kstest(different / 2.0**64, "uniform").pvalue > FALSE_ALARM
