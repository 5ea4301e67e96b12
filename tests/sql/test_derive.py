"""Levels of trust: a coarser release is noise on top of a finer one, and both tell what the finer does."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner
from plausible import FALSE_ALARM
from scipy import stats

import duckdb_priv
from duckdb_priv.shell.cli import main

pytestmark = pytest.mark.usefixtures("unasked")

ROWS = 20_000
VALUES = 4
FINE, COARSE = 0.6, 0.25
PUBLISH = (
    "FROM priv.publish_{} ('v', 'fine', sensitive := 'disease', record_id := 'id', public := ['seat'],"
    " domain := ['a', 'b', 'c', 'd'], {})"
)


def _uniform(con) -> None:
    con.execute(
        f"CREATE TABLE v AS SELECT i AS id, i AS seat, chr(97 + (i * i % 23 % {VALUES})::INTEGER) AS disease"
        f" FROM range({ROWS}) AS t(i)"
    )
    con.execute(PUBLISH.format("uniform", f"retention := {FINE}"))
    con.execute(f"FROM priv.derive('fine', 'coarse', retention := {COARSE})")


@pytest.fixture
def con(made):
    with made(_uniform) as connection:
        yield connection


@pytest.fixture(scope="module")
def lasting(made):
    """For calls that are refused, and leave nothing."""
    with made(_uniform) as connection:
        yield connection


def columns(con, *releases: str) -> np.ndarray:
    """The true values of all records, and what they show in some releases, as positions."""
    joins = " ".join(f"JOIN {name} USING (seat)" for name in releases)
    shown = ", ".join(f"ascii({name}.noisy_disease::VARCHAR) - 97" for name in releases)
    rows = con.execute(
        f"SELECT ascii(disease) - 97, {shown} FROM v {joins} ORDER BY seat"
    ).fetchall()
    return np.array(rows).T


def law(kept: float) -> np.ndarray:
    return kept * np.eye(VALUES) + (1 - kept) / VALUES


def fits(counted: np.ndarray, expected: np.ndarray) -> None:
    assert stats.chisquare(counted.ravel(), expected.ravel()).pvalue > FALSE_ALARM


def table(*places: np.ndarray) -> np.ndarray:
    counted = np.zeros([VALUES] * len(places))
    np.add.at(counted, places, 1)
    return counted


def test_the_joint_law_of_both_is_that_of_noise_on_noise(con):
    true, fine, coarse = columns(con, "fine", "coarse")
    counts = np.bincount(true, minlength=VALUES)
    joint = counts[:, None, None] * law(FINE)[:, :, None] * law(COARSE / FINE)[None, :, :]
    fits(table(true, fine, coarse), joint)
    fits(table(true, coarse), counts[:, None] * law(COARSE))


def test_the_coarser_tells_nothing_that_the_finer_does_not(con):
    """Where both show one value the guess is as good as the finer's; with two looks at the source it is better."""
    con.execute(
        f"FROM priv.publish_uniform('v', 'second', sensitive := 'disease', record_id := 'id', public := ['seat'],"
        f" domain := ['a', 'b', 'c', 'd'], retention := {COARSE})"
    )
    true, fine, coarse, second = columns(con, "fine", "coarse", "second")
    own = FINE + (1 - FINE) / VALUES
    derived, apart = fine == coarse, fine == second
    right = int((true == fine)[derived].sum())
    assert stats.binomtest(right, int(derived.sum()), own).pvalue > FALSE_ALARM
    better = int((true == fine)[apart].sum())
    assert stats.binomtest(better, int(apart.sum()), own, "greater").pvalue < FALSE_ALARM


def test_the_ledger_charges_the_finest_once(con):
    rows = con.execute("SELECT release, adds > 0, total FROM priv.ledger()").fetchall()
    assert [(release, adds) for release, adds, _ in rows] == [("fine", True), ("coarse", False)]
    assert rows[0][2] == rows[1][2]
    con.execute(
        "FROM priv.publish_uniform('v', 'again', sensitive := 'disease', record_id := 'id', public := ['seat'],"
        " retention := 0.1)"
    )
    ((reason,),) = con.execute(
        "SELECT reason FROM priv.ledger(details := true) WHERE release = 'again'"
    ).fetchall()
    assert "derived_from" not in reason
    con.execute("FROM priv.drop_release('again')")
    assert con.execute(
        "SELECT DISTINCT holds FROM priv.audit('coarse') WHERE holds IS NOT NULL"
    ).fetchall() == [(True,)]


def test_deriving_again_gives_the_same_and_follows_the_finer(con, tmp_path):
    before = dict(con.execute("SELECT seat, noisy_disease::VARCHAR FROM coarse").fetchall())
    con.execute(f"FROM priv.derive('fine', 'again', retention := {COARSE})")
    assert con.execute(
        "SELECT count(*) FROM coarse JOIN again USING (seat, noisy_disease)"
    ).fetchall() == [(ROWS,)]
    con.execute("DELETE FROM v WHERE id < 10; FROM priv.refresh('fine')")
    states = dict(con.execute("SELECT release, state FROM priv.publications()").fetchall())
    assert states == {"fine": "current", "coarse": "due", "again": "due"}
    con.execute("FROM priv.refresh('coarse')")
    after = dict(con.execute("SELECT seat, noisy_disease::VARCHAR FROM coarse").fetchall())
    assert after == {seat: shown for seat, shown in before.items() if seat >= 10}
    assert con.execute(
        "SELECT version, rows_kept FROM priv.release WHERE release = 'coarse'"
    ).fetchall() == [(2, ROWS - 10)]


@pytest.mark.usefixtures("asked")
def test_counts_on_the_coarser_are_estimates_of_the_truth(con):
    estimate, low, high = con.execute(
        "SELECT i.estimate, i.low, i.high FROM (SELECT priv.reconstructed_interval('coarse', noisy_disease, 'a',"
        " confidence := 0.999999999) AS i FROM coarse)"
    ).fetchall()[0]
    ((true,),) = con.execute("SELECT count(*) FROM v WHERE disease = 'a'").fetchall()
    assert low <= true <= high
    assert low <= estimate <= high


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ("'fine', 'x', retention := 0.7", "is no coarser"),
        (f"'fine', 'x', retention := {FINE}", "is no coarser"),
        ("'fine', 'x', epsilon := 9", "is no coarser"),
        ("'fine', 'x', retention := 0", "retention must lie strictly between"),
        ("'fine', 'x'", "either a retention or an epsilon"),
        ("'fine', 'x', retention := 0.1, epsilon := 1", "not both"),
        ("'fine', 'coarse', retention := 0.1", "a release 'coarse' exists"),
        ("'fine', 'fine', retention := 0.1, replace := true", "cannot be made from itself"),
        ("'nothing', 'x', retention := 0.1", "no release is called"),
    ],
)
def test_what_is_no_coarser_is_refused(lasting, given, reported):
    with pytest.raises(duckdb.Error, match=reported):
        lasting.execute(f"FROM priv.derive({given})").fetchall()
    assert lasting.execute("SELECT count(*) FROM priv.release").fetchall() == [(2,)]


def test_blocks_of_a_design_keep_it(con):
    con.execute("CREATE TABLE w AS SELECT id, seat, (id * id % 997 % 60)::INTEGER AS code FROM v")
    con.execute(
        "FROM priv.publish_block_design('w', 'blocks', sensitive := 'code', epsilon := 2.0, record_id := 'id',"
        " public := ['seat'])"
    )
    con.execute("FROM priv.derive('blocks', 'fewer', epsilon := 1.0)")
    of = {
        release: (own, other, count, first, stride)
        for release, own, other, count, first, stride in con.execute(
            "SELECT release, any_value(own), any_value(other), any_value(blocks.number), any_value(blocks.first),"
            " any_value(blocks.stride) FROM priv.coefficient JOIN priv.attribute USING (release, attribute)"
            " WHERE blocks IS NOT NULL GROUP BY release"
        ).fetchall()
    }
    own, _, count, first, stride = of["fewer"]
    assert of["blocks"][2:] == (count, first, stride)
    held = own / len(first), (1 - own) / (count - len(first))
    assert np.log(held[0] / held[1]) == pytest.approx(1.0)
    rows = np.array(
        con.execute("SELECT code, noisy_code::INTEGER FROM w JOIN fewer USING (seat)").fetchall()
    )
    truly = sorted(
        value for (value,) in con.execute("SELECT DISTINCT code::VARCHAR FROM w").fetchall()
    )
    values = [int(value) for (value,) in con.execute(
        "SELECT value FROM priv.coefficient WHERE release = 'fewer' ORDER BY position"
    ).fetchall()]  # fmt: skip
    assert sorted(map(str, values)) == truly
    positions = np.array([values.index(code) for code in rows[:, 0]])
    holds = ((rows[:, 1] - positions * stride) % count)[:, None] == np.array(first)[None, :]
    assert stats.binomtest(int(holds.any(axis=1).sum()), ROWS, own).pvalue > FALSE_ALARM
    assert con.execute(
        "SELECT DISTINCT holds FROM priv.audit('fewer') WHERE holds IS NOT NULL"
    ).fetchall() == [(True,)]


def test_a_matrix_is_factorized_where_it_can_be(con):
    con.execute(
        "CREATE TABLE m AS SELECT chr(97 + o::INTEGER) AS original, chr(97 + p::INTEGER) AS published,"
        " CASE WHEN o = p THEN 0.7 WHEN (p - o + 4) % 4 = 1 THEN 0.2 ELSE 0.05 END AS probability"
        " FROM range(4) AS a(o), range(4) AS b(p)"
    )
    con.execute(
        "FROM priv.publish_matrix('v', 'exchanged', sensitive := 'disease', matrix := 'm', record_id := 'id',"
        " public := ['seat'])"
    )
    with pytest.raises(duckdb.Error, match=r"the largest is (0\.\d+)") as refused:
        con.execute("FROM priv.derive('exchanged', 'x', retention := 0.6)").fetchall()
    largest = float(str(refused.value).split("the largest is ")[1].split("\n")[0])
    con.execute(f"FROM priv.derive('exchanged', 'plain', retention := {largest - 1e-4})")
    true, shown = columns(con, "plain")
    fits(table(true, shown), np.bincount(true)[:, None] * law(largest - 1e-4))


def test_groups_have_no_coarser_release(con):
    con.execute(
        "FROM priv.publish_splu('v', 'groups', sensitive := 'disease', gamma := 2, record_id := 'id',"
        " public := ['seat'])"
    )
    with pytest.raises(
        duckdb.Error, match="no coarser release can be made from one of publish_splu"
    ):
        con.execute("FROM priv.derive('groups', 'x', retention := 0.1)").fetchall()


def test_the_command_refreshes_the_finer_first(tmp_path):
    path = str(tmp_path / "hospital.duckdb")
    with duckdb_priv.connect(path) as con:
        con.execute(
            "CREATE TABLE v AS SELECT i AS id, i % 9 AS age, 'd' || i * i % 23 % 4 AS disease FROM range(300) AS t(i)"
        )
        con.execute(
            "FROM priv.publish_uniform('v', 'one', sensitive := 'disease', retention := 0.5, record_id := 'id')"
        )
        con.execute("FROM priv.derive('one', 'coarse', epsilon := 0.5)")
        con.execute("DELETE FROM v WHERE id = 7")
    done = CliRunner().invoke(main, ["refresh", path])
    assert done.exit_code == 0
    assert [line.split(",")[0] for line in done.output.splitlines()] == [
        "one: version 2",
        "coarse: version 2",
    ]
