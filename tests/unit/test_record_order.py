"""The order of many records: that of a sort by all three keys, however often keys agree."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from duckdb_priv.mechanism import record_order


@pytest.mark.parametrize("values", [1, 2, 50, 1 << 20])
@pytest.mark.parametrize("words", [3, 1 << 64])
@pytest.mark.parametrize("rows", [0, 1, 1000, 10_007])
def test_the_order_is_that_of_all_keys(values, words, rows, monkeypatch):
    monkeypatch.setattr(record_order, "MERGED", 400)
    monkeypatch.setattr(record_order, "EVERY", 10)
    draw = np.random.default_rng(5)
    code = draw.integers(0, values, rows, np.uint32)
    # Their leading bits agree where there are few words.
    order, word = draw.integers(0, words, (2, rows), np.uint64)
    expected = np.lexsort((word, order, code)).tolist()
    cuts = [1000, 2000, 2000, 4000, 7000]
    runs = [
        record_order.Keys(*run)
        for run in zip(*(np.split(key, cuts) for key in (code, order, word)), strict=True)
    ]
    assert record_order.in_order(runs, values).tolist() == expected
    with ThreadPoolExecutor(2) as pool:
        assert record_order.in_order(runs, values, pool.map).tolist() == expected
