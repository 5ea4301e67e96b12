"""Measures the CPU time of counts and intervals of one value, as ratios to count(*) FILTER over the same column.

    python benchmarks/counts.py [--rows 10000000] [--releases 100]

One release of each kind (uniform, decoy groups, blocks) is queried in its file and in the publisher's database, without
and with GROUP BY one column. Then the fixed cost of a query is measured, as its time over a thousand rows, in a file
and in a database with many releases. The length of a file's macros is printed, too. Ratios can be compared between
machines, milliseconds cannot.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import duckdb

import duckdb_priv

SOURCE = """
    CREATE TABLE source AS SELECT i AS id, 'v' || hash(4 * i) % 50 AS value, (hash(4 * i + 1) % 7)::INTEGER AS ward
    FROM range({rows}) AS t(i)
"""
KINDS = {
    "uniform": "uniform('source', 'uniform', retention := 0.5",
    "decoys": "splu('source', 'decoys', gamma := 3",
    "blocks": "block_design('source', 'blocks', epsilon := 1",
}
PUBLISH = "FROM priv.publish_{}, sensitive := 'value', record_id := 'id')"
ASKED = {"count": "priv.reconstructed_count", "interval": "priv.reconstructed_interval"}


def cpu(connection: duckdb.DuckDBPyConnection, query: str, runs: int = 5) -> float:
    """Return the least CPU milliseconds of several runs, after one run that is not timed."""
    connection.execute(query).fetchall()
    taken = []
    for _ in range(runs):
        start = time.process_time()
        connection.execute(query).fetchall()
        taken.append(time.process_time() - start)
    return min(taken) * 1000


def ratios(connection: duckdb.DuckDBPyConnection, release: str) -> str:
    """Return the CPU time of counting one value without and with GROUP BY, as ratios to the plain count."""
    ((shown,),) = connection.execute(f"SELECT min(noisy_value)::VARCHAR FROM {release}").fetchall()
    cells = []
    for group, by in (("", ""), ("ward, ", " GROUP BY ward")):
        plain = cpu(
            connection,
            f"SELECT {group}count(*) FILTER (noisy_value = '{shown}') FROM {release}{by}",
        )
        for name in ASKED.values():
            found = cpu(
                connection,
                f"SELECT {group}{name}('{release}', noisy_value, 'v7') FROM {release}{by}",
            )
            cells.append(f"{found / plain:.2f}")
    return " | ".join(cells)


def fixed(connection: duckdb.DuckDBPyConnection, release: str) -> str:
    """Return the milliseconds of counting one value over a thousand rows."""
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE few AS FROM {release} USING SAMPLE 1000 ROWS (reservoir, 1)"
    )
    asked = (f"SELECT {name}('{release}', noisy_value, 'v7') FROM few" for name in ASKED.values())
    return " | ".join(f"{cpu(connection, each, 40):.2f}" for each in asked)


def main() -> None:
    """Publish, query, and print the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--releases", type=int, default=100)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        duckdb.connect(f"{folder}/source.duckdb") as publisher,
    ):
        duckdb_priv.install(publisher)
        publisher.execute(f"SET threads = 1; {SOURCE.format(rows=arguments.rows)}")
        for call in KINDS.values():
            publisher.execute(PUBLISH.format(call)).fetchall()
        print(
            "| release | where | count | interval | count by ward | interval by ward | fixed ms: count | interval |"
        )
        for name in KINDS:
            path = Path(folder) / f"{name}.duckdb"
            publisher.execute("FROM priv.export_release(?, ?)", [name, str(path)]).fetchall()
            with duckdb.connect(str(path), read_only=True) as file:
                file.execute("SET threads = 1")
                print(
                    f"| {name} | its file | {ratios(file, name)} | {fixed(file, name)} |",
                    flush=True,
                )
                ((size,),) = file.execute(
                    "SELECT sum(len(macro_definition)) FROM duckdb_functions() WHERE schema_name = 'priv'"
                ).fetchall()
            print(
                f"| {name} | publisher's database | {ratios(publisher, name)} | {fixed(publisher, name)} |"
            )
            print(f"  macros of the file of {name}: {size / 1000:.0f} kB", flush=True)
        publisher.execute("CREATE OR REPLACE TABLE source AS FROM source LIMIT 1000")
        seconds = []
        for number in range(arguments.releases):
            start = time.process_time()
            publisher.execute(
                PUBLISH.format(f"uniform('source', 'more_{number}', retention := 0.5")
            ).fetchall()
            seconds.append(time.process_time() - start)
        print(f"publishing 1,000 rows: first {seconds[0]:.2f} s of CPU, last {seconds[-1]:.2f} s")
        print(
            f"fixed ms beside {arguments.releases + len(KINDS)} releases: {fixed(publisher, 'more_0')}"
        )


if __name__ == "__main__":
    main()
