"""The change of a count between two versions: with the noise that both share left out, and as two counts apart.

    python benchmarks/change.py --data FOLDER [--rounds 20] [--write]

FOLDER holds adult.parquet. Each round publishes its records with a secret of its own, lets one in a hundred leave and
one in a hundred have another occupation, and asks both versions for all occupations.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import duckdb

import duckdb_priv
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results" / "CHANGE.md"
EPSILONS = (0.5, 1.0, 2.0)
PUBLIC = ("sex", "race")
APART = """
    SELECT value, sqrt(n.stderr ** 2 + o.stderr ** 2) AS stderr
    FROM newer.priv.reconstructed_distribution('people_public', database := 'newer') AS n
    JOIN older.priv.reconstructed_distribution('people_public', database := 'older') AS o USING (value)
"""


def one_round(data: Path, epsilon: float, number: int) -> list[tuple[float, ...]]:
    """Return, by occupation: stderr and error of the change, whether it is covered, and the stderr of two counts."""
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
        con.execute(
            "FROM priv.publish_uniform('people', 'people_public', sensitive := 'occupation', record_id := 'id',"
            f" epsilon := {epsilon}, domain := getvariable('occupations'))"
        )
        con.execute(
            "CREATE TABLE before AS SELECT occupation, count(*) AS records FROM people GROUP BY ALL"
        )
        con.execute("FROM priv.export_release('people_public', ?)", [str(older)])
        con.execute("FROM priv.export_release('people_public', ?)", [str(newer)])
        con.execute(f"DELETE FROM people WHERE hash('leaves', {number}, id) % 100 = 0")
        con.execute(
            "UPDATE people SET occupation = list_extract(getvariable('occupations'),"
            f" 1 + (hash('value', {number}, id) % len(getvariable('occupations')))::INTEGER)"
            f" WHERE hash('changes', {number}, id) % 100 = 0"
        )
        con.execute("FROM priv.refresh('people_public')").fetchall()
        true = dict(
            con.execute(
                "SELECT occupation, (SELECT count(*) FROM people WHERE people.occupation = before.occupation) - records"
                " FROM before"
            ).fetchall()
        )
        with duckdb.connect() as analyst:
            analyst.execute(f"ATTACH {literal(str(older))} AS older (READ_ONLY)")
            analyst.execute(f"ATTACH {literal(str(newer))} AS newer (READ_ONLY)")
            change = analyst.execute(
                "SELECT value, estimate, stderr, low, high FROM"
                " newer.priv.reconstructed_change('people_public', 'older', database := 'newer')"
            ).fetchall()
            apart = dict(analyst.execute(APART).fetchall())
        return [
            (
                stderr,
                estimate - true[value],
                float(low <= true[value] <= high),
                apart[value],
            )
            for value, estimate, stderr, low, high in change
        ]


def main() -> None:
    """Print the table, or keep it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    lines = [
        "# The change of a count between two versions",
        "",
        f"Written by `python benchmarks/change.py --data FOLDER --rounds {given.rounds} --write`: Adult, 45,222"
        " records, by occupation, with uniform perturbation; one in a hundred leaves, one has another value."
        " `stderr` is what intervals are made of, `rms error` what was found; of two counts apart errors are added by"
        " squares.",
        "",
        "| epsilon | stderr of the change | rms error | intervals that hold the truth | stderr of two counts | ratio |",
        "|--|--|--|--|--|--|",
    ]
    for epsilon in EPSILONS:
        found = [row for n in range(given.rounds) for row in one_round(given.data, epsilon, n)]
        size = len(found)
        stderr, apart = (sum(row[place] for row in found) / size for place in (0, 3))
        error = (sum(row[1] ** 2 for row in found) / size) ** 0.5
        covered = sum(row[2] for row in found)
        lines.append(
            f"| {epsilon:g} | {stderr:.1f} | {error:.1f} | {covered:.0f} of {size} | {apart:.1f}"
            f" | {apart / stderr:.1f} |"
        )
        print(lines[-1], flush=True)
    page = "\n".join(lines) + "\n"
    if given.write:
        RESULTS.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
