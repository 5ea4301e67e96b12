"""Publishes a table of all types by every keyed mechanism with Spark and DuckDB, and compares the releases.

    python benchmarks/spark_same.py                      a million records
    python benchmarks/spark_same.py --rows 100000 --only "decoy"
    python benchmarks/spark_same.py --write

Spark, its publisher and DuckDB use three different time zones. The program compares the rows with their multiplicity,
the marks of records and decoy groups, the catalog, the ledger, and the functions in the folders. A generalized sample
is drawn with a key for one publication only, so both get the same key here.

It needs PySpark 4 and Java 17 or newer.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

import duckdb
from pyspark.sql import DataFrame, SparkSession
from run import MILLION, versions
from spark_faults import SECRET, different_rows

import duckdb_priv
import duckdb_priv.spark
from duckdb_priv.engine import randomness
from duckdb_priv.engine.aggregates import Aggregates
from duckdb_priv.sqltext.quoting import identifiers, literal

RESULTS = Path(__file__).parent / "results" / "SPARK_SAME.md"
HEADER = """\
| mechanism | rows published | rows that differ | of {parts} tables of the publisher's, equal | functions equal |
|---|---|---|---|---|"""
ZONES = {"Spark": "Pacific/Auckland", "publisher": "Asia/Kolkata", "DuckDB": "America/New_York"}
STAYS = """
CREATE MACRO drawn(i, column_, values_) AS (hash(64 * i + column_) % values_)::INTEGER;
CREATE TABLE stays AS
SELECT TIMESTAMPTZ '1990-03-25 00:00:00+00' + INTERVAL (i // 2) HOUR AS arrived, 'bed ' || i % 2 AS bed,
    drawn(i, 1, 3) = 0 AS truth, (drawn(i, 2, 5) - 2)::TINYINT AS tiny, (drawn(i, 3, 7) * 100)::SMALLINT AS small,
    drawn(i, 4, 4) * 100000 AS whole, drawn(i, 5, 3) * 10000000000 AS large,
    (250 + drawn(i, 6, 6))::UTINYINT AS byte, (['0', '-0', '1.5', NULL])[1 + drawn(i, 7, 4)]::FLOAT AS single,
    (['0', '-0', '0.1', '1e300'])[1 + drawn(i, 8, 4)]::DOUBLE AS double,
    (drawn(i, 9, 6) / 4)::DECIMAL(9, 2) AS money,
    (['é', 'Ω', '', '日本', NULL])[1 + drawn(i, 10, 5)] AS word,
    DATE '0001-01-01' + drawn(i, 11, 3) * 1000000 AS day,
    TIMESTAMP '1969-12-31 23:59:59.999999' + INTERVAL (drawn(i, 12, 3)) MONTH AS moment,
    (['0', '-0', 'nan', 'inf', '-inf', NULL])[1 + drawn(i, 13, 6)]::DOUBLE AS measure,
    (18446744073709551610 + drawn(i, 14, 5))::UBIGINT AS huge, drawn(i, 15, 4)::DECIMAL(38, 10) AS exact,
    TIMESTAMPTZ '2026-10-25 00:30:00+00' + INTERVAL (drawn(i, 16, 3)) HOUR AS since,
    ('\\x00' || chr(65 + drawn(i, 17, 3)))::BLOB AS raw,
    ([[1, NULL], [], NULL, [NULL]])[1 + drawn(i, 18, 4)]::INTEGER[] AS list,
    {'a': drawn(i, 19, 2), 'b': nullif('x' || drawn(i, 20, 3), 'x0')} AS pair
FROM range({rows}) AS t(i)
"""
"""A table with every type whose values both engines write identically."""
TABLES = """
CREATE TABLE exchange AS
SELECT a AS original, b AS published, if(a IS NOT DISTINCT FROM b, 0.6, 0.1) AS probability
FROM (VALUES ('é'), ('Ω'), (''), ('日本'), (NULL)) AS s(a), (VALUES ('é'), ('Ω'), (''), ('日本'), (NULL)) AS t(b);
CREATE TABLE hierarchies AS
SELECT 'tiny' AS attribute, value::VARCHAR AS value, level, if(level = 0, value::VARCHAR, '*') AS generalized
FROM range(-2, 3) AS t(value), range(2) AS l(level)
UNION ALL SELECT 'word', value, level, if(level = 0, value, '*')
FROM (VALUES ('é'), ('Ω'), (''), ('日本'), (NULL)) AS t(value), range(2) AS l(level)
"""
TYPES = {"byte": "UTINYINT", "huge": "UBIGINT"}
"""The types of columns that Spark widens."""
EVERY = ["measure", "huge", "exact", "since", "raw", "list", "pair"]
SENSITIVE = [
    "truth", "tiny", "small", "whole", "large", "byte", "single", "double", "money", "word", "day", "moment",
]  # fmt: skip
FEW = ["measure", "since", "pair"]
"""Public columns with large groups."""
PRIVATE = {"sensitive": "word", "retention": 0.4, "epsilon": 0.3, "delta": 0.1, "public": FEW}
MECHANISMS: dict[str, tuple[str, dict[str, Any]]] = {
    "uniform": ("uniform", {"sensitive": SENSITIVE, "retention": 0.5, "public": EVERY}),
    "fine grain": ("fine_grain", {"sensitive": "word", "tolerance": 2, "public": EVERY}),
    "matrix": ("matrix", {"sensitive": "word", "matrix": "exchange", "public": EVERY}),
    "block design": ("block_design", {"sensitive": ["tiny", "word"], "epsilon": 1.0, "public": EVERY}),
    "reconstruction private": ("reconstruction_private", PRIVATE),
    "shuffled": (
        "shuffled",
        {"sensitive": ["word", "money"], "epsilon": 1.0, "delta": 1e-9, "public": FEW},
    ),
    "decoy groups": ("splu", {"sensitive": ["word", "whole"], "gamma": 3, "public": EVERY}),
    "safe k": (
        "safe_k",
        {"k": 20, "beta": 0.3, "epsilon": 1.0, "hierarchies": "hierarchies",
         "levels": {"tiny": 0, "word": 0}, "public": ["tiny", "word"]},
    ),
}  # fmt: skip
ID = {"record_id": ["arrived", "bed"]}
REPORTED = {
    "priv.release": "* EXCLUDE (created_at, previous_at)",
    "priv.attribute": "*",
    "priv.coefficient": "*",
    "priv.guarantee": "*",
    "priv.warning": "*",
    # Spark reads files, and the ledger says of which version they are.
    "priv.ledger": "* EXCLUDE (published_at, source_version)",
    "priv.mark": "*",
    "priv.grouped_mark": "*",
    "priv.seen": "*",
    "priv.seen_column": "*",
}
"""Tables that must be equal, besides the rows."""


@contextmanager
def publishers(stays: Path) -> Iterator[tuple[duckdb.DuckDBPyConnection, ...]]:
    """Open a publisher's database for Spark, and one with the table for DuckDB."""
    with duckdb_priv.connect(secret=SECRET) as mine, duckdb_priv.connect(secret=SECRET) as theirs:
        for connection, name in ((mine, "publisher"), (theirs, "DuckDB")):
            connection.execute(f"SET TimeZone = '{ZONES[name]}'; {TABLES}")
            connection.execute(
                "INSERT INTO priv.identity VALUES (?, TIMESTAMP '2026-01-01')", [SECRET]
            )
        theirs.execute(f"CREATE TABLE stays AS FROM {literal(str(stays))}")
        yield mine, theirs


def functions(folder: Path) -> list[Any]:
    """Return the functions in a release's folder without their timestamp."""
    with chdir(folder), duckdb.connect() as analyst:
        analyst.execute((folder / "setup.sql").read_text("utf-8"))
        return analyst.execute(
            "SELECT function_name, parameters, comment,"
            " replace(macro_definition, (SELECT created_at::VARCHAR FROM priv.release), '')"
            " FROM duckdb_functions() WHERE schema_name = 'priv' ORDER BY ALL"
        ).fetchall()


def compare(frame: DataFrame, stays: Path, mechanism: str, folder: Path) -> str:
    """Publish with both engines, and list the differences."""
    method, arguments = MECHANISMS[mechanism]
    given = ID | arguments
    stated = ", ".join(f"{name} := {value!r}" for name, value in given.items())
    with publishers(stays) as (mine, theirs):
        with (
            mock.patch.object(randomness, "new_secret", return_value=SECRET),
            mock.patch.object(Aggregates, "rereads", method == "safe_k"),
        ):
            duckdb_priv.spark.publish(
                mine, frame, method, source="stays", release="r", path=folder / "mine", types=TYPES, **given
            )  # fmt: skip
            theirs.execute(f"FROM priv.publish_{method}('stays', 'r', {stated})").fetchall()
        theirs.execute(
            "FROM priv.export_release('r', ?, format := 'parquet')", [str(folder / "theirs")]
        ).fetchall()
        of_spark = f"(FROM {literal(f'{folder}/mine/data/*.parquet')})"
        of_duckdb = f"(SELECT {identifiers(duckdb.sql(f'FROM {of_spark}').columns)} FROM r)"
        ((number,),) = theirs.execute(f"SELECT count(*) FROM {of_spark}").fetchall()
        other = different_rows(theirs, of_spark, of_duckdb)
        equal = 0
        for table, reported in REPORTED.items():
            found = [
                each.execute(f"SELECT {reported} FROM {table}").fetchall()
                for each in (mine, theirs)
            ]
            one, two = (sorted(map(repr, each)) for each in found)
            equal += one == two
        same = functions(folder / "mine") == functions(folder / "theirs")
    return f"| {mechanism} | {number:,} | {other} | {equal} | {'yes' if same else '**no**'} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=MILLION)
    parser.add_argument("--only", default="", help="the mechanisms whose name contains this")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": ZONES["Spark"],
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    header = HEADER.format(parts=len(REPORTED))
    print(header, flush=True)
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stays = folder / "stays.parquet"
        with duckdb.connect() as connection:
            connection.execute(STAYS.replace("{rows}", str(options.rows)))
            connection.execute(f"COPY stays TO {literal(str(stays))}")
        for mechanism in MECHANISMS:
            if options.only in mechanism:
                place = folder / mechanism
                place.mkdir()
                frame = session.read.parquet(str(stays)).repartition(5)
                lines.append(compare(frame, stays, mechanism, place))
                print(lines[-1], flush=True)
    session.stop()
    if options.write:
        zones = ", ".join(f"{name} in {zone}" for name, zone in ZONES.items())
        text = [
            "# The same releases from Spark and from DuckDB",
            "",
            f"Written by `python benchmarks/spark_same.py --write`. {versions()}",
            "",
            f"A table of {options.rows:,} records and all types; {zones}.",
            "",
            header,
            *lines,
        ]
        RESULTS.write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
