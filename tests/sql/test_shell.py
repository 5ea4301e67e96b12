"""The shell without a terminal: what runs, what is printed, and what is refused."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import duckdb
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

import duckdb_priv
from duckdb_priv.errors import QueryRefused
from duckdb_priv.shell import database_files, execution
from duckdb_priv.shell.cli import main
from duckdb_priv.shell.dotcommands import COMMANDS, Leave, Shell
from duckdb_priv.shell.rendering import BOX_FETCHED, MODES, Printer, prepare
from duckdb_priv.shell.session import print_answer
from duckdb_priv.shell.terminal import propose, read_names
from duckdb_priv.shell.topics import BASELINES, TOPICS
from duckdb_priv.shell.topics import COMMANDS as COMMANDS_TITLE
from duckdb_priv.sqltext.quoting import literal

DOCUMENT = Path(__file__).parents[2] / "docs" / "shell.md"
VISITS = """
CREATE TABLE visits AS SELECT id, id % 3 AS ward, ['flu', 'cold', 'none'][1 + id % 7 % 3] AS disease
FROM range(300) AS t(id);
"""
PUBLISH = "FROM priv.publish_uniform('visits', 'out', sensitive := 'disease', retention := 0.5, record_id := 'id');"


class Screen(Shell):
    """A shell whose answers are kept."""

    def __init__(self) -> None:
        self.screen = io.StringIO()
        super().__init__(out=self.screen, console=Console(file=io.StringIO()))

    def answer(self, text: str) -> str:
        self.screen.seek(0)
        self.screen.truncate()
        self.run(text.splitlines(keepends=True))
        return self.screen.getvalue()


@pytest.fixture(scope="module", autouse=True)
def copies(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[None]:
    """What a shell opens in memory is a copy of the prepared database."""
    connect = database_files.connect
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            database_files,
            "connect",
            lambda path, **given: (
                prepared(None) if path == database_files.MEMORY else connect(path, **given)
            ),
        )
        yield


@pytest.fixture(scope="module")
def opened() -> Iterator[Screen]:
    with closing(Screen()) as shell:
        yield shell


@pytest.fixture
def shell(opened: Screen) -> Screen:
    """A shell on a database in memory, for tests that leave nothing in it."""
    opened.answer(".mode list\n.headers off\n.timer off")
    return opened


@pytest.fixture
def fresh() -> Iterator[Screen]:
    """A shell on a database of its own."""
    with closing(Screen()) as shell:
        shell.answer(".mode list\n.headers off")
        yield shell


def run(*arguments: str | Path, stdin: str = "") -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)), input=stdin)


# Ordinary SQL

COUNT = "SELECT ward, count(*) AS n FROM out WHERE disease = 'flu' GROUP BY ward ORDER BY ward;"


def numbers(answer: str) -> list[list[float]]:
    """Read the numbers of a list, without the last digits: the order in which threads add up decides them."""
    return [[round(float(each), 6) for each in line.split("|")] for line in answer.splitlines()[1:]]


def test_a_query_over_the_attribute_is_answered_by_estimates_where_that_is_asked_for(
    fresh: Screen,
) -> None:
    fresh.answer(VISITS + PUBLISH)
    with pytest.raises(duckdb.BinderException, match="noisy_disease"):
        fresh.answer(COUNT)
    once = fresh.answer(f".headers on\n-- one answer\nestimate {COUNT}")
    fresh.answer(".estimates on")
    always = fresh.answer(COUNT)
    direct = fresh.answer(
        "SELECT ward, unnest(priv.reconstructed_interval('out', noisy_disease, 'flu')) FROM out GROUP BY 1"
        " ORDER BY ward;"
    )
    assert once.splitlines()[0] == always.splitlines()[0] == "ward|n|n_stderr|n_low|n_high"
    assert numbers(once) == numbers(always) == numbers(direct)
    with pytest.raises(QueryRefused):
        fresh.answer("SELECT max(disease) FROM out;")
    assert fresh.answer("SELECT 1 AS a;") == "a\n1\n"
    fresh.answer(".estimates off")
    with pytest.raises(duckdb.BinderException, match="noisy_disease"):
        fresh.answer(COUNT)


# Statements


def test_a_statement_may_have_many_lines_and_a_line_many_statements(shell: Screen) -> None:
    assert shell.answer("SELECT\n  1 -- ;\n  ; SELECT ';'; SELECT\n2") == "1\n;\n2\n"


@pytest.mark.parametrize(
    "text",
    ["SELECT 'a;\nb';", "SELECT $$a;\nb$$;", "SELECT /* ; */ 'a;\nb' -- ;", "SELECT E'a;\\nb'"],
)
def test_a_semicolon_inside_quotes_or_comments_ends_nothing(shell: Screen, text: str) -> None:
    assert shell.answer(text) == "a;\nb\n"


def test_comments_and_empty_statements_run_nothing(shell: Screen) -> None:
    assert shell.answer("-- nothing\n;;\n/* nothing; */\n  \n") == ""


def test_an_unfinished_text_is_an_error_at_the_end(shell: Screen) -> None:
    with pytest.raises(duckdb.ParserException):
        shell.answer("SELECT 'a;\n")


def test_what_follows_an_error_is_forgotten(shell: Screen) -> None:
    with pytest.raises(duckdb.Error):
        shell.answer("SELECT 1; SELECT nope; SELECT 2; SELECT")
    assert shell.screen.getvalue() == "1\n"
    assert shell.answer("SELECT 3;") == "3\n"


@pytest.mark.parametrize("mode", MODES)
def test_a_statement_runs_exactly_once(fresh: Screen, mode: str) -> None:
    fresh.answer("CREATE SEQUENCE s;" + VISITS)
    fresh.printer.mode = mode
    fresh.answer("SELECT nextval('s') FROM range(3);" + PUBLISH)
    fresh.printer.mode = "list"
    assert fresh.answer("SELECT nextval('s')") == "4\n"
    assert fresh.answer(
        "SELECT count(*) FROM priv.release; SELECT max(number) FROM priv.ledger"
    ) in ("1\n1\n")


def test_statements_without_rows_of_their_own_print_nothing(fresh: Screen, tmp_path: Path) -> None:
    quiet = f"""
        CREATE TABLE t AS SELECT 1 AS i; INSERT INTO t VALUES (2); UPDATE t SET i = 3; DELETE FROM t;
        SET threads = 1; BEGIN; COMMIT; COPY t TO '{tmp_path / "t.csv"}'; DROP TABLE t;
    """
    assert fresh.answer(quiet) == ""


def test_rows_that_look_like_a_report_are_printed(fresh: Screen) -> None:
    assert fresh.answer('SELECT 5 AS "Count"; SELECT true AS "Success"') == "5\ntrue\n"
    assert fresh.answer("CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (7) RETURNING i") == "7\n"


def test_names_are_not_looked_up_in_python(shell: Screen) -> None:
    assert shell.connection is not None
    with pytest.raises(duckdb.CatalogException):
        shell.answer("FROM reader")


# Output


def real_shell() -> str:
    found = shutil.which("duckdb", path=str(Path(sys.executable).parent)) or shutil.which("duckdb")
    if found is None:
        pytest.skip("the duckdb command is not installed")
    return found


RESULTS = {
    "everyday": """
        SELECT * FROM (VALUES
            (1, 'plain', 1.5::DOUBLE, DATE '2024-01-02', true, NULL, 1.50::DECIMAL(5, 2)),
            (NULL, 'q"uo''te, comma', 'nan'::DOUBLE, NULL, false, NULL, NULL),
            (-3, 'größe 日本 | pipe', 1e20, '1999-12-31', NULL, NULL, -0.01),
            (4, '', 'infinity'::DOUBLE, 'infinity', true, NULL, 999.99))
        t(i, s, d, dt, b, "we ird", dec)""",
    "nested": """
        SELECT * FROM (VALUES
            ([1, NULL, 3], {'a': 1, 'b': 'x y'}, MAP {'k': [1.5::DOUBLE]}, [{'d': DATE '2024-01-02'}]),
            ([], {'a': NULL, 'b': 'comma, "quote" and '' ä'}, MAP {}, NULL),
            (NULL, NULL, NULL, []))
        t(l, s, m, n)""",
    "types": """
        SELECT 170141183460469231731687303715884105727::HUGEINT h, 18446744073709551615::UBIGINT u,
            1::UTINYINT ut, '\\xAA'::BLOB b, INTERVAL '1 month 2 days' i, 'x'::ENUM ('x', 'y') e,
            '606f77dc-d682-4a8e-8079-3ccd5ec4a3b9'::UUID uu, '{"k": [1,2]}'::JSON j, TIME '12:00:00' t,
            TIMESTAMP '2024-01-01 12:00:00.5' ts, '101'::BIT bt, 0.1::FLOAT f, union_value(k := 1) un,
            TIMESTAMPTZ '2024-07-01 12:00:00+00' tz, TIMETZ '12:00:00+02' ttz""",
    "names": 'SELECT 1 AS a, 2 AS a, 3 AS "A", 4 AS "q""x", 5 AS "c,d", 6 AS "p|q", 7 AS "s t"',
    "characters": """
        SELECT i, chr(i::INTEGER) AS c, 'a' || chr(i::INTEGER) || 'b' AS d FROM range(32, 400) t(i)
        WHERE i NOT BETWEEN 127 AND 160""",
    "many": "SELECT i, i % 7 = 3 AS b, 'row ' || i AS s FROM range(5000) t(i)",
    "none": "SELECT 1 AS a, 'b' AS b WHERE false",
}


ABROAD = "SET TimeZone = 'America/New_York'"


@pytest.fixture(scope="module")
def abroad() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in another time zone, of which results are asked."""
    with duckdb.connect() as con:
        prepare(con)
        con.execute(ABROAD)
        yield con


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("mode", ["csv", "tabs", "json", "jsonlines", "markdown", "line", "list"])
def test_output_is_that_of_duckdbs_shell(
    mode: str, name: str, abroad: duckdb.DuckDBPyConnection
) -> None:
    if (mode, name) == ("jsonlines", "none"):
        pytest.skip("DuckDB's shell prints an empty line there, which is no JSON")
    theirs = subprocess.run(
        [real_shell(), "-no-init", "-c", ABROAD, "-c", f".mode {mode}", "-c", RESULTS[name]],
        capture_output=True,
        check=True,
    ).stdout.decode()
    out = io.StringIO()
    with closing(Printer()) as printer:
        printer.mode = mode
        print_answer(abroad, RESULTS[name], printer, out, lambda: None)
    assert out.getvalue() == theirs


def test_headers_can_be_left_out(shell: Screen) -> None:
    shell.run([".mode csv\n", ".headers on\n"])
    assert shell.answer("SELECT 1 AS a") == "a\r\n1\r\n"
    shell.run([".headers off\n"])
    assert shell.answer("SELECT 1 AS a") == "1\r\n"


def test_json_is_json(shell: Screen) -> None:
    shell.printer.mode = "json"
    answer = shell.answer(
        "SELECT 'a\"\\\n' AS \"n\"\"ä\", [1, NULL] AS l, {'d': DATE '2024-01-02'} AS s"
    )
    assert json.loads(answer) == [{'n"ä': 'a"\\\n', "l": [1, None], "s": {"d": "2024-01-02"}}]


def test_a_box_is_drawn_by_duckdb(shell: Screen) -> None:
    shell.printer.mode = "duckbox"
    drawn = io.StringIO()
    with patch("sys.stdout", drawn):
        duckdb.sql("SELECT 42 AS answer, 'x' AS s").show(max_width=200)
    assert shell.answer("SELECT 42 AS answer, 'x' AS s").strip() == drawn.getvalue().strip()


def test_a_box_fetches_a_bounded_number_of_rows(shell: Screen) -> None:
    shell.printer.mode = "duckbox"
    answer = shell.answer("SELECT i FROM range(1_000_000_000_000) t(i)")
    assert f">{BOX_FETCHED - 1} rows" in answer
    assert len(answer.splitlines()) < 60


def test_a_long_answer_is_streamed(fresh: Screen) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            if self.tell() > 10_000:
                raise BrokenPipeError
            return super().write(text)

    fresh._out = Full()
    with pytest.raises(BrokenPipeError):
        fresh.run(["SELECT i FROM range(1_000_000_000_000) t(i);"])
    fresh._out = fresh.screen
    assert fresh.answer("SELECT 1") == "1\n"


def test_a_box_is_as_wide_as_the_terminal() -> None:
    con, out = duckdb.connect(), io.StringIO()
    with closing(con), closing(Printer()) as printer:
        for printer.width in (100, None):
            print_answer(con, "SELECT * FROM duckdb_functions()", printer, out, lambda: None)
    narrow, wide = sorted({len(line) for line in out.getvalue().splitlines() if line[0] in "┌└"})
    assert narrow <= 100 < wide


@pytest.mark.parametrize(("width", "whole"), [(60, True), (400, False), (None, False)])
def test_the_first_statement_can_be_pasted(width: int | None, whole: bool) -> None:
    """It is shown whole below a box that cuts it, and not a second time."""
    con, out = duckdb.connect(), io.StringIO()
    statement = "FROM priv.publish_uniform('a  b', " + "'long', " * 20 + ");"
    with closing(con), closing(Printer()) as printer:
        printer.width = width
        query = "SELECT i, ? || i AS statement FROM range(3) AS t(i)".replace(
            "?", f"$${statement}$$"
        )
        print_answer(con, query, printer, out, lambda: None)
    assert out.getvalue().endswith(f"statement of the first row:\n{statement}0\n") == whole
    assert out.getvalue().count(f"{statement}0") == 1


# Progress


@pytest.mark.parametrize("on_terminal", [True, False])
def test_progress_is_shown_on_a_terminal_only(
    on_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "PATIENCE", 0.0)
    monkeypatch.setattr(execution, "TICK", 0.001)
    shown = io.StringIO()
    console = Console(
        file=shown, force_terminal=on_terminal, force_interactive=on_terminal, width=80
    )
    with closing(Shell(out=io.StringIO(), console=console)) as shell:
        shell.execute("SELECT sum(i % 7) FROM range(30_000_000) t(i)")
    assert ("0:00:00" in shown.getvalue()) is on_terminal


# Dot commands


def test_every_dot_command_is_in_help_and_in_the_document(shell: Screen) -> None:
    answer = shell.answer(".help")
    document = DOCUMENT.read_text("utf-8")
    for name in COMMANDS:
        assert re.search(rf"^ +\.{name}\b", answer, re.MULTILINE)
        assert f"`.{name}" in document
    assert "priv.publish_uniform" in answer
    assert COMMANDS["mode"].meaning.endswith(f": {', '.join(MODES)}")


def test_help_on_one_function_is_its_reference(fresh: Screen) -> None:
    answer = fresh.answer(".help priv.publish_uniform")
    assert answer.startswith("FROM priv.publish_uniform(source, release, sensitive := ")
    assert "priv.drop_release" in fresh.answer(".help release")
    fresh.answer("CREATE MACRO priv.mine_alone(x) AS x;")
    assert fresh.answer(".help mine_alone").endswith("    priv.mine_alone\n")


def test_help_is_grouped_and_as_wide_as_the_window(
    shell: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shell, "window", 80)
    lines = shell.answer("help").splitlines()
    titles = [line for line in lines if line and not line.startswith(" ")]
    assert titles == [*(topic.title for topic in TOPICS), COMMANDS_TITLE]
    assert max(map(len, lines)) <= 80
    publish, baselines = lines.index("Publish"), lines.index(BASELINES)
    (anatomy,) = [n for n, line in enumerate(lines) if "priv.publish_anatomy" in line]
    assert publish < baselines < anatomy


def test_what_people_type_without_a_dot(shell: Screen) -> None:
    with pytest.raises(Leave):
        shell.answer("exit")
    with pytest.raises(Leave):
        shell.answer("QUIT;\n")
    assert shell.answer("SELECT\n'x' AS\nhelp\n;") == "x\n"


def test_tables_and_schema_leave_the_catalog_out(fresh: Screen) -> None:
    fresh.answer(VISITS + "CREATE VIEW flu AS FROM visits WHERE disease = 'flu';")
    assert fresh.answer(".tables") == "main|flu|view|3|NULL\nmain|visits|table|3|NULL\n"
    assert fresh.answer(".tables vis%") == "main|visits|table|3|NULL\n"
    assert fresh.answer(".schema vis%").startswith("CREATE TABLE visits(id BIGINT")


def test_output_goes_to_a_file_and_back(shell: Screen, tmp_path: Path) -> None:
    path = tmp_path / "it's.txt"
    assert shell.answer(f'.output "{path}"\nSELECT 1;\nSELECT 2;\n.output\nSELECT 3;') == "3\n"
    assert path.read_text() == "1\n2\n"


def test_once_is_for_one_answer(shell: Screen, tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    assert shell.answer(f"SELECT 1;\n.once {path}\nSELECT 2;\nSELECT 3;") == "1\n3\n"
    assert path.read_text() == "2\n"
    with pytest.raises(duckdb.Error):
        shell.answer(f".once {path}\nSELECT nope;")
    assert shell.answer("SELECT 4;") == "4\n"


def test_a_box_shows_as_many_rows_as_asked_for(fresh: Screen) -> None:
    fresh.printer.mode = "duckbox"
    assert "10 rows" in fresh.answer(".maxrows 3\nFROM range(10);")
    assert fresh.answer(".maxrows") == "current maximum of rows: 3\n"
    assert "(3 shown)" not in fresh.answer(".maxrows 100\nFROM range(10);")


@pytest.mark.parametrize("end", ["csv", "parquet", "json"])
def test_import_makes_a_table_of_a_file(fresh: Screen, tmp_path: Path, end: str) -> None:
    path = tmp_path / f"it's.{end}"
    fresh.connection.execute(f"COPY (FROM range(3) AS t(i)) TO {literal(str(path))}")
    answer = fresh.answer(f'.import "{path}" "we""ird; --"')
    assert answer.startswith("i|BIGINT|")
    assert fresh.answer('SELECT sum(i) FROM "weird; --";') == "3\n"


def test_databases_are_listed(fresh: Screen, tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    answer = fresh.answer(f"ATTACH '{path}' AS other;\n.databases")
    assert answer == f"memory|in memory|false\nother|{path}|false\n"


def test_one_row_that_is_too_wide_is_shown_as_lines(
    fresh: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.printer.mode = "duckbox"
    row = "SELECT 1 AS a, repeat('word ', 30) AS sentence"
    assert "│" in fresh.answer(f"{row};")
    monkeypatch.setattr(Shell, "window", 60)
    lines = fresh.answer(f"{row};").splitlines()
    assert lines[0] == "       a  1"
    assert lines[1].startswith("sentence  word word")
    assert max(map(len, lines)) <= 60
    assert "│" in fresh.answer(f"{row} FROM range(2);")
    assert "│" in fresh.answer("SELECT 1 AS a;")
    reported = fresh.answer(
        f"{row}, ['first ' || repeat('w ', 40), NULL, 'second'] AS warnings;"
    ).splitlines()
    assert [line[10:].split()[:2] for line in reported if "- " in line] == [
        ["-", "first"], ["-", "None"], ["-", "second"],
    ]  # fmt: skip


def test_findings_are_whole_sentences_in_a_terminal(
    fresh: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.printer.mode = "duckbox"
    monkeypatch.setattr(Shell, "window", 80)
    words = "word " * 40
    answer = fresh.answer(
        f"SELECT 'blocker' AS severity, ['zip', 'age'] AS columns, '{words}' AS what, 'exclude {words}' AS do"
        " FROM range(2);"
    )
    assert max(map(len, answer.splitlines())) <= 80
    assert answer.startswith("blocker: zip, age\n  word word")
    assert answer.count("word") == 160
    assert answer.count("  do: exclude word") == 2


def test_read_runs_a_script_with_dot_commands(shell: Screen, tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner.sql", tmp_path / "outer.sql"
    inner.write_text("SELECT 2;\nSELECT 3", encoding="utf-8-sig")
    outer.write_text(f"SELECT 1;\n.read {inner}\n.mode csv\nSELECT 'a,b';")
    assert shell.answer(f".read {outer}") == '1\n2\n3\n"a,b"\r\n'


def test_a_script_that_reads_itself_is_refused(shell: Screen, tmp_path: Path) -> None:
    script = tmp_path / "loop.sql"
    script.write_text(f".read {script}\n")
    with pytest.raises(duckdb_priv.PrivError, match="reads itself"):
        shell.answer(f".read {script}")


def test_open_changes_the_database_unless_it_fails(fresh: Screen, tmp_path: Path) -> None:
    path = tmp_path / "one.duckdb"
    fresh.answer(f".open {path}\nCREATE TABLE t AS SELECT 1 AS i;")
    with pytest.raises(duckdb_priv.PrivError):
        fresh.answer(f".open {tmp_path}")
    assert fresh.answer("FROM t") == "1\n"
    with pytest.raises(duckdb.CatalogException):
        fresh.answer(".open\nFROM t;")
    assert fresh.answer(f".open {path}\nFROM t;") == "1\n"


def test_the_timer_prints_a_time(shell: Screen) -> None:
    assert re.fullmatch(
        r"1\nRun Time \(s\): real \d+\.\d{3}\n", shell.answer(".timer on\nSELECT 1;")
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (".moed csv", "did you mean '.mode'?"),
        (".mode nope", "there is no output mode 'nope'"),
        (".timer perhaps", "'perhaps' is neither on nor off"),
        (".timer", "write .timer on|off"),
        (".read a b", "write .read FILE"),
        (".read 'a", "a quote without an end"),
        (".help zebra", "no command or function is called 'zebra'"),
        (".maxrows none", "'none' is not a number of rows"),
        (".import visits.xlsx visits", "has no known file suffix"),
        (".import visits.csv", "write .import FILE TABLE"),
    ],
)
def test_a_wrong_dot_command_says_what_is_right(shell: Screen, line: str, message: str) -> None:
    with pytest.raises(duckdb_priv.PrivError, match=re.escape(message)):
        shell.answer(line)


def test_quit_leaves_at_once(shell: Screen) -> None:
    with pytest.raises(Leave):
        shell.answer("SELECT 1;\n.quit\nSELECT 2;")
    assert shell.screen.getvalue() == "1\n"


# Completion


def proposals(shell: Screen, text: str) -> list[str]:
    return [each.text for each in propose(text, read_names(shell.connection))]


def test_completion_knows_sql_tables_columns_and_priv(fresh: Screen) -> None:
    fresh.answer(VISITS + 'CREATE TABLE "Odd name" ("select" INTEGER);')
    assert "select" in proposals(fresh, "sel")
    assert "SELECT" in proposals(fresh, "SEL")
    assert proposals(fresh, "FROM vis") == ["visits"]
    assert "disease" in proposals(fresh, "SELECT dis")
    assert proposals(fresh, "SELECT visits.w") == ["visits.ward"]
    assert '"Odd name"' in proposals(fresh, "FROM \n ")
    assert proposals(fresh, "FROM priv.publish_unif") == ["priv.publish_uniform("]
    assert proposals(fresh, "FROM priv.publish_uniform('vi") == ["visits"]
    assert proposals(fresh, "FROM priv.publish_uniform('visits', rec") == ["record_id := "]
    assert proposals(
        fresh, "SELECT max((1)), priv.reconstructed_interval('r', noisy_d, 'it''s', conf"
    ) == ["confidence := "]
    assert not any("_priv_" in each for each in proposals(fresh, "SELECT _priv"))


# The command


def test_a_pipe_runs_what_comes_through_it(tmp_path: Path) -> None:
    path = tmp_path / "new.duckdb"
    result = run("shell", path, "--mode", "list", stdin="CREATE TABLE t AS SELECT 42 AS i;\nFROM t")
    assert (result.exit_code, result.stdout) == (0, "i\n42\n")
    assert run("shell", path, "--mode", "list", stdin="FROM t;").stdout == "i\n42\n"


def test_commands_and_scripts_run_in_order(tmp_path: Path) -> None:
    script = tmp_path / "a.sql"
    script.write_text(".headers off\nSELECT 1;")
    result = run(
        "shell", "--mode", "list", "-f", script, "-c", "SELECT 2", "-c", ".quit", "-c", "SELECT 3"
    )
    assert (result.exit_code, result.stdout) == (0, "1\n2\n")


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (("-c", "SELECT 1; SELECT nope; SELECT 2;"), ""),
        ((), "SELECT 1;\nSELECT nope;\nSELECT 2;\n"),
    ],
)
def test_the_first_error_ends_the_run(arguments: tuple[str, ...], stdin: str) -> None:
    result = run("shell", "--mode", "list", *arguments, stdin=stdin)
    assert result.exit_code == 1
    assert result.stdout == "1\n1\n"
    assert result.stderr.startswith('Error: Binder Error: Referenced column "nope"')
    assert "Traceback" not in result.stderr


def test_what_priv_refuses_is_reported_without_noise() -> None:
    result = run(
        "shell",
        "-c",
        "FROM priv.publish_uniform('nope', 'out', sensitive := 'a', retention := 0.5)",
    )
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert "Hint: " in result.stderr
    assert "Invalid Input" not in result.stderr


def test_releases_and_export(tmp_path: Path) -> None:
    source, copy = tmp_path / "source.duckdb", tmp_path / "copy.duckdb"
    assert run("shell", source, "-c", VISITS + PUBLISH).exit_code == 0
    listed = run("releases", source, "--mode", "csv").stdout.splitlines()
    assert listed[0] == "release,mechanism,parameters,rows,created"
    assert listed[1].startswith("out,uniform,")
    exported = run("export", source, "out", copy)
    assert exported.exit_code == 0, exported.output
    assert "copy.duckdb" in exported.stdout
    assert run("releases", copy, "--mode", "csv").stdout.splitlines() == listed
    with closing(duckdb.connect(str(copy), read_only=True)) as analyst:
        assert analyst.execute("SELECT count(*) FROM out").fetchall() == [(300,)]
    assert run("export", source, "out", tmp_path / "folder", "--format", "parquet").exit_code == 0
    refused = run("shell", copy, "-c", "SELECT 1")
    assert refused.exit_code == 1
    assert "is a release file" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("shell", "{folder}"), "is a folder"),
        (("shell", "{folder}/no/x.duckdb"), "does not exist"),
        (("shell", "{folder}/text.duckdb"), "is not a DuckDB database"),
        (("releases", "{folder}/no.duckdb"), "there is no file"),
        (("releases", "{folder}"), "is a folder"),
        (("releases", "{folder}/text.duckdb"), "is not a DuckDB database"),
        (("releases", "{folder}/plain.duckdb"), "nothing was ever published"),
        (("export", "{folder}/no.duckdb", "r", "x"), "there is no file"),
        (("export", "{folder}/plain.duckdb", "r", "x"), "nothing was ever published"),
        (("shell", "-f", "{folder}/no.sql"), "no such file"),
        (("shell", "-f", "{folder}/bytes.sql"), "is not UTF-8 text"),
    ],
)
def test_a_wrong_file_is_reported_in_a_sentence(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "text.duckdb").write_text("no database " * 1000)
    (tmp_path / "bytes.sql").write_bytes(b"SELECT '\xff';")
    duckdb.connect(str(tmp_path / "plain.duckdb")).close()
    result = run(*(each.format(folder=tmp_path) for each in arguments))
    assert result.exit_code == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) <= 2
    assert not (tmp_path / "no.duckdb").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'IO Error: Could not set lock on file "x": Conflicting lock is held in /usr/bin/python3'
            " (PID 77). See also https://duckdb.org",
            "is open in another program (process 77)",
        ),
        ('IO Error: Cannot open file "x": Permission denied', "permission denied"),
        ("Serialization Error: broken", "cannot be opened: Serialization Error: broken"),
    ],
)
def test_what_duckdb_cannot_open_is_reported_in_a_sentence(
    tmp_path: Path, text: str, message: str
) -> None:
    with patch.object(database_files, "connect", side_effect=duckdb.IOException(text)):
        result = run("shell", tmp_path / "x.duckdb")
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_database_that_another_process_writes_to_is_locked(tmp_path: Path) -> None:
    path = str(tmp_path / "x.duckdb")
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import duckdb; c = duckdb.connect({path!r}); print(1, flush=True); input()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    for command in ("shell", "releases"):
        result = run(command, path)
        assert result.exit_code == 1
        assert f"is open in another program (process {holder.pid})" in result.stderr
    holder.communicate(b"\n")


def test_the_commands_of_the_document_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    publish = PUBLISH.replace("'out'", "'visits_public'")
    assert run("shell", "hospital.duckdb", "-c", VISITS + publish).exit_code == 0
    (tmp_path / "nightly.sql").write_text("FROM priv.release;")
    shown = re.findall(r"^```sh\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    # The explorer answers until it is stopped, and has tests of its own.
    lines = [line for block in shown for line in block.splitlines() if " explore " not in line]
    assert len(lines) == 11
    for line in lines:
        piped, _, command = line.rpartition(" | ")
        command, _, target = command.partition(" > ")
        _, *arguments = shlex.split(command)
        stdin = piped.removeprefix("echo ").strip('"')
        result = run(*arguments, stdin=stdin)
        assert result.exit_code == 0, result.output
        assert result.stdout.strip()
        assert not target or result.stdout.startswith("population,release,attribute,")
