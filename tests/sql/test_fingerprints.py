"""What records are known by: of a large source a sample is kept, and of each record of it the same as of all."""

from __future__ import annotations

import pytest

from duckdb_priv.engine import aggregates, fingerprints
from duckdb_priv.engine.aggregates import LIMIT, Aggregates
from duckdb_priv.publisher.check import examination


@pytest.mark.parametrize(("id", "scattered"), [("id", 1), ("('person ' || id) AS id", 7)])
def test_a_sample_is_known_by_what_is_known_of_all_records(
    prepared, published, monkeypatch, id, scattered
):
    monkeypatch.setattr(aggregates, "SCATTERED", scattered)

    def kept(level: int) -> tuple[set[tuple], dict[int, tuple]]:
        monkeypatch.setattr(fingerprints, "level_of", lambda rows, size=0: level)
        with prepared() as con:
            con.execute("INSERT INTO priv.identity SELECT uuid(), repeat('k', 32)::BLOB, now()")
            con.execute(
                f"CREATE TABLE source AS SELECT {id}, id // 2 AS person, id % 7 AS a, id % 3 AS s"
                " FROM range(400) AS t(id)"
            )
            arguments = {"sensitive": "s", "record_id": "id", "person": "person"}
            published(con, "source", "r", retention=0.5, **arguments)
            marks = con.execute("SELECT kind, level, mark FROM priv.fingerprint").fetchall()
            values = con.execute(
                "SELECT mark, placed, value FROM priv.placement JOIN priv.value_fingerprint USING (mark)"
                " WHERE attribute = 's'"
            ).fetchall()
            assert len(marks) == len({*marks})
            return {*marks}, {mark: held for mark, *held in values}

    everything, values = kept(0)
    sample, of_sample = kept(2)
    assert sample == {(kind, level, mark) for kind, level, mark in everything if level >= 2}
    assert {kind for kind, *_ in sample} == {"id", "content", "person"}
    assert of_sample == {mark: values[mark] for kind, _, mark in sample if kind == "id"}


def test_the_checks_look_at_what_was_read_already(prepared, published, monkeypatch):
    """At a part of the records by which the source is known, and at the sizes of the groups that planning counted."""
    monkeypatch.setattr(fingerprints, "level_of", lambda rows, size=0: 1)
    monkeypatch.setattr(aggregates, "SCATTERED", 1)
    monkeypatch.setattr(examination, "SAMPLE", 100)
    sample, distinctness = Aggregates.sample, Aggregates.distinctness
    samples, counts = [], []

    def sampling(asked, columns, share):
        found = sample(asked, columns, share)
        samples.append((share, asked.workspace.rows(f"SELECT a, s FROM {found} ORDER BY ALL")))
        return found

    def counting(asked, columns, rate):
        found = distinctness(asked, columns, rate)
        if asked.workspace.sizes and len(columns) > 1:
            asked.workspace.sizes.clear()
            counts.append((found, distinctness(asked, columns, rate)))
        return found

    monkeypatch.setattr(Aggregates, "sample", sampling)
    monkeypatch.setattr(Aggregates, "distinctness", counting)
    with prepared() as con:
        con.execute(
            "CREATE TABLE source AS SELECT id, id % 7 AS a, if(id = 5, NULL, id % 5) AS b, id % 3 AS s"
            " FROM range(400) AS t(id)"
        )
        published(con, "source", "r", sensitive="s", retention=0.5, record_id="id")
        ((share, seen),) = samples
        assert share == 1 / 4
        assert (
            seen
            == con.execute(
                f"SELECT a, s FROM source WHERE hash(id::VARCHAR) <= {LIMIT // 4} ORDER BY ALL"
            ).fetchall()
        )
    ((known, counted),) = counts
    assert known == counted == (36, 400, 1, 12)
