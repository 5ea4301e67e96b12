"""The demo: publish a census of made-up people, count on the release, and compare with the truth."""

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
from duckdb_priv.shell.execution import Execution, ResultSet
from duckdb_priv.sqltext import templates
from duckdb_priv.sqltext.quoting import literal

SOURCE = "publisher.duckdb"
RELEASE = "census.duckdb"
CARD = "census.html"
QUESTION = re.compile(r"-- question: (.*)\n((?s:.*?);)\n-- truth\n((?s:.*?);)\n")


@dataclass(frozen=True)
class DemoQuestion:
    """What an analyst asks of a release, and the same asked of the source."""

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
    """Run the demo; with ``keep``, leave the database and the release in that folder.

    Raises CannotOpen if the folder holds a demo already.
    """
    with _folder(keep) as folder:
        console.rule("[bold]The publisher", align="left")
        with closing(open_publisher(str(folder / SOURCE))) as connection:
            publisher = Execution(connection, console)
            _publish(console, publisher, rows, seed, folder / RELEASE)
            console.rule("[bold]The analyst", align="left")
            size = (folder / RELEASE).stat().st_size / 1e6
            console.print(
                f"Opens {RELEASE} ({size:.1f} MB) with plain DuckDB: no Python, no extension, no key;"
                f" {CARD} beside it says what it is."
                " What a row shows may be false;"
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
            f"{keep!r} holds a file {taken[0]!r} already", hint="name another folder for --keep"
        )
    try:
        yield folder
    except BaseException:
        # Half a demo would keep the next one out.
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
        "Publishes it with occupation and income perturbed: what is published of either turns no"
        " prior of 10% or less into a posterior of more than 50%:\n"
    )
    statement = templates.body(templates.read("demo", "publish"))
    _show_sql(console, statement)
    names, receipt = publisher.fetch(statement)
    reported = dict(zip(names, receipt[0], strict=True))
    console.print(f"{reported['guarantee']} ({reported['seconds']:.1f} s)\n")
    export = "FROM priv.export_release('census', {});"
    seconds = _timed(lambda: publisher.fetch(export.format(literal(str(path)))))
    console.print(f"Hands out one file ({seconds:.1f} s):\n")
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


def _comparison(estimated: ResultSet, true: ResultSet) -> tuple[Table, list[bool]]:
    """Set the estimates beside the truth; rows belong together that agree on the columns that both have."""
    names, rows = estimated
    keys = [name for name in names if name in true[0]]
    truths = {
        tuple(value for name, value in zip(true[0], row, strict=True) if name in keys): row[-1]
        for row in true[1]
    }
    table = _table(keys)
    for title in ("true count", "estimate", "95% interval", "covered"):
        table.add_column(title, justify="right")
    covered = []
    for row in rows:
        answer = dict(zip(names, row, strict=True))
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
    """Print what to do next, in commands that run as they are printed."""
    program = command("duckdb-priv")
    steps = {
        "To publish from a database of yours, as .help publish says there": (
            f"{program} shell hospital.duckdb"
        )
    }
    if folder is None:
        again = f"{program} demo --rows {rows} --seed {seed} --keep census_demo"
        steps["Both files are removed. To keep them, and to go on with them"] = again
    else:
        release, source = (shlex.quote(str(folder / name)) for name in (RELEASE, SOURCE))
        steps["To count on the release yourself"] = f"{command('duckdb')} {release}"
        steps["To see whether it keeps its promise, and to publish in other ways"] = (
            f"{program} shell {source}"
        )
    for title, line in steps.items():
        console.print(f"{title}:\n\n    {line}\n", soft_wrap=True)


def command(name: str) -> str:
    """Write how a program is called here: by its name where that is found, else by its file beside Python."""
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
    names, rows = party.fetch(f"FROM {table} USING SAMPLE reservoir(3 ROWS) REPEATABLE (1)")
    shown = _table(names)
    for row in rows:
        shown.add_row(*map(str, row))
    console.print(shown)
    console.print()


def _show_sql(console: Console, statement: str) -> None:
    """Print SQL as it can be copied: no line is broken."""
    syntax = Syntax("", "sql", theme="ansi_dark", background_color="default")
    text = syntax.highlight(textwrap.indent(statement, "    "))
    text.rstrip()
    console.print(text, soft_wrap=True)
    console.print()


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
