"""What a public registry asks of a release: whose epsilon it is, what it adds up to, and what is not protected."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from answers import named_row

from duckdb_priv.methods.register import METHODS

pytestmark = pytest.mark.usefixtures("unasked")

ROOT = Path(__file__).parents[2]
PRIVATE = "Zxqv"
VISITS = f"""
    CREATE TABLE visits AS
    SELECT id, id // 2 AS nbr, 20 + id * 37 % 60 AS age, ['a', 'b', 'c'][1 + (hash('w' || id) % 3)::INTEGER] AS ward,
        '{PRIVATE}' || hash('d' || id) % 4 AS disease
    FROM range(2000) AS t(id)
"""


@pytest.fixture
def visits(con, without_cards):
    con.execute(VISITS)
    with without_cards():
        yield con


def described(con, release):
    return named_row(con, "FROM priv.registry(?)", release)


def test_epsilon_is_that_of_the_largest_unit_of_which_something_is_promised(visits, published):
    given = {"record_id": "id", "epsilon": 1.0}
    published(visits, "visits", "value", sensitive="disease", exclude="nbr", **given)
    row = described(visits, "VALUE")
    assert (row["unit_of_privacy"], row["epsilon"], row["delta"]) == (
        "one sensitive value of one record", pytest.approx(1.0), 0.0
    )  # fmt: skip
    assert any("several records" in each for each in row["not_protected"])
    both = {"sensitive": ["disease", "ward"], **given}
    published(visits, "visits", "record", exclude="nbr", population="of records", **both)
    row = described(visits, "record")
    assert (row["unit_of_privacy"], row["epsilon"], row["neighbouring_relation"]) == (
        "one record, with its 2 sensitive values", pytest.approx(2.0), "all sensitive values of one record differ"
    )  # fmt: skip
    published(visits, "visits", "person", person="nbr", max_rows=2, population="of people", **both)
    row = described(visits, "person")
    assert (row["unit_of_privacy"], row["epsilon"]) == (
        "one person, with up to 2 records", pytest.approx(4.0)
    )  # fmt: skip
    assert not any("several records" in each for each in row["not_protected"])
    assert row["population"] == "of people"
    ((total,),) = visits.execute(
        "SELECT max(total) FROM priv.ledger() WHERE population = 'of people'"
    ).fetchall()
    assert row["population_epsilon"] == total >= row["epsilon"] * (1 - 1e-9)


def test_it_says_what_readers_and_an_assessment_ask_for_and_shows_no_record(visits, published):
    published(
        visits, "visits", "out", sensitive="disease", record_id="id", retention=0.5, exclude="nbr",
        title="Visits", description="For research on wards", contact="statistics@example.org", licence="CC0",
    )  # fmt: skip
    visits.execute("FROM priv.budget('main', epsilon := 7.0)").fetchall()
    row = described(visits, "out")
    assert (row["title"], row["contact"], row["licence"]) == (
        "Visits",
        "statistics@example.org",
        "CC0",
    )
    assert row["guarantees"] == [
        statement
        for (statement,) in visits.execute("SELECT statement FROM priv.guarantee").fetchall()
    ]
    text = row["impact_assessment"]
    assert [paragraph.split(".")[0] for paragraph in text.split("\n\n")] == [
        "What is published", "Why", "Measures", "Risks that remain", "Over time", "Rights of the people"
    ]  # fmt: skip
    for stated in (
        "as they are: age, ward; sensitive: disease",
        "For research on wards. For its author to add",
        "epsilon = 7 is refused",
        *row["guarantees"],
        *row["not_protected"],
    ):
        assert stated in text
    assert PRIVATE not in str(row)
    assert "nbr" not in str(row)


def test_what_has_no_epsilon_says_so(visits):
    visits.execute(
        "FROM priv.publish_splu('visits', 'decoys', sensitive := 'disease', gamma := 2, record_id := 'id',"
        " exclude := 'nbr')"
    ).fetchall()
    row = described(visits, "decoys")
    assert (row["epsilon"], row["delta"], row["neighbouring_relation"]) == (None, None, None)
    assert row["population_epsilon"] == float("inf")
    assert "No epsilon limits" in row["impact_assessment"]
    visits.execute(
        "FROM priv.publish_anatomy('visits', 'base', sensitive := 'disease', l := 2, record_id := 'id',"
        " exclude := 'nbr', population := 'b')"
    ).fetchall()
    row = described(visits, "base")
    assert (row["unit_of_privacy"], row["protects_against"]) == (None, None)
    assert "baseline" in row["not_protected"][0]


@pytest.mark.once
def test_the_page_of_promises_says_what_the_register_says():
    table = (ROOT / "docs" / "promises.md").read_text("utf-8")
    lines = {
        name: [cell.strip() for cell in line.split("|")[1:-1]]
        for line in table.splitlines()
        for name in re.findall(r"methods/(\w+)/README", line)
    }
    for name, method in METHODS.items():
        _, neighbours, unit, _, against = lines[name]
        if method.protection is None:
            assert (neighbours, unit, against) == ("–", "–", "–")
            continue
        assert unit == method.protection.unit
        assert neighbours == (method.protection.neighbours or "–")
        assert against.replace("*", "") == method.protection.against
