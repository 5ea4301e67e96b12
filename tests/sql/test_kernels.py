"""The kernel of a publication, pickled and run elsewhere over a stream of its records, gives the published rows."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from duckdb_priv.engine import drawing, workspace
from duckdb_priv.engine.aggregates import Aggregates, AssignedAggregates
from duckdb_priv.engine.kernel import Kernel, Step
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.randomness import FreshBits
from duckdb_priv.errors import InvalidSource
from duckdb_priv.mechanism import decoy_groups
from duckdb_priv.methods.common import assigning as records_assigned
from duckdb_priv.publisher import persons

pytestmark = pytest.mark.usefixtures("unasked")

Publish = Callable[[str], tuple[bytes, list[str]]]

SMALL = 60_000
"""Bytes of a pickled kernel of these sources."""
PIECES = (1, 700, 10**6)
"""Records in a batch of the stream."""
BATCHES = 100
"""Batches of such a size; what is left then comes in one more."""

STAYS = """
    CREATE TABLE stays AS
    SELECT 'H' || i % 3 AS house, TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (i) HOUR AS arrival,
        (i % 7)::DOUBLE / 2 AS weight, {'floor': i % 2, 'room': 'r' || i % 5} AS place,
        (['cough', 'cold', 'flu', NULL])[1 + (hash('d' || i) % 4)::INTEGER]::ENUM('cough', 'cold', 'flu') AS disease,
        DATE '2026-01-01' + (hash('o' || i) % 6)::INTEGER AS outcome
    FROM range(3000) AS t(i);
    CREATE TABLE exchange AS
    SELECT a AS original, b AS published, if(a IS NOT DISTINCT FROM b, 0.6, 0.1) AS probability
    FROM (SELECT DISTINCT disease AS a FROM visits) CROSS JOIN (SELECT DISTINCT disease AS b FROM visits);
    CREATE TABLE hierarchies AS
    SELECT 'age' AS attribute, age::VARCHAR AS value, level, if(level = 0, age::VARCHAR, '*') AS generalized
    FROM range(18, 90) AS t(age), range(2) AS l(level)
    UNION ALL SELECT 'gender', gender, level, if(level = 0, gender, '*')
    FROM (VALUES ('female'), ('male')) AS t(gender), range(2) AS l(level);
"""

VISITS = "'visits', 'r', record_id := 'id', sensitive := 'disease'"
STAYED = "'stays', 'r', record_id := ['house', 'arrival'], public := ['weight', 'place']"

CASES = {
    "uniform": f"publish_uniform({VISITS}, retention := 0.4)",
    "uniform of two columns": f"publish_uniform({STAYED}, sensitive := ['disease', 'outcome'], retention := 0.4)",
    "shuffled": f"publish_shuffled({VISITS}, epsilon := 1.0, delta := 1e-6)",
    "shuffled groups of two columns": f"publish_shuffled({STAYED}, sensitive := ['disease', 'outcome'], epsilon := 1.0,"
    " delta := 1e-6)",
    "block design": "publish_block_design('visits', 'r', record_id := 'id', sensitive := ['age', 'disease'],"
    " public := ['gender'], epsilon := 1.0)",
    "fine grain": f"publish_fine_grain({VISITS}, tolerance := 2)",
    "matrix": f"publish_matrix({VISITS}, matrix := 'exchange')",
    "for questions": "publish_for_questions('visits', 'r', record_id := 'id', sensitive := 'age', public := 'gender',"
    " questions := 'mean', bins := [18, 40, 90], rounding := 'random', epsilon := 1.0)",
    "distribution": f"publish_distribution({VISITS})",
    "reconstruction private": f"publish_reconstruction_private({VISITS}, public := ['gender'], retention := 0.4,"
    " epsilon := 0.3, delta := 0.1, republish := true)",
    "reconstruction private by text ids": f"publish_reconstruction_private({STAYED}, sensitive := 'disease',"
    " retention := 0.4, epsilon := 0.4, delta := 0.3, republish := true)",
    "reconstruction private as in the paper": f"publish_reconstruction_private({VISITS}, public := ['gender'],"
    " retention := 0.4, epsilon := 0.3, delta := 0.1, sampling := 'paper', republish := true)",
    "decoy groups": "publish_splu('visits', 'r', record_id := 'id', sensitive := 'age', public := ['gender'],"
    " gamma := 7, republish := true)",
    "decoy groups of two columns": f"publish_splu({STAYED}, sensitive := ['disease', 'outcome'], gamma := 3,"
    " republish := true)",
    "decoy groups, largest first": f"publish_splu({STAYED}, sensitive := 'disease', gamma := 3,"
    " \"grouping\" := 'largest_first', republish := true)",
    "anatomy": f"publish_anatomy({STAYED}, sensitive := 'outcome', l := 3, republish := true)",
    "safe k": "publish_safe_k('visits', 'r', exclude := ['id', 'disease'], hierarchies := 'hierarchies',"
    " levels := {'age': 0, 'gender': 1}, k := 20, beta := 0.05, epsilon := 0.5)",
}

WORKER = """
import pickle, sys
import duckdb, numpy, pyarrow
from duckdb_priv.engine.randomness import FreshBits
from duckdb_priv.mechanism import decoy_groups

decoy_groups.TILE, decoy_groups.BLOCK = 64, 2
FreshBits.draw = lambda self, count: numpy.zeros(count, numpy.uint64)
answers, bare = {}, duckdb.connect()
jobs, most = pickle.load(sys.stdin.buffer)
for name, (pickled, sent, pieces) in jobs.items():
    kernel, records = pickle.loads(pickled), pyarrow.ipc.open_stream(sent).read_all()
    for piece in pieces:
        batches = records[: most * piece].to_batches(piece) + records[most * piece :].to_batches()
        reader = pyarrow.RecordBatchReader.from_batches(records.schema, batches)
        rows = pyarrow.Table.from_batches(kernel.run(bare, reader)).to_pylist()
        answers[name, piece] = sorted(map(repr, rows))
bare.close()
sys.stdout.buffer.write(pickle.dumps(answers))
"""


def shuffled(records: pa.Table) -> pa.Table:
    order = np.random.default_rng(5).permutation(records.num_rows)
    return records.take(pa.array(order)).combine_chunks()


def sent(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def kernels(visits: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Publish, and return the kernel as it was pickled before it was run, with the published rows."""
    visits.execute(STAYS)
    opened, seen = Kernel.opened, []
    stages: list[Kernel] = []

    def opening(self: Kernel, *arguments: Any, **named: Any) -> Any:
        if not any(self is stage for stage in stages):
            seen.append(pickle.dumps(self))
        stages.extend(self.before)
        return opened(self, *arguments, **named)

    monkeypatch.setattr(Kernel, "opened", opening)
    reported = persons.guarantees_of_persons

    def telling(plan: Plan, *arguments: Any) -> Any:
        assert pickle.loads(pickle.dumps(plan)).mechanism == plan.mechanism
        return reported(plan, *arguments)

    monkeypatch.setattr(persons, "guarantees_of_persons", telling)
    # So many decoy groups that they are made in several blocks, and records that many ranges hold them.
    monkeypatch.setattr(decoy_groups, "TILE", 64)
    monkeypatch.setattr(decoy_groups, "BLOCK", 2)
    monkeypatch.setattr(records_assigned, "RANGE", 100)
    # The one mechanism that never uses keys takes every record.
    monkeypatch.setattr(FreshBits, "draw", lambda self, count: np.zeros(count, np.uint64))

    def publish(call: str) -> tuple[bytes, list[str]]:
        seen.clear()
        if visits.execute("FROM priv.release").fetchall():
            visits.execute("FROM priv.drop_release('r')").fetchall()
        # What one case shows with noise, another one shows as it is.
        people = f"population := '{sorted(CASES.values()).index(call) if call in CASES.values() else 'others'}'"
        visits.execute(f"FROM priv.{call.removesuffix(')')}, {people})").fetchall()
        rows = visits.sql("FROM r").to_arrow_table().to_pylist()
        return seen[-1], sorted(map(repr, rows))

    return publish


def test_a_kernel_gives_the_published_rows_in_another_process(
    visits: duckdb.DuckDBPyConnection, kernels: Publish, secret: bytes
) -> None:
    published, jobs = {}, {}
    for name, call in CASES.items():
        kernel, published[name] = kernels(call)
        assert len(kernel) < SMALL
        assert secret not in kernel
        source = call.split("'")[1]
        records = shuffled(visits.sql(f"FROM {source}").to_arrow_table())
        jobs[name] = (kernel, sent(records), PIECES)
    done = subprocess.run(
        [sys.executable, "-c", WORKER],
        input=pickle.dumps((jobs, BATCHES)),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    answers = pickle.loads(done.stdout)
    assert set(answers) == {(name, piece) for name in CASES for piece in PIECES}
    differing = [case for case, rows in answers.items() if rows != published[case[0]]]
    assert not differing


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("decoy groups")])
def test_ranges_and_blocks_do_not_decide_what_is_published(
    name: str,
    visits: duckdb.DuckDBPyConnection,
    kernels: Publish,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A range and a group are few of these records.
    visits.execute("DELETE FROM visits WHERE rowid >= 1000; DELETE FROM stays WHERE rowid >= 1000")
    _, rows = kernels(CASES[name])
    for ranged, block in ((10**6, 2), (10**6, 100), (7, 100), (7, 1)):
        monkeypatch.setattr(records_assigned, "RANGE", ranged)
        monkeypatch.setattr(decoy_groups, "BLOCK", block)
        assert kernels(CASES[name])[1] == rows
    # Bits that are drawn for all records at once.
    monkeypatch.setattr(drawing, "FEW", 0)
    assert kernels(CASES[name])[1] == rows
    # Records that get their bits in portions, as if all of them would fill the memory.
    monkeypatch.setattr(workspace, "STAGED", 0)
    monkeypatch.setattr(records_assigned, "PORTION", 100)
    assert kernels(CASES[name])[1] == rows

    def assigned(self: Aggregates, assigning: Kernel, bits: Sequence[int]) -> AssignedAggregates:
        step = Step(records_assigned.ASSIGNED, assigning.select)
        replace(assigning, steps=(step,)).stage(self.workspace.cursor, self.source.table)
        return AssignedAggregates(self.workspace, records_assigned.ASSIGNED)

    # Records that another engine moves about, stage by stage.
    monkeypatch.setattr(Aggregates, "assigned", assigned)
    assert kernels(CASES[name])[1] == rows


def test_bits_drawn_at_once_give_the_same_rows(
    kernels: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("uniform", "matrix", "block design")
    in_query = [kernels(CASES[name])[1] for name in names]
    monkeypatch.setattr(drawing, "FEW", 0)
    assert [kernels(CASES[name])[1] for name in names] == in_query


def test_a_kernel_refuses_records_that_it_cannot_read_or_was_not_planned_for(
    kernels: Publish,
) -> None:
    kernel = pickle.loads(kernels(CASES["uniform"])[0])
    columns = {"id": [1, 2], "age": [30, 31], "gender": ["female"] * 2, "disease": ["flu", "gout"]}
    with duckdb.connect() as bare:
        with pytest.raises(InvalidSource, match="1 records have a value that the plan does not"):
            list(kernel.run(bare, pa.table(columns).to_reader()))
        with pytest.raises(InvalidSource, match="no column 'gender'"):
            list(kernel.run(bare, pa.table(columns).drop(["gender"]).to_reader()))
        # What went wrong leaves nothing behind.
        columns["disease"] = ["flu", None]
        rows = pa.Table.from_batches(kernel.run(bare, pa.table(columns).to_reader()))
        assert rows.num_rows == 2
        assert bare.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
