"""Redraws every figure and table of the four papers on our data, beside what the papers printed.

    python -m benchmarks.papers [--data FOLDER] [--write] [--only PAPER ...] [--quick]

FOLDER holds census_500k.parquet, vaers_reactions.parquet and adult.parquet; without it only what needs no data is
recomputed. --write keeps benchmarks/papers/RESULTS.md and its pictures, --into FOLDER keeps them elsewhere. --only
names papers by their modules, the others stay on the page as they are. --quick draws a few points over small
made-up tables, to see that everything works.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import matplotlib as mpl

import duckdb_priv
from benchmarks.papers import chaytor_wang, fu_wang, li_qardaji_su, wang_han_fu
from benchmarks.papers.exhibit import Paper, keep, page, section
from duckdb_priv.sqltext.quoting import literal

HERE = Path(__file__).parent
MADE_UP = {
    "census_500k": """
        SELECT i % 3 AS age, i % 2 AS gender, i * 7919 % 101 % 4 AS education, i // 2 % 2 AS marital,
            1 AS race, 1 AS workclass, if(i < 20, 60, i * 4721 % 97 % 12) AS occupation
        FROM range(6000) AS t(i)
    """,
    "vaers_reactions": """
        SELECT 'reaction ' || if(i < 20, 60, i * 7919 % 101 % 14) AS reaction,
            ['F', 'M', NULL][1 + i % 11 % 3] AS sex,
            'vaccine ' || i * 4721 % 97 % 6 AS vax_type
        FROM range(6000) AS t(i)
    """,
}
"""By file: small tables with the columns that the benchmarks read."""


PAPERS: Mapping[str, Callable[[Path | None, bool], Paper]] = {
    "wang_han_fu": wang_han_fu.paper,
    "chaytor_wang": chaytor_wang.paper,
    "fu_wang": fu_wang.paper,
    "li_qardaji_su": li_qardaji_su.paper,
}
"""By module: what recomputes the paper from the folder of tables, quickly or not."""


def make_up(folder: Path) -> Path:
    """Write the small tables into a folder."""
    with duckdb.connect() as connection:
        for name, query in MADE_UP.items():
            connection.execute(f"COPY ({query}) TO {literal(str(folder / name) + '.parquet')}")
    return folder


PREAMBLE = (
    "# The figures and tables of the four papers, redrawn\n\n"
    "Written by `python -m benchmarks.papers --data FOLDER --write`:"
    f" duckdb_priv {duckdb_priv.__version__}, DuckDB {duckdb.__version__}. Columns called 'paper' hold what is printed"
    " in the paper, and nothing else. 'Agrees' and 'differs' are about what can be recomputed without the papers'"
    " data; 'other data' is about experiments whose tables are not to be had, so that only what they show in general"
    " can be compared."
)


def main() -> None:
    """Recompute, print, and keep what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder with the tables")
    parser.add_argument("--write", action="store_true", help="keep the page and its pictures")
    parser.add_argument("--into", type=Path, default=HERE, help="where --write keeps them")
    parser.add_argument("--only", nargs="*", choices=PAPERS, default=list(PAPERS), metavar="PAPER")
    parser.add_argument("--quick", action="store_true", help="a few points over made-up tables")
    options = parser.parse_args()
    mpl.rcParams["svg.hashsalt"] = "papers"
    with tempfile.TemporaryDirectory(prefix="papers_") as folder:
        data = make_up(Path(folder)) if options.quick else options.data
        found = [PAPERS[name](data, options.quick) for name in options.only]
    if options.write:
        print(keep(found, PREAMBLE, options.into))
    else:
        print(page({each.title: section(each) for each in found}, PREAMBLE))


if __name__ == "__main__":
    main()
