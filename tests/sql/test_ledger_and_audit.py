"""What has been released adds up in the ledger, and an audit recomputes what a release claims."""

from __future__ import annotations

import json
import math

import duckdb
import pytest
from answers import rows

from duckdb_priv.engine import drawing, marking

pytestmark = pytest.mark.usefixtures("unasked", "plain_files")

EPSILON = math.log(1 + 5 * 0.3 / 0.7)
"""Of one attribute with five values at a retention of 0.3."""


def test_the_ledger_is_empty_at_first(con):
    assert rows(con, "FROM priv.ledger()") == []


def test_keyed_publications_of_the_same_add_nothing(visits, published):
    for release in ("one", "two"):
        published(visits, "visits", release, sensitive="disease", retention=0.3, record_id="id")
    found = rows(
        visits,
        "SELECT population, attribute, release, epsilon, delta, fresh, adds, epsilon_attribute, total, reason"
        " FROM priv.ledger(details := true)",
    )
    e = pytest.approx(EPSILON)
    assert found == [
        ("main", "disease", "one", e, 0, False, e, e, e, "first publication of it"),
        ("main", "disease", "two", e, 0, False, 0, e, e, "same draw as one"),
    ]


def test_fresh_publications_and_other_parameters_add_up(visits, published):
    published(visits, "visits", "a", sensitive="disease", retention=0.3, exclude="id")
    published(visits, "visits", "b", sensitive="disease", retention=0.3, exclude="id")
    published(visits, "visits", "c", sensitive="disease", retention=0.3, record_id="id")
    published(visits, "visits", "d", sensitive="disease", retention=0.5, record_id="id")
    found = rows(
        visits,
        "SELECT release, adds, epsilon_attribute, total, reason FROM priv.ledger(details := true)",
    )
    half = math.log(6)
    assert [row[0] for row in found] == list("abcd")
    assert [row[1] for row in found] == pytest.approx([EPSILON, EPSILON, EPSILON, half])
    totals = [EPSILON, 2 * EPSILON, 3 * EPSILON, 3 * EPSILON + half]
    assert [row[2] for row in found] == pytest.approx(totals)
    assert [row[3] for row in found] == pytest.approx(totals)
    assert [row[4] for row in found] == [
        "first publication of it",
        "no record id was given, so every record is drawn once more",
        "another record id",
        "another retention",
    ]


def test_several_attributes_are_entries_of_their_own(visits, published):
    published(visits, "visits", "r", sensitive=["disease", "gender"], retention=0.3, record_id="id")
    found = rows(
        visits,
        "SELECT attribute, epsilon, total FROM priv.ledger() ORDER BY total",
    )
    gender = math.log(1 + 2 * 0.3 / 0.7)
    assert [row[0] for row in found] == ["disease", "gender"]
    assert [row[1] for row in found] == pytest.approx([EPSILON, gender])
    assert found[-1][2] == pytest.approx(EPSILON + gender)


def test_everything_of_a_population_adds_whatever_the_table_is_called(visits, published):
    visits.execute("CREATE VIEW elderly AS FROM visits WHERE age > 60")
    visits.execute("CREATE TABLE others AS SELECT id + 10000 AS id, age, disease FROM visits")
    published(visits, "visits", "a", sensitive="disease", retention=0.3, exclude="id")
    published(visits, "elderly", "b", sensitive="disease", retention=0.3, exclude="id")
    published(visits, "others", "c", sensitive="disease", retention=0.3, record_id="id")
    published(
        visits,
        "others",
        "d",
        sensitive="disease",
        retention=0.3,
        record_id="id",
        population="other",
    )
    found = rows(visits, "SELECT population, release, total FROM priv.ledger()")
    assert [row[:2] for row in found] == [("main", name) for name in "abc"] + [("other", "d")]
    assert [row[2] for row in found] == pytest.approx([EPSILON, 2 * EPSILON, 3 * EPSILON, EPSILON])


def test_ids_of_another_population_are_counted_and_warned_of(visits, published):
    """Nothing is added up over two populations, so that the publisher must know that the same people are in both."""
    published(visits, "visits", "one", sensitive="disease", retention=0.5, record_id="id")
    visits.execute(
        "CREATE TABLE others AS SELECT CASE WHEN id % 2 = 0 THEN id ELSE -1 - id END AS id, disease FROM visits"
    )
    ((shared, records),) = rows(visits, "SELECT count(*) FILTER (id >= 0), count(*) FROM others")
    receipt = published(
        visits,
        "others",
        "two",
        sensitive="disease",
        retention=0.5,
        record_id="id",
        population="staff",
    )
    (warning,) = [each for each in receipt["warnings"] if "population" in each]
    assert warning.startswith(f"{shared:,} of {records:,} ids are also in population 'main'")
    again = published(visits, "visits", "three", sensitive="disease", retention=0.5, record_id="id")
    assert f"{shared:,} of {records:,} ids are also in population 'staff'" in str(again["warnings"])
    visits.execute("CREATE TABLE apart AS SELECT 'x' || id AS id, disease FROM visits")
    receipt = published(
        visits,
        "apart",
        "four",
        sensitive="disease",
        retention=0.5,
        record_id="id",
        population="guests",
    )
    assert not any("population" in each for each in receipt["warnings"])


def test_a_dropped_or_replaced_release_stays_in_the_ledger(visits, published):
    published(visits, "visits", "r", sensitive="disease", retention=0.3, exclude="id")
    published(visits, "visits", "r", sensitive="disease", retention=0.3, replace=True, exclude="id")
    visits.execute("FROM priv.drop_release('r')")
    assert rows(visits, "SELECT release, total FROM priv.ledger()") == [
        ("r", pytest.approx(EPSILON)),
        ("r", pytest.approx(2 * EPSILON)),
    ]


def test_publications_of_the_same_keep_one_sample_between_them(visits, published):
    """A release that changes keeps a sample of its own, and the others still have theirs."""
    samples = "SELECT publication, count(*), bit_xor(hash(mark, marks)) FROM priv.seen"
    before, after = (f"{samples} WHERE publication {sign} 1 GROUP BY ALL" for sign in "=>")
    given = {"sensitive": "disease", "record_id": "id", "replace": True}
    for number, retention in enumerate([0.3, 0.3, 0.5]):
        published(visits, "visits", f"r{number}", retention=retention, **given)
    kept = rows(visits, before)
    assert len(kept) == 1
    assert rows(visits, after) == []
    assert rows(visits, "SELECT DISTINCT publication FROM priv.ledger") == [(1,)]
    visits.execute("UPDATE visits SET disease = 'flu' WHERE id = 1")
    for _ in range(2):
        published(visits, "visits", "r0", retention=0.3, **given)
        assert rows(visits, before) == kept
        ((_, records, _),) = rows(visits, after)
        assert records == kept[0][1]
    published(visits, "visits", "r3", retention=0.3, exclude=["age"], **given)
    assert rows(visits, "SELECT count(DISTINCT publication) FROM priv.seen") == [(3,)]


@pytest.mark.parametrize("ids", ["id", ["id", "ward"]])
def test_marks_are_equal_in_a_query_and_at_once(visits, published, monkeypatch, ids):
    visits.execute("ALTER TABLE visits ADD COLUMN ward VARCHAR DEFAULT 'a'")
    marks = []
    for few, people in ((drawing.FEW, "these"), (0, "those")):
        monkeypatch.setattr(drawing, "FEW", few)
        published(
            visits, "visits", people, sensitive="disease", retention=0.3, record_id=ids, population=people
        )  # fmt: skip
        marks.append(
            [
                rows(visits, "SELECT mark, value, person FROM priv.mark ORDER BY ALL"),
                rows(visits, "SELECT mark, marks FROM priv.seen ORDER BY ALL"),
            ]
        )
        visits.execute("DELETE FROM priv.mark; DELETE FROM priv.seen")
    assert marks[0] == marks[1]
    assert all(marks[0])


def test_a_table_too_large_for_all_marks_has_the_same_digest_and_sample(
    visits, published, monkeypatch
):
    found = []
    monkeypatch.setattr(marking, "level_of", lambda rows, size=0: 2)
    for kept, few in ((marking.KEPT, 0), (100, drawing.FEW), (100, 0)):
        monkeypatch.setattr(marking, "KEPT", kept)
        monkeypatch.setattr(drawing, "FEW", few)
        monkeypatch.setattr(drawing, "BYTES_OF_RECORD", 32 if kept > 100 else 1e12)
        monkeypatch.setattr(drawing, "PIECE", 500)
        release = f"r{len(found)}"
        published(
            visits, "visits", release, sensitive="disease", retention=0.3, record_id="id", population=release
        )  # fmt: skip
        found.append(
            [
                rows(visits, f"SELECT digest FROM priv.ledger WHERE release = '{release}'"),
                rows(visits, "SELECT mark, marks FROM priv.seen ORDER BY ALL"),
            ]
        )
        visits.execute("DELETE FROM priv.seen")
    assert found[0] == found[1] == found[2]
    assert all(found[0])


def audit(connection, release):
    names = ["attribute", "guarantee", "value", "holds", "parameters"]
    found = connection.execute(
        f"SELECT {', '.join(names)} FROM priv.audit(?)", [release]
    ).fetchall()
    return {
        (row[0], row[1]): {"value": row[2], "holds": row[3], **json.loads(row[4])} for row in found
    }


@pytest.mark.parametrize("record_id", ["id", None])
def test_an_audit_recomputes_every_claim(visits, published, record_id):
    exclude = [] if record_id else "id"
    arguments = {"rho1": 0.1, "rho2": 0.5, "record_id": record_id, "exclude": exclude}
    published(visits, "visits", "r", sensitive="disease", **arguments)
    found = audit(visits, "r")
    of = {name: found[key] for key in found for name in [key[1]]}
    assert of["operator"]["holds"]
    assert of["operator"]["value"] == pytest.approx(1)
    assert of["local_differential_privacy"]["value"] == pytest.approx(math.log(9))
    assert of["upward_privacy"]["value"] == pytest.approx(0.5)
    assert of["downward_privacy"]["value"] == pytest.approx(0.1)
    # Of five values with fresh noise, one deviates further with a chance of 6e-10.
    assert of["noise_as_stated"]["value"] < 6.5
    assert of["keyed_randomness"]["value"] == float(record_id is not None)
    assert of["accumulated_epsilon"]["value"] == pytest.approx(math.log(9))
    assert all(row["holds"] is not False for row in found.values())
    claimed = {"operator", "local_differential_privacy", "upward_privacy", "noise_as_stated"}
    assert all(of[name]["holds"] is True for name in claimed)


def test_an_audit_knows_the_true_frequencies(released):
    """The largest posterior by enumeration of every pair of a true and a published value."""
    counts = dict(rows(released, "SELECT disease, count(*) FROM visits GROUP BY disease"))
    prior = {value: count / 4000 for value, count in counts.items()}
    q = 0.7 / 5
    beliefs = [prior[x] * (0.3 * (x == y) + q) / (0.3 * prior[y] + q) for x in prior for y in prior]
    found = audit(released, "r")
    assert found["disease", "largest_posterior"]["value"] == pytest.approx(max(beliefs))
    assert found["disease", "smallest_posterior"]["value"] == pytest.approx(min(beliefs))


def test_an_audit_finds_a_release_without_noise(released):
    """The true values in place of the published ones: no deviation at all from the truth, so far from the mean."""
    released.execute("UPDATE r SET noisy_disease = 'flu' WHERE noisy_disease = 'cold'")
    found = audit(released, "r")["disease", "noise_as_stated"]
    assert found["holds"] is False
    assert found["value"] > 6.2


def test_an_audit_finds_numbers_that_were_tampered_with(visits, published):
    published(visits, "visits", "r", sensitive="disease", rho1=0.1, rho2=0.5, record_id="id")
    visits.execute("UPDATE priv.coefficient SET own = 0.9, other = 0.025")
    found = audit(visits, "r")
    assert found["disease", "local_differential_privacy"]["holds"] is False
    assert found["disease", "upward_privacy"]["holds"] is False
    assert found["disease", "downward_privacy"]["holds"] is False
    assert found["disease", "noise_as_stated"]["holds"] is False


def test_the_first_row_of_an_audit_is_the_verdict(released):
    first = "SELECT guarantee, statement, value, holds, unit FROM priv.audit('r') LIMIT 1"
    ((name, words, value, holds, unit),) = rows(released, first)
    judged = sum(row["holds"] is not None for row in audit(released, "r").values()) - 1
    assert (name, value, holds, unit) == ("verdict", 0, True, "claims")
    assert words.startswith(f"All {judged} claims were checked and hold.")
    released.execute("UPDATE priv.coefficient SET own = 0.9, other = 0.025")
    ((_, words, value, holds, _),) = rows(released, first)
    found = audit(released, "r")
    broken = [name for (of, name), row in found.items() if of and row["holds"] is False]
    assert (value, holds) == (len(broken), False)
    counts = {name: found[None, "verdict"][name] for name in ("claims", "hold", "fail")}
    assert counts == {"claims": judged, "hold": judged - len(broken), "fail": len(broken)}
    named = ", ".join(f"{name} of disease" for name in broken)
    assert words.startswith(f"{len(broken)} of {judged} claims do not hold: {named}. Do not hand")
    assert {"local_differential_privacy", "noise_as_stated"} <= set(broken)


def test_an_audit_without_its_source_still_recomputes_the_claims(released):
    released.execute("DROP TABLE visits")
    found = audit(released, "r")
    assert found["disease", "local_differential_privacy"]["holds"] is True
    assert ("disease", "largest_posterior") not in found


def test_an_audit_of_a_source_that_has_changed_says_so(released):
    released.execute("DELETE FROM visits WHERE id % 2 = 0")
    found = audit(released, "r")
    assert found["disease", "source"]["holds"] is None
    assert ("disease", "noise_as_stated") not in found


def test_an_audit_counts_unique_records(con, published):
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, greatest(i, 100) AS place, i % 3 AS s FROM range(200) AS t(i)"
    )
    published(con, "t", "r", sensitive="s", retention=0.3, record_id="id")
    assert audit(con, "r")[None, "singletons"]["value"] == pytest.approx(99 / 200)


@pytest.mark.usefixtures("asked")
def test_an_audit_changes_nothing(released, inventory):
    before = inventory(released)
    audit(released, "r")
    assert inventory(released) == before


@pytest.mark.usefixtures("asked")
def test_release_files_of_one_name_are_distinguished_when_attached(prepared, tmp_path, published):
    """Macros carry their numbers with them: two hospitals, one name, and neither is in use."""
    for name, retention in (("north", 0.2), ("south", 0.8)):
        with prepared(None) as publisher:
            publisher.execute(
                "CREATE TABLE t AS SELECT i AS id, (['a', 'b'])[1 + i % 2] AS s FROM range(500) AS t(i)"
            )
            published(publisher, "t", "r", sensitive="s", retention=retention, record_id="id")
            publisher.execute(
                "FROM priv.export_release('r', ?)", [str(tmp_path / f"{name}.duckdb")]
            )
    made_up = "(SELECT CASE WHEN i < 60 THEN 'a' ELSE 'b' END::ENUM('a', 'b') AS noisy_s FROM range(100) AS t(i))"
    with duckdb.connect() as analyst:
        for name in ("north", "south"):
            analyst.execute(f"ATTACH '{tmp_path / f'{name}.duckdb'}' AS {name} (READ_ONLY)")
        for name, estimate in (("north", 100), ("south", 62.5)):
            assert rows(
                analyst,
                f"SELECT {name}.priv.reconstructed_count('r', noisy_s, 'a') FROM {made_up}",
            ) == [(pytest.approx(estimate),)]
            assert rows(
                analyst,
                f"SELECT sum(estimate) FROM {name}.priv.reconstructed_distribution('r', database := '{name}')",
            ) == [(pytest.approx(500),)]
