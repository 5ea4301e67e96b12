"""Checks the ledger after publishers are killed, and measures the cost of its marks.

    python benchmarks/ledger.py [KILLS] [ROWS] [MARKDOWN]

A process runs eight publications at once and is killed, KILLS times, at moments spread over its run. After each kill
the database is opened, and releases, tables, ledger and marks are compared. Then a table of ROWS records is published
once, to measure the processor time of all and of the marks, the marks' bytes in the file, and the peak memory.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb_priv

AT_ONCE = 8
RECORDS = 20_000
CHILD = """
import sys, threading
import duckdb_priv
connection = duckdb_priv.connect(sys.argv[1])
print("ready", flush=True)

def publish(number):
    with connection.cursor() as cursor:
        cursor.execute(
            f"FROM priv.publish_uniform('stays', 'r{sys.argv[2]}_{number}', sensitive := 'disease',"
            f" retention := 0.{number + 1}, record_id := 'id')"
        ).fetchall()

workers = [threading.Thread(target=publish, args=(number,)) for number in range(int(sys.argv[3]))]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
"""
AGREE = {
    "a release without its table": """
        SELECT release FROM priv.release ANTI JOIN duckdb_tables() AS t ON t.table_name = release""",
    "a table that is no release": """
        SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND table_name <> 'stays'
        AND table_name NOT IN (SELECT release FROM priv.release)""",
    "a release that the ledger lacks": """
        SELECT release FROM priv.release ANTI JOIN priv.ledger USING (release)""",
    "a ledger entry without a release": """
        SELECT release FROM priv.ledger ANTI JOIN priv.release USING (release)""",
    "numbers that are missing or repeated": """
        SELECT count(*) FROM priv.ledger HAVING count(*) > 0 AND (max(number) <> count(*)
        OR count(DISTINCT number) <> count(*))""",
    "a full charge whose records are not kept": f"""
        SELECT coins FROM priv.ledger WHERE whole AND {RECORDS} <>
        (SELECT count(*) FROM priv.mark WHERE draw = ('0x' || coins[:16])::UBIGINT)""",
    "marks of no entry": """
        SELECT DISTINCT draw FROM (SELECT draw FROM priv.mark UNION ALL SELECT draw FROM priv.grouped_mark)
        WHERE draw NOT IN (SELECT ('0x' || coins[:16])::UBIGINT FROM priv.ledger)""",
}
"""Inconsistencies that must not occur, and the query that finds each."""


def killed(folder: Path, kills: int) -> list[str]:
    """Kill publishers, and report the inconsistencies."""
    path = folder / "killed.duckdb"
    with duckdb_priv.connect(path) as con:
        con.execute(
            "CREATE TABLE stays AS SELECT i AS id, 'd' || hash(i) % 9 AS disease FROM"
            f" range({RECORDS}) AS t(i)"
        )
        con.execute("SELECT priv.laplace_count(1, 0.1)").fetchall()
    _run(path, "warm", AT_ONCE, None)
    started = time.monotonic()
    _run(path, "whole", AT_ONCE, None)
    whole = time.monotonic() - started
    found: dict[str, int] = dict.fromkeys(AGREE, 0)
    finished = 0
    for number in range(kills):
        _run(path, str(number), AT_ONCE, whole * number / kills)
        with duckdb_priv.connect(path) as con:
            for what, query in AGREE.items():
                found[what] += len(con.execute(query).fetchall())
            finished += con.execute(
                f"SELECT count(*) FROM priv.release WHERE starts_with(release, 'r{number}_')"
            ).fetchall()[0][0]
    rows = "\n".join(f"| {what} | {count} |" for what, count in found.items())
    return [
        f"{kills} kills of {AT_ONCE} publications at once, of {RECORDS:,} records each: {finished} of"
        f" {kills * AT_ONCE} had been finished.",
        f"| found after a kill | times |\n|---|---|\n{rows}",
    ]


def _run(path: Path, name: str, publications: int, seconds: float | None) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), name, str(publications)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    if seconds is not None:
        time.sleep(seconds)
        child.kill()
    child.communicate()
    assert seconds is not None or child.returncode == 0


def marked(folder: Path, rows: int) -> list[str]:
    """Publish a large table, and report the cost of its marks."""
    from duckdb_priv.engine import marking
    from duckdb_priv.publisher import steps

    spent = {}
    of_records = marking.mark_records

    def timed(*arguments: object) -> object:
        started = time.process_time()
        try:
            return of_records(*arguments)  # type: ignore[arg-type]
        finally:
            spent["marks"] = time.process_time() - started

    path = folder / "marked.duckdb"
    with duckdb_priv.connect(path) as con:
        con.execute("SET threads = 2; SET memory_limit = '3GB'")
        con.execute(
            "CREATE TABLE stays AS SELECT i AS id, hash(i, 1) % 80 AS age, 'd' || hash(i) % 50 AS disease FROM"
            f" range({rows}) AS t(i); CHECKPOINT"
        )
        steps.mark_records = timed  # type: ignore[assignment]
        before = time.process_time()
        con.execute(
            "FROM priv.publish_uniform('stays', 'r', sensitive := 'disease', retention := 0.5, record_id := 'id',"
            " public := ['age'])"
        ).fetchall()
        whole = time.process_time() - before
        con.execute(f"ATTACH '{folder / 'marks.duckdb'}' AS marks")
        con.execute("CREATE TABLE marks.kept AS FROM priv.mark; CHECKPOINT marks")
        (marks,) = con.execute("SELECT count(*) FROM marks.kept").fetchall()[0]
        size = (folder / "marks.duckdb").stat().st_size / max(1, marks)
        before = time.process_time()
        con.execute("CREATE TABLE plain AS FROM stays; CHECKPOINT")
        plain = time.process_time() - before
        (kept,) = con.execute("SELECT sum(len(marks)) FROM priv.seen").fetchall()[0]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [
        f"{rows:,} records, processor time: {whole:.1f} s for the publication, {spent['marks']:.1f} s of it for marks;"
        f" a plain copy of the table takes {plain:.1f} s. {marks:,} marks are kept, at {size:.0f} bytes each, and"
        f" {kept:,} values of a sample. The peak of memory was {peak:.1f} GB, with a limit of 3 GB.",
    ]


def main(kills: int = 40, rows: int = 10_000_000, markdown: str | None = None) -> None:
    """Print the results, and write them."""
    with tempfile.TemporaryDirectory() as folder:
        stated = [
            "# The ledger when publishers are killed, and what its marks cost",
            f"`python benchmarks/ledger.py {kills} {rows}`",
            *killed(Path(folder), kills),
            *marked(Path(folder), rows),
        ]
    text = "\n\n".join(stated) + "\n"
    print(text)
    if markdown:
        Path(markdown).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:4])
