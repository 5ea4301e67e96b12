"""Publishes tables of growing size under a memory limit below their size, and measures time and memory.

    python benchmarks/growth.py --sizes 30:300MB 100:1GB     millions of records, and DuckDB's memory_limit
    python benchmarks/growth.py --sizes 300:3GB --only "decoy groups" matrix --write

Every publication runs in a separate process, on a database on disk. CPU time per million records should not grow. It
hardly depends on other load of the machine. The peak memory is that of the process, with Python and its libraries. The
baseline Anatomy is left out, because it keeps the group of every record in memory.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import MILLION, PEOPLE, VALUES, versions

import duckdb_priv

RESULTS = Path(__file__).parent / "results" / "GROWTH.md"
HEADER = """\
| method | million records | memory_limit | CPU, s | CPU per million, s | peak memory |
|---|---|---|---|---|---|"""
GIVEN = "'people', 'release', sensitive := 'occupation'"
METHODS = {
    "uniform": f"publish_uniform({GIVEN}, record_id := 'id', retention := 0.5)",
    "fine grain": f"publish_fine_grain({GIVEN}, record_id := 'id', tolerance := 4)",
    "shuffled": f"publish_shuffled({GIVEN}, record_id := 'id', epsilon := 1.0, delta := 1e-9)",
    "block design": f"publish_block_design({GIVEN}, record_id := 'id', epsilon := 1.0)",
    "reconstruction private": f"publish_reconstruction_private({GIVEN}, record_id := 'id', retention := 0.5,"
    " epsilon := 0.3, delta := 0.3)",
    "decoy groups": f"publish_splu({GIVEN}, record_id := 'id', gamma := 5)",
    "matrix": f"publish_matrix({GIVEN}, record_id := 'id', matrix := 'exchange')",
    "anatomy": f"publish_anatomy({GIVEN}, record_id := 'id', l := 5)",
    "distribution": f"publish_distribution({GIVEN}, record_id := 'id')",
    "safe k": "publish_safe_k('people', 'release', k := 20, beta := 0.1, epsilon := 1.0, exclude := ['id'],"
    " hierarchies := 'hierarchies', levels := {'age': 1, 'gender': 0, 'education': 0, 'occupation': 0})",
}
TABLES = """
CREATE TABLE exchange AS SELECT 'occupation ' || one AS original, 'occupation ' || other AS published,
    if(one = other, 0.51, 0.01) AS probability
FROM range({values}) AS t(one), range({values}) AS u(other);
CREATE TABLE hierarchies AS FROM priv.range_hierarchy('age', 10)
UNION ALL FROM priv.range_hierarchy('education', 7, high := 13)
UNION ALL SELECT 'gender', value::VARCHAR, 0, value::VARCHAR FROM range(2) AS t(value)
UNION ALL SELECT 'occupation', 'occupation ' || value, 0, 'occupation ' || value FROM range({values}) AS t(value)
"""
"""Additional tables that some methods need."""


def publish(path: Path, method: str, memory: str) -> str:
    """Publish once, and return time and memory."""
    with duckdb_priv.connect(path) as connection:
        connection.execute(f"SET threads = 2; SET memory_limit = '{memory}'")
        started = time.process_time()
        ((rows,),) = connection.execute(
            f"SELECT rows_source FROM priv.{METHODS[method]}"
        ).fetchall()
        cpu = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    millions = rows / MILLION
    return f"| {method} | {millions:.3g} | {memory} | {cpu:.0f} | {cpu / millions:.2f} | {peak:.2f} GB |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", default=["30:300MB", "100:1GB", "300:3GB"])
    parser.add_argument(
        "--only", nargs="+", choices=METHODS, default=[*METHODS], help="publish by these methods"
    )
    parser.add_argument("--write", action="store_true", help=f"add to {RESULTS.name}")
    parser.add_argument(
        "--one", nargs=3, metavar=("FILE", "METHOD", "MEMORY"), help="what processes are given"
    )
    options = parser.parse_args()
    if options.one:
        file, method, memory = options.one
        print(publish(Path(file), method, memory))
        return
    lines = []
    for size in options.sizes:
        millions, memory = size.split(":")
        with tempfile.TemporaryDirectory() as folder:
            source, copy = Path(folder) / "source.duckdb", Path(folder) / "copy.duckdb"
            with duckdb_priv.connect(source) as connection:
                rows = round(float(millions) * MILLION)
                connection.execute((PEOPLE + ";" + TABLES).format(rows=rows, values=VALUES))
            for method in options.only:
                shutil.copy(source, copy)
                command = [sys.executable, __file__, "--one", str(copy), method, memory]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
                lines.append(
                    done.stdout.strip() or f"| {method} | {millions} | {memory} | failed |"
                )
                print(lines[-1], flush=True)
    if options.write:
        known = RESULTS.read_text("utf-8").splitlines() if RESULTS.is_file() else []
        kept = [line for line in known if line.startswith("| ") and line not in HEADER]
        # New measurements replace old ones.
        table = {tuple(line.split("|")[1:4]): line for line in kept + lines}.values()
        title = "# Growth\n\nWritten by `python benchmarks/growth.py --write`."
        text = "\n".join([f"{title} {versions()}", "", HEADER, *table])
        RESULTS.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
