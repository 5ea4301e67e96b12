"""Releases of every mechanism, and the questions that are asked of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import duckdb

import duckdb_priv

STAYS = """
    CREATE TABLE stays AS
    SELECT i AS id, 20 + (hash('age' || i) % 6)::INTEGER * 10 AS age,
        ['north', 'south'][1 + (hash('ward' || i) % 2)::INTEGER] AS ward,
        ['none', 'flu', 'asthma', 'cancer', NULL][1 + (hash('disease' || i) % 5)::INTEGER] AS disease,
        (hash('drug' || i) % 3)::INTEGER AS drug
    FROM range({rows}) AS t(i)
"""
EXCHANGE = """
    CREATE TABLE exchange AS
    WITH disease AS (SELECT unnest(['none', 'flu', 'asthma', 'cancer', NULL]) AS value)
    SELECT a.value AS original, b.value AS published,
        CASE WHEN a.value IS NOT DISTINCT FROM b.value THEN 0.6 ELSE 0.1 END AS probability
    FROM disease a, disease b
"""
HIERARCHIES = """
    CREATE TABLE hierarchies AS
    SELECT attribute, value, level, CASE level WHEN 0 THEN value ELSE 'any' END AS generalized
    FROM (
        SELECT 'age' AS attribute, unnest(range(20, 80, 10))::VARCHAR AS value
        UNION ALL SELECT 'ward', unnest(['north', 'south'])
    ), (SELECT unnest([0, 1]) AS level)
"""
CALLS = {
    "uniform": "publish_uniform('stays', 'uniform', sensitive := 'disease', retention := 0.5",
    "two": "publish_uniform('stays', 'two', sensitive := ['disease', 'drug'], retention := 0.5",
    "fine_grain": "publish_fine_grain('stays', 'fine_grain', sensitive := 'disease', tolerance := 3,"
    " min_retention := 0.05",
    "matrix": "publish_matrix('stays', 'matrix', sensitive := 'disease', matrix := 'exchange'",
    "reconstruction_private": "publish_reconstruction_private('stays', 'reconstruction_private',"
    " sensitive := 'disease', retention := 0.5, epsilon := 0.3, delta := 0.3",
    "splu": "publish_splu('stays', 'splu', sensitive := 'disease', gamma := 3",
    "anatomy": "publish_anatomy('stays', 'anatomy', sensitive := 'disease', l := 3",
    "distribution": "publish_distribution('stays', 'distribution', sensitive := 'disease'",
    "shuffled": "publish_shuffled('stays', 'shuffled', sensitive := 'disease', epsilon := 1.0, delta := 1e-6",
    "block_design": "publish_block_design('stays', 'block_design', sensitive := 'disease', epsilon := 0.5",
    "safe_k": "publish_safe_k('stays', 'safe_k', k := 10, beta := 0.3, epsilon := 1.0,"
    " hierarchies := 'hierarchies', levels := {'age': 0, 'ward': 0}, exclude := ['disease', 'drug']",
}
"""By name of the release: how it is published."""

Answer = list[list[str | None]]
"""Rows of texts."""


@dataclass(frozen=True)
class Release:
    """One file, and how it is asked."""

    path: Path
    name: str
    attribute: str
    value: str
    scaled: bool

    @property
    def key(self) -> str:
        return f"{self.name}.{self.attribute}"

    @property
    def column(self) -> str:
        """The published column: that of a sensitive attribute holds what was reported."""
        return self.attribute if self.name == "safe_k" else f"noisy_{self.attribute}"

    @property
    def weight(self) -> str:
        return ", weight := scale" if self.scaled else ""

    @property
    def plain_count(self) -> str:
        holds = f"{self.column} = {self.value}"
        if self.name == "anatomy":
            holds = f"list_contains({self.column}, {self.value})"
        if self.name == "block_design":
            holds = f"{self.column} < 4"
        counted = f"count(*) FILTER ({holds})"
        return f"SELECT ward, ({counted})::VARCHAR FROM {self.name} GROUP BY ward"

    @property
    def reconstructed_count(self) -> str:
        estimate = (
            f"priv.reconstructed_count('{self.key}', {self.column}, {self.value}{self.weight})"
        )
        return f"SELECT ward, ({estimate})::VARCHAR FROM {self.name} GROUP BY ward"

    def questions(self, catalog: str = "") -> list[str]:
        """Ask everything, of the file that is opened, or that is attached under a name and not in use.

        Every answer is text: DuckDB writes a DOUBLE so that no other DOUBLE has the same text.
        """
        priv, table = (
            (f"{catalog}.priv", f"{catalog}.{self.name}") if catalog else ("priv", self.name)
        )
        key, weight = self.key, self.weight
        text_weight = ", weight := 'scale'" if self.scaled else ""
        row_weight = weight if self.name == "shuffled" else ""
        database = f", database := '{catalog}'" if catalog else ""
        aggregate = f"('{key}', {self.column}, {self.value}{weight}"
        asked = [
            f"SELECT ward, {priv}.reconstructed_count{aggregate}), {priv}.reconstructed_stderr{aggregate}),"
            f" unnest({priv}.reconstructed_interval{aggregate}, confidence := 0.9))"
            f" FROM {table} WHERE age <> '50' GROUP BY ward",
            f"FROM {priv}.reconstructed_distribution('{key}', group_columns := 'ward', condition := 'age > ''20'''"
            f"{text_weight}{database})",
            f"FROM {table}_{self.attribute}_estimates",
            f"SELECT age, {priv}.reconstructed_count{aggregate}) FROM {table} GROUP BY age",
            f"FROM {priv}.reconstructed_distribution('{key}'{text_weight}{database})",
            # Sums of numbers that are not whole come in any order.
            f"SELECT age, round(smoothed, 6) FROM {priv}.smoothed_count('{key}', {self.value}, group_columns := 'age',"
            f" condition := 'age > ''20'''{text_weight}{database})",
            f"SELECT sum({priv}.weight('{key}', {self.column}, {self.value}{row_weight})) FROM {table}",
            f"SELECT release, mechanism, rows_published FROM {priv}.release",
            f"SELECT * EXCLUDE (parameters) FROM {priv}.guarantee",
        ]
        if self.attribute == "disease":
            asked.append(
                f"SELECT ward, age, {priv}.reconstructed_count('{key}', {self.column}, NULL{weight})"
                f" FROM {table} GROUP BY ALL"
            )
        if not self.scaled:
            asked.append(
                f"SELECT {priv}.reconstructed_mle('{key}', {self.column}, {self.value}) FROM {table}"
            )
        return [f"SELECT COLUMNS(*)::VARCHAR FROM ({question}) ORDER BY ALL" for question in asked]

    @cached_property
    def answers(self) -> list[Answer]:
        """What this Python's own DuckDB answers, with the file opened plainly."""
        with duckdb.connect(os.fspath(self.path), read_only=True) as reader:
            return [
                [list(row) for row in reader.execute(question).fetchall()]
                for question in self.questions()
            ]


Connect = Callable[..., duckdb.DuckDBPyConnection]


def publish_all(
    folder: Path, *, rows: int = 6000, connect: Connect = duckdb_priv.connect
) -> dict[str, Release]:
    """Publish by every mechanism, and export each release to a file of its own.

    From a database of its own as well: where people were published before, they are looked up.
    """
    found = {}
    for name, call in CALLS.items():
        excluded = "" if "exclude" in call or name == "two" else ", exclude := ['drug']"
        path = folder / f"{name}.duckdb"
        with connect(secret=bytes(range(32))) as publisher:
            for statement in (STAYS.format(rows=rows), EXCHANGE, HIERARCHIES):
                publisher.execute(statement)
            publisher.execute(f"FROM priv.{call}, record_id := 'id'{excluded})").fetchall()
            publisher.execute("FROM priv.export_release(?, ?)", [name, str(path)]).fetchall()
        sampled = name == "safe_k"
        found[name] = Release(
            path,
            name,
            attribute="age" if sampled else "disease",
            value="'30'" if sampled else "'flu'",
            scaled=sampled or name in ("reconstruction_private", "shuffled"),
        )
    return found


def publish_years(folder: Path, *, connect: Connect = duckdb_priv.connect) -> dict[str, Release]:
    """Publish two releases of one name: other people, another retention, another domain."""
    found = {}
    for year, retention, domain in (
        ("y2025", 0.3, ["none", "flu", "asthma", "cancer", None]),
        ("y2026", 0.7, ["none", "flu", "asthma", "cancer", None, "unknown", "other"]),
    ):
        with connect(secret=bytes(range(32))) as publisher:
            publisher.execute(STAYS.format(rows=6000))
            publisher.execute(f"DELETE FROM stays WHERE hash('{year}' || id) % 3 = 0")
            publisher.execute(
                "FROM priv.publish_uniform('stays', 'stays_public', sensitive := 'disease', retention := ?,"
                " domain := ?, record_id := 'id', exclude := ['drug'])",
                [retention, domain],
            ).fetchall()
            path = folder / f"{year}.duckdb"
            publisher.execute("FROM priv.export_release('stays_public', ?)", [str(path)]).fetchall()
        found[year] = Release(path, "stays_public", "disease", "'flu'", scaled=False)
    return found


def enlarge(releases: Mapping[str, Release], folder: Path, times: int) -> dict[str, Release]:
    """Copy files, and write every published row of them several times."""
    found = {}
    for name, release in releases.items():
        path = folder / release.path.name
        shutil.copy(release.path, path)
        with duckdb.connect(str(path)) as writer:
            writer.execute(
                f"INSERT INTO {name} SELECT published.* FROM {name} published, range({times - 1})"
            )
        found[name] = replace(release, path=path)
    return found
