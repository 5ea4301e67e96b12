"""A refreshed release: versions reveal nothing more about unchanged records, and the ledger charges changed ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import duckdb
import pytest
from comparing import nearly
from plausible import FALSE_ALARM
from scipy import stats

PERSONS, DAYS = 3_000, 6
PATH = Path(__file__).parents[2] / "benchmarks" / "living.py"


@pytest.fixture(scope="module")
def year(prepared):
    import sys

    spec = importlib.util.spec_from_file_location("living", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["living"] = module
    spec.loader.exec_module(module)
    with prepared() as con:
        return module.simulate(con, PERSONS, DAYS), module.EPSILON


def test_averaging_all_versions_is_looking_at_one(year):
    seen, _ = year
    assert seen.steady > PERSONS * 0.8
    assert seen.redrawn == 0


def test_the_ledger_charges_what_the_dearest_record_cost(year):
    seen, epsilon = year
    assert seen.draws >= 2
    assert seen.ledger == pytest.approx(seen.draws * epsilon)


def test_intervals_of_every_version_cover(year):
    seen, _ = year
    # Versions share their noise, so the intervals of a value miss together: at most all versions of one value.
    groups = seen.asked // (DAYS + 1)
    missed = -(-(seen.asked - seen.covered) // (DAYS + 1))
    assert stats.binomtest(missed, groups, 0.05, "greater").pvalue > FALSE_ALARM


def test_counts_are_right_where_records_have_left_their_decoy_groups(con, tmp_path):
    """Nearly all records of the most frequent value leave. The histogram of the remaining rows would be biased."""
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 7 < 3 AS young,"
        " 'v' || (CASE WHEN i % 20 < 4 THEN 0 ELSE 1 + i % 7 END) AS disease FROM range(12_000) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_splu('v', 'r', sensitive := 'disease', gamma := 3, record_id := 'id')"
    )
    con.execute("DELETE FROM v WHERE disease = 'v0' AND id % 10 > 0")
    con.execute("FROM priv.refresh('r')")
    true = dict(con.execute("SELECT disease, count(*) FROM v GROUP BY ALL").fetchall())
    shown = dict(con.execute("SELECT noisy_disease, count(*) FROM r GROUP BY ALL").fetchall())
    found = con.execute(
        "SELECT value, estimate, stderr FROM priv.reconstructed_distribution('r')"
    ).fetchall()
    assert len(found) == len(true) == 8
    for value, estimate, stderr in found:
        assert 2 * stats.norm.sf(abs(estimate - true[value]) / stderr) * len(found) > FALSE_ALARM
    assert shown["v0"] - true["v0"] > 6 * max(stderr for *_, stderr in found)
    assert_one_answer(con, tmp_path, "disease")


def test_attributes_of_several_batches_have_one_answer_beside_others(con, tmp_path):
    """An attribute of more than a hundred values is counted as if the batches had the same frequencies."""
    con.execute(
        "CREATE TABLE v AS SELECT i AS id, i % 7 < 3 AS young, 'd' || least(i * 31 % 130, i * 57 % 170) AS diagnosis,"
        " 'v' || least(i * 7 % 8, i * 11 % 13) AS disease FROM range(6000) AS t(i)"
    )
    con.execute(
        "FROM priv.publish_splu('v', 'r', sensitive := ['diagnosis', 'disease'], gamma := 2, record_id := 'id')"
    )
    con.execute("DELETE FROM v WHERE disease = 'v0' AND id % 10 > 0")
    con.execute(
        "INSERT INTO v SELECT i, i % 7 < 3, 'd' || i * 31 % 130, 'v' || (4 + i % 4) FROM range(6000, 6400) AS t(i)"
    )
    con.execute("FROM priv.refresh('r')")
    forms = con.execute("SELECT form FROM priv.attribute WHERE form IS NOT NULL").fetchall()
    assert forms[1] == ("batches",) != forms[0]
    assert_one_answer(con, tmp_path, "disease", "diagnosis")


def assert_one_answer(con, folder, *attributes):
    """The functions and the schema estimated of a file give the same estimates and errors."""
    path = str(folder / "r.duckdb")
    con.execute("FROM priv.export_release('r', $1)", [path])
    for attribute in attributes:
        found = con.execute(
            f"SELECT value, estimate, stderr, low, high FROM priv.reconstructed_distribution('r.{attribute}')"
            " ORDER BY value LIMIT 9"
        ).fetchall()
        with duckdb.connect(path, read_only=True) as reader:
            reader.execute("USE estimated")
            estimated = reader.execute(
                f"SELECT {attribute}, count(*), count_stderr(), count_low(), count_high() FROM r GROUP BY {attribute}"
                f" ORDER BY {attribute} LIMIT 9"
            ).fetchall()
        assert estimated == nearly(found)
