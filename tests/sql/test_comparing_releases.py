"""What comparing two releases of the same records tells is said where releases promise something."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("unasked")

DECLARED = ["asthma", "cold", "cough", "flu", "measles", None]
"""What occurs among the visits, and one that does not yet."""
CERTAIN = "knows with certainty"


def statements(con, release):
    return dict(
        con.execute(
            "SELECT guarantee, statement FROM priv.guarantee WHERE release = ?", [release]
        ).fetchall()
    )


def shown(con, release):
    return con.execute(f"SELECT age, gender, noisy_disease::VARCHAR FROM {release}").fetchall()


def ledger(con, columns):
    return con.execute(f"SELECT {columns} FROM priv.ledger(details := true)").fetchall()


@pytest.mark.parametrize("declared", [True, False])
def test_the_guarantee_says_it(visits, published, declared):
    domain = {"domain": DECLARED} if declared else {}
    published(visits, "visits", "r", sensitive="disease", retention=0.3, record_id="id", **domain)
    statement = statements(visits, "r")["local_differential_privacy"]
    stated = "no other record is redrawn" if declared else "redraws all records"
    assert statement.count(CERTAIN) == 1
    assert stated in statement


@pytest.mark.parametrize("method", ["splu", "uniform"])
def test_it_is_not_stated_for_fresh_noise_and_for_groups(visits, method):
    """Fresh noise are another look each, and a changed table is not grouped again."""
    given = {
        "splu": "gamma := 2, record_id := 'id'",
        "uniform": "retention := 0.3, exclude := 'id'",
    }
    visits.execute("UPDATE visits SET disease = 'd' || id % 5")
    visits.execute(
        f"FROM priv.publish_{method}('visits', 'r', sensitive := 'disease', {given[method]})"
    )
    assert not any(CERTAIN in each for each in statements(visits, "r").values())


@pytest.mark.parametrize(
    ("changed", "what", "shows"),
    [(12, "12 records have", "12 records show"), (1, "1 record has", "1 record shows")],
)
def test_a_record_that_changed_is_warned_of(visits, published, changed, what, shows):
    given = {"sensitive": "disease", "retention": 0.3, "record_id": "id", "domain": DECLARED}
    published(visits, "visits", "one", **given)
    visits.execute(
        "UPDATE visits SET disease = if(disease = 'flu', 'cold', 'flu') WHERE id < ?", [changed]
    )
    receipt = published(visits, "visits", "two", **given)
    assert any(
        each.startswith(f"{what} another 'disease'") and CERTAIN in each
        for each in receipt["warnings"]
    )
    (first, second) = ledger(visits, "changed, warning")
    assert first == (None, None)
    assert second[0] == changed
    assert second[1].startswith(f"{shows} another value")


def test_nothing_is_redrawn_for_a_declared_domain(visits, published):
    given = {"sensitive": "disease", "retention": 0.3, "record_id": "id", "domain": DECLARED}
    published(visits, "visits", "one", **given)
    before = shown(visits, "one")
    visits.execute("INSERT INTO visits VALUES (9999, 200, 'female', 'measles')")
    receipt = published(visits, "visits", "two", **given)
    assert not any("redraw" in each for each in receipt["warnings"])
    assert before == [row for row in shown(visits, "two") if row[0] < 200]
    assert ledger(visits, "adds > 0, warning") == [(True, None), (False, None)]


def test_a_new_value_redraws_every_record(visits, published):
    given = {"sensitive": "disease", "retention": 0.3, "record_id": "id"}
    published(visits, "visits", "one", **given)
    before = shown(visits, "one")
    visits.execute("INSERT INTO visits VALUES (9999, 200, 'female', 'measles')")
    receipt = published(visits, "visits", "two", **given)
    assert before != [row for row in shown(visits, "two") if row[0] < 200]
    (first, second) = ledger(visits, "total")
    assert f"had spent epsilon {first[0]:.4g}" in receipt["ledger"]
    assert f"which makes {second[0]:.4g}" in receipt["ledger"]
    assert "another domain" in receipt["ledger"]
    assert "domain := […]" in receipt["ledger"]
