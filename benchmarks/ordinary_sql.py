"""Measures the accuracy and the coverage of ordinary SQL, with random queries on real data.

Every mechanism publishes the same records several times with different secrets. Random queries run on each release, as
if it were the true table, and on the true table. The cells of one query share records, and one query may have hundreds
of cells, so each query counts once, with the mean over its cells.

    PYTHONPATH=.:tests python benchmarks/ordinary_sql.py --folder FOLDER [--queries 1000] [--write] [HOW ...]
"""

from __future__ import annotations

import argparse
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from ordinary.queries import Queries, Table

import duckdb_priv
import duckdb_priv.errors

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results" / "ORDINARY_SQL.md"
HEAD = """# Random ordinary queries

`benchmarks/ordinary_sql.py --queries {queries} --publications {publications} --write` asks random queries of releases
of {rows} census records, as if each were the true table, and of the true table: for each mechanism {queries}, of
{publications} publications with secrets and queries of their own. Queries that were not answered: {refused}.

Cells are the numbers in the answers that are not known with certainty. Coverage is the share of them that the 95%
interval holds, z how many standard errors an estimate is off, cut at 8. Cells of one query depend on each other, so
every figure is the mean over queries of the mean over their cells. Queries of one publication share its noise, so
behind ± is the standard error over publications. Open is the share of cells whose interval has no end, because a
denominator may be zero: they have no standard error, and no z. The worst cells are the truth, the estimate and its
interval where z is largest: mostly a handful of records, whose standard error is estimated from them, and is too
small where the estimate is too small.

Anatomy and distributions publish no record's own value: their intervals are those of values that are assigned to the
records of a group at random. So they hold where the groups are all that values depend on, as after shuffling
occupations among all records (independent), and miss on the census itself.

{outside}

| mechanism | of | queries | cells | coverage | mean z | rms z | open | worst cells |
| -- | -- | -- | -- | -- | -- | -- | -- | -- |
"""
ASSIGNED = ("anatomy", "distribution")
"""Mechanisms whose intervals need not satisfy the bounds on the census."""
BOUNDS = {"coverage": (0.94, 0.99), "mean": (-0.15, 0.15), "rms": (0.85, 1.1)}
"""The required range of each figure in a row."""
LINEAR = ("count", "sum", "difference")
"""Kinds of queries whose answers are sums over records."""
CENSUS = (
    "SELECT row_number() OVER (ORDER BY hash(i)) AS id, age::INTEGER // 10 * 10 AS age, gender::INTEGER AS gender,"
    " education::INTEGER AS education, marital::INTEGER AS marital, race::INTEGER AS race,"
    " workclass::INTEGER AS workclass, occupation::INTEGER AS occupation"
    " FROM (SELECT *, row_number() OVER () AS i FROM '{path}')"
    " QUALIFY row_number() OVER (ORDER BY hash(i)) <= {rows}"
)
ONE = "sensitive := 'occupation'"
INDEPENDENT = " -- occupations are shuffled among all records first"
ANATOMY = f"publish_anatomy('source', 'persons', {ONE}, l := 4, republish := true"
DISTRIBUTION = f"publish_distribution('source', 'persons', {ONE}"
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
    "anatomy": ANATOMY,
    "anatomy, independent": ANATOMY + INDEPENDENT,
    "distribution": DISTRIBUTION,
    "distribution, independent": DISTRIBUTION + INDEPENDENT,
}
"""The arguments of each mechanism. Two mechanisms keep true values within groups, so they also run on other data."""
SHUFFLED = """
    CREATE OR REPLACE TABLE source AS
    SELECT a.* EXCLUDE (i) REPLACE (b.occupation AS occupation)
    FROM (SELECT *, row_number() OVER (ORDER BY id) AS i FROM source) AS a
    JOIN (SELECT occupation, row_number() OVER (ORDER BY hash(id + {number})) AS i FROM source) AS b USING (i)
"""
EXCHANGE = """
    CREATE TABLE exchange AS
    WITH v AS (SELECT DISTINCT occupation AS value FROM source), n AS (SELECT count(*) AS n FROM v)
    SELECT a.value AS original, b.value AS published,
        CASE WHEN a.value = b.value THEN 0.5 WHEN b.value // 5 = a.value // 5 THEN 0.02 ELSE 0 END
        + (1 - 0.5 - 0.02 * ((SELECT count(*) FROM v c WHERE c.value // 5 = a.value // 5) - 1)) / n AS probability
    FROM v a, v b, n
"""


def publish(folder: Path, mechanism: str, rows: int, number: int) -> tuple[Path, Path]:
    """Publish with a secret derived from a number; write the release and the true table to files."""
    stem = f"{mechanism.replace(' ', '_').replace(',', '')}_{rows}_{number}"
    path, truth = folder / f"{stem}.duckdb", folder / f"{stem}_true.duckdb"
    if path.exists() and truth.exists():
        return path, truth
    call, independent, _ = PUBLISH[mechanism].partition(INDEPENDENT)
    with duckdb_priv.connect(secret=bytes(range(number, number + 32))) as publisher:
        publisher.execute(
            "CREATE TABLE source AS " + CENSUS.format(path=DATA / "census_500k.parquet", rows=rows)
        )
        if independent:
            publisher.execute(SHUFFLED.format(number=number))
        publisher.execute(EXCHANGE)
        publisher.execute(f"FROM priv.{call}, record_id := 'id')").fetchall()
        publisher.execute(
            "FROM priv.export_release('persons', ?, card := false)", [str(path)]
        ).fetchall()
        left_out = ", ".join(
            ["id", *re.findall(r"'(\w+)'", call.partition("exclude := ")[2].partition("]")[0])]
        )
        publisher.execute(f"ATTACH '{truth}' AS truth")
        publisher.execute(
            f"CREATE TABLE truth.persons AS SELECT * EXCLUDE ({left_out}) FROM source"
        )
        publisher.execute("DETACH truth")
    return path, truth


@dataclass(frozen=True)
class Cell:
    """A number in an answer: the true value, the estimate and its interval."""

    query: tuple[int, int]
    """The numbers of the publication and of the query."""
    truth: float
    estimate: float
    stderr: float | None
    low: float
    high: float

    @property
    def covered(self) -> bool:
        """Whether the interval contains the true value."""
        return self.low - 1e-6 <= self.truth <= self.high + 1e-6

    @property
    def z(self) -> float | None:
        """The error in standard errors; None without a standard error."""
        if not self.stderr or self.stderr < 1e-9:
            return None
        return max(-8.0, min(8.0, (self.estimate - self.truth) / self.stderr))

    @property
    def known(self) -> bool:
        """Whether the answer is certain and right, so that it does not count."""
        return self.high - self.low < 1e-9 and self.covered


def ask(
    path: Path, truth: Path, attributes: list[str], queries: int, number: int
) -> dict[str, list[Cell]]:
    """Run random queries on the release and the true table; return the cells of the answers by kind of query."""
    found: dict[str, list[Cell]] = defaultdict(list)
    release, true = (
        duckdb.connect(str(path), read_only=True),
        duckdb.connect(str(truth), read_only=True),
    )
    drawn = Queries(Table.of(true, "persons", attributes), seed=number)
    for place in range(queries):
        query = drawn.draw()
        right = {row[:-1]: row[-1] for row in true.execute(query.sql).fetchall()}
        try:
            answers = duckdb_priv.reconstruct(release, query.sql, intervals=True)
            names = [name for name, *_ in answers.description]
            rows = answers.fetchall() if "e_low" in names else []
        except (duckdb.Error, duckdb_priv.errors.QueryRefused) as error:
            print(f"not answered: {query.sql}\n    {error}", flush=True)
            found["not answered"].append(Cell((number, place), 0, 0, 0, 0, 0))
            continue
        for *keys, estimate, stderr, low, high in rows:
            value = right.get(tuple(keys), 0 if query.kind in LINEAR else None)
            # 0 / 0 is not a number in the true table either.
            if value is not None and estimate is not None and not math.isnan(value):
                cell = Cell((number, place), float(value), estimate, stderr, low, high)
                found[query.kind].append(cell)
    release.close()
    true.close()
    return found


@dataclass(frozen=True)
class Figure:
    """A mean over queries, with its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, by_query: Mapping[tuple[int, int], float]) -> Figure:
        """Return the mean over queries. Errors are correlated within a publication, and independent between them."""
        if not by_query:
            return cls(math.nan, math.nan)
        mean = float(np.mean(list(by_query.values())))
        off: dict[int, float] = defaultdict(float)
        for (number, _), value in by_query.items():
            off[number] += value - mean
        several = len(off) / (len(off) - 1) if len(off) > 1 else math.nan
        error = math.sqrt(several * sum(each**2 for each in off.values())) / len(by_query)
        return cls(mean, error)

    def root(self) -> Figure:
        """Return the square root, with its standard error by the delta method."""
        root = math.sqrt(self.value)
        return Figure(root, self.error / (2 * root) if root else math.nan)


@dataclass(frozen=True)
class Row:
    """The figures of one mechanism for one kind of queries."""

    queries: int
    cells: int
    figures: Mapping[str, Figure]
    open_ends: float
    worst: list[Cell]

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Row:
        """Summarize the cells of some queries."""
        judged = [each for each in cells if not each.known]
        of_query: dict[tuple[int, int], list[Cell]] = defaultdict(list)
        for each in judged:
            of_query[each.query].append(each)
        z = {
            query: found
            for query, some in of_query.items()
            if (found := [each.z for each in some if each.z is not None])
        }
        covered = {
            query: np.mean([each.covered for each in some]) for query, some in of_query.items()
        }
        figures = {
            "coverage": Figure.of(covered),
            "mean": Figure.of({query: np.mean(each) for query, each in z.items()}),
            "rms": Figure.of({query: np.mean(np.square(each)) for query, each in z.items()}).root(),
        }
        worst = sorted(judged, key=lambda each: -abs(each.z or 0))[:2]
        open_ends = np.mean([math.isinf(each.high) for each in judged]) if judged else math.nan
        return cls(len(of_query), len(judged), figures, float(open_ends), worst)

    def outside(self) -> dict[str, float]:
        """List the figures outside the bounds, and by how many standard errors."""
        found = {}
        for name, (least, most) in BOUNDS.items():
            figure = self.figures[name]
            off = max(least - figure.value, figure.value - most)
            if off > 0:
                found[name] = off / figure.error if figure.error else math.inf
        return found

    def written(self) -> str:
        """Write the row as columns of a table."""
        shown = [
            f"{each.value:{sign}.{digits}f} ± {each.error:.{digits}f}"
            for each, sign, digits in zip(
                self.figures.values(), ("", "+", ""), (3, 2, 2), strict=True
            )
        ]
        worst = "; ".join(
            f"{each.truth:.4g}: {each.estimate:.4g} in {each.low:.4g} to {each.high:.4g}"
            for each in self.worst
        )
        numbers = " | ".join([str(self.queries), str(self.cells), *shown, f"{self.open_ends:.3f}"])
        return f"{numbers} | {worst}"


def write(
    given: argparse.Namespace, lines: Sequence[str], outside: Sequence[str], refused: int
) -> None:
    """Write the results. This is called after every mechanism, since all of them take hours."""
    stated = (
        "Outside of coverage .94 to .99, mean z -.15 to .15 and rms z .85 to 1.1, and by how many of their standard"
        f" errors: {'; '.join(outside) or 'none'}."
    )
    head = HEAD.format(
        queries=given.queries,
        publications=given.publications,
        rows=given.rows,
        refused=refused,
        outside=stated,
    )
    RESULTS.write_text(head + "\n".join(lines) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--publications", type=int, default=25)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="write the table of the results")
    parser.add_argument("mechanisms", nargs="*", default=list(PUBLISH))
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    lines, outside, refused, asked = [], [], 0, given.queries // given.publications
    for mechanism in given.mechanisms or PUBLISH:
        attributes = ["occupation", "marital"] if "two" in mechanism else ["occupation"]
        found: dict[str, list[Cell]] = defaultdict(list)
        for number in range(given.publications):
            path, truth = publish(given.folder, mechanism, given.rows, number)
            for kind, cells in ask(path, truth, attributes, asked, number).items():
                found[kind] += cells
        refused += len(found.pop("not answered", ()))
        for kind, cells in sorted(found.items()):
            row = Row.of(cells)
            lines.append(f"| {mechanism} | {kind} | {row.written()} |")
            outside += [
                f"{name} of {kind}s, {mechanism} ({off:.1f})" for name, off in row.outside().items()
            ]
            print(lines[-1], flush=True)
        if given.write:
            write(given, lines, outside, refused)


if __name__ == "__main__":
    main()
