"""Every client gives the answers of Python's connection, to twelve digits: versions add up lists in other orders.

A client opens a release, or attaches all of them, uses one or none. Where others have the same library, or a version
lies between two that are asked everything, a client is asked less, and everything on demand.

After USE estimated, a plain count is an estimate in every client but DuckDB in WebAssembly: there, the extension json
that reads a statement comes from the network.

What is no release, or is damaged, and a wrong question are refused in words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import islice

import duckdb
import pytest

import duckdb_priv
from clients.asking import (
    CLIENTS,
    VERSIONS,
    Asked,
    Client,
    Reply,
    ask_version,
    at_a_glance,
    briefly,
    in_turn,
    job,
    opened,
    same,
)
from clients.installation import Missing
from clients.releases import Answer, Release, enlarge

PLAIN = """
    SELECT ward, count(*) AS n, avg(CAST(age AS INTEGER)) AS mean_age FROM {} WHERE disease = 'flu' AND age <> '50'
    GROUP BY ward ORDER BY ward
"""
SPREAD = "SELECT ward, count_stderr() FROM {} WHERE disease = 'flu' GROUP BY ward ORDER BY ward"
NEWER = ("read a database file with version", "Failed to deserialize")
"""What DuckDB says of a file that a newer one wrote: of its format, or of what it meets there."""
ESTIMATED = ("uniform", "two", "fine_grain", "matrix", "reconstruction_private", "splu")


@pytest.fixture(scope="module")
def estimated(releases) -> list[Asked]:
    """Plain counts of one release after the other, and the estimates that they are."""
    found: list[Asked] = []
    for name in ESTIMATED:
        path, questions = releases[name].path, [PLAIN.format(name), SPREAD.format(name)]
        with duckdb.connect(str(path), read_only=True) as reader:
            estimates = duckdb_priv.reconstruct(reader, questions[0]).fetchall()
            reader.execute("USE estimated")
            answers = [[list(row) for row in reader.execute(each).fetchall()] for each in questions]
        assert same(answers[0], [list(row) for row in estimates], tolerance=1e-9), name
        assert all(float(stderr) > 0 for _, stderr in answers[1])
        found.append((job(path, questions) | {"setup": ["USE estimated"]}, answers))
    return found


def check(asked: list[Asked], replies: list[Reply]) -> None:
    """Compare what a client answers."""
    for (each, expected), reply in zip(asked, replies, strict=True):
        assert "error" not in reply, (each, reply["error"])
        for question, answer, rows in zip(
            each["questions"], reply["answers"], expected, strict=True
        ):
            assert rows is None or same(answer["rows"], rows, tolerance=1e-12), (each, question)


UNIFORM = "SELECT priv.reconstructed_{}('uniform', {}) FROM uniform"
DISTRIBUTION = "FROM priv.reconstructed_distribution('uniform', {})"
SCALED = (
    "SELECT priv.reconstructed_count('reconstruction_private', noisy_disease, 'flu'{})"
    " FROM reconstruction_private"
)
COLUMN = "the second argument must be the noisy column"
CHOSEN = "chosen or grouped by what they report"
PUBLIC = "group_columns and condition take public columns only"
CONFIDENCE = "confidence must lie strictly between 0 and 1"
FINITE = "of finite numbers, and one of these is not"
LISTS = "give 1 to 8 different attributes"
WRONG_QUESTIONS = [
    ("uniform", "SELECT count(*) FROM uniform WHERE disease = 'flu'", "noisy_disease"),
    ("uniform", UNIFORM.format("interval", "ward, 'flu'"), COLUMN),
    ("uniform", UNIFORM.format("count", "'noisy_disease', 'flu'"), COLUMN),
    ("uniform", UNIFORM.format("count", "noisy_disease, 'measles'"), "has no value 'measles'; it has 'asthma'"),
    ("uniform", UNIFORM.format("count", "noisy_disease, 'flu'") + " WHERE noisy_disease = 'flu'", CHOSEN),
    ("uniform", UNIFORM.format("stderr", "noisy_disease, 'flu'") + " GROUP BY noisy_disease", CHOSEN),
    ("uniform", UNIFORM.format("count", "noisy_disease, 'flu', weight := 1"), "leave out weight"),
    ("uniform", UNIFORM.format("interval", "noisy_disease, 'flu', confidence := 'nan'::DOUBLE"), CONFIDENCE),
    ("uniform", UNIFORM.format("share", "noisy_disease, 'flu', confidence := 'inf'::DOUBLE"), CONFIDENCE),
    ("uniform", UNIFORM.format("list_interval", "noisy_disease, []"), "give at least one value"),
    ("uniform", UNIFORM.format("sum", "noisy_disease, 'flu', 'nan'::DOUBLE * age"), FINITE),
    ("uniform", UNIFORM.format("mean", "noisy_disease, 'flu', 'inf'::DOUBLE * age"), FINITE),
    ("uniform", DISTRIBUTION.format("group_columns := 'noisy_disease'"), PUBLIC),
    ("uniform", DISTRIBUTION.format("condition := 'noisy_disease IS NULL'"), PUBLIC),
    ("uniform", DISTRIBUTION.format("confidence := 'nan'::DOUBLE"), CONFIDENCE),
    ("uniform", DISTRIBUTION.format("method := 'magic'"), 'method must be "inverse" or "bayesian"'),
    ("uniform", "FROM priv.reconstructed_distribution('unifrom')", "no release is called"),
    ("two", "FROM priv.reconstructed_joint('two', 'abc', ['1'])", LISTS),
    ("two", "FROM priv.reconstructed_joint('two', ['disease', 'drug'], 'flu')", LISTS),
    ("two", "SELECT priv.reconstructed_count('two', noisy_disease, 'flu') FROM two", "several sensitive attributes"),
    ("reconstruction_private", SCALED.format(""), "write weight := scale"),
    ("reconstruction_private", SCALED.format(", weight := 1"), "write weight := scale"),
    ("reconstruction_private", SCALED.format(", weight := 1e0"), "write weight := scale"),
]  # fmt: skip
"""A release, what is asked of it, and what the error says."""
BY_RELEASE = {
    release: [(question, words) for of, question, words in WRONG_QUESTIONS if of == release]
    for release, *_ in WRONG_QUESTIONS
}
CORRECTED = [
    *("DuckDB shell", "Node, @duckdb/node-api", "Chromium, duckdb-wasm"),
    *(f"Python, duckdb {version}" for version in ("1.4.5", "1.5.6", "2.0.0")),
]
"""Clients that are asked wrong questions."""
APPLICATIONS = ("harlequin", "Streamlit")
"""Clients that draw each answer on a page, and take their time. They have the DuckDB of other clients, and are given
fewer wrong files: one that cannot be opened, one that cannot be read, and one that is no release."""


@dataclass(frozen=True)
class Replies:
    """What a client replies to all that it is asked."""

    asked: list[Asked]
    to_right: list[Reply]
    to_wrong: list[Reply]
    """To wrong questions, by release."""
    version: Reply
    to_files: dict[str, Reply]
    """By the name of a file that is no release, or is damaged."""


@pytest.fixture(scope="module")
def replies(releases, years, estimated, wrong) -> Callable[[Client], Replies]:
    """Ask each client once: an application takes seconds to start."""

    @cache
    def of(client: Client) -> Replies:
        asked = [each for way in client.ways for each in way(releases)]
        asked += [each for way in client.ways if way == in_turn for each in way(years)]
        if "wasm" not in client.name:
            asked += estimated[:1] if client.ways == (at_a_glance,) else estimated
        questions = BY_RELEASE if client.name in CORRECTED else {}
        uniform = releases["uniform"]
        # DuckDB in WebAssembly 1.4.3 reads on for ever where a file ends too early.
        unasked = {"truncated"} if client.name.startswith("Chromium") else set()
        if client.name in APPLICATIONS:
            unasked = {"text", "truncated", "newer"}
        files = {name: path for name, path in wrong.items() if name not in unasked}
        jobs = [
            *(each for each, _ in asked),
            *(
                job(releases[release].path, [question for question, _ in each]) | {"wrong": True}
                for release, each in questions.items()
            ),
            job(uniform.path, ["SELECT version()"]),
            *(job(path, uniform.questions()[:1]) for path in files.values()),
        ]
        given = iter(client.ask(jobs))
        return Replies(
            asked,
            [*islice(given, len(asked))],
            [*islice(given, len(questions))],
            next(given),
            dict(zip(files, given, strict=True)),
        )

    def unless_missing(client: Client) -> Replies:
        try:
            return of(client)
        except Missing as reason:
            pytest.skip(str(reason))

    return unless_missing


every_client = pytest.mark.parametrize(
    "client",
    [
        pytest.param(
            client, id=client.name, marks=[pytest.mark.on_demand] * (client.name == "Streamlit")
        )
        for client in CLIENTS
    ],
)
"""Streamlit is asked on demand: it takes many packages, and has the DuckDB of Python."""


@every_client
def test_the_answers_are_those_of_python(client: Client, replies) -> None:
    found = replies(client)
    check(found.asked, found.to_right)


@every_client
def test_a_client_refuses_in_its_own_words(client: Client, replies, releases, wrong) -> None:
    """Or answers right: a file for a newer DuckDB, in a client that is as new."""
    found = replies(client)
    for name, reply in found.to_files.items():
        if name == "newer" and found.version["answers"][0]["rows"] == [[f"v{duckdb.__version__}"]]:
            assert reply["answers"][0]["rows"] == releases["uniform"].answers[0]
        else:
            assert "answers" not in reply, name
            assert reply["error"].strip(), name
            assert "Traceback" not in reply["error"], name
            assert name != "newer" or any(words in reply["error"] for words in NEWER)
    assert not wrong["missing"].exists()


@pytest.mark.parametrize("name", CORRECTED)
def test_a_wrong_question_is_an_error_that_says_what_is_wrong(name: str, replies) -> None:
    (client,) = [each for each in CLIENTS if each.name == name]
    for wrong, reply in zip(BY_RELEASE.values(), replies(client).to_wrong, strict=True):
        for (question, words), answer in zip(wrong, reply["answers"], strict=True):
            assert "rows" not in answer, question
            assert words in answer["error"], question


@pytest.mark.on_demand
@pytest.mark.parametrize(
    "client", [each for each in CLIENTS if opened not in each.ways], ids=lambda client: client.name
)
def test_everything_is_answered_wherever_a_file_is_opened(client: Client, releases) -> None:
    asked = (briefly if client.name in APPLICATIONS else opened)(releases)
    try:
        replies = client.ask([each for each, _ in asked])
    except Missing as reason:
        pytest.skip(str(reason))
    check(asked, replies)


def test_releases_of_one_name_answer_differently(years) -> None:
    assert years["y2025"].answers != years["y2026"].answers


@pytest.fixture(scope="module")
def many(releases, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Release]:
    """Releases of more rows than one thread counts: a thread takes 122,880."""
    return enlarge(releases, tmp_path_factory.mktemp("many"), times=22)


@pytest.fixture(scope="module")
def counted(many) -> list[tuple[str, str, Answer]]:
    """By name: a question for every group, and its answer."""
    asked = [(name, release.questions()[1]) for name, release in many.items()]
    (question,) = [question for name, question in asked if name == "uniform"]
    asked.append(
        ("uniform", question.replace("group_columns", "method := 'bayesian', group_columns"))
    )
    found = []
    for name, question in asked:
        with duckdb.connect(str(many[name].path), read_only=True) as reader:
            found.append(
                (name, question, [list(row) for row in reader.execute(question).fetchall()])
            )
    return found


@pytest.mark.parametrize("version", [VERSIONS[0], VERSIONS[-1]])
def test_groups_keep_their_names_where_several_threads_count(version: str, many, counted) -> None:
    """Groups come out of several threads in any order, and in another one where they are counted twice."""
    jobs = [job(many[name].path, [question] * 3) for name, question, _ in counted]
    try:
        replies = ask_version(jobs, version=version)
    except Missing as reason:
        pytest.skip(str(reason))
    for (name, question, rows), reply in zip(counted, replies, strict=True):
        for answer in reply["answers"]:
            assert same(answer["rows"], rows, tolerance=1e-9), (name, question)
