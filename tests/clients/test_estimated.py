"""After USE estimated rows are refused in every version of DuckDB; what is answered is in test_answers.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from clients.asking import VERSIONS, ask_version, job
from clients.installation import Missing

REFUSED = [
    (question, words)
    for line in (Path(__file__).parents[1] / "ordinary" / "estimated.sql")
    .read_text("utf-8")
    .splitlines()
    if line and not line.startswith("--") and "memory." not in line
    for question, _, words in [line.rpartition(" -- ")]
]


@pytest.mark.parametrize("version", VERSIONS[:-1])
def test_other_questions_are_refused_in_every_version(version: str, releases) -> None:
    """By each of the older versions a part. The newest refuses all of them in tests/ordinary."""
    *older, _ = VERSIONS
    chosen = REFUSED[older.index(version) :: len(older)]
    questions = [question.replace("visits", "two") for question, _ in chosen]
    asked = job(releases["two"].path, questions) | {"setup": ["USE estimated"], "wrong": True}
    try:
        (reply,) = ask_version([asked], version=version)
    except Missing as reason:
        pytest.skip(str(reason))
    for question, answer in zip(questions, reply["answers"], strict=True):
        assert "error" in answer, question
        assert "INTERNAL" not in answer["error"], question
