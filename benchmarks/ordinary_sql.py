"""Ordinary SQL on real data: random queries, what they answer, and how often their intervals hold the truth.

Every mechanism publishes the same records; the same random queries are asked of the release, as if it were the true
table, and of the true table. Coverage counts the cells of all answers whose 95% interval holds the true value; z is how
many standard errors an estimate is off.

    PYTHONPATH=.:tests python benchmarks/ordinary_sql.py --folder FOLDER [--queries 1000] [--write] [HOW ...]
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections import defaultdict
from pathlib import Path

import duckdb
import numpy as np
from ordinary.queries import Queries, Table

import duckdb_priv
import duckdb_priv.errors

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results" / "ORDINARY_SQL.md"
HEAD = """# Random ordinary queries

`benchmarks/ordinary_sql.py --write` asks {queries} random queries (seed {seed}) of releases of {rows} census records,
as if each were the true table, and of the true table. Cells are the numbers in the answers; coverage is the share of
those that the 95% interval holds; z is how many standard errors an estimate is off, cut at 8. The worst cell is the
truth, the estimate and its interval. Queries that were not answered: {refused}.

| mechanism | of | cells | coverage | mean z | rms z | open ends | worst cell |
| -- | -- | -- | -- | -- | -- | -- | -- |
"""
SECRET = bytes(range(32))
CENSUS = (
    "SELECT row_number() OVER (ORDER BY hash(i)) AS id, age::INTEGER // 10 * 10 AS age, gender::INTEGER AS gender,"
    " education::INTEGER AS education, marital::INTEGER AS marital, race::INTEGER AS race,"
    " workclass::INTEGER AS workclass, occupation::INTEGER AS occupation"
    " FROM (SELECT *, row_number() OVER () AS i FROM '{path}')"
    " QUALIFY row_number() OVER (ORDER BY hash(i)) <= {rows}"
)
ONE = "sensitive := 'occupation'"
PUBLISH = {
    "uniform": f"publish_uniform('source', 'persons', {ONE}, retention := 0.4",
    "uniform, two": "publish_uniform('source', 'persons', sensitive := ['occupation', 'marital'], retention := 0.5",
    "fine grain": f"publish_fine_grain('source', 'persons', {ONE}, tolerance := 6, min_retention := 0.05",
    "matrix": f"publish_matrix('source', 'persons', {ONE}, matrix := 'exchange'",
    "reconstruction private": f"publish_reconstruction_private('source', 'persons', {ONE}, retention := 0.4,"
    " epsilon := 0.5, delta := 0.3, exclude := ['age'], republish := true",
    "splu": f"publish_splu('source', 'persons', {ONE}, gamma := 4, republish := true",
    "splu, 2": f"publish_splu('source', 'persons', {ONE}, gamma := 2, republish := true",
    "shuffled": f"publish_shuffled('source', 'persons', {ONE}, epsilon := 1.0, delta := 1e-6,"
    " exclude := ['education', 'race', 'workclass', 'marital']",
    "block design": f"publish_block_design('source', 'persons', {ONE}, epsilon := 1.0",
    "anatomy": f"publish_anatomy('source', 'persons', {ONE}, l := 4, republish := true",
    "distribution": f"publish_distribution('source', 'persons', {ONE}",
}
EXCHANGE = """
    CREATE TABLE exchange AS
    WITH v AS (SELECT DISTINCT occupation AS value FROM source), n AS (SELECT count(*) AS n FROM v)
    SELECT a.value AS original, b.value AS published,
        CASE WHEN a.value = b.value THEN 0.5 WHEN b.value // 5 = a.value // 5 THEN 0.02 ELSE 0 END
        + (1 - 0.5 - 0.02 * ((SELECT count(*) FROM v c WHERE c.value // 5 = a.value // 5) - 1)) / n AS probability
    FROM v a, v b, n
"""


def publish(folder: Path, mechanism: str, rows: int) -> tuple[Path, Path]:
    """Publish, and keep the true table, each in a file."""
    stem = f"{mechanism.replace(' ', '_').replace(',', '')}_{rows}"
    path, truth = folder / f"{stem}.duckdb", folder / f"{stem}_true.duckdb"
    if path.exists():
        return path, truth
    call = PUBLISH[mechanism]
    with duckdb_priv.connect(secret=SECRET) as publisher:
        publisher.execute(
            "CREATE TABLE source AS " + CENSUS.format(path=DATA / "census_500k.parquet", rows=rows)
        )
        publisher.execute(EXCHANGE)
        publisher.execute(f"FROM priv.{call}, record_id := 'id')").fetchall()
        publisher.execute("FROM priv.export_release('persons', ?)", [str(path)]).fetchall()
        left_out = ", ".join(
            ["id", *re.findall(r"'(\w+)'", call.partition("exclude := ")[2].partition("]")[0])]
        )
        publisher.execute(f"ATTACH '{truth}' AS truth")
        publisher.execute(
            f"CREATE TABLE truth.persons AS SELECT * EXCLUDE ({left_out}) FROM source"
        )
        publisher.execute("DETACH truth")
    return path, truth


def ask(
    path: Path, truth: Path, attributes: list[str], queries: int, seed: int
) -> dict[str, list[tuple[float, ...]]]:
    """Ask random queries of both; return true value, estimate, standard error, low and high by kind of query."""
    found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    release, true = (
        duckdb.connect(str(path), read_only=True),
        duckdb.connect(str(truth), read_only=True),
    )
    drawn = Queries(Table.of(true, "persons", attributes), seed)
    asked = 0
    while asked < queries:
        query = drawn.draw()
        right = {row[:-1]: row[-1] for row in true.execute(query.sql).fetchall()}
        asked += 1
        try:
            answers = duckdb_priv.reconstruct(release, query.sql, intervals=True)
        except (duckdb.Error, duckdb_priv.errors.QueryRefused) as error:
            print(f"not answered: {query.sql}\n    {error}", flush=True)
            found["not answered"].append(())
            continue
        names = [name for name, *_ in answers.description]
        for *keys, estimate, stderr, low, high in answers.fetchall() if "e_low" in names else ():
            value = right.get(
                tuple(keys), 0 if query.kind in ("count", "sum", "difference") else None
            )
            if value is not None and estimate is not None:
                found[query.kind].append((float(value), estimate, stderr, low, high))
    release.close()
    true.close()
    return found


def summarize(rows: list[tuple[float, ...]]) -> tuple[int, float, float, float, float]:
    """Return the number of cells, the coverage, the mean and the root mean square of z, and the share of open ends."""
    data = np.array(rows, dtype=float)
    value, estimate, stderr, low, high = data.T
    covered = (low <= value + 1e-6) & (value - 1e-6 <= high)
    some = stderr > 1e-9
    z = (estimate[some] - value[some]) / stderr[some]
    z = z[np.isfinite(z)]
    z = np.clip(z, -8, 8)
    return len(data), covered.mean(), z.mean(), math.sqrt((z**2).mean()), np.isinf(high).mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the table of the results")
    parser.add_argument("mechanisms", nargs="*", default=list(PUBLISH))
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    lines, refused = [], 0
    for mechanism in given.mechanisms or PUBLISH:
        path, truth = publish(given.folder, mechanism, given.rows)
        attributes = ["occupation", "marital"] if "two" in mechanism else ["occupation"]
        start = time.perf_counter()
        found = ask(path, truth, attributes, given.queries, given.seed)
        seconds = time.perf_counter() - start
        refused += len(found.pop("not answered", ()))
        for kind, rows in sorted(found.items()):
            n, coverage, mean, rms, open_ends = summarize(rows)
            worst = max(rows, key=lambda row: abs(row[1] - row[0]) / row[2] if row[2] > 1e-9 else 0)
            lines.append(
                f"| {mechanism} | {kind} | {n} | {coverage:.3f} | {mean:+.2f} | {rms:.2f} | {open_ends:.3f} |"
                f" {worst[0]:.4g}: {worst[1]:.4g} in {worst[3]:.4g} to {worst[4]:.4g} |"
            )
            print(
                f"{mechanism:24} {kind:12} {n:6} coverage {coverage:.3f} mean z {mean:+.2f} rms z {rms:.2f}"
                f" open {open_ends:.3f}  {seconds:.0f} s",
                flush=True,
            )
    if given.write:
        head = HEAD.format(queries=given.queries, rows=given.rows, seed=given.seed, refused=refused)
        RESULTS.write_text(head + "\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
