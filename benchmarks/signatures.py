"""Attacks the verification of signed releases with 1,000 changes of a release, and checks 200 honest copies of it.

Each change is drawn from one of ten families, with a random place and value, and must be refused with the publisher's
key. Each copy must be verified: the file, a folder of Parquet files, a database made from such a folder, and copies by
COPY FROM DATABASE in several storage formats, also with DuckDB 1.5.6 if it is installed.

    nice python benchmarks/signatures.py [--changes 1000] [--copies 200]
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

import duckdb_priv
from duckdb_priv.errors import InvalidReleaseFile, NotVerified
from duckdb_priv.publisher.signing import new_key, sign_file, signing_key
from duckdb_priv.sqltext.quoting import identifier, literal

ROOT = Path(__file__).parents[1]
OLDEST = ROOT / ".venv" / "duckdb-1.5.6"
PUBLISH = """
    CREATE TABLE visits AS SELECT id, id % 7 AS ward, DATE '2020-01-01' + (id % 9)::INTEGER AS day,
        ['asthma', 'cold', 'it''s; "flu"', NULL][1 + id * id % 23 % 4] AS disease
    FROM range(500) AS t(id);
    FROM priv.publish_uniform('visits', 'r', sensitive := 'disease', retention := 0.4, record_id := 'id',
        public := ['ward', 'day'], title := 'Visits');
"""
COPY = "import duckdb, sys; con = duckdb.connect(); con.execute(sys.argv[1])"
SET_UP = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute(open('setup.sql').read())"
STORAGE = ("v1.0.0", "v1.2.0", "v1.4.0", "v1.5.0", "latest")

Change = Callable[[duckdb.DuckDBPyConnection, random.Random], None]


def of_a_row(con: duckdb.DuckDBPyConnection, draw: random.Random) -> None:
    row = draw.randrange(500)
    con.execute(
        draw.choice(
            [
                f"UPDATE r SET ward = ward + {draw.randrange(1, 9)} WHERE rowid = {row}",
                f"UPDATE r SET day = day + {draw.randrange(1, 9)} WHERE rowid = {row}",
                "UPDATE r SET noisy_disease = CASE WHEN noisy_disease = 'cold' THEN 'asthma' ELSE 'cold' END"
                f" WHERE rowid = {row}",
                f"UPDATE r SET noisy_disease = if(noisy_disease IS NULL, 'cold', NULL) WHERE rowid = {row}",
                f"DELETE FROM r WHERE rowid = {row}",
                f"INSERT INTO r FROM r WHERE rowid = {row}",
            ]
        )
    )


def of_the_order(con: duckdb.DuckDBPyConnection, draw: random.Random) -> None:
    con.execute(
        f"CREATE TABLE k AS FROM r ORDER BY hash(rowid + {draw.randrange(10**6)});"
        " DELETE FROM r; INSERT INTO r FROM k; DROP TABLE k"
    )


def of_the_catalog(con: duckdb.DuckDBPyConnection, draw: random.Random) -> None:
    factor = 1 + draw.choice([-1, 1]) * 10 ** -draw.uniform(0.5, 9)
    con.execute(
        draw.choice(
            [
                f"UPDATE priv.coefficient SET own = own * {factor!r} WHERE position = {draw.randrange(4)}",
                f"UPDATE priv.coefficient SET other = other * {factor!r} WHERE position = {draw.randrange(4)}",
                f"UPDATE priv.guarantee SET value = value * {factor!r}",
                f"UPDATE priv.guarantee SET statement = statement || {literal(draw.choice('.! '))}",
                f"UPDATE priv.release SET title = {literal(draw.choice(['Visit', 'visits', 'Visits ']))}",
                "UPDATE priv.release SET created_at = created_at"
                f" + INTERVAL {draw.randrange(1, 10**6)} MICROSECOND",
                f"UPDATE priv.release SET version = version + {draw.randrange(1, 9)}",
                "UPDATE priv.attribute SET description = 'x' WHERE attribute = 'ward'",
                "UPDATE priv.release SET parameters = replace(parameters, '0.4', '0.5')",
                "DELETE FROM priv.guarantee WHERE rowid = 0",
            ]
        )
    )


def of_a_macro(con: duckdb.DuckDBPyConnection, draw: random.Random) -> None:
    """Replace a macro by one with the same parameters, but another number or another table."""
    schema, name, parameters, body, kind = draw.choice(
        con.execute(
            "SELECT schema_name, function_name, parameters, macro_definition, function_type FROM duckdb_functions()"
            " WHERE database_name = current_database() AND NOT internal AND macro_definition IS NOT NULL"
            " AND len(parameters) > 0 ORDER BY ALL"
        ).fetchall()
    )
    table = "TABLE " if kind == "table_macro" else ""
    other = draw.choice(
        [
            f"SELECT {draw.random()} AS a",
            "FROM read_text('/etc/hostname')",
            "SELECT 1 AS a WHERE false",
        ]
        if table
        else [
            str(draw.random()),
            "(SELECT content FROM read_text('/etc/hostname'))",
            f"({body}) + 0",
            "NULL",
        ]
    )
    try:
        con.execute(
            f"CREATE OR REPLACE MACRO {schema}.{identifier(name)}({', '.join(parameters)}) AS {table}{other}"
        )
    except duckdb.Error:
        con.execute(
            f"CREATE OR REPLACE MACRO {schema}.{identifier(name)}({', '.join(parameters)}) AS {table}"
            + ("SELECT 1 AS a" if table else "1")
        )


def of_a_view(con: duckdb.DuckDBPyConnection, draw: random.Random) -> None:
    schema, name = draw.choice(
        con.execute(
            "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = current_database()"
            " AND NOT internal AND view_name <> 'signature' ORDER BY ALL"
        ).fetchall()
    )
    con.execute(
        draw.choice(
            [
                f"CREATE OR REPLACE VIEW {schema}.{identifier(name)} AS SELECT {draw.randrange(10**6)} AS a",
                f"CREATE OR REPLACE VIEW {schema}.{identifier(name)} AS FROM read_text('/etc/hostname')",
                f"DROP VIEW {schema}.{identifier(name)}",
            ]
        )
    )


def of_a_comment(con: duckdb.DuckDBPyConnection, draw: random.Random) -> None:
    text = literal(f"call {draw.randrange(10**9)}")
    con.execute(
        draw.choice(
            [
                f"COMMENT ON COLUMN r.ward IS {text}",
                f"COMMENT ON TABLE r IS {text}",
                f"COMMENT ON TABLE priv.release IS {text}",
                f"COMMENT ON VIEW priv.card IS {text}",
                f"COMMENT ON MACRO priv.weight IS {text}",
            ]
        )
    )


def of_the_card(con: duckdb.DuckDBPyConnection, draw: random.Random) -> None:
    ((html,),) = con.execute("FROM priv.card").fetchall()
    place = draw.randrange(len(html))
    con.execute(
        f"CREATE OR REPLACE VIEW priv.card AS FROM (VALUES ({literal(html[:place] + 'x' + html[place:])})) AS t(html)"
    )


def something_more(con: duckdb.DuckDBPyConnection, draw: random.Random) -> None:
    name = f"more{draw.randrange(10**6)}"
    con.execute(
        draw.choice(
            [
                f"CREATE TABLE {name}(a INTEGER)",
                f"CREATE VIEW {name} AS FROM read_text('/etc/hostname')",
                f"CREATE MACRO {name}(a) AS a",
                f"CREATE MACRO estimated.{name}(a) AS TABLE SELECT a",
                f"CREATE TYPE {name} AS ENUM ('a')",
                f"CREATE INDEX {name} ON r(ward)",
                f"CREATE SEQUENCE {name}",
                f"CREATE SCHEMA {name}",
                f"ALTER TABLE r ADD COLUMN {name} INTEGER",
                "CREATE MACRO count(a) AS 7",
                "CREATE MACRO lower(a) AS a",
            ]
        )
    )


def of_the_signature(con: duckdb.DuckDBPyConnection, draw: random.Random) -> None:
    ((signed, made, public),) = con.execute("FROM priv.signature").fetchall()
    text = [signed, made, public]
    which = draw.randrange(2)
    place = draw.randrange(len(text[which]) - 2)
    other = "A" if text[which][place] != "A" else "B"
    text[which] = text[which][:place] + other + text[which][place + 1 :]
    values = ", ".join(map(literal, text))
    con.execute(
        draw.choice(
            [
                "CREATE OR REPLACE VIEW priv.signature AS FROM"
                f" (VALUES ({values})) AS t(signed, signature, public_key)",
                "DROP VIEW priv.signature",
            ]
        )
    )


FAMILIES: dict[str, Change] = {
    "a row": of_a_row,
    "the order of rows": of_the_order,
    "the catalog": of_the_catalog,
    "a macro": of_a_macro,
    "a view": of_a_view,
    "a comment": of_a_comment,
    "the card": of_the_card,
    "an object more": something_more,
    "the signature": of_the_signature,
}
OTHER_KEY = "signed with another key"


def changed(release: Path, place: Path, family: str, draw: random.Random, other: Path) -> None:
    shutil.copy(release, place)
    if family == OTHER_KEY:
        with duckdb.connect(str(place)) as con:
            of_a_row(con, draw)
            ((html,),) = con.execute("FROM priv.card").fetchall()
            con.execute("DROP VIEW priv.signature")
        sign_file(place, "r", html, signing_key(str(other)))
        return
    with duckdb.connect(str(place)) as con:
        FAMILIES[family](con, draw)


def by_database(release: Path, place: Path, storage: str, environment: dict[str, str]) -> Path:
    statements = (
        f"ATTACH '{release}' AS one (READ_ONLY); ATTACH '{place}' AS two (STORAGE_VERSION '{storage}');"
        " COPY FROM DATABASE one TO two; DETACH one; DETACH two"
    )
    subprocess.run([sys.executable, "-c", COPY, statements], check=True, env=environment)
    return place


def copies(folder: Path, work: Path) -> dict[str, Callable[[Path], Path]]:
    """List the ways to copy a release honestly, each a function of the copy's path."""
    release, parquet = folder / "r.duckdb", folder / "r"

    def set_up(place: Path) -> Path:
        subprocess.run([sys.executable, "-c", SET_UP, str(place)], check=True, cwd=parquet)
        return place

    found: dict[str, Callable[[Path], Path]] = {
        "the file": lambda place: Path(shutil.copy(release, place)),
        "the folder of Parquet files": lambda place: Path(
            shutil.copytree(parquet, place.with_suffix(""))
        ),
        "set up from the folder": set_up,
    }
    versions = {duckdb.__version__: dict(os.environ)}
    if OLDEST.is_dir() and duckdb.__version__ != "1.5.6":
        versions["1.5.6"] = {**os.environ, "PYTHONPATH": str(OLDEST)}
    for version, environment in versions.items():
        for storage in STORAGE:
            found[f"COPY FROM DATABASE by {version} as {storage}"] = (
                lambda place, storage=storage, environment=environment: by_database(
                    release, place, storage, environment
                )
            )
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--changes", type=int, default=1000)
    asked.add_argument("--copies", type=int, default=200)
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    draw, began = random.Random(given.seed), time.process_time()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for key in ("key", "other"):
            new_key(folder / key)
        with duckdb_priv.connect(secret=bytes(range(32))) as con:
            con.execute(PUBLISH)
            for path, form in (("r.duckdb", "duckdb"), ("r", "parquet")):
                con.execute(
                    "FROM priv.export_release('r', ?, format := ?, sign := true, key_file := ?)",
                    [str(folder / path), form, str(folder / "key")],
                ).fetchall()
        print(
            "# Changes and honest copies of a signed release\n\n| changed | tried | refused |\n|---|---|---|"
        )
        families = [*FAMILIES, OTHER_KEY]
        tried, refused = collections.Counter[str](), collections.Counter[str]()
        for number in range(given.changes):
            family, place = families[number % len(families)], folder / f"changed{number}.duckdb"
            changed(folder / "r.duckdb", place, family, draw, folder / "other")
            tried[family] += 1
            try:
                duckdb_priv.verify(place, folder / "key.pub")
                print(f"NOT NOTICED: {family}, number {number}", file=sys.stderr)
            except (NotVerified, InvalidReleaseFile):
                refused[family] += 1
            place.unlink()
        for family in families:
            print(f"| {family} | {tried[family]:,} | {refused[family]:,} |")
        print(f"| all | {tried.total():,} | {refused.total():,} |")
        print("\n| honest copy | tried | verified |\n|---|---|---|")
        ways = copies(folder, folder)
        tried, verified = collections.Counter[str](), collections.Counter[str]()
        for number in range(given.copies):
            way = [*ways][number % len(ways)]
            tried[way] += 1
            place = ways[way](folder / f"copy{number}.duckdb")
            try:
                found = duckdb_priv.verify(place, folder / "key.pub")
                verified[way] += bool(found.signed_by) and len(found.checked) == 3
            except (NotVerified, InvalidReleaseFile) as error:
                print(f"ACCUSED: {way}, number {number}: {error}", file=sys.stderr)
            shutil.rmtree(place) if place.is_dir() else place.unlink()
        for way in ways:
            print(f"| {way} | {tried[way]:,} | {verified[way]:,} |")
        print(f"| all | {tried.total():,} | {verified.total():,} |")
    print(
        f"\nDuckDB {duckdb.__version__}, seed {given.seed}, {time.process_time() - began:,.0f} s of CPU in this"
        " process."
    )
    print("Written by `benchmarks/signatures.py`.")
    if refused.total() < given.changes or verified.total() < given.copies:
        sys.exit(1)


if __name__ == "__main__":
    main()
