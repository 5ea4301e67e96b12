"""One question has one answer, whichever way it is asked: estimate, standard error and both ends of the interval."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pytest
from ordinary.releases import CALLS, DOES_NOT_SUM, of_run

import duckdb_priv
from duckdb_priv.errors import QueryRefused

QUESTIONS = {
    title: [each.strip() for each in statements.split(";\n") if each.strip()]
    for title, statements in re.findall(
        r"^-- ([^\n]*)\n((?:[^-\n].*\n)+)",
        (Path(__file__).parent / "one_answer.sql").read_text("utf-8"),
        re.MULTILINE,
    )
}
"""By title: one question, as statements of functions and of ordinary SQL."""
FEW = "cost < 8"
FROM_HISTOGRAM = ("two_by_two", "conditional_poisson")
"""Forms for which the schema estimated treats weights as constants where a sum is not over a set of values."""
REFUSED = "how many there are in a group is not known|a baseline to compare with"


def answers(connection: duckdb.DuckDBPyConnection, statement: str, form: str) -> list[tuple]:
    """Ask in one way, and return the groups, estimate, standard error and ends, in one order."""
    places = {
        "of": f"'visits.disease', {column(connection)}",
        "weight": ", weight := scale" if weighed(connection) else "",
        "named": ", weight := 'scale'" if weighed(connection) else "",
        "few": "true" if form == "sample" else FEW,
    }
    statement = re.sub(r"\{(\w+)\}", lambda place: places[place[1]], statement)
    if "_low(" in statement:
        if form in DOES_NOT_SUM:
            return []
        connection.execute("USE r.estimated")
        found = connection.execute(statement).fetchall()
        connection.execute("USE r")
    elif "priv." in statement:
        found = connection.execute(statement).fetchall()
    else:
        found = duckdb_priv.reconstruct(connection, statement, intervals=True).fetchall()
    return sorted(found, key=lambda row: str(row[:-4]))


def column(connection: duckdb.DuckDBPyConnection) -> str:
    ((name,),) = connection.execute(
        "SELECT column_name FROM priv.attribute WHERE attribute = 'disease'"
    ).fetchall()
    return name


def weighed(connection: duckdb.DuckDBPyConnection) -> bool:
    return "scale" in {name for name, *_ in connection.execute("DESCRIBE visits").fetchall()}


def same(row: tuple, right: tuple, *, hidden: bool) -> bool:
    """Whether two rows answer the same; ``hidden`` where the functions alone know which classes may be hidden."""
    *groups, estimate, stderr, _, high = right
    if list(row[:-4]) != groups:
        return False
    if estimate is None:
        # Ordinary SQL divides by what is not positive, if it is asked to.
        return row[-3] is None
    if hidden:
        return row[-4:-2] == pytest.approx((estimate, stderr), rel=1e-9) and row[-1] > 0.999 * high
    return all(
        one == other or one == pytest.approx(other, rel=1e-9, abs=1e-7)
        for one, other in zip(row[-4:], right[-4:], strict=True)
    )


def compare(connection: duckdb.DuckDBPyConnection, title: str, form: str) -> list[tuple]:
    """Return what differs."""
    every = []
    for statement in QUESTIONS[title]:
        try:
            every.append((statement, answers(connection, statement, form)))
        except duckdb.Error as error:
            if not re.search(REFUSED, str(error)):
                raise
    (_, expected), *others = every
    assert expected
    return [
        (other, row, right)
        for other, found in others
        for row, right in zip(found, expected, strict=bool(found))
        if not same(row, right, hidden=form == "sample")
    ]


@pytest.fixture(scope="module")
def opened(
    tmp_path_factory: pytest.TempPathFactory,
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    for_files: Callable[..., AbstractContextManager[None]],
) -> Callable[[str], duckdb.DuckDBPyConnection]:
    def get(form: str) -> duckdb.DuckDBPyConnection:
        with for_files():
            path = of_run(tmp_path_factory, form, prepared)
        connection = duckdb.connect()
        connection.execute(f"ATTACH '{path}' AS r (READ_ONLY)")
        connection.execute("USE r")
        return connection

    return get


@pytest.mark.parametrize("form", CALLS)
def test_a_question_has_one_answer(form: str, opened) -> None:
    with opened(form) as connection:
        for title in QUESTIONS:
            # Each attribute of two has the form of two_weights.
            if ("two attributes" in title) != (form == "two_attributes"):
                continue
            if "of an attribute" in title and form in FROM_HISTOGRAM:
                continue
            different = compare(connection, title, form)
            assert not different, (title, *different[0])


BY_WARD = ", group_columns := 'ward'"
VIEWS = {"visits_disease_by_ward": ("ward, ", BY_WARD), "visits_disease_estimates": ("", "")}
"""By view of estimates: the columns of its groups, and the argument that asks a function for them."""


@pytest.mark.parametrize("form", CALLS)
def test_views_round_the_answer_of_functions(form: str, opened) -> None:
    """Estimates to the nearest record that is possible, ends outwards; weights add up to the estimate itself."""
    with opened(form) as connection:
        views = {name for (name,) in connection.execute("SHOW TABLES").fetchall()}
        asked = "FROM priv.reconstructed_distribution('visits.disease'{})"
        weight = ", weight := 'scale'" if weighed(connection) else ""
        assert views & VIEWS.keys()
        for view in views & VIEWS.keys():
            groups, argument = VIEWS[view]
            columns = f"SELECT {groups}value, estimate, low, high"
            shown = connection.execute(f"{columns} FROM {view} ORDER BY ALL").fetchall()
            exact = connection.execute(
                f"{columns} {asked.format(argument + weight)} ORDER BY ALL"
            ).fetchall()
            assert len(shown) > 1
            for row, right in zip(shown, exact, strict=True):
                (*groups_of, estimate, low, high), (*key, unrounded, least, most) = row, right
                assert groups_of == key
                assert (low, high) == (math.floor(least), math.ceil(most))
                assert estimate == max(min(rounded(unrounded), high), 0)
        if "visits_disease_weights" in views:
            added = "SELECT ward, disease, sum(weight) FROM visits_disease_weights GROUP BY ALL"
            exact = f"SELECT ward, value, estimate {asked.format(BY_WARD + weight)}"
            for one, other in zip(
                *(connection.execute(f"{each} ORDER BY ALL").fetchall() for each in (added, exact)),
                strict=True,
            ):
                assert one[:2] == other[:2]
                assert one[2] == pytest.approx(other[2], rel=1e-9, abs=1e-7)


def rounded(number: float) -> int:
    """Round to the nearest whole number; a half away from 0, as DuckDB does."""
    return int(math.copysign(math.floor(abs(number) + 0.5), number))


COUNTED = "SELECT ward, disease, count(*) AS n FROM visits GROUP BY ward, disease"
LARGEST = (
    f"{COUNTED} HAVING count(*) = (SELECT max(n) FROM ({COUNTED}))",
    f"WITH counted AS ({COUNTED}) SELECT * FROM counted WHERE n = (SELECT max(n) FROM counted)",
    f"SELECT ward, disease, n FROM ({COUNTED}) WHERE n = (SELECT max(n) FROM ({COUNTED}))",
)
"""Ways to ask for the group with the largest count."""


@pytest.mark.parametrize("form", CALLS)
def test_counts_of_the_same_records_are_equal_to_the_last_digit(form: str, opened) -> None:
    with opened(form) as connection:
        for statement in LARGEST:
            plain = duckdb_priv.reconstruct(connection, statement).fetchall()
            assert plain
            with_ends = duckdb_priv.reconstruct(connection, statement, intervals=True).fetchall()
            assert [row[:3] for row in with_ends] == plain
        if form not in DOES_NOT_SUM:
            connection.execute("USE r.estimated")
            found = connection.execute(LARGEST[1]).fetchall()
            assert [row[:2] for row in found] == [row[:2] for row in plain]


@pytest.mark.once
def test_samples_of_large_groups_have_one_answer(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    for_files: Callable[..., AbstractContextManager[None]],
    tmp_path: Path,
) -> None:
    """Their records stand for several each, and what sampling adds to errors is common to sums over the same groups."""
    path = tmp_path / "r.duckdb"
    with for_files(), prepared() as publisher:
        publisher.execute(
            "CREATE TABLE source AS SELECT i AS id, (20 + hash(i) % 3 * 10)::INTEGER AS age,"
            " ['north', 'south'][1 + (hash(i * 3) % 2)::INTEGER] AS ward, 5 + 5 * (hash(i * 5) % 3) AS cost,"
            " ['none', 'flu', 'asthma', 'cancer'][1 + (hash(i * 7) % 4)::INTEGER] AS disease FROM range(9000) AS t(i)"
        )
        publisher.execute(
            "FROM priv.publish_reconstruction_private('source', 'visits', sensitive := 'disease', record_id := 'id',"
            " retention := 0.5, epsilon := 0.3, delta := 0.3)"
        ).fetchall()
        publisher.execute("FROM priv.export_release('visits', ?)", [str(path)]).fetchall()
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS r (READ_ONLY)")
        connection.execute("USE r")
        assert connection.execute("SELECT max(scale) > 2 FROM visits").fetchone() == (True,)
        for title in QUESTIONS:
            if "two attributes" in title:
                continue
            different = compare(connection, title, "scaled")
            assert not different, (title, *different[0])


def test_simultaneous_intervals_are_those_of_a_higher_confidence(opened) -> None:
    """Of three groups with five values each: each interval fails with a fifteenth of the probability."""
    with opened("two_weights") as connection:
        question = "SELECT ward, disease, count(*) AS n FROM visits GROUP BY ALL ORDER BY ALL"
        together = duckdb_priv.reconstruct(connection, question, simultaneous=True).fetchall()
        apart = duckdb_priv.reconstruct(connection, question, True, 1 - 0.05 / 15).fetchall()
        assert len(together) == 15
        assert all(one == pytest.approx(other, rel=1e-9) for one, other in zip(
            (row[2:] for row in together), (row[2:] for row in apart), strict=True
        ))  # fmt: skip
        asked = (
            "FROM priv.reconstructed_distribution('visits.disease', group_columns := 'ward', {})"
        )
        columns = "SELECT ward, value, estimate, stderr, low, high"
        by_function = connection.execute(
            f"{columns} {asked.format('simultaneous := true')} ORDER BY ALL"
        ).fetchall()
        assert all(one[2:] == pytest.approx(other[2:], rel=1e-9) for one, other in zip(
            by_function, together, strict=True
        ))  # fmt: skip
        with pytest.raises(duckdb.Error, match="true or false"):
            connection.execute(asked.format("simultaneous := NULL"))
        with pytest.raises(QueryRefused, match="quantiles"):
            duckdb_priv.reconstruct(
                connection,
                "SELECT median(age) FROM visits WHERE disease = 'flu'",
                simultaneous=True,
            )


@pytest.mark.parametrize("form", ["two_weights", "operator", "two_by_two", "blocks"])
def test_ranks_are_those_that_simultaneous_intervals_leave_open(opened, form: str) -> None:
    with opened(form) as connection:
        asked = (
            "FROM priv.reconstructed_distribution('visits.disease', group_columns := 'ward', {})"
        )
        found = connection.execute(asked.format("ranks := true")).fetchall()
        simultaneous = connection.execute(asked.format("simultaneous := true")).fetchall()
        assert len(found) == 15
        assert [row[:-2] for row in found] == simultaneous
        for ward, value, _, low, high, *_, best, worst in found:
            others = [row[3:5] for row in found if row[0] == ward and row[1] != value]
            above = sum(other > high for other, _ in others)
            below = sum(other < low for _, other in others)
            assert (best, worst) == (1 + above, 5 - below)
        with pytest.raises(duckdb.Error, match="true or false"):
            connection.execute(asked.format("ranks := 'yes'"))
        with pytest.raises(duckdb.Error, match="ranks need intervals"):
            connection.execute(asked.format("ranks := true, method := 'bayesian'"))


@pytest.mark.once
def test_two_decoy_attributes_have_one_answer(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    for_files: Callable[..., AbstractContextManager[None]],
    tmp_path: Path,
) -> None:
    """What a histogram fixes of one attribute, it does not fix of the product of two."""
    path = tmp_path / "r.duckdb"
    with for_files(), prepared() as publisher:
        publisher.execute(
            "CREATE TABLE source AS SELECT i AS id, i % 3 AS ward, 'a' || hash(i) % 4 AS a,"
            " 'b' || hash(i * 7 + 1) % 4 AS b FROM range(1500) AS t(i)"
        )
        publisher.execute(
            "FROM priv.publish_splu('source', 'r', sensitive := ['a', 'b'], record_id := 'id', gamma := 2)"
        ).fetchall()
        publisher.execute("FROM priv.export_release('r', ?)", [str(path)]).fetchall()
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS f (READ_ONLY)")
        connection.execute("USE f")
        condition = "a = 'a1' AND b = 'b1'"
        question = f"SELECT count(*) AS n FROM r WHERE {condition}"
        ((*answer,),) = duckdb_priv.reconstruct(connection, question, True).fetchall()
        assert answer[1] > 30
        ((*joint,),) = connection.execute(
            "SELECT estimate, stderr, low, high FROM priv.reconstructed_joint('r', ['a', 'b'], ['a1', 'b1'])"
        ).fetchall()
        assert joint == pytest.approx(answer, rel=1e-9)
        connection.execute("USE f.estimated")
        ((*found,),) = connection.execute(
            f"SELECT count(*), count_stderr(), count_low(), count_high() FROM r WHERE {condition}"
        ).fetchall()
        assert found == pytest.approx(answer, rel=1e-9)
