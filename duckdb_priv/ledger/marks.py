"""What is kept of the records that were drawn, and how those of a publication compare with them.

The marks of a publication are in two temporary tables: MARKED has a row for each record (``mark``, ``person``, and
``value0``, ``value1`` … for its sensitive columns), SAMPLED one for each column of a sample of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from duckdb_priv.ledger.rules import PUBLIC, Comparison
from duckdb_priv.mechanism.sketch import level_of
from duckdb_priv.release.catalog import Connection

MARKED, SAMPLED = "temp.main._priv_mark", "temp.main._priv_held"
FRESH = "temp.main._priv_fresh"
"""Records whose id and value were not drawn together before."""
KEPT = 10_000_000
"""So many records of a draw are kept, at 8 bytes and what tells their values apart."""
ENOUGH, AGREEING, LOOKED_AT = 10, 0.5, 2**13
"""Two columns are the same one where of at least so many records this share agrees beyond chance (Cohen's kappa); about
so many records are looked at."""


@dataclass(frozen=True)
class Marked:
    """The marks of the records of a publication."""

    records: int
    kept: bool
    """Whether MARKED has all records, and not only the sample."""
    level: int
    """One of 2 ** level records is in the sample."""
    digests: tuple[str, ...]
    """By sensitive column: tells whether the ids and their true values are the same."""


def number_of(draw: str) -> int:
    """Return the number by which marks name a draw: 64 bits of its fingerprint.

    >>> number_of("00000000000000ff" + "0" * 16)
    255
    """
    return int(draw[:16], 16)


def are_kept(connection: Connection, draw: str) -> bool:
    """Return whether the records of a draw are kept."""
    sql = "SELECT 1 FROM priv.mark WHERE draw = ? LIMIT 1"
    return bool(connection.execute(sql, [number_of(draw)]).fetchall())


def compare(
    connection: Connection,
    draw: str,
    marked: Marked,
    n: int,
    *,
    epoch: int,
    same: bool,
    publications: Sequence[int],
) -> Comparison:
    """Compare the records of a publication with those that were drawn in the same way.

    ``n`` is the number of the sensitive column, ``same`` says whether ids and values are exactly those of an earlier
    publication, ``publications`` are those with the same draw. Leaves the table FRESH where not all are the same.
    """
    moved = _moved(connection, publications, marked.records)
    if same:
        return Comparison(marked.records, 0, 0, moved, 0)
    if not marked.kept or not are_kept(connection, draw):
        return Comparison(marked.records, 0, 0, moved, 0, known=False)
    known = f"(FROM priv.mark WHERE draw = {number_of(draw)}::UBIGINT)"
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {FRESH} AS"
        f" FROM (SELECT mark, value{n} AS value, person FROM {MARKED}) ANTI JOIN {known} USING (mark, value)"
    )
    ((fresh, new, looks),) = connection.execute(
        f"SELECT (SELECT count(*) FROM {FRESH}),"
        f" (SELECT count(*) FROM {FRESH} ANTI JOIN {known} USING (mark)),"
        f" (SELECT coalesce(max(looks), 0) FROM (SELECT count(*) FILTER (epoch = {epoch}) AS looks"
        f" FROM {FRESH} AS f JOIN {known} AS k ON k.mark = f.mark GROUP BY f.mark))"
    ).fetchall()
    return Comparison(marked.records, new, fresh - new, moved, looks + 1 if fresh else 0)


def _moved(connection: Connection, publications: Sequence[int], records: int) -> int:
    """Estimate how many ids belong to other public values than in all publications with the same draw.

    An id is taken for another person's if at least half of the common columns have changed.
    """
    if not publications:
        return 0
    ((compared, moved),) = connection.execute(
        "WITH pair AS ("
        " SELECT mine.mark, count(*) AS common, count(*) FILTER (mine.value <> seen.value) AS differ"
        f" FROM {SAMPLED} AS mine JOIN priv.seen AS seen USING (mark, attribute)"
        f" WHERE NOT mine.sensitive AND NOT seen.sensitive AND seen.publication IN {_listed(publications)}"
        " GROUP BY mine.mark, seen.publication)"
        " SELECT count(*), count(*) FILTER (NOT here) FROM"
        " (SELECT bool_or(2 * differ < common) AS here FROM pair GROUP BY mark)"
    ).fetchall()
    return round(records * moved / compared) if compared else 0


def keep(connection: Connection, draw: str, marked: Marked, n: int, *, epoch: int) -> None:
    """Keep the records of a publication that is charged in full, with those that were drawn before."""
    number = f"{number_of(draw)}::UBIGINT"
    if not marked.kept:
        connection.execute(f"DELETE FROM priv.mark WHERE draw = {number}")
        return
    mine = f"SELECT mark, value{n} AS value, person FROM {MARKED}"
    if are_kept(connection, draw):
        connection.execute(
            f"DELETE FROM priv.mark AS known USING ({mine}) AS mine"
            f" WHERE draw = {number} AND known.mark = mine.mark AND known.value = mine.value"
        )
    connection.execute(
        f"INSERT INTO priv.mark SELECT {number}, mark, value, person, {epoch} FROM ({mine})"
    )
    _forget_many(connection, number)


def keep_fresh(connection: Connection, draw: str, *, epoch: int) -> None:
    """Keep what was not drawn before, as ``compare`` has left it."""
    number = f"{number_of(draw)}::UBIGINT"
    connection.execute(
        f"INSERT INTO priv.mark SELECT {number}, mark, value, person, {epoch} FROM {FRESH}"
    )
    _forget_many(connection, number)


def _forget_many(connection: Connection, number: str) -> None:
    """Keep nothing of a draw of too many records."""
    ((marks,),) = connection.execute(
        f"SELECT count(*) FROM priv.mark WHERE draw = {number}"
    ).fetchall()
    if marks > KEPT:
        connection.execute(f"DELETE FROM priv.mark WHERE draw = {number}")


def looks_of_person(connection: Connection, draw: str, *, epoch: int) -> int | None:
    """Count the values that were drawn for one person since the last full charge, at most; None if unknown."""
    ((looks,),) = connection.execute(
        "SELECT CASE WHEN bool_and(person IS NOT NULL) THEN max(looks) END FROM"
        " (SELECT person, count(*) AS looks FROM priv.mark WHERE draw = ? AND epoch = ? GROUP BY person)",
        [number_of(draw), epoch],
    ).fetchall()
    return None if looks is None else int(looks)


def _listed(numbers: Iterable[int]) -> str:
    """Write numbers of publications so that others are not read."""
    return f"({', '.join(map(str, numbers))})"


def holds_the_same(connection: Connection, publication: int) -> bool:
    """Return whether the sample of an earlier publication held exactly what this one holds."""
    held = "SELECT (count(*), sum(hash(mark, attribute, sensitive, value)::HUGEINT)) FROM"
    ((same,),) = connection.execute(
        f"SELECT ({held} {SAMPLED}) = ({held} priv.seen WHERE publication = {int(publication)})"
    ).fetchall()
    return bool(same)


def keep_seen(connection: Connection, publication: int) -> None:
    """Keep what the sample of a publication held."""
    connection.execute("DELETE FROM priv.seen WHERE publication = ?", [publication])
    connection.execute(
        f"INSERT INTO priv.seen SELECT {int(publication)}, mark, attribute, sensitive, value FROM {SAMPLED}"
    )


@dataclass(frozen=True)
class Moves:
    """How many records of a sample came, left, and have other values than in an earlier publication."""

    arrived: int
    gone: int
    changed: int
    """Those with another sensitive value."""
    placed: int
    """Those of the others with another public value."""

    @property
    def nothing(self) -> bool:
        """Whether all records are the same."""
        return not (self.arrived or self.gone or self.changed or self.placed)


def moves(connection: Connection, publication: int, level: int, earlier_level: int) -> Moves:
    """Count how the sample of a publication differs from that of an earlier one, at the sparser of both levels."""
    limit = (2**64 - 1) >> max(level, earlier_level)
    ((arrived, gone, changed, placed),) = connection.execute(
        f"WITH mine AS (SELECT mark, attribute, sensitive, value FROM {SAMPLED} WHERE mark <= {limit}::UBIGINT),"
        " theirs AS (SELECT mark, attribute, sensitive, value FROM priv.seen"
        f" WHERE publication = ? AND mark <= {limit}::UBIGINT),"
        " other AS (SELECT mine.mark, bool_or(mine.sensitive) AS redrawn"
        " FROM mine JOIN theirs USING (mark, attribute, sensitive) WHERE mine.value <> theirs.value GROUP BY mine.mark)"
        " SELECT (SELECT count(DISTINCT mark) FROM mine ANTI JOIN theirs USING (mark)),"
        " (SELECT count(DISTINCT mark) FROM theirs ANTI JOIN mine USING (mark)),"
        " (SELECT count(*) FROM other WHERE redrawn), (SELECT count(*) FROM other WHERE NOT redrawn)",
        [publication],
    ).fetchall()
    return Moves(arrived, gone, changed, placed)


SameColumn = tuple[str, str, bool]
"""A column, an earlier one that held the same under the same ids, and whether that was sensitive; in lower case."""


def names_of(column: str, same: Iterable[SameColumn], *, sensitive: bool) -> Iterator[str]:
    """Go through the other names of a column under which it was sensitive, or was not.

    >>> list(names_of("Disease", [("disease", "icd", True), ("disease", "code", False)], sensitive=True))
    ['icd']
    """
    return (of for mine, of, was in same if was is sensitive and mine == column.lower())


def same_columns(
    connection: Connection, population: str, marked: Marked | None
) -> list[SameColumn]:
    """List the columns that hold what another column held under the same ids, whatever they are called."""
    if marked is None:
        return []
    limit = (2**64 - 1) >> max(marked.level, level_of(marked.records, LOOKED_AT))
    latest = connection.execute(
        "WITH entry AS (FROM priv.ledger WHERE population = ? AND level IS NOT NULL"
        " QUALIFY published_at = max(published_at) OVER (PARTITION BY publication))"
        " SELECT attribute, sensitive, max(publication) FROM ("
        " SELECT lower(unnest(public)) AS attribute, false AS sensitive, publication FROM entry"
        " UNION ALL SELECT lower(attribute), true, publication FROM entry WHERE mechanism <> ?) GROUP BY ALL",
        [population, PUBLIC],
    ).fetchall()
    if not latest:
        return []
    rows = connection.execute(
        "WITH latest (attribute, sensitive, publication) AS"
        " (SELECT unnest(?::VARCHAR[]), unnest(?::BOOLEAN[]), unnest(?::BIGINT[])),"
        " theirs AS (FROM priv.seen SEMI JOIN latest USING (publication, attribute, sensitive)"
        f" WHERE mark <= {limit}::UBIGINT AND publication IN {_listed({each for *_, each in latest})}),"
        " cell AS (SELECT mine.attribute AS a, mine.sensitive AS b, theirs.attribute AS c, theirs.sensitive AS d,"
        f" mine.value AS u, theirs.value AS v, count(*) AS rows FROM {SAMPLED} AS mine JOIN theirs USING (mark)"
        " WHERE (mine.sensitive OR theirs.sensitive) AND mine.attribute <> theirs.attribute"
        " AND mine.attribute <> '*' AND theirs.attribute <> '*' GROUP BY ALL),"
        " agreed AS (SELECT a, b, c, d, sum(rows) AS rows, coalesce(sum(rows) FILTER (u = v), 0) AS same"
        " FROM cell GROUP BY ALL),"
        " mine_of AS (SELECT a, b, c, d, u AS value, sum(rows) AS rows FROM cell GROUP BY ALL),"
        " theirs_of AS (SELECT a, b, c, d, v AS value, sum(rows) AS rows FROM cell GROUP BY ALL),"
        " chance AS (SELECT a, b, c, d, sum(mine_of.rows * theirs_of.rows) AS pairs"
        " FROM mine_of JOIN theirs_of USING (a, b, c, d, value) GROUP BY ALL)"
        " SELECT a, b, c, d, rows, same, coalesce(pairs, 0) / rows FROM agreed LEFT JOIN chance USING (a, b, c, d)",
        [list(each) for each in zip(*latest, strict=True)],
    ).fetchall()
    return [
        (mine, theirs, was)
        for mine, _, theirs, was, records, same, expected in rows
        if records >= ENOUGH and same - expected >= AGREEING * (records - expected) > 0
    ]


def shared_ids(connection: Connection, population: str, marked: Marked) -> list[tuple[str, int]]:
    """Estimate, by other population, how many ids of a publication were also published of that one."""
    return connection.execute(
        "WITH other AS (SELECT population, publication, any_value(level) AS level FROM priv.ledger"
        " WHERE population <> $1 AND level IS NOT NULL GROUP BY ALL),"
        f" mine AS (SELECT mark FROM {MARKED} WHERE mark <= 18446744073709551615::UBIGINT >> $2),"
        " found AS (SELECT other.population, other.publication, count(DISTINCT mark) AS ids,"
        " any_value(greatest(other.level, $2)) AS level FROM mine JOIN priv.seen AS seen USING (mark)"
        " JOIN other ON other.publication = seen.publication"
        " WHERE mark <= 18446744073709551615::UBIGINT >> greatest(other.level, $2) GROUP BY ALL)"
        " SELECT population, max(ids << level)::BIGINT FROM found GROUP BY population ORDER BY population",
        [population, marked.level],
    ).fetchall()
