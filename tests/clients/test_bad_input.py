"""No client takes a number from what is no release, or is damaged: it says in a line what is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import duckdb_priv
from clients.asking import VERSIONS, ask_version, opened, same
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
OURS = [sys.executable, "-c", "from duckdb_priv.shell.cli import main; main()"]


def test_a_version_older_than_the_range_gives_no_wrong_number(releases) -> None:
    """The one before the range is the one that opens the most."""
    version = "1.3.2"
    assert version not in VERSIONS
    jobs = opened(releases)
    try:
        replies = ask_version([each for each, _ in jobs], version=version)
    except Missing as reason:
        pytest.skip(str(reason))
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
