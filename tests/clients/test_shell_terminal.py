"""The shell as a person sees it, on a terminal."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

import duckdb_priv

pexpect = pytest.importorskip("pexpect", reason="terminals need pexpect, which Windows lacks")

PROGRAM = [sys.executable, "-m", "duckdb_priv"]
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>])")
ENDLESS = (
    "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3;"
)
ROOT = Path(duckdb_priv.__file__).parents[1]
ALONE = "SET threads = 1;"
"""What is stopped in a while need not keep all cores at work."""
PROMPT = "priv>"


class Terminal:
    """A terminal with the shell on it."""

    def __init__(self, home: Path, *arguments: str) -> None:
        environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        environment["XDG_STATE_HOME"] = str(home)
        self.process = pexpect.spawn(
            PROGRAM[0],
            [*PROGRAM[1:], "shell", *arguments],
            env=environment,
            cwd=str(home),
            encoding="utf-8",
            timeout=600,
            dimensions=(40, 120),
        )

    def expect(self, text: str) -> str:
        """Wait for a text; return what was shown before it."""
        self.process.expect(text)
        return ESCAPES.sub("", self.process.before)

    def type(self, text: str) -> None:
        """Type as soon as the shell is ready: before, Ctrl-D would mean something else."""
        self.expect(PROMPT)
        self.process.send(text)

    def enter(self, text: str) -> None:
        self.type(text + "\r")

    def leave(self) -> int:
        self.type("\x04")
        self.process.expect(pexpect.EOF)
        self.process.close()
        return int(self.process.exitstatus)


@pytest.fixture(scope="module")
def prepared_place(prepared_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that is prepared, and has no secret yet, in a folder of its own."""
    return Path(shutil.copy(prepared_file, tmp_path_factory.mktemp("people") / "people.duckdb"))


@pytest.fixture(scope="module")
def shell(prepared_place: Path) -> Iterator[Terminal]:
    """One shell for all who leave it as it was."""
    terminal = Terminal(prepared_place.parent, prepared_place.name)
    yield terminal
    code = terminal.leave()
    terminal.process.close(force=True)
    assert code == 0


@pytest.fixture
def terminal(shell: Terminal) -> Iterator[Terminal]:
    yield shell
    shell.enter(".mode duckbox")
    shell.enter("SET threads = 2;")


@pytest.fixture
def people(prepared_file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(prepared_file, tmp_path / "people.duckdb"))


def test_a_session(terminal: Terminal) -> None:
    terminal.enter("SELECT 6")
    terminal.expect(r"\.\.\.>")
    terminal.process.send("* 7 AS answer;\r")
    assert "answer" in terminal.expect("│     42 │")
    terminal.enter("SELECT nope;")
    terminal.expect('Binder Error: Referenced column "nope" was not found')
    terminal.enter("SELECT priv.ldp_epsilon(2, 14);")
    shown = terminal.expect("retention must lie strictly between 0 and 1, got 2")
    assert "Invalid Input" not in shown
    terminal.enter(".mode csv")
    terminal.enter("SELECT 1 AS a, 'x,y' AS b;")
    terminal.expect('1,"x,y"')


def test_ctrl_c_forgets_what_is_typed(terminal: Terminal) -> None:
    terminal.enter("SELECT 'one")
    terminal.expect(r"\.\.\.>")
    terminal.process.sendcontrol("c")
    terminal.enter("SELECT 'two' AS number;")
    terminal.expect("│ two ")


def test_ctrl_c_stops_the_statement_and_not_the_shell(terminal: Terminal) -> None:
    terminal.enter(ALONE)
    terminal.enter(ENDLESS)
    terminal.expect(r"0:\d\d:\d\d")
    terminal.process.sendcontrol("c")
    terminal.expect("stopped")
    terminal.enter("SELECT 41 + 1 AS answer;")
    terminal.expect("│     42 │")


def test_ctrl_c_stops_a_publication_and_leaves_nothing(terminal: Terminal) -> None:
    terminal.enter(ALONE)
    terminal.enter("CREATE VIEW many AS SELECT i, i % 3 AS s FROM range(1000000000) t(i);")
    terminal.enter("FROM priv.publish_uniform('many', 'none', sensitive := 's', retention := 0.5);")
    terminal.expect(r"0:\d\d:\d\d")
    terminal.process.sendcontrol("c")
    terminal.expect("stopped")
    terminal.enter(".mode list")
    terminal.enter("SELECT 'left', count(*) FROM duckdb_tables() WHERE table_name = 'none';")
    terminal.expect(r"left\|0")
    terminal.enter("SELECT 'known', count(*) FROM priv.release WHERE release = 'none';")
    terminal.expect(r"known\|0")


LARGE = "CREATE OR REPLACE VIEW v AS SELECT i % 7 AS a, i % 3 AS s FROM range(1000000000) t(i);"
"""What takes minutes to look at."""


@pytest.mark.parametrize(
    "statement",
    ["FROM priv.evaluate('v', 't_public');", "FROM priv.advise('v', sensitive := 's');"],
)
def test_ctrl_c_stops_a_look_at_a_table_and_leaves_nothing(
    terminal: Terminal, statement: str, prepared_place: Path
) -> None:
    terminal.enter(ALONE)
    terminal.enter(
        "CREATE OR REPLACE TABLE t AS SELECT i % 7 AS a, i % 3 AS s FROM range(1000) t(i);"
    )
    if "evaluate" in statement:
        terminal.enter(
            "FROM priv.publish_uniform('t', 't_public', sensitive := 's', retention := 0.5);"
        )
    terminal.enter(LARGE)
    terminal.enter(statement)
    terminal.expect(r"0:\d\d:\d\d")
    terminal.process.sendcontrol("c")
    terminal.expect("stopped")
    terminal.enter(".mode list")
    terminal.enter("SELECT 'left', count(*) FROM duckdb_tables() WHERE temporary;")
    terminal.expect(r"left\|0")
    terminal.enter("CHECKPOINT; SELECT 'free', 41 + 1;")
    terminal.expect(r"free\|42")
    assert {path.name for path in prepared_place.parent.iterdir()} == {
        "people.duckdb",
        "duckdb_priv",
    }


def test_ctrl_c_stops_a_report_and_leaves_nothing(people: Path, tmp_path: Path) -> None:
    """And a report without a terminal is silent but for the name of its file."""
    with duckdb_priv.connect(people) as con:
        con.execute("CREATE VIEW v AS SELECT i % 7 AS a, i % 3 AS s FROM range(1000) t(i)")
        con.execute(
            "FROM priv.publish_uniform('v', 'out', sensitive := 's', retention := 0.5)"
        ).fetchall()
    report = [*PROGRAM, "report", str(people), "out", "-o"]
    done = subprocess.run(
        [*report, str(tmp_path / "card.html")], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == (f"{tmp_path / 'card.html'}\n", "")
    (tmp_path / "card.html").unlink()
    with duckdb_priv.connect(people) as con:
        con.execute(LARGE)
    process = pexpect.spawn(
        report[0], [*report[1:], str(tmp_path / "card.html")], encoding="utf-8", timeout=60
    )
    process.expect(r"0:\d\d:\d\d")
    process.sendcontrol("c")
    process.expect("stopped")
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus == 130
    assert [path.name for path in tmp_path.iterdir()] == ["people.duckdb"]


def test_tab_completes_calls_and_their_parameters(terminal: Terminal) -> None:
    terminal.enter(
        "CREATE TABLE visits AS SELECT range AS id, range % 3 AS disease FROM range(99);"
    )
    terminal.type("FROM priv.publish_unif")
    for completed, text in [
        ("orm", "'vis"),
        ("its", "', 'out', sens"),
        ("itive", "'dis"),
        ("ease", "', reten"),
        ("tion", "0.5);\r"),
    ]:
        terminal.process.send("\t")
        terminal.expect(completed)
        terminal.process.send(text)
    terminal.expect("release  out")
    terminal.type(".mode li\t")
    terminal.expect("line.*list")
    terminal.process.send("ne\r")
    terminal.enter("SELECT rows_published FROM priv.release WHERE release = 'out';")
    terminal.expect("rows_published = 99")


def test_history_is_kept_for_its_owner_only(people: Path, tmp_path: Path) -> None:
    history = tmp_path / "duckdb_priv" / "history"
    for arguments in ((), ("--no-history",)):
        terminal = Terminal(tmp_path, people.name, *arguments)
        word = "forgotten" if arguments else "remembered"
        terminal.enter(f"SELECT '{word}' AS word;")
        terminal.expect(f"│ {word} ")
        assert terminal.leave() == 0
    assert "remembered" in history.read_text()
    assert "forgotten" not in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700
    terminal = Terminal(tmp_path, people.name)
    terminal.type("\x1b[A")
    terminal.expect("remembered")
    terminal.process.send("\r")
    terminal.expect("│ remembered ")
    assert terminal.leave() == 0


@contextmanager
def without_terminal(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """Run the shell with pipes; a test that fails leaves nothing running."""
    process = subprocess.Popen(
        [*PROGRAM, "shell", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests may run where SIGINT is ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    with process:
        try:
            yield process, process.stdout
        finally:
            process.kill()


@pytest.mark.parametrize("moment", [0.0, 0.3])
def test_ctrl_c_ends_a_run_without_a_terminal(moment: float) -> None:
    arguments = ("-c", "SELECT 'ready'", "-c", f"{ENDLESS} SELECT 'after'")
    with without_terminal("--mode", "list", *arguments) as (process, lines):
        assert lines.readline() == "'ready'\n"
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=600)
    assert process.returncode == 130
    assert error == "stopped\n"
    assert "after" not in out


LOADING = """
import time

print("loading", flush=True)
try:
    while True:
        time.sleep(60)
except BaseException as error:
    raise ImportError("initialization failed") from error
"""
"""A library that Ctrl-C reaches while it loads, and that hides this from its importer."""


def test_ctrl_c_while_the_program_loads_is_one_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "click.py").write_text(LOADING)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    with without_terminal() as (process, lines):
        assert lines.readline() == "loading\n"
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=600)
    assert (process.returncode, out, error) == (130, "", "stopped\n")


def test_a_reader_that_goes_away_ends_the_run() -> None:
    statement = "FROM range(1_000_000_000_000)"
    with without_terminal("--mode", "csv", "-c", statement) as (process, lines):
        assert lines.readline() == "range\n"
        lines.close()
        assert process.wait(timeout=600) == 1
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_estimates_are_whole_records_within_what_is_possible(terminal: Terminal) -> None:
    """Nobody has the fourth value, so the intervals of its counts begin at 0 in nearly all of 40 wards."""
    terminal.enter(
        "CREATE TABLE wards AS SELECT i AS id, i % 40 AS ward, (['a', 'b', 'c'])[1 + i % 3] AS disease"
        " FROM range(4000) r(i);"
    )
    terminal.enter(
        "FROM priv.publish_uniform('wards', 'warded', sensitive := 'disease', epsilon := 1, record_id := 'id',"
        " domain := ['a', 'b', 'c', 'd']);"
    )
    terminal.enter(
        "estimate SELECT ward, count(*) AS n FROM warded WHERE disease = 'd' GROUP BY ward;"
    )
    shown = terminal.expect(r"│ not above \d+ +│")
    _, header, rows = shown.partition("n_interval")
    assert header
    assert not re.search(r"│ +-\d|\.\d", rows)
