"""What dashboards, models and data frames ask is answered as over the true table, or refused in words."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.errors import QueryRefused

TEXT = (Path(__file__).parent / "dashboards.sql").read_text("utf-8")
TOOLS = {part.partition("\n")[0]: part.partition("\n")[2] for part in TEXT.split("-- tool: ")[1:]}
QUERY = re.compile(r"(?:-- says: (.*)\n)?^(?!--)(.+);$", re.MULTILINE)


QUERY_ONLY = re.compile(r"^(?!--)(.+);$", re.MULTILINE)


def test_the_corpus_is_as_large_as_it_says() -> None:
    queries = QUERY.findall(TEXT)
    refused = [says for says, _ in queries if says]
    assert len(queries) >= 200
    assert len(refused) <= 0.04 * len(queries)


@pytest.mark.parametrize("tool", TOOLS)
def test_queries_of_a_tool_are_answered_as_over_the_true_table(tool: str, exact_tables) -> None:
    release, true = exact_tables
    for says, query in QUERY.findall(TOOLS[tool]):
        if says:
            with pytest.raises(QueryRefused, match=re.escape(says)):
                duckdb_priv.rewrite_sql(release, query)
            continue
        expected = true.execute(query)
        names = [name for name, *_ in expected.description]
        if "*" in query and "LIMIT 101" in query:
            continue
        right = expected.fetchall()
        answer = duckdb_priv.reconstruct(release, query)
        assert [name for name, *_ in answer.description] == names, query
        same(answer.fetchall(), right, query)
        try:
            beside = duckdb_priv.reconstruct(release, query, intervals=True)
        except QueryRefused:
            continue
        kept = [
            number
            for number, (name, *_) in enumerate(beside.description)
            if name in names or not name.endswith(("_stderr", "_low", "_high"))
        ]
        same([tuple(row[each] for each in kept) for row in beside.fetchall()], right, query)


def same(found: list[tuple], right: list[tuple], query: str) -> None:
    """Compare answers, whatever their order is among equals; groups without records may be there with none."""
    if len(found) > len(right):
        found = [
            row
            for row in found
            if any(isinstance(each, float) and abs(each) > 1e-6 for each in row)
        ]
    assert len(found) == len(right), (query, found[:5], right[:5])
    for row, expected in zip(sorted(found, key=order), sorted(right, key=order), strict=True):
        for one, other in zip(row, expected, strict=True):
            if isinstance(other, int | float) and not isinstance(other, bool) and one is not None:
                assert float(one) == pytest.approx(float(other), rel=1e-6, abs=1e-6), query
            else:
                assert one == other, query


def order(row: tuple) -> list[str]:
    return [
        f"{float(each):.4f}" if isinstance(each, int | float) and not isinstance(each, bool) else str(each)
        for each in row
    ]  # fmt: skip


def test_without_python_queries_of_tools_are_answered_or_refused_in_words(exact_tables) -> None:
    """What the schema estimated refuses mostly has DISTINCT, FILTER, WITHIN GROUP or OVER."""
    release, true = exact_tables
    without_python = release.cursor()
    without_python.execute("USE r.estimated")
    answered = refused = 0
    for query in QUERY_ONLY.findall(TEXT):
        asked = re.sub(
            r"""(?<!r\.)(["]?)main\1\.(["]?)visits\2""", r"\1estimated\1.\2visits\2", query
        )
        try:
            found = without_python.execute(asked).fetchall()
        except duckdb.Error as error:
            if "estimated: " not in str(error):
                raise
            refused += 1
            continue
        same(found, true.execute(query).fetchall(), query)
        answered += 1
    assert answered >= 196
    assert refused <= 0.12 * (answered + refused)
    without_python.close()
