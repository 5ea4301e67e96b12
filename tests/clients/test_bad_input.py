"""No client takes a number from what is no release, or is damaged: it says in a line what is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import duckdb_priv
from clients.asking import CLIENTS, VERSIONS, Client, ask_version, job, opened, same
from clients.installation import PATH, Missing, duckdb_of, on_path
from duckdb_priv.shell.cli import main

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import duckdb_priv
try:
    duckdb_priv.open_release(sys.argv[2])
except duckdb_priv.PrivError as error:
    print(error)
"""
NEWER = ("read a database file with version", "Failed to deserialize")
"""What DuckDB says of a file that a newer one wrote: of its format, or of what it meets there."""
OURS = [sys.executable, "-c", "from duckdb_priv.shell.cli import main; main()"]


@pytest.fixture(scope="module")
def wrong(releases, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files that are no releases, and one that only the newest DuckDB can open."""
    folder = tmp_path_factory.mktemp("wrong")
    whole = releases["uniform"].path.read_bytes()
    files = {
        name: folder / f"{name}.duckdb"
        for name in ("missing", "text", "truncated", "damaged", "other", "newer")
    }
    files["text"].write_text("patient,disease\n" * 9999)
    files["truncated"].write_bytes(whole[: len(whole) // 10])
    # The bit is in a block that is read: that of the macros' text.
    place = whole.index(b"records of release")
    files["damaged"].write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    with duckdb.connect() as writer:
        writer.execute(f"ATTACH '{files['other']}' AS other (STORAGE_VERSION 'v1.0.0')")
        writer.execute("CREATE TABLE other.uniform AS SELECT 'north' AS ward, 'flu' AS disease")
        writer.execute(f"ATTACH '{releases['uniform'].path}' AS release (READ_ONLY)")
        writer.execute(f"ATTACH '{files['newer']}' AS newer")
        writer.execute("COPY FROM DATABASE release TO newer")
    return files


def asked(client: Callable[..., Any], *jobs: dict[str, Any]) -> list[dict[str, Any]]:
    try:
        return client(jobs)
    except Missing as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_refuses_in_its_own_words(client: Client, releases, wrong) -> None:
    """Or answers right: a file for a newer DuckDB, in a client that is as new."""
    release = releases["uniform"]
    question, expected = release.questions()[0], release.answers[0]
    # DuckDB in WebAssembly 1.4.3 reads on for ever where a file ends too early.
    endless = {"truncated"} if client.name.startswith("Chromium") else set()
    files = {name: path for name, path in wrong.items() if name not in endless}
    version, *replies = asked(
        client.ask,
        job(release.path, ["SELECT version()"]),
        *(job(path, [question]) for path in files.values()),
    )
    for name, reply in zip(files, replies, strict=True):
        if name == "newer" and version["answers"][0]["rows"] == [[f"v{duckdb.__version__}"]]:
            assert reply["answers"][0]["rows"] == expected
        else:
            assert "answers" not in reply, name
            assert reply["error"].strip(), name
            assert "Traceback" not in reply["error"], name
            assert name != "newer" or any(words in reply["error"] for words in NEWER)
    assert not wrong["missing"].exists()


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
ASKED = [
    *("DuckDB shell", "Node, @duckdb/node-api", "Chromium, duckdb-wasm"),
    *(f"Python, duckdb {version}" for version in ("1.4.5", "1.5.6", "2.0.0")),
]


@pytest.mark.parametrize("name", ASKED)
def test_a_wrong_question_is_an_error_that_says_what_is_wrong(name: str, releases) -> None:
    (client,) = [each for each in CLIENTS if each.name == name]
    by_release = {
        release: [(question, words) for of, question, words in WRONG_QUESTIONS if of == release]
        for release, *_ in WRONG_QUESTIONS
    }
    jobs = [
        job(releases[release].path, [question for question, _ in wrong]) | {"wrong": True}
        for release, wrong in by_release.items()
    ]
    replies = asked(client.ask, *jobs)
    for wrong, reply in zip(by_release.values(), replies, strict=True):
        for (question, words), answer in zip(wrong, reply["answers"], strict=True):
            assert "rows" not in answer, question
            assert words in answer["error"], question


@pytest.mark.parametrize("version", ["1.1.3", "1.3.2"])
def test_a_version_older_than_the_range_gives_no_wrong_number(version: str, releases) -> None:
    assert version not in VERSIONS
    jobs = opened(releases)
    replies = asked(partial(ask_version, version=version), *(each for each, _ in jobs))
    for name, (_, expected), reply in zip(releases, jobs, replies, strict=True):
        rows = [answer["rows"] for answer in reply.get("answers", [])]
        right = bool(rows) and same(rows, expected, tolerance=1e-12)
        assert right or " Error: " in reply["error"], name


def test_open_release_says_that_a_file_is_for_a_newer_duckdb(wrong) -> None:
    try:
        older = str(duckdb_of("1.5.6"))
    except Missing as reason:
        pytest.skip(str(reason))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, older, str(wrong["newer"])],
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        f"'{wrong['newer']}' was written for a newer DuckDB, this is 1.5.6",
        "Hint: upgrade duckdb; FROM priv.export_release(…) writes for every DuckDB from 1.4 on",
    ]


SENTENCES = {
    "missing": "there is no file {path!r}",
    "text": "{path!r} is no whole file that DuckDB {version} can open",
    "truncated": "{path!r} is no whole file that DuckDB {version} can open",
    "damaged": "{path!r} is no whole file that DuckDB {version} can open",
    "other": "{path!r} is a DuckDB file, but no release",
}


@pytest.mark.parametrize("name", SENTENCES)
def test_open_release_and_the_report_say_the_same(name: str, wrong, tmp_path: Path) -> None:
    path = str(wrong[name])
    sentence = SENTENCES[name].format(path=path, version=duckdb.__version__)
    with pytest.raises(duckdb_priv.PrivError) as refused:
        duckdb_priv.open_release(path)
    assert str(refused.value).splitlines()[0] == sentence
    done = CliRunner().invoke(
        main, ["report", "--release-file", path, "-o", str(tmp_path / "card.html")]
    )
    assert done.exit_code == 1
    assert done.stderr.splitlines()[0] == f"Error: {sentence}"
    assert not list(tmp_path.iterdir())


@pytest.fixture
def unwritable(releases, tmp_path: Path) -> list[str]:
    """A release that may be read, in a folder where nothing may be written; and what to put before a command."""
    place = tmp_path / "folder"
    place.mkdir()
    shutil.copy(releases["uniform"].path, place / "uniform.duckdb")
    (place / "uniform.duckdb").chmod(0o444)
    place.chmod(0o555)
    before = []
    if os.name == "nt" or os.getuid() == 0:
        # A user who may do everything gives up the right to write where it is forbidden.
        if shutil.which("setpriv") is None:
            pytest.skip("the administrator writes everywhere")
        before = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        if subprocess.run([*before, "touch", str(place / "x")], check=False).returncode == 0:
            pytest.skip("setpriv does not take rights away here")
    return [*before, str(place / "uniform.duckdb")]


@pytest.mark.parametrize("options", [["-readonly"], []], ids=["read-only", "for writing"])
def test_the_shell_reads_where_nothing_may_be_written(unwritable, releases, options) -> None:
    *before, path = unwritable
    try:
        shell = on_path("duckdb")
    except Missing as reason:
        pytest.skip(str(reason))
    release = releases["uniform"]
    done = subprocess.run(
        [*before, shell, "-init", os.devnull, "-noheader", "-list", *options, path, "-c", release.questions()[0]],
        capture_output=True, text=True, timeout=600, check=False, env={**os.environ, "PATH": PATH},
    )  # fmt: skip
    if options:
        rows = [line.split("|") for line in done.stdout.splitlines()]
        assert same(rows, release.answers[0], tolerance=1e-12)
    else:
        assert done.returncode
        assert not done.stdout
        assert "Permission denied" in done.stderr


def test_scripts_read_where_nothing_may_be_written(unwritable, releases) -> None:
    *before, path = unwritable
    script = (
        "import sys, duckdb_priv\n"
        "with duckdb_priv.open_release(sys.argv[1]) as release:\n"
        "    print(release.execute(sys.argv[2]).fetchall())"
    )
    release = releases["uniform"]
    done = subprocess.run(
        [*before, sys.executable, "-c", script, path, release.questions()[0]],
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    assert done.stdout == f"{[tuple(row) for row in release.answers[0]]}\n"
    assert [file.name for file in Path(path).parent.iterdir()] == ["uniform.duckdb"]


def test_our_shell_says_that_nothing_may_be_written(unwritable) -> None:
    *before, path = unwritable
    done = subprocess.run(
        [*before, *OURS, "shell", path, "-c", "FROM priv.release"],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == f"Error: {path!r} cannot be opened: permission denied\n"
