"""What the records of a source are known by: keyed fingerprints of their ids and values, and of what they hold.

Temporary tables have those of the source that is looked at; the catalog keeps those of what was published. Of a large
source a sample is taken, chosen by a hash of the ids (``mechanism/sketch.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from duckdb_priv.engine.aggregates import LIMIT, aggregates_of, steady_sql
from duckdb_priv.engine.source import Source, is_one_of, parse_name, readable_name
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.sketch import level_of
from duckdb_priv.release.catalog import now
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.steady import steady_text
from duckdb_priv.sqltext.templates import body, fill
from duckdb_priv.sqltext.templates import read as read_template

COMPARED = 2**12
"""Records whose public values are kept as fingerprints, on average."""
SPARSE = 1_000
"""Numbers that are spread so many times wider than there are records are not shared by accident."""
INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
NUMBERS = ("UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True)
class Kept:
    """The fingerprints of one kind that a source has."""

    marks: int
    telling: bool
    """Whether ids are such that two tables do not share them by accident: texts, or numbers far apart."""


@dataclass(frozen=True)
class Fingerprints:
    """What a source is known by, in temporary tables."""

    workspace: Workspace = field(repr=False)
    source: Source = field(repr=False)
    level: int
    """The zero bits that the hash of a record begins with, if it belongs to the sample."""

    @property
    def compared(self) -> int:
        """The level of the records whose public values are kept, too."""
        return max(self.level, level_of(self.source.rows, COMPARED))

    @cached_property
    def records(self) -> Kept:
        """Those of the ids."""
        return self._kept("_priv_record")

    @cached_property
    def persons(self) -> Kept:
        """Those of the persons' ids."""
        return self._kept("_priv_person")

    @cached_property
    def contents(self) -> int:
        """How many fingerprints there are of what records hold."""
        return int(self.workspace.rows("SELECT count(*) FROM temp.main._priv_content")[0][0])

    @cached_property
    def origins(self) -> list[str]:
        """The tables that the source reads, by the identity of their databases where those have one."""
        return identified_origins(self.workspace, self.source.origins)

    def query(
        self, name: str, parameters: list[Any] | None = None, **fillings: str
    ) -> list[tuple[Any, ...]]:
        """Run a query of the folder publisher/recognition; what no log may show is a parameter."""
        return self.workspace.rows(sql(name, **fillings), parameters)

    def keep(self, number: int) -> None:
        """Keep the fingerprints of the records of a new source."""
        for kind, table in (("id", "_priv_record"), ("content", "_priv_content")):
            self.workspace.cursor.execute(
                f"INSERT INTO priv.fingerprint SELECT {number}, '{kind}', level, mark FROM temp.main.{table}"
            )

    def keep_values(self, number: int, *, new: bool) -> None:
        """Keep the fingerprints of persons and of values that a source, unless it is ``new``, does not have yet."""
        run = self.workspace.cursor.execute
        if self.source.person:
            run(
                f"INSERT INTO priv.fingerprint SELECT {number}, 'person', level, mark FROM temp.main._priv_person"
                f" WHERE NOT EXISTS (FROM priv.fingerprint WHERE source = {number} AND kind = 'person')"
            )
        if self.source.record_id:
            run(
                f"INSERT INTO priv.placement SELECT {number}, mark, placed FROM temp.main._priv_record"
                f" WHERE NOT EXISTS (FROM priv.placement WHERE source = {number})"
            )
        known = (
            set()
            if new
            else {
                name
                for (name,) in self.workspace.rows(
                    "SELECT DISTINCT attribute FROM priv.value_fingerprint WHERE source = ?",
                    [number],
                )
            }
        )
        for names, shown in ((self.source.sensitive, "shown"), (_others(self.source), "others")):
            for place, name in enumerate(names, start=1):
                if name.lower() not in known:
                    run(
                        f"INSERT INTO priv.value_fingerprint SELECT {number}, {literal(name.lower())}, mark,"
                        f" {shown}[{place}] FROM temp.main._priv_record WHERE {shown} IS NOT NULL"
                    )

    def renew(self, number: int) -> None:
        """Add to a source the records that came, and keep of each record the latest values."""
        attributes = [name.lower() for name in self.source.sensitive]
        others = [name.lower() for name in _others(self.source)]
        self.workspace.cursor.execute(
            sql(
                "renew",
                number=str(number),
                attributes=listed(attributes),
                others=listed(others),
                records=str(self.source.rows),
                level=str(self.level),
            )
        )

    def moved_from(self, number: int, level: int) -> tuple[int, int, int, int | None]:
        """Count the records that a known source does not have, that are gone from it, and that have other values.

        Last come those with other public values alone, None where it is not known. Of sources of which a sample is
        kept, ``level`` being its own, the counts are of the sample.
        """
        attributes = [name.lower() for name in self.source.sensitive]
        ((arrived, gone, changed, placed),) = self.query(
            "moved",
            known=str(number),
            attributes=listed(attributes),
            level=str(max(level, self.level)),
        )
        return arrived, gone, changed, placed

    def _kept(self, table: str) -> Kept:
        numeric, low, high, marks = self.workspace.rows(
            f"SELECT bool_and(number IS NOT NULL), min(number), max(number), count(*) FROM temp.main.{table}"
        )[0]
        return Kept(marks, not numeric or high - low >= SPARSE * max(1, marks))


def identify(workspace: Workspace) -> None:
    """Give the database what it is known by, if it has nothing yet."""
    if workspace.rows("SELECT count(*) FROM priv.identity") == [(0,)]:
        workspace.cursor.execute(
            "INSERT INTO priv.identity SELECT uuid(), _priv_new_secret(1), ?", [now()]
        )


def take_fingerprints(workspace: Workspace, source: Source) -> Fingerprints:
    """Take the fingerprints of a source. It is read twice, and once more where persons are told."""
    identify(workspace)
    taken = Fingerprints(workspace, source, level_of(source.rows))
    asked = aggregates_of(workspace, source)
    run, limit = workspace.cursor.execute, str(LIMIT >> taken.level)
    run(sql("fingerprints"))
    held = [*source.public, *source.sensitive]
    if source.record_id:
        of_record = id_sql(source, source.record_id)
        read = (*source.record_id, *source.sensitive, *_others(source), *source.person)
        records, contents = asked.recognizable(read, of_record, held, limit)
        person = "NULL::UBIGINT"
        if source.person:
            of_person = f"encode({id_sql(source, source.person)})"
            person = f"('0x' || sha256(_priv_key || {of_person})[:16])::UBIGINT"
        run(
            sql(
                "records",
                id=of_record,
                shown=_values_sql(source, source.sensitive),
                others=_values_sql(source, _others(source)),
                placed=steady_sql(_others(source), source.types),
                person=person,
                compared=str(LIMIT >> taken.compared),
                source=records,
                limit=limit,
            )
        )
    else:
        contents = asked.contents(held, limit)
    run(sql("contents", counted=contents))
    if source.person:
        of_person = id_sql(source, source.person)
        persons = asked.records_by_hash(source.person, of_person, limit)
        run(sql("persons", id=of_person, source=persons, limit=limit))
    return taken


def sql(name: str, folder: str = "recognition", **fillings: str) -> str:
    """Fill a query of a folder of the publisher's."""
    return fill(body(read_template(f"publisher/{folder}", name)), fillings)


def listed(texts: Sequence[str]) -> str:
    """Write a list of texts.

    >>> listed(["age"]), listed([])
    ("['age']::VARCHAR[]", '[]::VARCHAR[]')
    """
    return f"[{', '.join(map(literal, texts))}]::VARCHAR[]"


def _others(source: Source) -> list[str]:
    """List the columns that are compared beside the sensitive ones, the id never being one."""
    return [name for name in source.types if name in source.public]


def canonical_sql(column: str, kind: str) -> str:
    """Write a value of a column of this type so that 7, 7.0, '7' and '007' are the same.

    >>> print(canonical_sql("s.id", "BIGINT"))
    s.id::VARCHAR
    """
    if kind in INTEGERS:
        return f"{column}::VARCHAR"
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"epoch_us({column})::VARCHAR"
    if is_one_of(kind, *NUMBERS):
        whole = (
            f"CASE WHEN {column} = round({column}) THEN TRY_CAST({column} AS HUGEINT)::VARCHAR END"
        )
        return f"coalesce({whole}, {column}::VARCHAR)"
    text = f"lower(trim({steady_text(column, kind)}))"
    return f"coalesce(nullif(ltrim({text}, '0'), ''), {text}[-1:])"


def _values_sql(source: Source, names: Sequence[str]) -> str:
    """Write the keyed fingerprints of a record's values."""
    values = (canonical_sql(f"s.{identifier(name)}", source.types[name]) for name in names)
    return ", ".join(
        f"(hash(_priv_key, coalesce('=' || {value}, '')) & 4294967295::UBIGINT)::UINTEGER"
        for value in values
    )


def id_sql(source: Source, names: Sequence[str]) -> str:
    """Write the id that these columns of a record ``s`` make."""
    parts = [canonical_sql(f"s.{identifier(name)}", source.types[name]) for name in names]
    if len(parts) == 1:
        return parts[0]
    # Lengths keep ('ab', 'c') and ('a', 'bc') apart.
    return " || ".join(f"length({part}) || ':' || {part}" for part in parts)


def identified_origins(workspace: Workspace, origins: Iterable[str]) -> list[str]:
    """Name the tables that a source reads, by the identity of their databases where those have one."""
    paths = [parse_name(name) for name in origins]
    names: dict[str, str] = {}
    prepared = {workspace.database}
    if others := {path[0] for path in paths} - prepared:
        for database, file in workspace.rows("SELECT database_name, path FROM duckdb_databases()"):
            names[database] = file or database
        prepared |= others & {
            database
            for (database,) in workspace.rows(
                "SELECT database_name FROM duckdb_tables() WHERE schema_name = 'priv' AND table_name = 'identity'"
            )
        }
    for database in prepared:
        rows = workspace.rows(f"SELECT database::VARCHAR FROM {identifier(database)}.priv.identity")
        if rows:
            names[database] = rows[0][0]
    return [readable_name([names.get(path[0], path[0]), *path[1:]]) for path in paths]
