"""Files that were made to do harm to who opens them: nothing in a file reaches beyond it, or hides what it is."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from comparing import nearly

import duckdb_priv
from duckdb_priv.errors import InvalidReleaseFile, visible
from duckdb_priv.shell.cli import main
from duckdb_priv.shell.database_files import explain
from duckdb_priv.shell.rendering import MODES, Printer
from duckdb_priv.shell.session import print_answer

NOTE = "a note of the analyst"


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a publisher's database, and a release of it."""
    folder = tmp_path_factory.mktemp("unharmed")
    paths = {name: folder / f"{name}.duckdb" for name in ("publisher", "release")}
    with duckdb_priv.connect(paths["publisher"], secret=bytes(range(32))) as publisher:
        publisher.execute("CREATE TABLE t AS SELECT i AS id, i % 3 AS s FROM range(90) AS t(i)")
        publisher.execute(
            "FROM priv.publish_uniform('t', 'r', sensitive := 's', retention := 0.5, record_id := 'id')"
        ).fetchall()
        publisher.execute("FROM priv.export_release('r', ?)", [str(paths["release"])]).fetchall()
    return folder


@pytest.fixture
def files(unharmed: Path, tmp_path: Path) -> dict[str, Path]:
    """A publisher's database, a release of it, and a file of the analyst's own."""
    shutil.copytree(unharmed, tmp_path, dirs_exist_ok=True)
    paths = {name: tmp_path / f"{name}.duckdb" for name in ("publisher", "release")}
    paths["note"] = tmp_path / "note.txt"
    paths["note"].write_text(NOTE)
    return paths


@pytest.fixture
def planted(files: dict[str, Path]) -> Iterator[Callable[..., duckdb.DuckDBPyConnection]]:
    """Plant statements into a file, and open it as a release."""
    opened: list[duckdb.DuckDBPyConnection] = []

    def plant(
        *statements: str, file: str = "release", **arguments: bool
    ) -> duckdb.DuckDBPyConnection:
        with duckdb.connect(str(files[file])) as writer:
            for statement in statements:
                writer.execute(statement)
        opened.append(duckdb_priv.open_release(files[file], **arguments))
        return opened[-1]

    yield plant
    for connection in opened:
        connection.close()


SHADOWS = {
    "a table function": "CREATE MACRO duckdb_tables() AS TABLE SELECT * FROM (VALUES"
    " ('release'), ('attribute'), ('coefficient'), ('guarantee')) AS t(table_name),"
    " (SELECT 'priv' AS schema_name, 'publisher' AS database_name)",
    "the size of the file": "CREATE MACRO pragma_database_size() AS TABLE"
    " SELECT 'publisher' AS database_name, 1 AS block_size, 1 AS total_blocks",
    "the name of the database": "CREATE MACRO current_database() AS 'nowhere'",
    "operators": 'CREATE MACRO "+"(a, b) AS 0; CREATE MACRO "*"(a, b) AS 0; CREATE MACRO "="(a, b) AS true',
}


@pytest.mark.parametrize("shadow", SHADOWS.values(), ids=SHADOWS.keys())
def test_a_publishers_database_cannot_be_passed_off_as_a_release(
    planted: Callable[..., duckdb.DuckDBPyConnection], shadow: str
) -> None:
    with pytest.raises(InvalidReleaseFile, match="publisher's database, with source and secret"):
        planted(shadow, file="publisher")


def test_all_shadows_together_leave_a_release_one(
    planted: Callable[..., duckdb.DuckDBPyConnection],
) -> None:
    con = planted(*SHADOWS.values())
    assert con.execute("SELECT release FROM priv.release").fetchall() == [("r",)]


@pytest.mark.parametrize("version", ["'one'", "''", "'1'", "'99.0'"])
def test_a_version_that_is_none_is_refused(
    planted: Callable[..., duckdb.DuckDBPyConnection], version: str
) -> None:
    with pytest.raises(InvalidReleaseFile):
        planted(f"UPDATE priv.release SET library_version = {version}")


def test_what_a_file_brings_along_reads_no_other_file(
    planted: Callable[..., duckdb.DuckDBPyConnection], files: dict[str, Path]
) -> None:
    con = planted(
        f"CREATE OR REPLACE MACRO priv.weight(_release, _column, _value) AS"
        f" (SELECT content FROM read_text('{files['note']}'))",
        f"CREATE MACRO priv.peek() AS TABLE FROM query('FROM read_text(''{files['note']}'')')",
        "CREATE MACRO priv.look(path) AS (SELECT len(list(file)) FROM glob(path))",
    )
    for question in (
        "SELECT priv.weight('r', noisy_s, 1) FROM r",
        "FROM priv.peek()",
        f"SELECT priv.look('{files['note'].parent}/*')",
        f"FROM '{files['note']}'",
        f"COPY r TO '{files['note'].parent / 'copy.csv'}'",
        f"ATTACH '{files['publisher']}' AS other (READ_ONLY)",
        "INSTALL httpfs",
        "LOAD httpfs",
    ):
        with pytest.raises(duckdb.Error) as refused:
            con.execute(question).fetchall()
        assert NOTE not in str(refused.value)
    assert not (files["note"].parent / "copy.csv").exists()


def test_what_a_file_brings_along_sees_no_variable_of_the_program(
    planted: Callable[..., duckdb.DuckDBPyConnection],
) -> None:
    patients = pa.table({"name": [NOTE]})
    con = planted("CREATE MACRO priv.peek(name) AS TABLE FROM query('FROM ' || name)")
    for question in ("FROM priv.peek('patients')", "FROM patients"):
        with pytest.raises(duckdb.CatalogException, match="patients does not exist"):
            con.execute(question)
    # What the analyst hands over is theirs to use.
    con.register("mine", patients)
    assert con.execute("FROM mine").fetchall() == [(NOTE,)]


def test_no_statement_opens_it_up_again(
    planted: Callable[..., duckdb.DuckDBPyConnection],
) -> None:
    con = planted()
    for setting in (
        "enable_external_access",
        "python_enable_replacements",
        "autoload_known_extensions",
    ):
        with pytest.raises(duckdb.Error):
            con.execute(f"SET {setting} = true")
        with pytest.raises(duckdb.Error):
            con.execute(f"RESET {setting}")
    with pytest.raises(duckdb.Error):
        con.cursor().execute("SET lock_configuration = false")
    # An analysis has all it needs: temporary tables, and answers.
    con.execute("CREATE TEMP TABLE mine AS FROM r")
    assert con.execute("SELECT priv.reconstructed_count('r', noisy_s, 1) FROM mine").fetchall()


def test_listing_what_a_file_holds_reads_no_other_file(files: dict[str, Path]) -> None:
    with duckdb.connect(str(files["release"])) as writer:
        writer.execute(
            f"CREATE MACRO duckdb_tables() AS TABLE SELECT * FROM read_text('{files['note']}'),"
            " (SELECT 'priv' AS schema_name, 'release' AS table_name)"
        )
        writer.execute("ALTER TABLE priv.release RENAME COLUMN mechanism TO kept")
        writer.execute("CREATE TABLE other AS FROM priv.release")
        writer.execute("DROP TABLE priv.release")
        writer.execute(
            "CREATE VIEW priv.release AS SELECT other.*, content AS mechanism"
            f" FROM other, read_text('{files['note']}')"
        )
    done = CliRunner().invoke(main, ["releases", str(files["release"])])
    assert done.exit_code
    assert NOTE not in done.output


def test_a_release_is_verified_before_the_shell_attaches_it(files: dict[str, Path]) -> None:
    attach = f"ATTACH '{files['release']}' AS one (READ_ONLY)"

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["shell", "--mode", "list", *arguments])

    asked = ["-c", "SELECT count(*) AS n FROM one.r"]
    done = run("-c", attach, *asked)
    assert (done.exit_code, done.stdout) == (0, "n\n90\n")
    assert run("--attach", f"one={files['release']}", *asked).exit_code == 0
    with duckdb.connect(str(files["release"])) as writer:
        writer.execute(f"CREATE VIEW peek AS SELECT content FROM read_text('{files['note']}')")
    for arguments in (("-c", attach), ("--attach", f"one={files['release']}")):
        done = run(*arguments, "-c", "FROM one.peek")
        assert (done.exit_code, done.stdout) == (1, "")
        assert "is not verified: a macro, view, table or comment is not what" in done.stderr
        assert NOTE not in done.stderr


HOSTILE = "a\x1b[2Jb\u202ec\nd\re\u2066\x9b\u200f"
"""Text that would wipe a terminal, turn its direction, and begin lines of its own."""


@pytest.mark.parametrize("mode", MODES)
def test_no_text_of_a_file_steers_a_terminal(mode: str) -> None:
    out = io.StringIO()
    with duckdb.connect() as con, closing(Printer()) as printer:
        printer.mode, printer.width = mode, 200
        con.execute(f'CREATE TABLE t AS SELECT ? AS "{HOSTILE}"', [HOSTILE])
        print_answer(con, "FROM t UNION ALL FROM t", printer, out, lambda: None)
        print_answer(con, "FROM t", printer, out, lambda: None)
    shown = out.getvalue().replace("\r\n", "\n")
    assert not {*"\x1b\x9b\r\u202e\u2066\u200f"} & set(shown)
    # No line begins with what follows the end of a line in the text.
    assert not any(line.startswith("d") for line in shown.splitlines())
    assert visible(HOSTILE) == explain(duckdb.Error(HOSTILE))


def test_comparing_versions_runs_nothing_in_the_file(files: dict[str, Path]) -> None:
    path = str(files["release"])

    def plant(*statements: str) -> None:
        with duckdb.connect(path) as writer:
            for statement in statements:
                writer.execute(statement)

    with duckdb_priv.connect(files["publisher"], secret=bytes(range(32))) as publisher:

        def compared() -> list[tuple[object, ...]]:
            return publisher.execute("FROM priv.compare('r', ?)", [path]).fetchall()

        expected = nearly(compared())
        plant(
            f"CREATE MACRO note() AS (SELECT content FROM read_text('{files['note']}'))",
            *(
                f"CREATE MACRO {name}(a) AS note(), (a, b) AS note()"
                for name in ("count", "least", "sum", "lower", "to_json")
            ),
        )
        assert compared() == expected
        plant("ALTER TABLE r RENAME TO kept")
        for table in (
            f"VIEW r AS SELECT kept.* REPLACE (note() AS noisy_s) FROM kept, read_text('{files['note']}')",
            "TABLE r (id BIGINT, noisy_s VARCHAR GENERATED ALWAYS AS (upper('x')))",
        ):
            plant(f"CREATE {table}")
            with pytest.raises(duckdb.Error, match="the file was tampered with"):
                compared()
            plant(f"DROP {table.split()[0]} r")


def test_who_trusts_a_file_says_so(
    planted: Callable[..., duckdb.DuckDBPyConnection], files: dict[str, Path]
) -> None:
    con = planted(trusted=True)
    con.execute(f"ATTACH '{files['publisher']}' AS other (READ_ONLY)")
    assert con.execute("SELECT count(*) FROM other.t").fetchall() == [(90,)]
    con.execute("SET threads = 1")
    # The same file with other settings, in the same program: an error that says what it is.
    with pytest.raises(
        InvalidReleaseFile, match="open in this program already, with other settings"
    ):
        duckdb_priv.open_release(files["release"])
