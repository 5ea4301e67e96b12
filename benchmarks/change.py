"""Measures the change of counts between versions: by priv.reconstructed_change, and as a difference of two estimates.

    python benchmarks/change.py --data FOLDER [--rounds 20] [--write]

FOLDER contains adult.parquet. Each round publishes its records with a new secret. Then one record in a hundred leaves,
one in a hundred gets another occupation, and one in a hundred becomes a year older. Both versions are queried for all
occupations, in the whole table and in its parts. The last line changes the table twice, and compares the last version
with the first.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb

import duckdb_priv
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results" / "CHANGE.md"
PUBLIC = ("age", "sex", "race")
VALUES = "getvariable('occupations')"


@dataclass(frozen=True)
class Setting:
    """A publication, and the queries on it."""

    mechanism: str
    given: str
    groups: str | None = None
    """The column by which the table is divided into parts."""
    steps: int = 1
    """The number of changes between the compared versions."""

    @property
    def reported(self) -> str:
        """The setting's name in the table."""
        parts = f"by {self.groups}" if self.groups else "the whole table"
        later = f", {self.steps} versions later" if self.steps > 1 else ""
        return f"| {self.mechanism}, {self.given.replace(':=', '=')} | {parts}{later} |"


SETTINGS = (
    *(Setting("uniform", f"epsilon := {epsilon}") for epsilon in (0.5, 1.0, 2.0)),
    Setting("uniform", "epsilon := 1.0", "sex"),
    Setting("uniform", "epsilon := 1.0", "race"),
    Setting("fine_grain", "rho1 := 0.1, rho2 := 0.32 to 0.58"),
    Setting("fine_grain", "rho1 := 0.1, rho2 := 0.32 to 0.58", "sex"),
    Setting("block_design", "epsilon := 1.0"),
    Setting("uniform", "epsilon := 1.0", steps=2),
)


def one_round(data: Path, setting: Setting, number: int) -> list[tuple[float, ...]]:
    """Return for each occupation the change's standard error, error and coverage, and the stderr of two estimates."""
    by = f"group_columns := {literal(setting.groups)}, " if setting.groups else ""
    part = f"{setting.groups}::VARCHAR" if setting.groups else "''"
    with tempfile.TemporaryDirectory() as folder, duckdb_priv.connect() as con:
        older, newer = (Path(folder) / f"{name}.duckdb" for name in ("older", "newer"))
        con.execute(
            "CREATE TABLE people AS SELECT row_number() OVER () AS id, * FROM"
            f" (SELECT {', '.join(PUBLIC)}, occupation FROM {literal(str(data / 'adult.parquet'))})"
        )
        con.execute(
            "CREATE TABLE occupations AS SELECT list(DISTINCT occupation ORDER BY occupation) AS every FROM people"
        )
        con.execute("SET VARIABLE occupations = (SELECT every FROM occupations)")
        # Fine grain computed from frequencies would have a different operator in each version.
        con.execute(
            "CREATE TABLE requirements AS SELECT unnest(every) AS value, 0.1 AS rho1,"
            " 0.3 + 0.02 * generate_subscripts(every, 1) AS rho2 FROM occupations"
        )
        given = (
            setting.given
            if setting.mechanism != "fine_grain"
            else "requirements := 'requirements', min_retention := 0.1"
        )
        con.execute(
            f"FROM priv.publish_{setting.mechanism}('people', 'people_public', sensitive := 'occupation',"
            f" record_id := 'id', {given}, domain := {VALUES})"
        )
        con.execute(f"CREATE TABLE before AS SELECT {part} AS part, occupation FROM people")
        con.execute("FROM priv.export_release('people_public', ?)", [str(older)])
        con.execute("FROM priv.export_release('people_public', ?)", [str(newer)])
        for step in range(setting.steps):
            which = f"{number}, {step}"
            con.execute(f"DELETE FROM people WHERE hash('leaves', {which}, id) % 100 = 0")
            con.execute(
                f"UPDATE people SET occupation = list_extract({VALUES}, 1 + (hash('value', {which}, id)"
                f" % len({VALUES}))::INTEGER) WHERE hash('changes', {which}, id) % 100 = 0"
            )
            con.execute(
                f"UPDATE people SET age = age + 1 WHERE hash('birthday', {which}, id) % 100 = 0"
            )
            con.execute("FROM priv.refresh('people_public')").fetchall()
        true = {
            (where, value): count
            for where, value, count in con.execute(
                "SELECT part, occupation, sum(sign) FROM (SELECT *, -1 AS sign FROM before"
                f" UNION ALL SELECT {part}, occupation, 1 FROM people) GROUP BY ALL"
            ).fetchall()
        }
        with duckdb.connect() as analyst:
            analyst.execute(f"ATTACH {literal(str(older))} AS older (READ_ONLY)")
            analyst.execute(f"ATTACH {literal(str(newer))} AS newer (READ_ONLY)")
            change = analyst.execute(
                f"SELECT {part}, value, estimate, stderr, low, high FROM"
                f" newer.priv.reconstructed_change('people_public', 'older', {by}database := 'newer')"
            ).fetchall()
            apart = {
                version: {
                    (where, value): stderr
                    for where, value, stderr in analyst.execute(
                        f"SELECT {part}, value, stderr FROM {version}.priv.reconstructed_distribution('people_public',"
                        f" {by}database := '{version}')"
                    ).fetchall()
                }
                for version in ("older", "newer")
            }
        return [
            (
                stderr,
                estimate - true.get((where, value), 0),
                float(low <= true.get((where, value), 0) <= high),
                (apart["older"][where, value] ** 2 + apart["newer"][where, value] ** 2) ** 0.5,
            )
            for where, value, estimate, stderr, low, high in change
        ]


def main() -> None:
    """Print the table, or write the results page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    lines = [
        "# The change of a count between two versions",
        "",
        f"Written by `python benchmarks/change.py --data FOLDER --rounds {given.rounds} --write`: Adult, 45,222"
        " records, by occupation, with age, sex and race as public columns; one in a hundred leaves, one has another"
        " value, one is a year older. `stderr` is what intervals are made of, `rms error` what was found; of two counts"
        " apart errors are added by squares.",
        "",
        "| release | counts | stderr of the change | rms error | intervals that hold the truth | stderr of two counts"
        " | ratio |",
        "|--|--|--|--|--|--|--|",
    ]
    for setting in SETTINGS:
        found = [row for n in range(given.rounds) for row in one_round(given.data, setting, n)]
        size = len(found)
        stderr, apart = (sum(row[place] for row in found) / size for place in (0, 3))
        error = (sum(row[1] ** 2 for row in found) / size) ** 0.5
        covered = sum(row[2] for row in found)
        lines.append(
            f"{setting.reported} {stderr:.1f} | {error:.1f} | {covered:.0f} of {size} | {apart:.1f}"
            f" | {apart / stderr:.1f} |"
        )
        print(lines[-1], flush=True)
    page = "\n".join(lines) + "\n"
    if given.write:
        RESULTS.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
