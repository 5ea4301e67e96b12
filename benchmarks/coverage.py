"""Measures the coverage of intervals, by mechanism and by the size of the true count.

    python benchmarks/coverage.py --data FOLDER --results FILE [--only WORDS] [--write]

FOLDER contains census_500k.parquet. Every mechanism publishes the same few thousand records 200 times: as copies in one
release, whose records have different ids and so independent noise. If secret groups or published frequencies are part
of the noise, each repetition is a separate release. Every value is counted in the whole table, and in subsets of 20
records and more, with intervals of 95 and 99%. Secrets are derived from the name of the run, so that keyed noise can be
reproduced. The results of a run are added to FILE, one line for each class of true counts; a run whose results FILE has
is skipped. --write writes the results in FILE to benchmarks/results/COVERAGE.md, and keeps the other runs there.

A cell of mechanism and class passes with a coverage of at least .94, or .98. A single count fails only if its coverage
would be as low with probability below one in a million, if the true coverage were .94, or .98. For generalized samples,
which suppress small groups, only the upper ends of intervals are checked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import binom

import duckdb_priv

RESULTS = Path(__file__).parent / "results" / "COVERAGE.md"
CLASSES = (0, 1, 10, 100, 1000)
"""The lower bounds of the classes of true counts."""
WANTED = {0.95: 0.94, 0.99: 0.98}
"""The least required coverage, by confidence."""
CHANCE = 1e-6
SEED = 20261122
TITLE = """\
# Coverage of intervals

Written by `python benchmarks/coverage.py --write`. By true count: the shares of 95% and of 99% intervals that hold it,
and how many were asked for. A star: less than .94 or .98, by no more than three standard errors of so few answers. The
last column: counts that were covered less often than .94, and .98, by more than chance explains in all but one of a
million.

"""

INTERVAL = "priv.reconstructed_interval('release', noisy_disease, '{}', confidence := {})"
CENSUS = """
    SELECT row_number() OVER () AS id, (age::INTEGER // 20) AS age, gender::INTEGER AS gender,
        state::INTEGER AS state, {sensitive}::INTEGER AS disease
    FROM (SELECT *, row_number() OVER () AS place FROM '{folder}/census_500k.parquet') WHERE place % {every} = 0
"""


def synthetic(rows: int, values: int, skew: float, most: float, related: float) -> pa.Table:
    """Make records with Zipf-distributed values, no frequency above ``most``, and a correlated public column."""
    draw = np.random.default_rng(SEED)
    share = np.arange(1, values + 1.0) ** -skew
    while (share / share.sum()).max() > most:
        share = np.minimum(share / share.sum(), most * 0.98)
    value = draw.choice(values, rows, p=share / share.sum())
    age = np.where(draw.random(rows) < related, value % 8, draw.integers(8, size=rows))
    state = np.where(draw.random(rows) < related / 2, value % 40, draw.integers(40, size=rows))
    return pa.table(
        {
            "id": np.arange(rows), "age": age, "gender": draw.integers(2, size=rows),
            "state": state, "disease": value,
        }
    )  # fmt: skip


def matrix(shape: str) -> str:
    """Write the query of a matrix over the values of the source, which are numbered in their order."""
    law = {
        "next": "CASE WHEN i = j THEN 0.6 WHEN j = (i + 1) % m THEN 0.4 ELSE 0 END",
        "steep": "CASE WHEN i = j THEN 0.55 WHEN j = (i + 1) % m THEN 0.3 WHEN j = (i + 5) % m THEN 0.15 ELSE 0 END",
        "band": "CASE WHEN i = j THEN 0.6 WHEN abs(i - j) IN (1, m - 1) THEN 0.2 ELSE 0 END",
        "star": "CASE WHEN i = j THEN if(i = 0, 0.7, 0.6) WHEN j = 0 THEN 0.4 WHEN i = 0 THEN 0.3 / (m - 1) ELSE 0 END",
        "half": "CASE WHEN i = j THEN if(i < m // 2, 0.9, 0.4) WHEN i < m // 2 THEN 0.1 / (m - 1)"
        " WHEN j = (i + 1) % m THEN 0.6 ELSE 0 END",
        "dense": "0.5 / m + CASE WHEN i = j THEN 0.3 WHEN j = (i + 1) % m THEN 0.2 ELSE 0 END",
    }[shape]
    return (
        "WITH v AS (SELECT disease, row_number() OVER (ORDER BY disease) - 1 AS i FROM (SELECT DISTINCT disease FROM"
        " source)), n AS (SELECT count(*) AS m FROM v) SELECT a.disease AS original, b.disease AS published,"
        f" ({law})::DOUBLE AS probability FROM (SELECT disease, i FROM v) AS a, (SELECT disease, i AS j FROM v) AS b, n"
    )


@dataclass(frozen=True)
class Run:
    """A publication of a table, and the number of repetitions."""

    name: str
    mechanism: str
    arguments: str
    source: str = "occupation"
    apart: bool = False
    """Whether every repetition is a separate release, rather than a copy in one release."""
    repeat: int = 200
    matrix: str = ""
    weight: str = ""
    weighed: bool = True
    """Whether the weight is the number of records that a row represents, rather than its strength of perturbation."""
    public: tuple[str, ...] = ("age", "gender", "state")
    one_sided: bool = False
    """Whether records may be missing, so that only the upper ends of intervals are valid."""
    large: bool = False
    """Whether only the ten copies together are counted, whose counts are large."""


def runs() -> Iterator[Run]:
    """List all ways to publish: with small counts, with large counts, and as separate releases."""
    for run in ways():
        yield run
        # Large counts are few: they are published more often.
        yield replace(
            run, name=f"{run.name}, large", repeat=2000, public=("age", "gender"), large=True
        )
    for k, beta in ((5, 0.2), (10, 0.3)):
        yield Run(
            f"safe k, {k} at {beta}", "safe_k",
            f"k := {k}, beta := {beta}, epsilon := 1.0, hierarchies := 'levels',"
            " levels := {'age': 0, 'gender': 0, 'disease': 0}", "education", apart=True, repeat=50,
            weight=", weight := 'scale'", public=("age", "gender"), one_sided=True,
        )  # fmt: skip
    for mechanism, arguments, source, shape in (
        ("fine_grain", "tolerance := 20", "occupation", ""),
        ("matrix", "matrix := 'exchange'", "occupation", "half"),
        ("splu", "gamma := 2, republish := true", "skewed", ""),
        ("splu", "gamma := 5, republish := true", "flat", ""),
        ("splu", "gamma := 5, republish := true", "skewed", ""),
        ("splu", "gamma := 10, republish := true", "skewed", ""),
    ):
        name = f"{mechanism} {arguments.split(',')[0]}, {source}, releases"
        yield Run(name, mechanism, arguments, source, True, 50, shape)


def ways() -> Iterator[Run]:
    """List the ways to publish."""
    for retention in (0.1, 0.2, 0.5, 0.8):
        yield Run(f"uniform, retention {retention}", "uniform", f"retention := {retention}")
    yield Run("uniform, education", "uniform", "retention := 0.5", "education")
    for tolerance in (5, 10, 20):
        for least in ("", ", min_retention := 0.05"):
            name = f"fine grain, tolerance {tolerance}{least.replace(' :=', '')}"
            yield Run(name, "fine_grain", f"tolerance := {tolerance}{least}")
    yield Run("fine grain, education", "fine_grain", "tolerance := 10", "education")
    for shape in ("next", "steep", "band", "star", "half", "dense"):
        for source in ("education", "occupation"):
            name = f"matrix {shape}, {source}"
            yield Run(name, "matrix", "matrix := 'exchange'", source, matrix=shape)
    for retention in (0.2, 0.5):
        yield Run(
            f"reconstruction private, retention {retention}", "reconstruction_private",
            f"retention := {retention}, epsilon := 0.3, delta := 0.3, republish := true", "education",
            weight=", weight := 'scale'", public=("age", "gender"),
        )  # fmt: skip
    for epsilon in (0.5, 1.0):
        for source, public in (
            ("education", ("age", "gender", "state")),
            ("occupation", ("age", "gender")),
        ):
            yield Run(
                f"shuffled, epsilon {epsilon}, {source}", "shuffled",
                f"epsilon := {epsilon}, delta := 1e-6", source, weight=", weight := 'scale'",
                public=public, weighed=False,
            )  # fmt: skip
    for epsilon in (1.0, 2.2):
        arguments = f"epsilon := {epsilon}"
        yield Run(f"block design, epsilon {epsilon}", "block_design", arguments)
    for gamma in range(2, 11):
        for source in ("flat", "skewed"):
            arguments = f"gamma := {gamma}, republish := true"
            yield Run(f"splu, gamma {gamma}, {source}", "splu", arguments, source)


SYNTHETIC = {"flat": (3000, 24, 0.0, 1.0, 0.6), "skewed": (2000, 40, 1.0, 0.093, 0.6)}


class Coverage:
    """Publishes the releases of a run, queries them, and counts the covered true counts."""

    def __init__(self, run: Run, folder: Path) -> None:
        self.run = run
        secret = hashlib.sha256(f"{SEED} {run.name}".encode()).digest()
        self.connection = duckdb_priv.connect(secret=secret)
        if run.source in SYNTHETIC:
            self.connection.register("made", synthetic(*SYNTHETIC[run.source]))
            query = "FROM made"
        else:
            query = CENSUS.format(folder=folder, sensitive=run.source, every=200)
        self.connection.execute(f"CREATE TABLE records AS {query}")
        self.connection.execute(
            "CREATE TABLE answer (question VARCHAR, cell VARCHAR, value VARCHAR, size BIGINT, n BIGINT, total DOUBLE,"
            " estimate DOUBLE, low95 DOUBLE, high95 DOUBLE, low99 DOUBLE, high99 DOUBLE)"
        )

    def measure(self) -> list[dict[str, Any]]:
        """Publish, query, and return a line for each class of true counts."""
        run = self.run
        copies = 1 if run.apart else run.repeat
        public, sensitive = ["copy", "ten", *run.public], ", sensitive := 'disease'"
        if run.one_sided:
            # The groups of equal records that may be missing are known if all columns have few values.
            public, sensitive = [*run.public, "disease"], ""
        for first in range(0, run.repeat, copies):
            self.connection.execute(
                "CREATE OR REPLACE TABLE source AS SELECT records.* REPLACE (copy * 1000000 + id AS id), copy,"
                f" copy // 10 AS ten FROM records, range({first}, {first + copies}) AS t(copy)"
            )
            if run.one_sided:
                self.connection.execute(
                    "CREATE OR REPLACE TABLE levels AS SELECT DISTINCT attribute, value, 0 AS level,"
                    " value AS generalized"
                    f" FROM (UNPIVOT (SELECT COLUMNS({public})::VARCHAR FROM source) ON *"
                    " INTO NAME attribute VALUE value)"
                )
            if run.matrix:
                self.connection.execute(f"CREATE OR REPLACE TABLE exchange AS {matrix(run.matrix)}")
            self.connection.execute(
                f"FROM priv.publish_{run.mechanism}('source', 'release'{sensitive}, record_id := 'id', replace := true,"
                f" public := {public}, {run.arguments})"
            ).fetchall()
            if run.one_sided:
                self.ask("age", "")
                self.ask("gender", "")
                continue
            for by in () if run.large else ("", *run.public):
                self.ask("copy", by)
            if not run.apart:
                self.ask("ten", "")
                self.ask("ten", "gender")
        return list(self.summarize())

    def ask(self, repetition: str, by: str) -> None:
        """Return the interval and the true count of every value in every group."""
        groups, subset = (f"{repetition}, {by}", by) if by else (repetition, "'all'")
        # Generalized columns are text.
        key = "hash(" + ", ".join(f"{name}::VARCHAR" for name in groups.split(", ")) + ")"
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE truth AS SELECT {key} AS key, any_value({subset})::VARCHAR"
            " AS cell, disease::VARCHAR AS value, count(*) AS n, sum(count(*)) OVER (PARTITION BY key) AS size"
            f" FROM source GROUP BY {groups}, disease"
        )
        total = "sum(scale)" if self.run.weight and self.run.weighed else "count(*)"
        unknown, values = self.connection.execute(
            "SELECT count_if(coalesce(retention, 1) = 0), list(value) FILTER (coalesce(retention, 1) > 0)"
            " FROM priv.coefficient WHERE release = 'release'"
        ).fetchall()[0]
        if (unknown or 0) > 1:
            # Values with the same noise have no estimates, and then the distribution function fails.
            asked = ", ".join(
                f"{{value: '{value}', i: {INTERVAL.format(value, 0.95)}, j: {INTERVAL.format(value, 0.99)}}}"
                for value in values
            )
            answers = (
                "SELECT key, a.value AS value, a.i.estimate AS estimate, a.i.low AS low95, a.i.high AS high95,"
                f" a.j.low AS low99, a.j.high AS high99 FROM (SELECT {key} AS key, unnest([{asked}]) AS a"
                f" FROM release GROUP BY {groups})"
            )
        else:
            asked = "release.disease" if self.run.one_sided else "release"
            usual, wide = (
                f"(SELECT {key} AS key, * FROM priv.reconstructed_distribution('{asked}',"
                f" group_columns := '{groups}', confidence := {confidence}{self.run.weight}))"
                for confidence in WANTED
            )
            answers = (
                "SELECT key, i.value::VARCHAR AS value, i.estimate, i.low AS low95, i.high AS high95, j.low AS low99,"
                f" j.high AS high99 FROM {usual} AS i JOIN {wide} AS j USING (key, value)"
            )
        self.connection.execute(
            f"INSERT INTO answer SELECT '{groups}', g.cell, e.value, g.size, coalesce(t.n, 0), total, estimate, low95,"
            f" high95, low99, high99 FROM ({answers}) AS e"
            f" JOIN (SELECT {key} AS key, {total} AS total FROM release GROUP BY {groups}) AS r USING (key)"
            " JOIN (SELECT key, any_value(cell) AS cell, any_value(size) AS size FROM truth GROUP BY key) AS g"
            " USING (key) LEFT JOIN truth AS t ON t.key = e.key AND t.value = e.value"
        )

    def summarize(self) -> Iterator[dict[str, Any]]:
        """Count the covered true counts, by class of true counts."""
        above = "true OR" if self.run.one_sided else ""
        cells = self.connection.execute(
            "SELECT len(list_filter(?::BIGINT[], lambda least: least <= n)) - 1 AS class, question, cell, value, n,"
            " any_value(size) AS size, count(*) AS times,"
            f" count_if(({above} low95 <= n + 1e-6) AND n <= high95 + 1e-6) AS covered95,"
            f" count_if(({above} low99 <= n + 1e-6) AND n <= high99 + 1e-6) AS covered99,"
            " count_if(estimate IS NOT NULL AND greatest(least(estimate, total), 0)"
            " NOT BETWEEN low95 - 1e-6 AND high95 + 1e-6) AS outside,"
            " count_if(high95 - low95 < 1e-9 AND size > 0) AS narrow,"
            " avg(high95 - low95) AS width FROM answer"
            " WHERE size >= 20 GROUP BY ALL",
            [list(CLASSES)],
        ).fetchnumpy()
        for number, least in enumerate(CLASSES):
            chosen = cells["class"] == number
            if not chosen.any():
                continue
            times, line = cells["times"][chosen], {"run": self.run.name, "class": least}
            line |= {"counts": int(chosen.sum()), "answers": int(times.sum())}
            for confidence, wanted in WANTED.items():
                hits = cells[f"covered{confidence * 100:.0f}"][chosen].astype(int)
                tails = binom.cdf(hits, times, wanted)
                worst = int(np.argmin(tails))
                line[f"{confidence}"] = round(float(hits.sum() / times.sum()), 4)
                line[f"{confidence} worst"] = (
                    f"{hits[worst]} of {times[worst]}, {cells['question'][chosen][worst]}"
                    f" {cells['cell'][chosen][worst]}, value {cells['value'][chosen][worst]}:"
                    f" {cells['n'][chosen][worst]} of {int(cells['size'][chosen][worst])}"
                )
                line[f"{confidence} short"] = int((tails < CHANCE).sum())
            for name in ("outside", "narrow"):
                line[name] = int(cells[name][chosen].sum())
            line["width"] = round(float(np.average(cells["width"][chosen], weights=times)), 1)
            yield line


def found(path: Path) -> list[dict[str, Any]]:
    """Read the results of earlier runs."""
    return [json.loads(line) for line in path.open(encoding="utf-8")] if path.exists() else []


def written(text: str) -> list[dict[str, Any]]:
    """Read the results of runs from the written table, with three digits."""
    lines: list[dict[str, Any]] = []
    for row in text.partition("| run |")[2].splitlines()[2:]:
        run, *cells, short = (cell.strip() for cell in row.strip("|").split("|"))
        number = [int(each.replace(",", "")) for each in re.findall(r"[\d,]+", short)]
        for least, cell in zip(CLASSES, cells, strict=True):
            if cell:
                usual, wide, answers = re.findall(r"[\d.,]+", cell)
                line = {"run": run, "class": least, "0.95": float(usual), "0.99": float(wide)}
                line["answers"] = int(answers.replace(",", ""))
                # The table has counts for all classes together.
                line |= dict(zip(("0.95 short", "0.99 short", "counts"), number, strict=True))
                lines.append(line)
                number = [0, 0, 0]
    return lines


def reported(lines: list[dict[str, Any]]) -> str:
    """Write the coverage of 95% and 99% intervals over all lines; a star marks a shortfall that chance may explain."""
    answers = sum(line["answers"] for line in lines)
    shares = [sum(line[f"{c}"] * line["answers"] for line in lines) / answers for c in WANTED]
    few = any(
        share < wanted <= share + 3 * (wanted * (1 - wanted) / answers) ** 0.5
        for share, wanted in zip(shares, WANTED.values(), strict=True)
    )
    return " ".join(f"{share:.3f}" for share in shares) + f"{'*' if few else ''} ({answers:,})"


def table(lines: list[dict[str, Any]]) -> str:
    """Write all lines as two tables: a row for each mechanism, and a row for each run."""
    names = " | ".join(["0", "1 to 9", "10 to 99", "100 to 999", "1,000 and more"])
    parts = []
    for what, of in (("mechanism", mechanism_of), ("run", lambda line: line["run"])):
        rows = [f"| {what} | {names} | counts that fall short |", "|" + "---|" * 7]
        for name in sorted({of(line) for line in lines}):
            chosen = [line for line in lines if of(line) == name]
            cells = [
                reported(of_class)
                if (of_class := [line for line in chosen if line["class"] == least])
                else ""
                for least in CLASSES
            ]
            short = " and ".join(str(sum(line[f"{c} short"] for line in chosen)) for c in WANTED)
            counts = sum(line["counts"] for line in chosen)
            rows.append(f"| {name} | {' | '.join(cells)} | {short} of {counts:,} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def mechanism_of(line: dict[str, Any]) -> str:
    """Return the name of a run's mechanism."""
    name, *more = line["run"].split(", ")
    if name.startswith("splu"):
        form = "2x2" if "flat" in more else "conditional Poisson"
        return f"splu, {form}{', releases of their own' if 'releases' in more else ''}"
    if "min_retention 0.05" in line["run"]:
        return "fine grain, min_retention"
    return re.sub(r"^matrix .*", "matrix", re.sub(r"^safe k.*", "safe k, upper ends", name))


def main() -> None:
    """Measure each run and print a line for each class of true counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    given = parser.parse_args()
    for run in runs():
        if given.only not in run.name or run.name in {line["run"] for line in found(given.results)}:
            continue
        start = time.perf_counter()
        lines = Coverage(replace(run, repeat=given.repeat or run.repeat), given.data).measure()
        with given.results.open("a", encoding="utf-8") as file:
            for line in lines:
                print(json.dumps(line), file=file)
        print(run.name, f"{time.perf_counter() - start:.0f} s", flush=True)
        for line in lines:
            print("   ", line, flush=True)
    if given.write:
        lines = found(given.results)
        measured = {line["run"] for line in lines}
        before = written(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
        lines += [line for line in before if line["run"] not in measured]
        RESULTS.write_text(TITLE + table(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
