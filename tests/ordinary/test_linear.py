"""Sums over records are what the weights of the rows add up to."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from ordinary.releases import CALLS

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.rewrite import reconstruct, rewrite_sql

CASE = re.compile(r"-- title: (.*)\n(.*;)\n(.*;)\n")
CASES = CASE.findall((Path(__file__).parent / "linear.sql").read_text("utf-8"))
BESIDE = ("two_weights", "two_by_two")
"""Forms whose answers are compared beside intervals, too."""
FORMS = [form for form in CALLS if form != "sample"]
EVERY = ("two_attributes", *BESIDE)
"""Forms that are asked every case. Any other is asked a third, since its weights alone are different."""


def same(found: object, expected: object) -> bool:
    if isinstance(expected, float | int) and not isinstance(expected, bool):
        return found is not None and float(found) == pytest.approx(
            float(expected), rel=1e-9, abs=1e-7
        )  # type: ignore[arg-type]
    return found == expected


@pytest.mark.parametrize("form", FORMS)
def test_ordinary_queries_answer_what_the_weights_add_up_to(form: str, release) -> None:
    connection = release(form)
    asked = refused = 0
    cases = CASES if form in EVERY else CASES[FORMS.index(form) % 3 :: 3]
    for title, ordinary, weighted in cases:
        if "dose" in weighted and form != "two_attributes":
            continue
        if form in ("scaled",) and "shown" in weighted and "records" not in weighted:
            continue
        asked += 1
        weighted = weighted.replace("FROM weighted", "FROM memory.main.weighted")
        expected = connection.execute(weighted).fetchall()
        for intervals in (False, True) if form in BESIDE else (False,):
            try:
                found = without_ends(reconstruct(connection, ordinary, intervals))
            except QueryRefused:
                assert intervals, title
                refused += 1
                continue
            assert len(found) == len(expected), (title, rewrite_sql(connection, ordinary))
            if ordinary.startswith("PIVOT"):
                # Its rows come in no order, and sqlglot reads no PIVOT that puts them into one.
                found, expected = sorted(found), sorted(expected)
            for row, right in zip(found, expected, strict=True):
                assert all(map(same, row, right)), (
                    title,
                    row,
                    right,
                    rewrite_sql(connection, ordinary, intervals=intervals),
                )
    assert asked >= len(cases) - 6
    assert refused <= 5


def without_ends(answer: duckdb.DuckDBPyConnection) -> list[tuple]:
    """Fetch an answer without the ends of its intervals."""
    kept = [
        number
        for number, (name, *_) in enumerate(answer.description)
        if not name.endswith(("_stderr", "_low", "_high"))
    ]
    return [tuple(row[each] for each in kept) for row in answer.fetchall()]


def test_every_case_has_its_own_title() -> None:
    text = (Path(__file__).parent / "linear.sql").read_text("utf-8")
    assert len({title for title, *_ in CASES}) == len(CASES) == text.count("-- title:")
