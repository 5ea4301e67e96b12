"""Checks that every client gives the same answers as Python for every mechanism, and measures the time of counts.

    python benchmarks/clients.py [--rows 1000000] [--repeat 5] [--write]

The clients are those of the tests, which install them. --write inserts the table into docs/clients.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import duckdb

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from clients.asking import CLIENTS, Client, job, same  # noqa: E402
from clients.releases import Release, publish_all  # noqa: E402

CHECKED = 3
"""The number of queries whose answers are compared with Python's: counts with intervals, a distribution, a view."""
TITLES = {"two": "uniform, two columns"}
BEGIN, END = "<!-- benchmarks/clients.py writes this table -->\n", "<!-- up to here -->\n"


def row(client: Client, releases: dict[str, Release], repeat: int) -> list[str]:
    """Return one line of the table: the client, its version of DuckDB, and milliseconds by mechanism."""
    jobs = [
        job(
            release.path,
            ["SELECT version()", *release.questions()[:CHECKED]]
            + repeat * [release.plain_count, release.reconstructed_count],
        )
        for release in releases.values()
    ]
    cells = []
    for release, reply in zip(releases.values(), client.ask(jobs), strict=True):
        if "error" in reply:
            raise SystemExit(f"{client.name}, {release.name}: {reply['error']}")
        version, *answers = reply["answers"]
        found = [answer["rows"] for answer in answers[:CHECKED]]
        if not same(found, release.answers[:CHECKED], tolerance=1e-9):
            raise SystemExit(f"{client.name}, {release.name}: another answer than Python's")
        seconds = [answer["seconds"] for answer in answers[CHECKED:]]
        plain, reconstructed = (1000 * min(seconds[start::2]) for start in (0, 1))
        cells.append(f"{reconstructed:.0f} / {plain:.0f}")
    return [client.name, version["rows"][0][0].removeprefix("v"), *cells]


def table(rows: list[list[str]], releases: dict[str, Release]) -> str:
    """Write the lines as Markdown."""
    head = ["client", "DuckDB", *(TITLES.get(name, name.replace("_", " ")) for name in releases)]
    lines = [head, ["--"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        releases = publish_all(Path(folder), rows=chosen.rows)
        rows = []
        for client in CLIENTS:
            rows.append(row(client, releases, chosen.repeat))
            print(*rows[-1], sep=" | ", flush=True)
    text = (
        f"Milliseconds of `priv.reconstructed_count` / of a plain `count(*) FILTER`, by one column over"
        f" {chosen.rows:,} published rows, best of {chosen.repeat}, as the client itself sees them; what it answers"
        f" agrees with Python's DuckDB {duckdb.__version__} to nine digits.\n\n"
        f"{table(rows, releases)}"
    )
    page = ROOT / "docs" / "clients.md"
    before, rest = page.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    if chosen.write:
        page.write_text(f"{before}{BEGIN}{text}{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
