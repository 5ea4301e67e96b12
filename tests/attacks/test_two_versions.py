"""Someone with two versions: what the publisher is warned of is what an attacker finds."""

from __future__ import annotations

import math
import shutil

import duckdb
import numpy as np
import pytest
from plausible import FALSE_ALARM
from scipy import stats

pytestmark = pytest.mark.usefixtures("unasked", "plain_files")

ROWS, VALUES, RETENTION = 12_000, 4, 0.5
GIVEN = (
    "sensitive := 'disease', record_id := 'id', public := ['seat'], domain := ['a', 'b', 'c', 'd']"
)


def _made(con) -> None:
    """Values are equally frequent, and so are those that half of the records have later."""
    con.execute(
        f"CREATE TABLE v AS SELECT i AS id, i AS seat, chr(97 + (i % {VALUES})::INTEGER) AS disease"
        f" FROM range({ROWS}) AS t(i)"
    )
    con.execute(f"FROM priv.publish_uniform('v', 'r', retention := {RETENTION}, {GIVEN})")


@pytest.fixture
def con(made):
    with made(_made) as connection:
        yield connection


@pytest.fixture
def older(con, tmp_path) -> str:
    """A copy that someone took, before a refresh writes the next version in its place."""
    con.execute("FROM priv.export_release('r', ?)", [str(tmp_path / "r.duckdb")])
    return str(shutil.copy(tmp_path / "r.duckdb", tmp_path / "older.duckdb"))


def reported(con, older: str) -> dict[str, float]:
    return dict(con.execute("SELECT finding, value FROM priv.compare('r', ?)", [older]).fetchall())


def change(con) -> None:
    con.execute(
        f"UPDATE v SET disease = chr(97 + ((ascii(disease) - 96 + (id // {VALUES}) % 3) % {VALUES})::INTEGER)"
        f" WHERE (id // {VALUES * 3}) % 2 = 0"
    )


def looks(con, older: str) -> np.ndarray:
    """What every record has and shows: its value, the older published one, the newer."""
    con.execute(f"ATTACH '{older}' AS before (READ_ONLY)")
    rows = con.execute(
        "SELECT ascii(v.disease) - 97, ascii(a.noisy_disease::VARCHAR) - 97, ascii(b.noisy_disease::VARCHAR) - 97"
        " FROM v JOIN before.main.r AS a USING (seat) JOIN main.r AS b USING (seat) ORDER BY seat"
    ).fetchall()
    con.execute("DETACH before")
    return np.array(rows).T


def test_an_attacker_who_follows_everyone_finds_what_is_reported(con, older):
    change(con)
    con.execute("FROM priv.refresh('r')")
    found = reported(con, older)
    true, before, after = looks(con, older)
    changed = before != after
    assert found["followed_records"] == ROWS
    assert found["seen_to_have_changed"] == changed.sum()
    assert found["rows_in_both"] == (~changed).sum()
    # The attacker believes what the newer version shows, of those that are seen to have changed.
    right = int((true == after)[changed].sum())
    claimed = found["largest_posterior_of_both"]
    assert stats.binomtest(right, int(changed.sum()), claimed).pvalue > FALSE_ALARM
    single = claimed - found["posterior_rise"]
    assert single == pytest.approx(RETENTION + (1 - RETENTION) / VALUES)
    ((epsilon,),) = con.execute("SELECT max(epsilon) FROM priv.ledger()").fetchall()
    assert found["epsilon_of_both"] == pytest.approx(2 * epsilon)


def test_nothing_is_learned_where_nothing_changed(con, older):
    con.execute("DELETE FROM v WHERE id < 10; FROM priv.refresh('r')")
    found = reported(con, older)
    assert (found["rows_in_both"], found["seen_to_have_changed"]) == (ROWS - 10, 0)
    ((epsilon,),) = con.execute("SELECT max(epsilon) FROM priv.ledger()").fetchall()
    assert found["epsilon_of_both"] == pytest.approx(epsilon)


def test_other_noise_are_two_looks_at_every_record(con, older):
    con.execute(f"FROM priv.publish_uniform('v', 'r', retention := 0.4, {GIVEN}, replace := true)")
    found = reported(con, older)
    true, before, after = looks(con, older)
    equal_rows = before == after
    claimed = found["largest_posterior_of_both"]
    right = int((true == after)[equal_rows].sum())
    assert stats.binomtest(right, int(equal_rows.sum()), claimed).pvalue > FALSE_ALARM
    epsilons = con.execute("SELECT epsilon FROM priv.ledger()").fetchall()
    assert found["epsilon_of_both"] == pytest.approx(sum(each for (each,) in epsilons))


def test_what_is_no_older_version_is_refused(con, tmp_path):
    with duckdb.connect(tmp_path / "other.duckdb") as other:
        other.execute("CREATE TABLE r AS SELECT 1 AS x")
    for path in ("nowhere.duckdb", "other.duckdb"):
        with pytest.raises(duckdb.Error, match="no release file of 'r'"):
            con.execute("FROM priv.compare('r', ?)", [str(tmp_path / path)]).fetchall()
    with pytest.raises(duckdb.Error, match="no release is called"):
        con.execute("FROM priv.compare('x', 'y.duckdb')").fetchall()


def test_a_difference_of_counts_has_the_noise_of_what_changed_alone(con, older, tmp_path):
    """Every value's difference, in standard errors, and beside two counts apart."""
    con.execute(
        "UPDATE v SET disease = 'a' WHERE id % 40 = 1; DELETE FROM v WHERE id % 100 = 2;"
        " INSERT INTO v SELECT i, i, 'b' FROM range(20_000, 20_150) AS t(i); FROM priv.refresh('r')"
    )
    with duckdb.connect() as analyst:
        analyst.execute(f"ATTACH '{older}' AS older (READ_ONLY)")
        analyst.execute(f"ATTACH '{tmp_path}/r.duckdb' AS newer (READ_ONLY)")
        for value, estimate, stderr in analyst.execute(
            "SELECT value::VARCHAR, estimate, stderr"
            " FROM newer.priv.reconstructed_change('r', 'older', database := 'newer')"
        ).fetchall():
            counted = counted_since(con, value)
            assert abs(estimate - counted) < stats.norm.isf(FALSE_ALARM / 2) * stderr
            apart = sum(
                analyst.execute(
                    f"SELECT {version}.priv.reconstructed_stderr('r', noisy_disease, '{value}') FROM {version}.r"
                ).fetchall()[0][0]
                ** 2
                for version in ("older", "newer")
            )
            assert stderr < math.sqrt(apart) / 3


def counted_since(con, value: str) -> int:
    """How many more records truly have a value than when the table was made."""
    ((now,),) = con.execute("SELECT count(*) FROM v WHERE disease = ?", [value]).fetchall()
    return int(now) - ROWS // VALUES
