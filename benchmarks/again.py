"""What someone finds who combines thirty releases of one table, by each way that is called harmless or cheaper.

    PYTHONPATH=.:tests python benchmarks/again.py [MARKDOWN]

The ways are those of docs/publishing.md that cost less than the whole epsilon each time. A table of 600 records is
published at epsilon 1, and then in one way 29 times; each time other records are left out, come, or change. A record
is guessed by the value that it showed most often. Where some records are redrawn in single releases, the first draw
keeps the majority, so the second table guesses those that are redrawn each time. A copy without public columns
cannot be joined with the others record by record. The ledger states a total for one record, and
``e^total / (e^total + m - 1)`` is the largest probability to be right about one of m values. The last column is the
probability to be right as often or more if that is kept; below 1e-9 the attack would have found more.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path

from attacks.ways import CHEAP, Attack, Way, attack

import duckdb_priv

RELEASES = 30
SLOWLY = dataclasses.replace(
    next(each for each in CHEAP if each.name == "a tenth of the ids changed"),
    name="the ids of the same tenth changed each time",
    make="UPDATE visits SET id = id + 1000 * {number} WHERE id % 10 = 3",
)
"""What the rule of new records cannot tell from people who come and go."""
WORST = "records whose ids changed each time"


def attacked(way: Way, values: int, among: str = "true") -> Attack:
    """Publish in one way, and guess the records of a condition."""
    with (
        tempfile.TemporaryDirectory() as folder,
        duckdb_priv.connect(secret=bytes(range(32))) as con,
    ):
        con.execute("SET threads = 1")
        return attack(con, Path(folder), [way] * (RELEASES - 1), values, among)


def row(name: str, found: Attack) -> str:
    """Return a line of the table."""
    return (
        f"| {name} | {found.values} | {found.total:.4g} | {found.right / found.records:.1%} of {found.records} |"
        f" {found.allowed:.1%} | {found.chance:.2g} |"
    )


def main(markdown: str | None = None) -> None:
    """Print what was found, and write it."""
    lines = [row(way.name, attacked(way, values)) for way in CHEAP for values in (2, 5)]
    limits = [
        row(name, attacked(SLOWLY, values, among))
        for values in (2, 5)
        for name, among in ((SLOWLY.name, "true"), (WORST, "id % 10 = 3"))
    ]
    header = "| way | values | the ledger states | guessed right | allowed | chance |\n|---|---|---|---|---|---|\n"
    paragraphs = [
        "# Thirty releases combined, by each way to publish again that costs less than the whole epsilon",
        "`PYTHONPATH=.:tests python benchmarks/again.py`",
        __doc__.split("\n\n", 2)[2].strip(),
        header + "\n".join(lines),
        "One way is not what the ledger takes it for: ids that are made again a few at a time look like people who come"
        " and go. Until as many ids came as the largest version has, nothing is charged. If it is another tenth of the"
        " records each time, each has been drawn 4 times after thirty releases, and 3 draws are charged. If it is"
        " always the same tenth, these are drawn 30 times, and again 3 draws are charged:",
        header + "\n".join(limits),
    ]
    text = "\n\n".join(paragraphs) + "\n"
    print(text)
    if markdown:
        Path(markdown).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:2])
