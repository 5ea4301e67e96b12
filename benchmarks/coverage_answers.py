"""Measures the coverage of intervals of sums, shares, differences, quotients and means, by query and true count.

    python benchmarks/coverage_answers.py [--repeat 200] [--only WORDS] [--write]

A table of 300 records in groups of 6 to 140 is published 200 times, as copies in one release whose records have
different ids and so independent noise. Decoy groups, which mix all records, are published as separate releases. Small
groups are 300 groups of some 13 records, in releases of 4,000. Every query runs in every group, with intervals of 95
and 99%, by functions or, if there is no function, by ordinary SQL. tests/contract/test_one_answer.py checks that both
give the same answers. Classes are by the true count of the value in the group. A cell passes with a coverage of at
least .94, or .98, and if no interval has the width 0; a star marks a cell that fails. Quotients are computed only if
the denominator is not 0. The tables also show the median width of intervals, in the unit of the query.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np

import duckdb_priv

RESULTS = Path(__file__).parent / "results" / "COVERAGE_ANSWERS.md"
CLASSES = (0, 1, 10)
WANTED = {0.95: 0.94, 0.99: 0.98}
RECORDS = """
    CREATE OR REPLACE TABLE records AS
    SELECT i AS id, {ward} AS ward,
        hash('half' || i) % 2 = 0 AS half, round(exp((hash('amount' || i) % 1000) / 250.0), 2)::DOUBLE AS amount,
        'v' || floor(16 * pow((hash('v' || i) % 1000) / 1000.0, 2))::INTEGER AS disease,
        'd' || (hash('d' || i) % 4) AS drug
    FROM range({records}) AS t(i)
"""
GROUPS = "[0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3][1 + (hash('ward' || i) % 12)::INTEGER]"
SMALL_GROUPS = "(hash('ward' || i) % 300)::INTEGER"
EXCHANGE = """
    CREATE TABLE exchange AS
    WITH v AS (SELECT disease, row_number() OVER (ORDER BY disease) AS i, count(*) OVER () AS m FROM records GROUP BY 1)
    SELECT a.disease AS original, b.disease AS published,
        CASE WHEN a.i = b.i THEN 0.6 WHEN abs(a.i - b.i) IN (1, a.m - 1) THEN 0.2 ELSE 0 END AS probability
    FROM v AS a, v AS b
"""
"""A matrix that keeps a value or replaces it by one of its two neighbours."""
VALUES = ("v1", "v9")
"""A frequent value, and a value that some groups do not have."""
ONE, TWO = "disease = '{value}'", "disease = 'v3'"
QUESTIONS = {
    "one value": ("interval", "'{value}'", f"count_if({ONE})", "true"),
    "several values": ("list_interval", "['{value}', 'v3']", f"count_if({ONE} OR {TWO})", "true"),
    "share": ("share", "'{value}'", f"count_if({ONE}) / count(*)", "true"),
    "difference": ("difference", "'{value}', 'v3'", f"count_if({ONE})::DOUBLE - count_if({TWO})", "true"),
    "ratio": ("ratio", "'{value}', 'v3'", f"count_if({ONE}) / count_if({TWO})", f"count_if({TWO}) > 0"),
    "groups": (
        "group_difference", "'{value}', half, NOT half",
        f"count_if({ONE} AND half)::DOUBLE - count_if({ONE} AND NOT half)", "true",
    ),
    "ratio of groups": (
        "group_ratio", "'{value}', half, NOT half", f"count_if({ONE} AND half) / count_if({ONE} AND NOT half)",
        f"count_if({ONE} AND NOT half) > 0",
    ),
    "difference of shares": (
        "share_difference", "'{value}', half, NOT half",
        f"count_if({ONE} AND half) / count_if(half) - count_if({ONE} AND NOT half) / count_if(NOT half)",
        "count_if(half) > 0 AND count_if(NOT half) > 0",
    ),
    "ratio of shares": (
        "share_ratio", "'{value}', half, NOT half",
        f"(count_if({ONE} AND half) / count_if(half)) / (count_if({ONE} AND NOT half) / count_if(NOT half))",
        f"count_if(half) > 0 AND count_if({ONE} AND NOT half) > 0",
    ),
    "sum": ("sum", "'{value}', amount", f"coalesce(sum(amount) FILTER ({ONE}), 0)", "true"),
    "signed sum": ("sum", "'{value}', amount - 10", f"coalesce(sum(amount - 10) FILTER ({ONE}), 0)", "true"),
    "mean": ("mean", "'{value}', amount", f"avg(amount) FILTER ({ONE})", f"count_if({ONE}) > 0"),
}  # fmt: skip
"""The queries by name: the function, its arguments, the true answer, and the condition under which it exists."""
WAYS = {
    "uniform, retention 0.5": ("uniform", "retention := 0.5"),
    "uniform, retention 0.3": ("uniform", "retention := 0.3"),
    "fine grain": ("fine_grain", "tolerance := 10, min_retention := 0.05"),
    "matrix": ("matrix", "matrix := 'exchange'"),
    "block design": ("block_design", "epsilon := 1.0"),
    "shuffled": ("shuffled", "epsilon := 1.0, delta := 1e-4"),
    "reconstruction private": (
        "reconstruction_private",
        "retention := 0.5, epsilon := 0.3, delta := 0.3, republish := true",
    ),
    "splu": ("splu", "gamma := 3, republish := true"),
    "uniform, two attributes": ("uniform", "retention := 0.5"),
    "splu, two attributes": ("splu", "gamma := 3, republish := true"),
    "uniform, retention 0.3, small groups": ("uniform", "retention := 0.3"),
    "block design, small groups": ("block_design", "epsilon := 1.0"),
    "splu, small groups": ("splu", "gamma := 3, republish := true"),
    "uniform, two attributes, small groups": ("uniform", "retention := 0.3"),
    "splu, two attributes, small groups": ("splu", "gamma := 3, republish := true"),
}
PRODUCTS = {
    "both": "disease = 'v1' AND drug = 'd0'",
    "one without the other": "disease = 'v1' AND drug <> 'd0'",
    "either": "disease = 'v1' OR drug = 'd0'",
}


def publish(con: duckdb.DuckDBPyConnection, way: str, copies: range) -> None:
    """Publish some copies of the table at once."""
    mechanism, arguments = WAYS[way]
    con.execute(
        "CREATE OR REPLACE TABLE source AS SELECT records.* REPLACE (copy * 1000000 + id AS id), copy"
        f" FROM records, range({copies.start}, {copies.stop}) AS t(copy)"
    )
    sensitive = "['disease', 'drug']" if "two" in way else "'disease'"
    public = (
        "['copy', 'ward']"
        if mechanism == "reconstruction_private"
        else "['copy', 'ward', 'half', 'amount']"
    )
    con.execute(
        f"FROM priv.publish_{mechanism}('source', 'release', sensitive := {sensitive}, record_id := 'id',"
        f" public := {public}, replace := true, {arguments})"
    ).fetchall()  # fmt: skip


def answers(con: duckdb.DuckDBPyConnection, way: str) -> Iterator[tuple[str, float, np.ndarray]]:
    """Yield for every query its name, the confidence, and arrays of true count, true answer, low and high."""
    mechanism, _ = WAYS[way]
    weight = ", weight := scale" if mechanism in ("reconstruction_private", "shuffled") else ""
    for confidence in WANTED:
        if "two" in way:
            for name, condition in PRODUCTS.items():
                con.execute(
                    "CREATE OR REPLACE TEMP TABLE truth AS SELECT copy, ward,"
                    f" count_if({condition}) AS n, count_if({condition})::DOUBLE AS truth, true AS has"
                    " FROM source GROUP BY ALL"
                )
                query = f"SELECT copy, ward, count_if({condition}) AS n FROM release GROUP BY ALL"
                sql = duckdb_priv.rewrite_sql(con, query, intervals=True, confidence=confidence)
                yield (
                    name,
                    confidence,
                    compared(con, f"SELECT copy, ward, n_low AS low, n_high AS high FROM ({sql})"),
                )
            continue
        asked = [(name, value, *each) for name, each in QUESTIONS.items() for value in VALUES]
        for name, value, function, arguments, truth, has in asked:
            if mechanism == "reconstruction_private" and (
                "half" in arguments or "amount" in arguments
            ):
                continue
            con.execute(
                (
                    f"CREATE OR REPLACE TEMP TABLE truth AS SELECT copy, ward, count_if({ONE}) AS n,"
                    f" ({truth})::DOUBLE AS truth, {has} AS has FROM source GROUP BY ALL"
                ).replace("{value}", value)
            )
            call = (
                f"priv.reconstructed_{function}('release', noisy_disease, {arguments}{weight},"
                f" confidence := {confidence})"
            ).replace("{value}", value)
            yield (
                name,
                confidence,
                compared(
                    con,
                    "SELECT copy, ward, i.low AS low, i.high AS high FROM"
                    f" (SELECT copy, ward, {call} AS i FROM release GROUP BY ALL)",
                ),
            )


def compared(con: duckdb.DuckDBPyConnection, query: str) -> np.ndarray:
    """Return the true count, the true answer and the ends of the interval of each answer."""
    found = con.execute(
        f"SELECT n, truth, low, high FROM truth JOIN ({query}) USING (copy, ward) WHERE has"
    ).fetchnumpy()
    return np.array([np.ma.filled(found[each], np.nan) for each in ("n", "truth", "low", "high")], float)  # fmt: skip


def measured(way: str, repeat: int) -> dict[tuple[str, float], np.ndarray]:
    """Publish and query; return all answers to each query."""
    secret = hashlib.sha256(way.encode()).digest()
    found: dict[tuple[str, float], list[np.ndarray]] = {}
    with duckdb_priv.connect(secret=secret) as con:
        small, apart = "small" in way, "splu" in way
        where = (
            {"ward": SMALL_GROUPS, "records": 4000} if small else {"ward": GROUPS, "records": 300}
        )
        con.execute(RECORDS.format(**where))
        con.execute(EXCHANGE)
        repeat = repeat // 20 if small else repeat
        step = 1 if apart else repeat
        # Separate releases take longer, so only a quarter of them is made.
        for first in range(0, repeat // 4 if apart and not small else repeat, step):
            publish(con, way, range(first, first + step))
            for name, confidence, each in answers(con, way):
                found.setdefault((name, confidence), []).append(each)
    return {key: np.concatenate(each, axis=1) for key, each in found.items()}


def row(way: str, name: str, found: dict[tuple[str, float], np.ndarray]) -> str:
    """Write a row of the table."""
    cells = []
    for number, least in enumerate(CLASSES):
        most = [*CLASSES[1:], np.inf][number]
        shares, width, times, short = [], 0.0, 0, False
        for confidence, wanted in WANTED.items():
            n, truth, low, high = found[name, confidence]
            chosen = (n >= least) & (n < most)
            times = int(chosen.sum())
            if not times:
                break
            inside = (low <= truth + 1e-6) & (truth - 1e-6 <= high)
            shares.append(inside[chosen].mean())
            short |= shares[-1] < wanted or bool(((high - low)[chosen] < 1e-9).any())
            width = width or float(np.median((high - low)[chosen]))
        text = " ".join(f"{each:.3f}" for each in shares)
        cells.append(f"{text}{'*' if short else ''} ({width:.1f}; {times:,})" if times else "")
    return f"| {way} | {name} | {' | '.join(cells)} |"


def main() -> None:
    """Measure each way to publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("--repeat", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    given = parser.parse_args()
    rows = [
        "| published | question | 0 | 1 to 9 | 10 and more |",
        "|---|---|---|---|---|",
    ]
    for way in WAYS:
        if given.only not in way:
            continue
        found = measured(way, given.repeat)
        for name in dict.fromkeys(name for name, _ in found):
            rows.append(row(way, name, found))
            print(rows[-1], flush=True)
    if given.write:
        text = "\n".join(rows)
        rest = __doc__.partition("[--write]\n")[2].strip()
        RESULTS.write_text(
            f"# Coverage of answers\n\nWritten by `python benchmarks/coverage_answers.py --repeat {given.repeat}"
            f" --write`.\n\n{rest}\n\nA cell: covered at 95% and 99%, in brackets the median width at 95% and how"
            f" many were asked.\n\n{text}\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
