"""What all noisy values of one person say together, by enumeration: never more than the release states of a person."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from answers import named_row

from duckdb_priv.card.card import read_card
from duckdb_priv.methods.common.operator_audit import drawn_operator
from duckdb_priv.release import catalog

pytestmark = pytest.mark.usefixtures("unasked")

TABLE = """
    CREATE TABLE stays AS
    SELECT i AS id, 'P' || i // 2 AS patient, i % 5 AS ward, ['a', 'b', 'c'][1 + i // 2 % 3] AS diagnosis,
        if(i // 2 % 3 = 0, 'x', 'y') AS second
    FROM range(1200) AS t(i);
    CREATE TABLE exchange AS
    FROM (VALUES ('a'), ('b'), ('c')) o(original), (VALUES ('a'), ('b'), ('c')) p(published)
    SELECT original, published, if(original = published, 0.6, 0.2) AS probability;
"""
"""Two stays of each patient, with the same diagnosis, which determines the second one."""
METHODS = {
    "uniform": "retention := 0.5",
    "fine_grain": "tolerance := 1.4, min_retention := 0.05",
    "block_design": "epsilon := 1.5",
}


@pytest.fixture
def con(prepared):
    with prepared() as connection:
        connection.execute(TABLE)
        yield connection


def publish(con, method, arguments, sensitive):
    con.execute(
        f"FROM priv.publish_{method}('stays', 'r', sensitive := {sensitive}, {arguments}, record_id := 'id',"
        " person := 'patient', public := ['ward'])"
    )
    ((value, statement),) = con.execute(
        "SELECT value, statement FROM priv.guarantee WHERE guarantee = 'privacy_of_a_person'"
    ).fetchall()
    return value, statement


def law_of_a_person(con):
    """Return Pr[all that is published | all that is true] of two records, and each truth by its places."""
    operators = [drawn_operator(each) for each in catalog.sensitive_attributes(con, "r")] * 2
    assert all(operator is not None for operator in operators)
    law = operators[0]
    for operator in operators[1:]:
        law = np.kron(law, operator)
    return law, list(itertools.product(*(range(each.shape[1]) for each in operators)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sensitive", [["diagnosis", "second"], ["diagnosis"]])
def test_the_odds_of_two_truths_change_by_no_more_than_is_stated(con, method, sensitive):
    value, statement = publish(con, method, METHODS[method], sensitive)
    law, _ = law_of_a_person(con)
    found = (law.max(axis=1) / law.min(axis=1)).max()
    assert found <= np.exp(value) * (1 + 1e-9)
    (stated,) = re.findall(r"by a factor of at most ([\d,.]+) \(epsilon", statement)
    assert found <= float(stated.replace(",", "")) * (1 + 1e-9)
    # It is not larger than it must be.
    assert found >= 0.5 * np.exp(value)
    ((audited, holds),) = con.execute(
        "SELECT value, holds FROM priv.audit('r') WHERE guarantee = 'privacy_of_a_person'"
    ).fetchall()
    assert holds
    assert np.log(found) <= audited * (1 + 1e-9)


def test_who_knows_the_true_table_learns_more_than_one_value_says_and_no_more_than_is_stated(con):
    """One factor is no bound for a person: columns that determine each other, and records that are equal, add up."""
    value, _ = publish(con, "uniform", METHODS["uniform"], ["diagnosis", "second"])
    law, truths = law_of_a_person(con)
    ((one,),) = con.execute(
        "SELECT max(value) FROM priv.guarantee WHERE guarantee = 'local_differential_privacy' AND attribute IS NOT NULL"
    ).fetchall()
    values = {each.name: each.values for each in catalog.sensitive_attributes(con, "r")}
    prior = np.zeros(len(truths))
    for lists, persons in con.execute(
        "SELECT list([diagnosis, second] ORDER BY id), 1 FROM stays GROUP BY patient"
    ).fetchall():
        places = tuple(
            values[name].index(each)
            for row in lists
            for name, each in zip(("diagnosis", "second"), row, strict=True)
        )
        prior[truths.index(places)] += persons
    prior /= prior.sum()
    posterior = law * prior / (law @ prior)[:, None]
    factors = []
    for place in range(3):
        event = np.array([truth[0] == place for truth in truths])
        before, after = prior[event].sum(), posterior[:, event].sum(axis=1)
        factors.append((after / (1 - after)) / (before / (1 - before)))
    found = np.log(np.max(factors))
    assert one * 1.5 < found <= value * (1 + 1e-9)


@pytest.mark.usefixtures("asked")
def test_of_real_people_no_more_is_learned_than_card_guarantee_and_audit_say(prepared, adult):
    """Two records of each person, which are as similar as real records are, in two columns that nearly agree."""
    with prepared() as con:
        con.execute(
            "CREATE TABLE people AS SELECT number AS id, number // 2 AS person, sex, marital_status, relationship FROM"
            " (SELECT *, row_number() OVER (ORDER BY education, occupation, age, fnlwgt) - 1 AS number FROM"
            f" '{adult}') WHERE number < 45_000"
        )
        columns = ["marital_status", "relationship"]
        con.execute(
            f"FROM priv.publish_uniform('people', 'r', sensitive := {columns}, epsilon := 0.7, record_id := 'id',"
            " person := 'person', public := ['sex'])"
        )
        law, truths = law_of_a_person(con)
        values = {each.name: each.values for each in catalog.sensitive_attributes(con, "r")}
        rows = con.execute(
            f"SELECT list([{', '.join(columns)}] ORDER BY id) FROM people GROUP BY person"
        ).fetchall()
        claimed = dict(
            con.execute(
                "SELECT guarantee, value FROM priv.guarantee WHERE attribute IS NULL"
            ).fetchall()
        )["privacy_of_a_person"]
        ((audited, holds),) = con.execute(
            "SELECT value, holds FROM priv.audit('r') WHERE guarantee = 'privacy_of_a_person'"
        ).fetchall()
        card = read_card(con, "r")
    assert holds
    (printed,) = re.findall(r"by a factor of at most ([\d.]+) \(epsilon", card.person.statement)
    place_of = {truth: place for place, truth in enumerate(truths)}
    prior = np.zeros(len(truths))
    for (records,) in rows:
        prior[
            place_of[
                tuple(
                    values[name].index(each)
                    for record in records
                    for name, each in zip(columns, record, strict=True)
                )
            ]
        ] += 1 / len(rows)
    posterior = law * prior / (law @ prior)[:, None]
    # What a person is, as a whole; and each value of the first record.
    learned = [(prior[place], posterior[:, place].max()) for place in np.flatnonzero(prior)]
    odds_of_values = {}
    for column, name in enumerate(columns):
        for at, value in enumerate(values[name]):
            event = np.array([truth[column] == at for truth in truths])
            before, after = prior[event].sum(), posterior[:, event].sum(axis=1).max()
            learned.append((before, after))
            odds_of_values[name, value] = (after / (1 - after)) / (before / (1 - before))
    for stated in (claimed, audited, np.log(float(printed))):
        factor = np.exp(stated) * (1 + 1e-9)
        assert all(
            after <= before * factor / (1 + before * (factor - 1)) for before, after in learned
        )
    # The table of the card begins with what is estimated of a value, and ends with what may be learned of a person.
    assert card.learned
    for each in card.learned:
        stated = (each.all / (1 - each.all)) / (each.value.before / (1 - each.value.before))
        assert odds_of_values[each.column, each.value.name] <= stated * (1 + 1e-9)
    # One noisy value alone says less than was learned.
    assert max(odds_of_values.values()) > np.exp(0.7)
    assert card.person.half >= 1 / (1 + 1 / max(odds_of_values.values()))


def test_promises_of_nothing_are_called_that(con):
    """Two columns at epsilon 20: the receipt warns, and guarantee and audit say it in words, without exponents."""
    receipt = named_row(
        con,
        "FROM priv.publish_uniform('stays', 'r', sensitive := ['diagnosis', 'second'], epsilon := 20.0,"
        " record_id := 'id', person := 'patient', public := ['ward'])",
    )
    printed = [warning for warning in receipt["warnings"] if "promises next to nothing" in warning]
    assert ["diagnosis" in printed[0], "second" in printed[1], "one person" in printed[2]] == [
        True
    ] * 3
    texts = [receipt["guarantee"], *receipt["warnings"]]
    for table in ("priv.guarantee", "priv.audit('r')"):
        rows = con.execute(
            f"SELECT guarantee, statement FROM {table} WHERE guarantee IN"
            " ('local_differential_privacy', 'privacy_of_a_person')"
        ).fetchall()
        assert len(rows) >= 3
        assert all("promises next to nothing" in statement for _, statement in rows)
        texts += [statement for _, statement in rows]
    for text in texts:
        assert not re.search(r"\de[+-]?\d|\binf\b|exp\(", text), text


def test_promises_of_something_are_not(con):
    value, statement = publish(con, "uniform", "epsilon := 1.0", ["diagnosis", "second"])
    assert value == pytest.approx(4)
    assert "next to nothing" not in statement
    ((statements,),) = con.execute("SELECT list(warning) FROM priv.warning").fetchall()
    assert not any("next to nothing" in each for each in statements or ())
