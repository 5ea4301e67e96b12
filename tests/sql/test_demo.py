"""The demo: the first thing that a stranger runs."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from duckdb_priv.shell import demo
from duckdb_priv.shell.cli import main
from duckdb_priv.sqltext import templates

ROWS = 20_000


@pytest.fixture(scope="module", autouse=True)
def plain(without_cards: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    with without_cards():
        yield


@pytest.fixture(scope="module")
def shown() -> str:
    """What the demo prints into a pipe."""
    out = io.StringIO()
    demo.run(Console(file=out, width=80), rows=ROWS, seed=1)
    return out.getvalue()


@pytest.fixture(scope="module")
def person() -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(duckdb.connect()) as con:
        con.execute(templates.read("demo", "persons"), {"rows": ROWS, "seed": 1})
        yield con


def test_persons_are_complete_and_reproducible(person: duckdb.DuckDBPyConnection) -> None:
    persons = person.execute("FROM person").fetchall()
    assert len(persons) == len(set(persons)) == ROWS
    assert not any(value is None for row in persons for value in row)
    for seed, same in ((1, True), (2, False)):
        with closing(duckdb.connect()) as con:
            con.execute(templates.read("demo", "persons"), {"rows": ROWS, "seed": seed})
            assert (con.execute("FROM person").fetchall() == persons) is same


def test_attributes_depend_on_each_other_as_in_a_census(
    person: duckdb.DuckDBPyConnection,
) -> None:
    holds = person.execute("""
        SELECT count(DISTINCT occupation) = 50, count(DISTINCT income) = 6, count(DISTINCT education) = 6,
            min(age) = 16, max(age) BETWEEN 85 AND 95, avg((gender = 'female')::INTEGER) BETWEEN 0.48 AND 0.54,
            avg(age) FILTER (occupation = 'retired') > avg(age) + 20,
            avg(age) FILTER (marital_status = 'widowed') > avg(age) + 20,
            avg(age) FILTER (marital_status = 'never married') < avg(age) - 10,
            avg((gender = 'female')::INTEGER) FILTER (occupation = 'nurse') > 0.7,
            avg((gender = 'female')::INTEGER) FILTER (occupation = 'mechanic') < 0.2,
            avg((income = 'over 90k')::INTEGER) FILTER (education = 'master')
                > 5 * avg((income = 'over 90k')::INTEGER) FILTER (education = 'vocational'),
            count(*) FILTER (age < 21 AND education = 'bachelor') = 0
        FROM person
    """).fetchall()
    assert holds == [(True,) * 13]


def test_it_shows_every_question_as_sql_with_its_answer(shown: str) -> None:
    questions = demo.questions()
    assert len(questions) == 12
    assert len(questions) == templates.read("demo", "questions").count("-- question: ")
    for number, question in enumerate(questions, start=1):
        assert f"{number}. {question.title}" in shown
        for line in question.release_sql.splitlines():
            assert f"    {line}\n" in shown
    assert len(re.findall(r"true count +estimate +95% interval +covered", shown)) == 12
    assert "FROM priv.publish_uniform('person', 'census'," in shown
    assert "FROM priv.export_release('census', 'census.duckdb');" in shown


def test_it_counts_the_intervals_that_cover(shown: str) -> None:
    """Estimates are the nearest that are possible, and whole records."""
    numbers = r" +([\d,]+) +([\d,]+) +(?:([\d,]+) to|not above) ([\d,]+) +(yes|no) *$"
    rows = re.findall(numbers, shown, re.MULTILINE)
    for row in rows:
        truth, estimate, low, high = (int(each.replace(",", "") or "0") for each in row[:4])
        assert low <= estimate <= high
        # The table rounds.
        assert low <= truth <= high if row[4] == "yes" else not low < truth < high
    covered = sum(row[4] == "yes" for row in rows)
    assert f"{covered} of {len(rows)} intervals cover the true count" in shown
    assert len(rows) >= 30


def test_it_is_readable_in_a_pipe(shown: str) -> None:
    assert "\x1b" not in shown
    program = demo.command("duckdb-priv")
    assert max(len(line.replace(program, "duckdb-priv")) for line in shown.splitlines()) <= 80


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The folder for temporary files in which a demo has run, and what that answered."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(tempfile, "tempdir", str(folder))
        return folder, CliRunner().invoke(main, ["demo", "--rows", "1000", "--seed", "1"])


def test_it_leaves_nothing_behind(run: tuple[Path, Result]) -> None:
    folder, result = run
    assert result.exit_code == 0, result.output
    assert list(folder.iterdir()) == []


def last_command(printed: str) -> str:
    return re.findall("^    (.*)$", printed, re.MULTILINE)[-1]


@pytest.fixture(scope="module")
def followed(
    run: tuple[Path, Result], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str, str]:
    """The folder in which the command was run that the demo ends with, the one that this ends with, and its words."""
    folder, printed = tmp_path_factory.mktemp("followed"), run[1].stdout
    for _ in range(2):
        line = last_command(printed)
        done = subprocess.run(
            line, shell=True, cwd=folder, input="FROM priv.audit('census');", capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        printed = done.stdout
    return folder, line, printed


def test_it_ends_with_a_command_that_works_as_it_is_printed(
    followed: tuple[Path, str, str],
) -> None:
    """And so does the one in which that ends."""
    _, line, printed = followed
    assert line.endswith("shell census_demo/publisher.duckdb")
    assert "local_differential_privacy" in printed


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], Result]:
    """A folder in which a demo was kept, its command, and what that answered."""
    folder = tmp_path_factory.mktemp("kept") / "it's here"
    command = ["demo", "--rows", "1000", "--seed", "1", "--keep", str(folder)]
    return folder, command, CliRunner().invoke(main, command)


def test_it_keeps_both_files_on_request(kept: tuple[Path, list[str], Result]) -> None:
    folder, command, result = kept
    assert result.exit_code == 0, result.output
    assert shlex.quote(str(folder / "census.duckdb")) in result.stdout
    with closing(duckdb.connect(str(folder / "census.duckdb"), read_only=True)) as release:
        assert release.execute("SELECT count(*) FROM census").fetchall() == [(1000,)]
        columns = {
            name
            for (name,) in release.execute("SELECT column_name FROM (DESCRIBE census)").fetchall()
        }
        assert "person_id" not in columns
    again = CliRunner().invoke(main, command)
    assert again.exit_code == 1
    assert "already contains a file 'publisher.duckdb'" in again.stderr


@pytest.mark.parametrize("there", [False, True])
def test_half_a_demo_is_not_kept(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_compare", stopped)
    folder = tmp_path / "folder"
    if there:
        folder.mkdir()
        (folder / "mine").touch()
    result = CliRunner().invoke(main, ["demo", "--rows", "1000", "--keep", str(folder)])
    assert result.exit_code == 130
    left = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")]
    assert sorted(left) == (["folder", "folder/mine"] if there else [])


def test_two_demos_draw_different_noise(
    kept: tuple[Path, list[str], Result], followed: tuple[Path, str, str]
) -> None:
    released = []
    for folder in (kept[0], followed[0] / "census_demo"):
        with closing(duckdb.connect(str(folder / "census.duckdb"), read_only=True)) as release:
            released.append(release.execute("FROM census ORDER BY ALL").fetchall())
    assert released[0] != released[1]
