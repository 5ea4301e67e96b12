"""What records are known by: of a large source a sample is kept, and of each record of it the same as of all."""

from __future__ import annotations

import pytest

from duckdb_priv.engine import fingerprints


@pytest.mark.parametrize("id", ["id", "('person ' || id) AS id"])
def test_a_sample_is_known_by_what_is_known_of_all_records(prepared, published, monkeypatch, id):
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
