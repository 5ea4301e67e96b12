"""The demo: publishes a census of made-up people, and compares estimates from the release with the true counts."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from duckdb_priv.card.report import interval, possible
from duckdb_priv.shell.database_files import CannotOpen, open_publisher
from duckdb_priv.shell.execution import Execution, Row
from duckdb_priv.sqltext import templates
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.reading import select

SOURCE = "publisher.duckdb"
RELEASE = "census.duckdb"
CARD = "census.html"
QUESTION = re.compile(r"-- question: (.*)\n((?s:.*?);)\n-- truth\n((?s:.*?);)\n")


@dataclass(frozen=True)
class DemoQuestion:
    """A question of an analyst, as SQL on the release and as SQL on the source."""

    title: str
    release_sql: str
    source_sql: str


def questions() -> list[DemoQuestion]:
    """Read the questions of the demo.

    >>> questions()[0].title
    'How many nurses are there?'
    """
    return [DemoQuestion(*parts) for parts in QUESTION.findall(templates.read("demo", "questions"))]


def run(console: Console, *, rows: int, seed: int, keep: str | None = None) -> None:
    """Run the demo. With ``keep``, write the database and the release to that folder.

    Raises CannotOpen if the folder already holds a demo.
    """
    with _folder(keep) as folder:
        console.rule("[bold]The publisher", align="left")
        with closing(open_publisher(str(folder / SOURCE))) as connection:
            publisher = Execution(connection, console)
            _publish(console, publisher, rows, seed, folder / RELEASE)
            console.rule("[bold]The analyst", align="left")
            size = (folder / RELEASE).stat().st_size / 1e6
            console.print(
                f"Opens {RELEASE} ({size:.1f} MB) with plain DuckDB: no Python, no extension, no key."
                f" {CARD} beside it describes the release."
                " The value in a row may be false;"
                " counts are estimated from all rows.\n"
            )
            with closing(duckdb.connect(str(folder / RELEASE), read_only=True)) as release:
                _compare(console, Execution(release, console), publisher)
        console.rule("[bold]Next", align="left")
        _advise(console, folder if keep else None, rows, seed)


@contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="duckdb_priv_demo_") as temporary:
            yield Path(temporary)
        return
    folder = Path(keep)
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if taken := [name for name in (SOURCE, RELEASE, CARD) if (folder / name).exists()]:
        raise CannotOpen(
            f"{keep!r} already contains a file {taken[0]!r}", hint="name another folder for --keep"
        )
    try:
        yield folder
    except BaseException:
        # Files of an unfinished demo would prevent the next demo in this folder.
        for name in (SOURCE, f"{SOURCE}.wal", RELEASE, CARD):
            (folder / name).unlink(missing_ok=True)
        if made:
            folder.rmdir()
        raise


def _publish(console: Console, publisher: Execution, rows: int, seed: int, path: Path) -> None:
    persons = templates.read("demo", "persons")
    seconds = _timed(lambda: publisher.fetch(persons, {"rows": rows, "seed": seed}))
    console.print(f"Has a table of {rows:,} made-up people ({seconds:.1f} s):\n")
    _show_sample(console, publisher, "person")
    console.print(
        "Publishes the table with perturbed occupation and income. A published row turns no"
        " prior of 10% or less about either into a posterior above 50%:\n"
    )
    statement = templates.body(templates.read("demo", "publish"))
    _show_sql(console, statement)
    (receipt,) = publisher.fetch(statement)
    console.print(f"{receipt['guarantee']} ({receipt['seconds']:.1f} s)\n")
    export = "FROM priv.export_release('census', {});"
    seconds = _timed(lambda: publisher.fetch(export.format(literal(str(path)))))
    console.print(f"Writes one file to share ({seconds:.1f} s):\n")
    _show_sql(console, export.format(literal(RELEASE)))


def _compare(console: Console, analyst: Execution, publisher: Execution) -> None:
    _show_sample(console, analyst, "census")
    covered: list[bool] = []
    for number, question in enumerate(questions(), start=1):
        console.print(f"[bold]{number}. {question.title}\n")
        _show_sql(console, question.release_sql)
        table, found = _comparison(
            analyst.fetch(question.release_sql), publisher.fetch(question.source_sql)
        )
        console.print(table)
        console.print()
        covered += found
    console.print(
        f"[bold]{sum(covered)} of {len(covered)} intervals cover the true count[/bold];"
        f" of 95% intervals about {0.95 * len(covered):.0f} should.\n"
    )


def _comparison(estimated: list[Row], true: list[Row]) -> tuple[Table, list[bool]]:
    """Join estimates and true counts on their common columns; return a table, and whether each interval covers."""
    *keys, counted = true[0]
    truths = {tuple(row[key] for key in keys): row[counted] for row in true}
    table = _table(keys)
    for title in ("true count", "estimate", "95% interval", "covered"):
        table.add_column(title, justify="right")
    covered = []
    for answer in estimated:
        truth = truths.get(tuple(answer[key] for key in keys), 0)
        covered.append(answer["low"] <= truth <= answer["high"])
        table.add_row(
            *(str(answer[key]) for key in keys),
            f"{truth:,}",
            possible(answer["estimate"], answer["high"]),
            interval(answer["low"], answer["high"]),
            "[green]yes[/green]" if covered[-1] else "[yellow]no[/yellow]",
        )
    return table, covered


def _advise(console: Console, folder: Path | None, rows: int, seed: int) -> None:
    """Print the next steps as commands that you can paste."""
    program = command("duckdb-priv")
    steps = {
        "To publish from your own database (.help publish in this shell shows how)": (
            f"{program} shell hospital.duckdb"
        )
    }
    if folder is None:
        again = f"{program} demo --rows {rows} --seed {seed} --keep census_demo"
        steps["The demo's files were removed. To keep them"] = again
    else:
        release, source = (shlex.quote(str(folder / name)) for name in (RELEASE, SOURCE))
        steps["To count on the release yourself"] = f"{command('duckdb')} {release}"
        steps["To audit the release, or to publish with other methods"] = (
            f"{program} shell {source}"
        )
    for title, line in steps.items():
        console.print(f"{title}:\n\n    {line}\n", soft_wrap=True)


def command(name: str) -> str:
    """Return the command for a program: its name if that is on the path, else its file beside Python."""
    if shutil.which(name):
        return name
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    if beside is None:
        return name
    path = Path(beside)
    return shlex.quote(
        str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
    )


def _table(columns: Iterable[str]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold cyan")
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


def _show_sample(console: Console, party: Execution, table: str) -> None:
    rows = party.fetch(select("*", f"{table} USING SAMPLE reservoir(3 ROWS) REPEATABLE (1)"))
    shown = _table(rows[0])
    for row in rows:
        shown.add_row(*map(str, row.values()))
    console.print(shown)
    console.print()


def _show_sql(console: Console, statement: str) -> None:
    """Print SQL without breaking lines, so that you can copy it."""
    syntax = Syntax("", "sql", theme="ansi_dark", background_color="default")
    text = syntax.highlight(textwrap.indent(statement, "    "))
    text.rstrip()
    console.print(text, soft_wrap=True)
    console.print()


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
