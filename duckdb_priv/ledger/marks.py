"""Stores marks of the published records, and compares the records of a new publication with them.

The marks of a publication are temporary. MARKED has one row for each record: ``mark``, ``value0``, ``value1``
… for its sensitive columns, and ``person`` if the publication names people. SAMPLED has one row for each sampled
record, with the ``marks`` of its values; SAMPLED_COLUMNS lists their columns. The queries are in
``sql/publisher/fragments/marks.sql``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from duckdb_priv.ledger.rules import Comparison, History
from duckdb_priv.mechanism.arrays import Integers
from duckdb_priv.mechanism.sketch import agree, at_most, level_of
from duckdb_priv.release.catalog import Connection
from duckdb_priv.sqltext.templates import fill, sections

MARKED = "temp.main._priv_mark"
SAMPLED, SAMPLED_COLUMNS = "temp.main._priv_held", "temp.main._priv_held_column"
FRESH = "temp.main._priv_fresh"
"""Temporary table of the records whose pair of id and value is new."""
SQL = sections("publisher/fragments", "marks")
LAST = 2**64 - 1
"""The largest mark."""
KEPT = 10_000_000
"""The most records stored for one draw, at 8 bytes each plus the mark of the value."""
ENOUGH, AGREEING, LOOKED_AT = 10, 0.5, 2**13
"""Two columns count as the same if they share ENOUGH records and agree beyond chance with a kappa (Cohen) of AGREEING.
About LOOKED_AT records are compared."""
FALSE_ALARM = 1e-9
"""Probability that more records moved than the published bound, if the bound comes from a sample."""
ROUNDED = 100
"""The published number of rows that moved is rounded up to a multiple of this."""


@dataclass(frozen=True)
class Marked:
    """The marks of the records of a publication."""

    records: int
    kept: bool
    """Whether MARKED has all records, not only the sample."""
    level: int
    """One of 2 ** level records is in the sample."""
    digests: tuple[str, ...]
    """By sensitive column: a digest of the ids and their true values."""
    named: bool = False
    """Whether MARKED has the mark of each record's person."""
    found: dict[int, bool] = field(default_factory=dict, repr=False, compare=False)
    """Cache: whether the sample of an earlier publication, by its number, equals this one."""

    @property
    def person(self) -> str:
        """SQL for the mark of a record's person."""
        return "person" if self.named else "NULL::UBIGINT"


def number_of(draw: str) -> int:
    """Return the number that identifies a draw in ``priv.mark``: 64 bits of its fingerprint.

    >>> number_of("00000000000000ff" + "0" * 16)
    255
    """
    return int(draw[:16], 16)


def are_kept(connection: Connection, draw: str) -> bool:
    """Return whether the marks of a draw are stored."""
    sql = "SELECT 1 FROM priv.mark WHERE draw = ? LIMIT 1"
    return bool(connection.execute(sql, [number_of(draw)]).fetchall())


def compare(
    connection: Connection, draw: str, marked: Marked, n: int, history: History
) -> Comparison:
    """Compare the records of a publication with earlier ones of the same draw.

    ``n`` is the number of the sensitive column. Creates the table FRESH unless an earlier publication has the same ids
    and values.
    """
    publications = sorted({number for number, *_ in history.publications})
    moved = 0
    # Where the latest sample is the same, no id is another person's, and the others need not be read.
    if not holds_the_same(connection, marked, publications[-1]):
        query = _of_publications("moved", publications)
        ((seen, elsewhere),) = connection.execute(query).fetchall()
        moved = round(marked.records * elsewhere / seen) if seen else 0
    if any(digest == marked.digests[n] for _, digest, _ in history.publications):
        return Comparison(marked.records, 0, 0, moved, 0)
    if not marked.kept or not are_kept(connection, draw):
        return Comparison(marked.records, 0, 0, moved, 0, known=False)
    number = number_of(draw)
    connection.execute(
        fill(SQL["fresh"], {"value": f"value{n}", "person": marked.person}), [number]
    )
    ((fresh, new, looks),) = connection.execute(
        SQL["comparison"], [number, history.epoch]
    ).fetchall()
    return Comparison(marked.records, new, fresh - new, moved, looks + 1 if fresh else 0)


def keep(connection: Connection, draw: str, marked: Marked, n: int, *, epoch: int) -> None:
    """Store the marks of a publication that is charged in full, in addition to earlier ones."""
    number = number_of(draw)
    if not marked.kept:
        _forget(connection, number)
        return
    if are_kept(connection, draw):
        connection.execute(fill(SQL["forget_redrawn"], {"value": f"value{n}"}), [number])
    _keep(connection, number, MARKED, f"value{n}", marked.person, epoch)


def keep_fresh(connection: Connection, draw: str, *, epoch: int) -> None:
    """Store the marks of the new records, from the table FRESH that ``compare`` created."""
    _keep(connection, number_of(draw), FRESH, "value", "person", epoch)


def _keep(
    connection: Connection, number: int, records: str, value: str, person: str, epoch: int
) -> None:
    """Store marks of a draw; delete all marks of the draw if there are more than KEPT."""
    fillings = {"records": records, "value": value, "person": person}
    connection.execute(fill(SQL["keep"], fillings), [number, epoch])
    ((marks,),) = connection.execute(
        "SELECT count(*) FROM priv.mark WHERE draw = ?", [number]
    ).fetchall()
    if marks > KEPT:
        _forget(connection, number)


def _forget(connection: Connection, number: int) -> None:
    connection.execute("DELETE FROM priv.mark WHERE draw = ?", [number])


def looks_of_person(connection: Connection, draw: str, *, epoch: int) -> int | None:
    """Return the most values drawn for one person since the last full charge; None if unknown."""
    ((looks,),) = connection.execute(
        "SELECT CASE WHEN bool_and(person IS NOT NULL) THEN max(looks) END FROM"
        " (SELECT person, count(*) AS looks FROM priv.mark WHERE draw = ? AND epoch = ? GROUP BY person)",
        [number_of(draw), epoch],
    ).fetchall()
    return None if looks is None else int(looks)


def _of_publications(name: str, publications: Iterable[int], **fillings: str) -> str:
    """Return a query about some publications. Their numbers are literals, so that DuckDB skips other publications."""
    fillings["publications"] = ", ".join(map(str, publications))
    return fill(SQL[name], {**SQL, **fillings})


def holds_the_same(connection: Connection, marked: Marked, publication: int) -> bool:
    """Return whether the sample of an earlier publication equals the current sample."""
    if publication not in marked.found:
        ((same,),) = connection.execute(SQL["same_sample"], [publication]).fetchall()
        marked.found[publication] = bool(same)
    return marked.found[publication]


def keep_seen(connection: Connection, publication: int) -> None:
    """Store the sample of a publication."""
    connection.execute(fill(SQL["keep_sample"], {"publication": str(publication)}))


@dataclass(frozen=True)
class Moved:
    """How many records arrived, left and changed since an earlier publication."""

    arrived: int
    gone: int
    changed: int
    """Records with another sensitive value."""
    placed: int = 0
    """Other records, with another public value."""
    level: int = 0
    """One of 2 ** level records was sampled, and the counts are estimates from the sample."""

    def rows(self, *, placed: bool = False) -> int:
        """Return an upper bound on the rows of both versions whose records moved, rounded up.

        For a sample, the bound fails with probability ``FALSE_ALARM``. With ``placed``, a record with other public
        values counts as moved.
        """
        redrawn = self.changed + self.placed if placed else self.changed
        rows = sum(
            weight * at_most(count >> self.level, self.level, FALSE_ALARM)
            for weight, count in ((1, self.arrived + self.gone), (2, redrawn))
        )
        return -(-rows // ROUNDED) * ROUNDED


def moved(
    connection: Connection, marked: Marked | None, publication: int, level: int | None
) -> Moved | None:
    """Compare the sample with that of an earlier publication, at the sparser of both levels; None without ids."""
    if marked is None or level is None:
        return None
    level = max(marked.level, level)
    query = _of_publications("moves", [publication])
    (found,) = connection.execute(query, [LAST >> level]).fetchall()
    arrived, gone, changed, placed = (count << level for count in found)
    return Moved(arrived, gone, changed, placed, level)


SameColumn = tuple[str, str, bool]
"""A column, an earlier column with the same values for the same ids, and whether that was sensitive; in lower case."""


def names_of(column: str, same: Iterable[SameColumn], *, sensitive: bool) -> Iterator[str]:
    """Yield the other names of a column under which it was ``sensitive``, or was not.

    >>> list(names_of("Disease", [("disease", "icd", True), ("disease", "code", False)], sensitive=True))
    ['icd']
    """
    return (of for mine, of, was in same if was is sensitive and mine == column.lower())


def same_columns(
    connection: Connection, latest: Mapping[tuple[str, bool], int | None], marked: Marked | None
) -> list[SameColumn]:
    """List the columns whose values equal those of an earlier column for the same ids, under any name.

    ``latest`` gives the latest publication with a sample of each earlier column, by its name and whether it was
    sensitive.
    """
    publications = {number for number in latest.values() if number is not None}
    if marked is None or not publications:
        return []
    pairs: dict[int, list[tuple[str, int, str, bool, int]]] = {}
    query = _of_publications("columns_to_compare", publications)
    for number, *pair in connection.execute(query).fetchall():
        mine, place, theirs, was, its_place = pair
        if latest.get((theirs, was)) == number:
            pairs.setdefault(number, []).append((mine, place - 1, theirs, was, its_place - 1))
    limit = LAST >> max(marked.level, level_of(marked.records, LOOKED_AT))
    found = []
    for number, compared in pairs.items():
        query = _of_publications("in_both_samples", [number], limit=str(limit))
        both = connection.sql(query).to_arrow_table()
        if len(both) >= ENOUGH:
            mine_of, theirs_of = map(_columns, both.columns)
            found += [
                (mine, theirs, was)
                for mine, place, theirs, was, its_place in compared
                if agree(mine_of[:, place], theirs_of[:, its_place], AGREEING)
            ]
    return found


def _columns(lists: Any) -> Integers:
    """Return the columns of an Arrow column of lists."""
    numbers = np.asarray(lists.combine_chunks().flatten(), dtype=np.int64)
    return numbers.reshape(len(lists), -1)


def shared_ids(connection: Connection, population: str, marked: Marked) -> list[tuple[str, int]]:
    """Estimate, for each other population, how many ids of a publication were also published there."""
    others = "SELECT 1 FROM priv.ledger WHERE population <> ? AND level IS NOT NULL LIMIT 1"
    if not connection.execute(others, [population]).fetchall():
        return []
    return connection.execute(SQL["shared_ids"], [population, marked.level]).fetchall()
