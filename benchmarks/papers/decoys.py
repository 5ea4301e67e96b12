"""What decoy groups and what they are compared with answer to count queries, on real tables.

Queries with one sensitive attribute name one to three public ones, as ``priv.workload`` draws them: small counts up
to 10, and large ones by their share of the rows. Queries with two ask for pairs of values, by their share.
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

import duckdb_priv
from benchmarks.splu import BAYESIAN, DECOYS, JOINT, publish, quoted, relative
from duckdb_priv.mechanism.arrays import Integers, Vector
from duckdb_priv.sqltext.quoting import identifier, literal

PAPER, ANATOMY, REDRAWN = "the paper's method", "Anatomy", "DBR"
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
CENSUS_SHARES = (0.005, 0.01, 0.02, 0.03, 0.04, 0.05)
VACCINE_SHARES = tuple(each / 100 for each in range(1, 10))
PAIR_SHARES = tuple(each / 1000 for each in range(1, 8))
"""Bounds of the bins of large counts, as shares of the rows, as the paper's figures have them."""
Errors = dict[str, dict[str, float]]
"""By method and size of the counts, the mean relative error."""


@dataclass(frozen=True)
class Table:
    """A table, and what is asked of it."""

    file: str
    sensitive: str
    public: str
    """Public columns, as they are selected."""
    shares: tuple[float, ...]
    """Bounds of the bins of large counts."""


CENSUS = Table(
    "census_500k.parquet",
    "occupation",
    "age, gender, education, marital, race, workclass",
    CENSUS_SHARES,
)

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from reference.splu_paper import paper_iterative, paper_joint  # noqa: E402

VACCINES = Table("vaers_reactions.parquet", "reaction", "sex", VACCINE_SHARES)


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
AGED = Pair("census_500k.parquet", "occupation", "age", f"{TENTHS} AS age")


@dataclass(frozen=True)
class Answered:
    """What the methods answer at one gamma."""

    size: str
    """What is asked for."""
    errors: Errors
    rounds: Integers
    """How many the paper's iteration takes, by query."""


Values = list[tuple[str, str, int]]


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
        sizes = _sizes(con, true, table.shares)
        found = {}
        for method, mechanism, more in (
            (DECOYS, "splu", f", gamma := {gamma}"),
            (ANATOMY, "anatomy", f", l := {gamma}, republish := true"),
        ):
            publish(con, mechanism, [table.sensitive], more)
            found[method] = _evaluated(con)
        publish(con, "distribution", [table.sensitive])
        found[REDRAWN] = _observed(con, table)["observed"]
        found[PAPER], rounds = _as_in_the_paper(con, table, gamma)
        found |= _noisy(con, true)
    errors = {
        method: {size: relative(estimate, true, chosen) for size, chosen in sizes.items()}
        for method, estimate in found.items()
    }
    return Answered(f"{queries:,} queries", errors, rounds)


def _draw(con: duckdb.DuckDBPyConnection, table: Table, queries: int) -> Vector:
    """Keep the questions, half of them small, numbered from 0, and return their true counts."""
    bins = zip(table.shares, table.shares[1:], strict=False)
    kinds = [(f"small_counts := {SMALL}", queries // 2)]
    each = queries // 2 // (len(table.shares) - 1)
    kinds += [(f"selectivity := [{low}, {high}]", max(each, 1)) for low, high in bins]
    con.execute(
        "CREATE TABLE drawn (conditions MAP(VARCHAR, VARCHAR), attribute VARCHAR, value VARCHAR, true_count BIGINT)"
    )
    for seed, (kind, number) in enumerate(kinds):
        try:
            con.execute(
                "INSERT INTO drawn SELECT conditions, attribute, value, true_count"
                f" FROM priv.workload('source', sensitive := '{table.sensitive}',"
                f" queries := {number}, seed := {seed}, {kind})"
            )
        except duckdb.Error as error:
            # A small table need not have counts of every size.
            if "no query over" not in str(error):
                raise
    con.execute("CREATE TABLE questions AS SELECT row_number() OVER () - 1 AS query, * FROM drawn")
    counts = con.execute("SELECT true_count FROM questions ORDER BY query").fetchnumpy()
    return counts["true_count"].astype(np.float64)


def _sizes(
    con: duckdb.DuckDBPyConnection, true: Vector, shares: Sequence[float]
) -> dict[str, NDArray[np.bool_]]:
    """Name the questions by size: small ones, and large ones by their share of the rows."""
    ((rows,),) = con.execute("SELECT count(*) FROM source").fetchall()
    large = (true > SMALL) & (true >= shares[0] * rows)
    found = {f"1 to {SMALL}": true <= SMALL}
    for low, high in itertools.pairwise(shares):
        found[percent(low, high)] = large & (true >= low * rows) & (true < high * rows)
    found[ALL_LARGE] = large
    return found


ALL_LARGE = "all of these"


def percent(low: float, high: float) -> str:
    """Name a bin of shares.

    >>> percent(0.005, 0.01), percent(0.01, 0.02)
    ('0.5-1%', '1-2%')
    """
    return f"{100 * low:g}-{100 * high:g}%"


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
    cells = _observed(con, table)
    ((rows,),) = con.execute("SELECT count(*) FROM release").fetchall()
    estimate, rounds = paper_iterative(
        cells["observed"], cells["subset"], cells["total"], rows, gamma
    )
    return np.where(cells["total"] > 0, estimate, 0), rounds[cells["subset"] > 0]


def _observed(con: duckdb.DuckDBPyConnection, table: Table) -> dict[str, Vector]:
    """Count what the release shows of each question: rows with the value, rows in the subset, rows with it anywhere."""
    shown = f"noisy_{table.sensitive}"
    asked = con.execute("SELECT DISTINCT list_sort(map_keys(conditions)) FROM questions").fetchall()
    counted = " UNION ALL ".join(_cells(names, shown) for (names,) in asked)
    cells = con.execute(
        f"WITH total AS (SELECT {shown}::VARCHAR AS value, count(*) AS n FROM release GROUP BY ALL)"
        " SELECT query, coalesce(observed, 0) AS observed, coalesce(subset, 0) AS subset, coalesce(total.n, 0) AS"
        " total"
        f" FROM questions LEFT JOIN ({counted}) AS cells USING (query)"
        " LEFT JOIN total ON total.value IS NOT DISTINCT FROM questions.value ORDER BY query"
    ).fetchnumpy()
    return {name: np.asarray(cells[name], np.float64) for name in ("observed", "subset", "total")}


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


@dataclass(frozen=True)
class Together:
    """What the methods answer for two attributes at one gamma."""

    errors: Errors
    rounds: Integers
    """How many rounds the paper's iteration takes, of random queries with one public column."""
    seconds: float
    """How long one of those takes, on average."""


def two_attributes(data: Path, queries: int, pair: Pair, gamma: int) -> Together:
    """Publish two attributes by every method; ask for pairs of values by their share, and iterate random queries."""
    both = [pair.one, pair.two]
    with duckdb_priv.connect() as con:
        con.execute(
            f"CREATE TABLE source AS SELECT {pair.one}, {pair.selected}, gender"
            f" FROM {literal(str(data / pair.file))}"
        )
        pairs, sizes = _pairs(con, pair, queries)
        true = np.array([float(n) for _, _, n in pairs])
        publish(con, "splu", both, f", gamma := {gamma}")
        found = {DECOYS: _products(con, pair, pairs), BAYESIAN: _bayesian(con, pair, pairs)}
        publish(con, "splu", both, _literally(gamma))
        found[PAPER], _ = paper_joint(patterns_of(con, pair, pairs), gamma)
        random = _random_patterns(con, pair, 10 * queries)
        started = time.process_time()
        _, rounds = paper_joint(random, gamma)
        seconds = (time.process_time() - started) / random.shape[2]
        publish(con, "anatomy", both, f", l := {gamma}, republish := true")
        found[ANATOMY] = _products(con, pair, pairs)
        publish(con, "distribution", both)
        found[REDRAWN] = patterns_of(con, pair, pairs)[0, -1]
    errors = {
        method: {size: relative(each, true, chosen) for size, chosen in sizes.items()}
        for method, each in found.items()
    }
    return Together(errors, rounds, seconds)


def _pairs(
    con: duckdb.DuckDBPyConnection, pair: Pair, queries: int
) -> tuple[Values, dict[str, NDArray[np.bool_]]]:
    """Choose pairs of values at random, as many in each bin of shares, and name the bins."""
    counted = con.execute(
        f"FROM (SELECT {pair.one}::VARCHAR AS a, {pair.two}::VARCHAR AS b, count(*) AS n FROM source"
        f" WHERE {pair.one} IS NOT NULL AND {pair.two} IS NOT NULL GROUP BY ALL) ORDER BY hash(a, b), 1, 2"
    ).fetchall()
    ((rows,),) = con.execute("SELECT count(*) FROM source").fetchall()
    bins = list(itertools.pairwise(PAIR_SHARES))
    chosen: list[tuple[str, tuple[str, str, int]]] = []
    for low, high in bins:
        inside = [each for each in counted if low * rows <= each[2] < high * rows]
        most = max(queries // len(bins), 1)
        chosen += [(percent(low, high), each) for each in inside[:most]]
    chosen = chosen or [(ALL_LARGE, each) for each in counted[:queries]]
    names = np.array([name for name, _ in chosen])
    sizes = {str(name): names == name for name in dict.fromkeys(names.tolist())}
    return [each for _, each in chosen], sizes | {ALL_LARGE: np.ones(len(chosen), np.bool_)}


def _random_patterns(con: duckdb.DuckDBPyConnection, pair: Pair, queries: int) -> Vector:
    """Count the patterns of random queries: the values and the gender of a record, as drawn by a hash."""
    columns = [f"noisy_{pair.one}", f"noisy_{pair.two}"]
    asked = con.execute(
        f"SELECT {pair.one}::VARCHAR, {pair.two}::VARCHAR, gender::VARCHAR FROM"
        f" (SELECT *, row_number() OVER () AS place FROM source WHERE {pair.one} IS NOT NULL AND {pair.two} IS NOT"
        " NULL)"
        f" ORDER BY hash(place) LIMIT {queries}"
    ).fetchall()
    rows = con.execute(
        f"SELECT {columns[0]}::VARCHAR AS a, {columns[1]}::VARCHAR AS b, gender::VARCHAR AS g, count(*) AS n"
        " FROM release GROUP BY ALL"
    ).fetchnumpy()
    number, patterns = rows["n"].astype(np.float64), []
    for a, b, gender in asked:
        held = _is(rows["a"], a) + 2 * _is(rows["b"], b) + 4 * (1 - _is(rows["g"], gender))
        patterns.append(np.bincount(held, number, minlength=8).reshape(2, 4))
    return np.moveaxis(np.array(patterns), 0, -1)


def _is(column: Any, value: str) -> Integers:
    found: Integers = np.ma.filled(column == value, False).astype(np.int64)
    return found


def _literally(gamma: int) -> str:
    """Write the arguments by which decoy groups are made as the paper says."""
    return f", gamma := {gamma}, \"grouping\" := 'largest_first', republish := true"


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
        held = _is(rows["a"], a) + 2 * _is(rows["b"], b)
        patterns.append(np.bincount(held, number, minlength=4))
    return np.array(patterns).T[np.newaxis]


def by_size(answered: Mapping[int, Answered | Together]) -> Iterator[Sequence[object]]:
    """Yield gamma, the method, and its errors by size."""
    for gamma, each in answered.items():
        for method, found in each.errors.items():
            yield gamma, method, *(f"{error:.3f}" for error in found.values())
