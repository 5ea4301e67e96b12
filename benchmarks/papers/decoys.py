"""What decoy groups and what they are compared with answer to count queries, on real tables.

Queries with one sensitive attribute name one to three public ones, as ``priv.workload`` draws them: small counts up
to 10, and large ones from 0.05% of the rows on. Queries with two ask for the most frequent pairs of values.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

import duckdb_priv
from benchmarks.splu import BAYESIAN, DECOYS, JOINT, publish, quoted, relative
from duckdb_priv.mechanism.arrays import Integers, Vector
from duckdb_priv.sqltext.quoting import identifier, literal

PAPER, ANATOMY, REDRAWN = "the paper's method", "Anatomy", "redrawn"
LAPLACE = {"Laplace, ln 2": math.log(2), "Laplace, ln 3": math.log(3)}
"""By name: the epsilon of each count."""
MARKS = {
    DECOYS: "C0o-",
    BAYESIAN: "C9^-",
    PAPER: "C3s--",
    ANATOMY: "C1v:",
    REDRAWN: "C2D:",
    "Laplace, ln 2": "C4x-.",
    "Laplace, ln 3": "C5+-.",
}
"""By method, how it is drawn."""
SMALL = 10
SHARES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025)
"""Bounds of the bins of large counts, as shares of the rows; the last bin is open."""
LARGE = 0.005
"""From which share of the rows on a count is a large one."""
Errors = dict[str, dict[str, float]]
"""By method and size of the counts, the mean relative error."""
FROM_LARGE = f"{LARGE:.1%} and more"


@dataclass(frozen=True)
class Table:
    """A table, and what is asked of it."""

    file: str
    sensitive: str
    public: str
    """Public columns, as they are selected."""


CENSUS = Table(
    "census_500k.parquet", "occupation", "age, gender, education, marital, race, workclass"
)

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from reference.splu_paper import paper_iterative, paper_joint  # noqa: E402

VACCINES = Table("vaers_reactions.parquet", "reaction", "sex")


@dataclass(frozen=True)
class Pair:
    """Two sensitive attributes that are asked for together."""

    file: str
    one: str
    two: str
    selected: str
    """How the second is selected."""


TENTHS = """
    floor(10 * (count(*) OVER (ORDER BY age) - count(*) OVER (PARTITION BY age) / 2) / count(*) OVER ())::INTEGER
"""
"""Ten classes of age with about as many records each."""
EDUCATED = Pair("census_500k.parquet", "occupation", "education", "education")
AGED = Pair("census_500k.parquet", "occupation", "age", f"{TENTHS} AS age")
VACCINATED = Pair("vaers_reactions.parquet", "reaction", "vax_type", "vax_type")
PAIRS = {AGED: (2, 5, 8), VACCINATED: (2, 3, 4), EDUCATED: (2, 3)}
"""By pair: values of gamma that both attributes allow."""


@dataclass(frozen=True)
class Answered:
    """What the methods answer at one gamma."""

    size: str
    """What is asked for."""
    errors: Errors
    rounds: Integers
    """How many the paper's iteration takes, by query."""


def one_attribute(
    data: Path, queries: int, table: Table, gamma: int, rows: int | None = None
) -> Answered:
    """Publish a table, or so many of its rows, by every method, and ask for small and for large counts."""
    with duckdb_priv.connect() as con:
        limit = "" if rows is None else f" ORDER BY hash(number) LIMIT {rows}"
        con.execute(
            f"CREATE TABLE source AS SELECT {table.sensitive}, {table.public} FROM (SELECT *, row_number() OVER ()"
            f" AS number FROM {literal(str(data / table.file))}){limit}"
        )
        true = _draw(con, table, queries)
        sizes = _sizes(con, true)
        found = {}
        for method, mechanism, more in (
            (DECOYS, "splu", f", gamma := {gamma}"),
            (ANATOMY, "anatomy", f", l := {gamma}, republish := true"),
            (REDRAWN, "distribution", ""),
        ):
            publish(con, mechanism, [table.sensitive], more)
            found[method] = _evaluated(con)
        found[PAPER], rounds = _as_in_the_paper(con, table, gamma)
        found |= _noisy(con, true)
    errors = {
        method: {size: relative(estimate, true, chosen) for size, chosen in sizes.items()}
        for method, estimate in found.items()
    }
    return Answered(f"{queries:,} queries", errors, rounds)


def _draw(con: duckdb.DuckDBPyConnection, table: Table, queries: int) -> Vector:
    """Keep the questions, half of them small, numbered from 0, and return their true counts."""
    kinds = (f"small_counts := {SMALL}", f"selectivity := [{SHARES[0]}, 1]")
    drawn = " UNION ALL ".join(
        "SELECT conditions, attribute, value, true_count"
        f" FROM priv.workload('source', sensitive := '{table.sensitive}',"
        f" queries := {queries // 2}, seed := {seed}, {kind})"
        for seed, kind in enumerate(kinds)
    )
    con.execute(
        f"CREATE TABLE questions AS SELECT row_number() OVER () - 1 AS query, * FROM ({drawn})"
    )
    counts = con.execute("SELECT true_count FROM questions ORDER BY query").fetchnumpy()
    return counts["true_count"].astype(np.float64)


def _sizes(con: duckdb.DuckDBPyConnection, true: Vector) -> dict[str, NDArray[np.bool_]]:
    """Name the questions by size: small ones, bins of large ones by their share of the rows, and the largest."""
    ((rows,),) = con.execute("SELECT count(*) FROM source").fetchall()
    found = {f"1 to {SMALL}": true <= SMALL}
    for low, high in zip(SHARES, (*SHARES[1:], 1.0), strict=True):
        name = f"{low:.2%} and more" if high == 1 else f"{low:.2%} to {high:.2%}"
        found[name] = (true > SMALL) & (true >= low * rows) & (true < high * rows)
    found[FROM_LARGE] = true >= LARGE * rows
    return found


def _evaluated(con: duckdb.DuckDBPyConnection) -> Vector:
    """Ask the release the questions, as its readers would."""
    answers = con.execute(
        "SELECT estimate FROM priv.evaluate('source', 'release', workload := 'questions') ORDER BY query"
    ).fetchnumpy()["estimate"]
    return np.ma.filled(answers.astype(np.float64), np.nan)


def _as_in_the_paper(
    con: duckdb.DuckDBPyConnection, table: Table, gamma: int
) -> tuple[Vector, Integers]:
    """Publish and reconstruct as the paper says; return the estimates and the rounds of the large ones."""
    publish(con, "splu", [table.sensitive], _literally(gamma))
    shown = f"noisy_{table.sensitive}"
    asked = con.execute("SELECT DISTINCT list_sort(map_keys(conditions)) FROM questions").fetchall()
    counted = " UNION ALL ".join(_cells(names, shown) for (names,) in asked)
    cells = con.execute(
        f"WITH total AS (SELECT {shown}::VARCHAR AS value, count(*) AS n FROM release GROUP BY ALL)"
        f" SELECT query, coalesce(observed, 0) AS observed, coalesce(subset, 0) AS subset, total.n AS total"
        f" FROM questions LEFT JOIN ({counted}) AS cells USING (query)"
        " JOIN total ON total.value IS NOT DISTINCT FROM questions.value ORDER BY query"
    ).fetchnumpy()
    ((rows,),) = con.execute("SELECT count(*) FROM release").fetchall()
    place = cells["query"].astype(np.int64)
    ((number,),) = con.execute("SELECT count(*) FROM questions").fetchall()
    # A value that the release does not show counts nobody.
    estimate, rounds = np.zeros(number), np.zeros(number, np.int64)
    estimate[place], rounds[place] = paper_iterative(
        *(cells[name].astype(np.float64) for name in ("observed", "subset", "total")), rows, gamma
    )
    return estimate, rounds[place][cells["subset"] > 0]


def _cells(names: Sequence[str], shown: str) -> str:
    """Write the query that counts what the questions over these columns ask of the release."""
    columns = ", ".join(identifier(name) for name in names)
    same = " AND ".join(
        f"r.{identifier(name)}::VARCHAR IS NOT DISTINCT FROM q.conditions[{literal(name)}]"
        for name in names
    )
    return (
        "SELECT query, sum(n) FILTER (r.shown IS NOT DISTINCT FROM q.value) AS observed, sum(n) AS subset"
        f" FROM questions AS q JOIN (SELECT {columns}, {shown}::VARCHAR AS shown, count(*) AS n FROM release"
        f" GROUP BY ALL) AS r ON {same} WHERE list_sort(map_keys(conditions)) = {list(names)!r} GROUP BY query"
    )


def _noisy(con: duckdb.DuckDBPyConnection, true: Vector) -> dict[str, Vector]:
    """Answer with Laplace noise."""
    return {
        method: con.execute(
            "SELECT priv.laplace_count(n::BIGINT, ?) AS n FROM (SELECT unnest(?::DOUBLE[]) AS n)",
            [epsilon, true.tolist()],
        )
        .fetchnumpy()["n"]
        .astype(np.float64)
        for method, epsilon in LAPLACE.items()
    }


def two_attributes(data: Path, number: int, pair: Pair, gamma: int) -> Answered:
    """Publish two attributes by every method, and ask for so many of their most frequent pairs of values."""
    both = [pair.one, pair.two]
    with duckdb_priv.connect() as con:
        con.execute(
            f"CREATE TABLE source AS SELECT {pair.one}, {pair.selected} FROM {literal(str(data / pair.file))}"
        )
        pairs = con.execute(
            f"SELECT {pair.one}::VARCHAR, {pair.two}::VARCHAR, count(*) AS n FROM source WHERE {pair.one} IS NOT NULL"
            f" AND {pair.two} IS NOT NULL GROUP BY ALL ORDER BY n DESC, 1, 2 LIMIT {number}"
        ).fetchall()
        true = np.array([float(n) for _, _, n in pairs])
        publish(con, "splu", both, f", gamma := {gamma}")
        found = {DECOYS: _products(con, pair, pairs), BAYESIAN: _bayesian(con, pair, pairs)}
        publish(con, "splu", both, _literally(gamma))
        found[PAPER], rounds = paper_joint(patterns_of(con, pair, pairs), gamma)
        publish(con, "anatomy", both, f", l := {gamma}, republish := true")
        found[ANATOMY] = _products(con, pair, pairs)
        publish(con, "distribution", both)
        found[REDRAWN] = _products(con, pair, pairs)
        found |= _noisy(con, true)
    size = f"the {number} most frequent pairs, {true.min():,.0f} to {true.max():,.0f} records"
    everything = np.ones(true.shape, np.bool_)
    errors = {method: {size: relative(each, true, everything)} for method, each in found.items()}
    return Answered(size, errors, rounds)


def _literally(gamma: int) -> str:
    """Write the arguments by which decoy groups are made as the paper says."""
    return f", gamma := {gamma}, \"grouping\" := 'largest_first', republish := true"


Values = list[tuple[str, str, int]]


def _products(con: duckdb.DuckDBPyConnection, pair: Pair, pairs: Values) -> Vector:
    """Sum the products of weights."""
    asked = ", ".join(
        f"sum(n * priv.weight('release.{pair.one}', noisy_{pair.one}, '{a}') *"
        f" priv.weight('release.{pair.two}', noisy_{pair.two}, '{b}'))"
        for a, b in quoted(pairs)
    )
    shown = f"SELECT noisy_{pair.one}, noisy_{pair.two}, count(*) AS n FROM release GROUP BY ALL"
    return np.array(con.execute(f"SELECT {asked} FROM ({shown})").fetchall()[0], np.float64)


def _bayesian(con: duckdb.DuckDBPyConnection, pair: Pair, pairs: Values) -> Vector:
    """Ask for each pair by the iterative method, run to convergence."""
    return np.array(
        [
            con.execute(
                "SELECT estimate " + JOINT.format(pair.one, pair.two, f"['{a}', '{b}']", "")
            ).fetchall()[0][0]
            for a, b in quoted(pairs)
        ]
    )


def patterns_of(con: duckdb.DuckDBPyConnection, pair: Pair, pairs: Values) -> Vector:
    """Count, for each pair, the published records that show neither value, the first, the second, and both."""
    columns = [f"noisy_{pair.one}", f"noisy_{pair.two}"]
    rows = con.execute(
        f"SELECT {columns[0]}::VARCHAR AS a, {columns[1]}::VARCHAR AS b, count(*) AS n FROM release GROUP BY ALL"
    ).fetchnumpy()
    number = rows["n"].astype(np.float64)
    patterns = []
    for a, b, _ in pairs:
        first, second = rows["a"] == a, rows["b"] == b
        held = np.ma.filled(first, False) + 2 * np.ma.filled(second, False).astype(np.int64)
        patterns.append(np.bincount(held, number, minlength=4))
    return np.array(patterns).T[np.newaxis]


def by_size(answered: Mapping[int, Answered]) -> Iterator[Sequence[object]]:
    """Yield gamma, the method, and its errors by size."""
    for gamma, each in answered.items():
        for method, found in each.errors.items():
            yield gamma, method, *(f"{error:.3f}" for error in found.values())
