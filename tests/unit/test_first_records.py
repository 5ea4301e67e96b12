"""Of the records of large groups those are kept among which the first ones of each value are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from duckdb_priv.methods.reconstruction_private.micro_groups import first_records

GROUPS, VALUES, ROWS, SAMPLE = 4, 3, 60_000, 100


@pytest.mark.parametrize("latest", [False, True], ids=["as drawn", "one value comes last"])
def test_the_first_records_of_each_value_are_kept_and_few_others(latest):
    random = np.random.default_rng(11)
    group = random.integers(1, GROUPS + 1, ROWS)
    code = random.choice(VALUES, ROWS, p=[0.9, 0.0999, 0.0001]).astype(np.uint32)
    bits = random.integers(0, 2**64, ROWS, dtype=np.uint64)
    cell = group * VALUES + code
    if latest:
        # Which no draw would give: none of them is among those that are kept of others.
        bits[cell == VALUES] |= np.uint64(1 << 63)
    records = pa.table(
        {"_priv_group": group, "_priv_code": code, "_number": np.arange(ROWS), "_bits0": bits}
    )
    read = []

    def piece_by_piece(keep):
        read.append(keep)
        return [keep(records.slice(start, 1000)) for start in range(0, ROWS, 1000)]

    found, most = first_records(np.bincount(cell), VALUES, SAMPLE, piece_by_piece)
    assert len(read) == 1 + latest

    sizes = np.bincount(group)
    assert most == 1 + max(
        int(SAMPLE * (cell == each).sum() // sizes[each // VALUES]) for each in np.unique(cell)
    )
    kept = found["_number"].to_numpy()
    for each in np.unique(cell):
        of_cell = np.flatnonzero(cell == each)
        first = of_cell[np.argsort(bits[of_cell])][:most]
        assert {*first.tolist()} <= {*kept.tolist()}
        rows = found["_priv_rows"].to_numpy()[cell[kept] == each]
        assert (rows == len(of_cell)).all()
    assert len(kept) < ROWS * (0.5 if latest else 0.2)


def test_where_no_group_is_large_nothing_is_kept():
    records = pa.table(
        {
            "_priv_group": pa.array([], pa.int64()),
            "_priv_code": pa.array([], pa.uint32()),
            "_bits0": pa.array([], pa.uint64()),
        }
    )
    found, most = first_records(np.zeros(0, np.int64), VALUES, SAMPLE, lambda keep: [keep(records)])
    assert (found.num_rows, most) == (0, 1)
