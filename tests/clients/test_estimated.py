"""After USE estimated a plain count is an estimate in every client, and rows are refused in every version of DuckDB.

DuckDB in WebAssembly is left out: there, the extension json that reads a statement comes from the network.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import duckdb_priv
from clients.asking import CLIENTS, VERSIONS, Client, ask_version, job, same
from clients.installation import Missing

QUESTION = """
    SELECT ward, count(*) AS n, avg(CAST(age AS INTEGER)) AS mean_age FROM {} WHERE disease = 'flu' AND age <> '50'
    GROUP BY ward ORDER BY ward
"""
SPREAD = "SELECT ward, count_stderr() FROM {} WHERE disease = 'flu' GROUP BY ward ORDER BY ward"
REFUSED = [
    (question, words)
    for line in (Path(__file__).parents[1] / "ordinary" / "estimated.sql")
    .read_text("utf-8")
    .splitlines()
    if line and not line.startswith("--") and "memory." not in line
    for question, _, words in [line.rpartition(" -- ")]
]
ASKED = ("uniform", "two", "fine_grain", "matrix", "reconstruction_private", "splu")


@pytest.fixture(scope="module")
def answers(releases) -> dict[str, list[list[object]]]:
    """By name of a release: the estimates."""
    found = {}
    for name in ASKED:
        with duckdb.connect(str(releases[name].path), read_only=True) as reader:
            rows = duckdb_priv.reconstruct(reader, QUESTION.format(name)).fetchall()
        found[name] = [list(row) for row in rows]
    return found


@pytest.mark.parametrize(
    "client", [each for each in CLIENTS if "wasm" not in each.name], ids=lambda client: client.name
)
def test_plain_counts_are_estimates_in_every_client(client: Client, releases, answers) -> None:
    names = ASKED if client.name.startswith(("Python", "DuckDB")) else ASKED[:1]
    jobs = [
        job(releases[name].path, [QUESTION.format(name), SPREAD.format(name)])
        | {"setup": ["USE estimated"]}
        for name in names
    ]
    try:
        replies = client.ask(jobs)
    except Missing as reason:
        pytest.skip(str(reason))
    for name, reply in zip(names, replies, strict=True):
        assert "error" not in reply, (name, reply["error"])
        found, spread = (answer["rows"] for answer in reply["answers"])
        assert same(found, answers[name], tolerance=1e-9), name
        assert all(float(stderr) > 0 for _, stderr in spread)


@pytest.mark.parametrize("version", VERSIONS)
def test_other_questions_are_refused_in_every_version(version: str, releases) -> None:
    """By the oldest version all, by each of the others a part; the newest is asked all of them in tests/ordinary."""
    oldest, *others = VERSIONS
    chosen = REFUSED if version == oldest else REFUSED[others.index(version) :: len(others)]
    questions = [question.replace("visits", "two") for question, _ in chosen]
    asked = job(releases["two"].path, questions) | {"setup": ["USE estimated"], "wrong": True}
    try:
        (reply,) = ask_version([asked], version=version)
    except Missing as reason:
        pytest.skip(str(reason))
    for question, answer in zip(questions, reply["answers"], strict=True):
        assert "error" in answer, question
        assert "INTERNAL" not in answer["error"], question
