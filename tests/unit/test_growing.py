"""Tables that are larger than the memory: what is added moves to disk, and reads as it was added."""

import duckdb
import numpy as np
import pyarrow as pa

from duckdb_priv.engine.growing import GrowingTable

ROWS, PORTIONS = 1 << 17, 48


def test_what_does_not_fit_in_memory_moves_to_disk(tmp_path):
    draw = np.random.default_rng(5)
    with duckdb.connect(str(tmp_path / "small.duckdb")) as connection:
        connection.execute("SET memory_limit = '24MB'; SET threads = 1; BEGIN")
        table = GrowingTable(connection, "temp.main.grown")
        expected = []
        for number in range(PORTIONS):
            mark, order = draw.integers(0, 2**64, (2, ROWS), np.uint64)
            code = pa.array(np.full(ROWS, number, np.uint32))
            table.add(pa.table({"_code0": code, "_mark": mark, "_order0": order}))
            expected.append((number, ROWS, int(np.bitwise_xor.reduce(mark))))
        found = connection.execute(
            "SELECT _code0, count(*), bit_xor(_mark) FROM grown GROUP BY ALL ORDER BY ALL"
        )
        assert found.fetchall() == expected
