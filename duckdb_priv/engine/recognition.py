"""Which records were published before, whatever their table, file or columns are called now.

A source is what it holds. Its records are known by keyed fingerprints of their ids, and where they have none, or
others than before, by fingerprints of what they hold; of a large table a sample is kept (``mechanism/sketch.md``).
Sources that share records, or that read the same tables, are of one population, for which the ledger adds up. Numbers
such as 1, 2, 3 are ids in many tables: that they are shared counts only where the values of the records agree as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from duckdb_priv.engine.source import Source, parse_name, readable_name
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.determination import ODDS, Groups, determination
from duckdb_priv.mechanism.sketch import Overlap, level_of
from duckdb_priv.release.catalog import now
from duckdb_priv.sqltext.quoting import identifier, identifiers, literal
from duckdb_priv.sqltext.templates import body, fill, read

COMPARED = 2**12
"""Records whose public values are kept as fingerprints, on average."""
FALSE_ALARM = 1e-6
"""Probability that the values of unrelated records agree as often as is asked for."""
AGREEING = 0.5
"""Share of the records, beyond chance, whose values must agree."""
SPARSE = 1_000
"""Numbers that are spread so many times wider than there are records are not shared by accident."""
CONTENT, ENOUGH = 0.5, 10
"""Share of what records hold, and number of such contents, that as many records must hold."""
SAME = 0.95
"""Share of the records of which two attributes must tell each other, to be one under two names."""
LIMIT = 2**64 - 1
"""The largest hash."""
WHOLE = "*"
"""Stands for the attribute where every column is treated alike."""

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
NUMBERS = ("UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True)
class Known:
    """A source that was published before and shares records with this one."""

    number: int
    population: int
    shared: Overlap | None
    """Records with the same ids; None where they are known by what they hold, or by their tables alone."""
    same: bool
    """Whether it has exactly the same records."""
    persons: bool
    """Whether it shares persons with this one, under the same ids."""
    alike: bool
    """Whether as many records hold the same, for most of what records of it hold."""


@dataclass(frozen=True)
class Recognition:
    """What a source is known as."""

    workspace: Workspace = field(repr=False)
    source: Source = field(repr=False)
    number: int
    """Its number among the sources; a new one unless exactly its records, with these values, were published before."""
    new: bool
    population: int
    level: int
    known: tuple[Known, ...]
    attributes: dict[str, int]
    """By sensitive column: the number of the attribute, which is the same under any name."""

    @property
    def overlap(self) -> Overlap | None:
        """How many of its records were published before, as far as ids tell."""
        with_ids = [each for each in self.known if each.shared is not None]
        if not with_ids or not self.source.record_id:
            return None
        level = max(self.level, *(each.shared.level for each in with_ids if each.shared))
        sources = ", ".join(str(each.number) for each in with_ids)
        ((seen,),) = _query(self.workspace, "seen", sources=sources, level=str(level))
        return Overlap(seen, level)

    @property
    def persons(self) -> Overlap | None:
        """How many of its persons, or of its records as persons, had records published before, as far as ids tell."""
        sharing = [each.number for each in self.known if each.persons]
        if not sharing:
            return Overlap(0, self.level) if self.source.person else None
        sources = ", ".join(map(str, sharing))
        ((level,),) = self.workspace.rows(
            f"SELECT greatest(max(level), {self.level}) FROM priv.source WHERE number IN ({sources})"
        )
        ((seen,),) = _query(self.workspace, "seen_persons", sources=sources, level=str(level))
        return Overlap(seen, level)

    def seen_in(self, sources: Sequence[int]) -> Overlap:
        """Estimate how many of its records are among those of known sources."""
        listed = ", ".join(map(str, sources)) or "NULL"
        ((seen,),) = _query(self.workspace, "seen", sources=listed, level=str(self.level))
        return Overlap(seen, self.level)

    def changed(self, known: int, attribute: str) -> int:
        """Estimate how many records have another value of an attribute than when a source was published."""
        if attribute not in self.source.sensitive:
            return 0
        ((changed,),) = _query(
            self.workspace,
            "changed",
            known=str(known),
            attribute=literal(attribute.lower()),
            number=str(self.source.sensitive.index(attribute) + 1),
        )
        return int(changed) << self.level

    def persist(self) -> None:
        """Keep what the records are known by, in the transaction of the publication."""
        run = self.workspace.cursor.execute
        columns = _columns(self.source)
        if self.new:
            run(
                "INSERT INTO priv.source VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    self.number,
                    self.population,
                    self.source.name,
                    _origins(self.workspace, self.source),
                    self.source.rows,
                    self.level,
                    "id" if self.source.record_id else "content",
                    now(),
                ],
            )
            for kind, table in (("id", "_priv_record"), ("content", "_priv_content")):
                run(
                    f"INSERT INTO priv.fingerprint SELECT {self.number}, '{kind}', level, mark FROM temp.main.{table}"
                )
        if self.source.person:
            run(
                f"INSERT INTO priv.fingerprint SELECT {self.number}, 'person', level, mark FROM temp.main._priv_person"
                f" WHERE NOT EXISTS (FROM priv.fingerprint WHERE source = {self.number} AND kind = 'person')"
            )
        known = {
            name
            for (name,) in self.workspace.rows(
                "SELECT DISTINCT attribute FROM priv.value_fingerprint WHERE source = ?",
                [self.number],
            )
        }
        for place, name in enumerate(columns, start=1):
            if name.lower() not in known:
                level = 0 if name in self.source.sensitive else _compared(self.source)
                run(
                    f"INSERT INTO priv.value_fingerprint SELECT {self.number}, {literal(name.lower())}, mark,"
                    f" shown[{place}] FROM temp.main._priv_record WHERE level >= {level}"
                )


def recognize(workspace: Workspace, source: Source) -> Recognition:
    """Say which of the sources that were published before a source is, or shares records with.

    Reads the source twice and writes temporary tables; ``Recognition.persist`` keeps what was found.
    """
    _ensure_identity(workspace)
    level = level_of(source.rows)
    _take_fingerprints(workspace, source, level)
    known = _known(workspace, source, level)
    number, new = _number(workspace, source, known)
    population = _population(workspace, known)
    attributes = _attributes(workspace, source, known, population)
    return Recognition(workspace, source, number, new, population, level, tuple(known), attributes)


def _ensure_identity(workspace: Workspace) -> None:
    if workspace.rows("SELECT count(*) FROM priv.identity") == [(0,)]:
        workspace.cursor.execute(
            "INSERT INTO priv.identity SELECT uuid(), _priv_new_secret(1), ?", [now()]
        )


def _query(workspace: Workspace, name: str, **fillings: str) -> list[tuple[Any, ...]]:
    return workspace.rows(_sql(name, **fillings))


def _sql(name: str, folder: str = "recognition", **fillings: str) -> str:
    return fill(body(read(f"publisher/{folder}", name)), fillings)


def _columns(source: Source) -> list[str]:
    """List the columns whose values are compared: the sensitive ones first, and never the id."""
    others = [name for name in source.types if name in source.public]
    return [*source.sensitive, *others]


def canonical_sql(column: str, kind: str) -> str:
    """Write a value of a column of this type so that 7, 7.0, '7' and '007' are the same.

    >>> print(canonical_sql("s.id", "BIGINT"))
    s.id::VARCHAR
    """
    if kind in INTEGERS:
        return f"{column}::VARCHAR"
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"epoch_us({column})::VARCHAR"
    if kind.startswith(NUMBERS) and not kind.endswith("]"):
        whole = (
            f"CASE WHEN {column} = round({column}) THEN TRY_CAST({column} AS HUGEINT)::VARCHAR END"
        )
        return f"coalesce({whole}, {column}::VARCHAR)"
    text = f"lower(trim({column}::VARCHAR))"
    return f"coalesce(nullif(ltrim({text}, '0'), ''), {text}[-1:])"


def _id_sql(source: Source, names: Sequence[str]) -> str:
    """Write the id that these columns make."""
    parts = [canonical_sql(f"s.{identifier(name)}", source.types[name]) for name in names]
    if len(parts) == 1:
        return parts[0]
    # Lengths keep ('ab', 'c') and ('a', 'bc') apart.
    return " || ".join(f"length({part}) || ':' || {part}" for part in parts)


def _compared(source: Source) -> int:
    return level_of(source.rows, COMPARED)


def _take_fingerprints(workspace: Workspace, source: Source, level: int) -> None:
    limit = str(LIMIT >> level)
    values = [
        canonical_sql(f"s.{identifier(name)}", source.types[name]) for name in _columns(source)
    ]
    none = f"(FROM {source.table} LIMIT 0)"
    workspace.cursor.execute(
        _sql(
            "records",
            id=_id_sql(source, source.record_id) if source.record_id else "NULL::VARCHAR",
            values=", ".join(values),
            source=source.table if source.record_id else none,
            limit=limit,
        )
    )
    workspace.cursor.execute(
        _sql(
            "persons",
            id=_id_sql(source, source.person) if source.person else "NULL::VARCHAR",
            source=source.table if source.person else none,
            limit=limit,
        )
    )
    columns = identifiers([*source.public, *source.sensitive]) or "NULL"
    workspace.cursor.execute(_sql("contents", columns=columns, source=source.table, limit=limit))


def _known(workspace: Workspace, source: Source, level: int) -> list[Known]:
    """Find the sources that share records or tables with this one."""
    rows = _query(workspace, "shared", level=str(level))
    alike = _alike(workspace, rows, level)
    persons = _persons(workspace, rows)
    linked = alike | persons | _confirmed(workspace, source, rows)
    by_origin = workspace.rows(
        "SELECT number, population FROM priv.source WHERE list_has_any(origins, ?)",
        [_origins(workspace, source)],
    )
    populations = dict(by_origin) | {number: population for number, population, *_ in rows}
    shared = {number: Overlap(hits, at) for number, _, _, kind, at, hits in rows if kind == "id"}
    same = _same(workspace, source, level, shared)
    return [
        Known(
            number,
            populations[number],
            shared.get(number),
            number in same,
            number in persons,
            number in alike,
        )
        for number in sorted({number for number, _ in by_origin} | linked)
    ]


def _alike(workspace: Workspace, rows: Sequence[tuple[Any, ...]], level: int) -> set[int]:
    """Return the sources that hold what this one holds, as often."""
    numbers = ", ".join(str(row[0]) for row in rows if row[3] == "content")
    if not numbers:
        return set()
    kept = {
        number: count
        for number, kind, count in _query(workspace, "kept", level=str(level), sources=numbers)
        if kind == "content"
    }
    (mine,) = workspace.rows("SELECT count(*) FROM temp.main._priv_content")[0]
    return {
        number
        for number, _, _, kind, _, hits in rows
        if kind == "content" and hits >= max(ENOUGH, CONTENT * min(mine, kept.get(number, 0)))
    }


def _confirmed(workspace: Workspace, source: Source, rows: Sequence[tuple[Any, ...]]) -> set[int]:
    """Return the sources whose records are not shared by accident."""
    ids = {row[0] for row in rows if row[3] == "id"}
    if not ids or _telling(workspace, "_priv_record"):
        return ids
    return {
        number
        for number, records, agreeing, expected in _query(
            workspace, "agreement", level=str(_compared(source)), sources=", ".join(map(str, ids))
        )
        if _beyond_chance(records, agreeing, expected)
    }


def _persons(workspace: Workspace, rows: Sequence[tuple[Any, ...]]) -> set[int]:
    """Return the sources that share persons: named in both, or named in one while ids of the other tell as much."""
    found = {row[0] for row in rows if row[3] == "person"}
    for kind, table in (("person of id", "_priv_person"), ("id of person", "_priv_record")):
        sharing = {row[0] for row in rows if row[3] == kind}
        if sharing and _telling(workspace, table):
            found |= sharing
    return found


def _telling(workspace: Workspace, table: str) -> bool:
    """Say whether ids are such that two tables do not share them by accident: texts, or numbers far apart."""
    (numeric, low, high, records) = workspace.rows(
        f"SELECT bool_and(number IS NOT NULL), min(number), max(number), count(*) FROM temp.main.{table}"
    )[0]
    return not numeric or high - low >= SPARSE * max(1, records)


def _beyond_chance(records: int, agreeing: int, expected: float) -> bool:
    """Say whether more values agree than chance allows (Chernoff), in a good share of the records."""
    if agreeing <= expected or expected >= records:
        return False
    log_chance = agreeing - expected - agreeing * math.log(agreeing / max(expected, 1e-300))
    share = (agreeing - expected) / (records - expected)
    return log_chance < math.log(FALSE_ALARM) and share >= AGREEING


def _same(workspace: Workspace, source: Source, level: int, shared: dict[int, Overlap]) -> set[int]:
    """Return the known sources that have exactly these records."""
    if not shared:
        return set()
    (mine,) = workspace.rows("SELECT count(*) FROM temp.main._priv_record")[0]
    counted = workspace.rows(
        "SELECT number, count(*) FROM priv.source JOIN priv.fingerprint ON source = number AND kind = 'id'"
        f" WHERE number IN ({', '.join(map(str, shared))}) AND records = ? AND priv.source.level = ?"
        " GROUP BY number",
        [source.rows, level],
    )
    return {number for number, theirs in counted if shared[number].hits == mine == theirs}


def _number(workspace: Workspace, source: Source, known: Sequence[Known]) -> tuple[int, bool]:
    """Return the number of the source that has these records with these values, or a new one."""
    for each in known:
        if each.same and not any(
            _query(
                workspace,
                "changed",
                known=str(each.number),
                attribute=literal(name.lower()),
                number=str(place),
            )[0][0]
            for place, name in enumerate(source.sensitive, start=1)
        ):
            return each.number, False
    ((last,),) = workspace.rows("SELECT coalesce(max(number), 0) FROM priv.source")
    return last + 1, True


def _population(workspace: Workspace, known: Sequence[Known]) -> int:
    """Return the population of the known sources, which become one; a new one where there is none."""
    found = sorted({each.population for each in known})
    if not found:
        ((last,),) = workspace.rows("SELECT coalesce(max(population), 0) FROM priv.source")
        return int(last) + 1
    for other in found[1:]:
        workspace.cursor.execute(
            "UPDATE priv.source SET population = ? WHERE population = ?", [found[0], other]
        )
    return found[0]


def _attributes(
    workspace: Workspace, source: Source, known: Sequence[Known], population: int
) -> dict[str, int]:
    """Number the sensitive columns: as before where the population had such an attribute, under whatever name."""
    earlier = workspace.rows(
        "SELECT DISTINCT entry.attribute_number, lower(entry.attribute), entry.source_number FROM priv.ledger AS entry"
        " JOIN priv.source ON priv.source.number = entry.source_number WHERE population = ?",
        [population],
    )
    ((last,),) = workspace.rows("SELECT coalesce(max(attribute_number), 0) FROM priv.ledger")
    found: dict[str, int] = {}
    sharing = {each.number for each in known if each.shared is not None}
    for place, name in enumerate(source.sensitive or (WHOLE,), start=1):
        same = {
            number
            for number, attribute, of_source in earlier
            if attribute == name.lower()
            or (
                WHOLE not in (attribute, name)
                and of_source in sharing
                and _one_attribute(workspace, of_source, attribute, place)
            )
        }
        if not same:
            last += 1
            same = {last}
        found[name] = min(same)
        for other in same - {min(same)}:
            workspace.cursor.execute(
                "UPDATE priv.ledger SET attribute_number = ? WHERE attribute_number = ?",
                [min(same), other],
            )
    return found


def _one_attribute(workspace: Workspace, known: int, attribute: str, place: int) -> bool:
    """Say whether a column is an attribute that was published before, its values renamed, merged or refined."""
    return any(
        _determines(workspace, known, attribute, place, key, value)
        for key, value in (("before", "now"), ("now", "before"))
    )


def _determines(
    workspace: Workspace, known: int, attribute: str, place: int, key: str, value: str
) -> bool:
    counted = _sql(
        "both_values",
        known=str(known),
        attribute=literal(attribute),
        number=str(place),
        key=key,
        value=value,
    )
    prior = f"SELECT 0 AS told, value, sum(rows)::BIGINT AS rows FROM ({counted}) GROUP BY ALL"
    groups = _fetch(
        workspace,
        _sql(
            "determined",
            folder="check",
            counted=counted,
            prior=prior,
            certainty=literal(SAME),
            odds=literal(ODDS),
        ),
    )
    if not groups["size"].size:
        return False
    found = Groups(groups["size"], groups["groups"], groups["determined"])
    records = int((found.sizes * found.groups).sum())
    each = determination(found, _fetch(workspace, prior)["rows"], records, SAME)
    return each.evident and each.share >= SAME


def _fetch(workspace: Workspace, sql: str) -> dict[str, np.ndarray]:
    columns = workspace.cursor.execute(sql).fetchnumpy()
    return {name: np.asarray(values).astype(np.int64) for name, values in columns.items()}


def _origins(workspace: Workspace, source: Source) -> list[str]:
    """Name the tables that a source reads, by the identity of their databases where those have one."""
    paths = [parse_name(name) for name in source.origins]
    names: dict[str, str] = {}
    for database, file in workspace.rows("SELECT database_name, path FROM duckdb_databases()"):
        names[database] = file or database
    prepared = {
        database
        for (database,) in workspace.rows(
            "SELECT database_name FROM duckdb_tables() WHERE schema_name = 'priv' AND table_name = 'identity'"
        )
    }
    for database in prepared & {path[0] for path in paths}:
        rows = workspace.rows(f"SELECT database::VARCHAR FROM {identifier(database)}.priv.identity")
        if rows:
            names[database] = rows[0][0]
    return [readable_name([names.get(path[0], path[0]), *path[1:]]) for path in paths]
