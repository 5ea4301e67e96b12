"""Records in a temporary file: every range reads as it was added, and the file shows nothing of them."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from duckdb_priv.engine.spilled import SpilledRecords
from duckdb_priv.errors import PublicationFailed

ROWS = 1000


@pytest.fixture(params=[0, 1, 4])
def spilled(request, tmp_path):
    records = SpilledRecords(tmp_path / "not" / "made", request.param)
    yield records
    records.close()


def records(number: int) -> pa.Table:
    draw = np.random.default_rng(number)
    names = pa.array([f"name {n % 7}" if n % 5 else None for n in range(ROWS)])
    return pa.table({"order": draw.integers(0, 2**64, ROWS, np.uint64), "name": names})


def test_parts_are_ranges_of_the_order(spilled):
    added = [records(number) for number in range(3)]
    for table in added:
        spilled.add(table, table["order"].to_numpy())
    expected = pa.concat_tables(added)
    number = expected["order"].to_numpy() >> np.uint64(60) >> np.uint64(4 - spilled.bits)
    for _ in range(2):
        parts = list(spilled.parts())
        assert len(parts) == 1 << spilled.bits
        for n, part in enumerate(parts):
            assert part == expected.filter(number == n).combine_chunks()


def test_a_range_without_records_is_left_out(tmp_path):
    spilled = SpilledRecords(tmp_path, bits=2)
    spilled.add(records(0).slice(0, 1), np.array([1 << 63], np.uint64))
    assert [len(part) for part in spilled.parts()] == [1]
    spilled.close()


def test_a_full_disk_is_reported(tmp_path, monkeypatch):
    with Path("/dev/full").open("r+b", buffering=0) as full:
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
        spilled = SpilledRecords(tmp_path, bits=0)
        with pytest.raises(PublicationFailed, match="No space left on device"):
            spilled.add(records(0), np.zeros(ROWS, np.uint64))


def test_the_file_has_no_name_and_shows_no_value(spilled, tmp_path):
    table = records(0)
    spilled.add(table, table["order"].to_numpy())
    assert not list(tmp_path.rglob("*"))
    spilled._file.seek(0)
    content = spilled._file.read()
    assert len(content) > table.nbytes
    assert b"name" not in content
    assert table["order"].to_numpy()[:1].tobytes() not in content
