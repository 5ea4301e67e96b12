"""What records in groups have shown, of each true value that they had.

A group cannot be drawn again once one of its records is gone, and must not be drawn anew for the others. So what every
record shows is kept, under keyed marks of the record and of its true value; neither the groups nor the values are. A
later version takes from here what its records show, whoever left meanwhile (``mechanism/leaving.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.arrays import Counts
from duckdb_priv.methods.common.decoys import DEALT, MARK, Dealt, Grouping, Key, Ranges, show
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.sqltext.quoting import identifier

RECORD = "_priv_mark"
"""The column of a record's mark."""
TABLES = ("shown_record", "sampled_record")
"""Where it is kept what records in groups have shown, and which of them represent their groups."""


@dataclass(frozen=True)
class Memory:
    """What the records of a release have shown."""

    workspace: Workspace
    release: str

    def __bool__(self) -> bool:
        """Say whether anything is kept: not of releases of earlier versions of duckdb_priv, nor of very large ones."""
        return any(
            self.workspace.rows(
                f"SELECT 1 FROM priv.{table} WHERE lower(release) = lower(?) LIMIT 1",
                [self.release],
            )
            for table in TABLES
        )

    def forget(self) -> None:
        """Forget the release: another one takes its name, or none."""
        for table in TABLES:
            self.workspace.cursor.execute(
                f"DELETE FROM priv.{table} WHERE lower(release) = lower(?)", [self.release]
            )

    def keep(
        self,
        source: Source,
        domains: Sequence[Domain],
        keys: Sequence[Key],
        grouping: Grouping,
        dealt: Dealt,
        ranges: Ranges,
    ) -> None:
        """Group records that were dealt, as ``show`` does, and keep what each of them shows."""
        own = ", ".join(f"_code{n}, _coins{n}" for n in range(len(domains)))
        marked = replace(dealt, table=f"(SELECT {MARK} AS _public0, {own} FROM {dealt.table})")
        types = {domain.attribute: source.types[domain.attribute] for domain in domains}
        records = replace(
            source, types={RECORD: "UBIGINT", **types}, public=(RECORD,), sensitive=tuple(types)
        )
        kernel = show(marked, records, domains, keys, grouping, ranges)
        with kernel.opened(self.workspace.cursor, source.table, dealt.staged) as rows:
            self.workspace.cursor.execute(
                f"CREATE OR REPLACE TEMP TABLE _priv_shown AS FROM ({rows})"
            )
        for n, domain in enumerate(domains):
            self.workspace.cursor.execute(
                "INSERT INTO priv.shown_record"
                f" SELECT ?, ?, mark, value, {identifier(domain.attribute)}::VARCHAR"
                f" FROM _priv_shown JOIN ({told_sql(domain, n, dealt.table)}) ON mark = {RECORD}",
                [self.release, domain.attribute.lower()],
            )
        self.workspace.cursor.execute("DROP TABLE temp.main._priv_shown")

    def recall(self, domain: Domain, n: int) -> str:
        """Lay out what the records of DEALT have shown of an attribute: ``mark`` and ``shown``; return the table."""
        table = f"temp.main._priv_recalled{n}"
        self.workspace.cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT told.mark, kept.shown"
            f" FROM ({told_sql(domain, n, DEALT)}) AS told JOIN priv.shown_record AS kept USING (mark, value)"
            " WHERE lower(release) = lower(?) AND attribute = ?",
            [self.release, domain.attribute.lower()],
        )
        return table

    def drawn(self, attribute: str, values: Sequence[str | None]) -> Counts:
        """Count what all records have shown that were ever in a group, those that left included, by value."""
        counts = dict(
            self.workspace.rows(
                "SELECT shown, count(*) FROM priv.shown_record WHERE lower(release) = lower(?) AND attribute = ?"
                " GROUP BY ALL",
                [self.release, attribute.lower()],
            )
        )
        return np.array([counts.get(value, 0) for value in values], np.int64)


def told_sql(domain: Domain, n: int, table: str) -> str:
    """Write the query of the marks of records that were dealt: ``mark`` of the record, ``value`` of its true value."""
    key = "(SELECT key FROM priv.identity)"
    text = "coalesce('=' || value::VARCHAR, '')"
    values = f"SELECT position, ('0x' || sha256({key} || encode({text}))[:16])::UBIGINT AS value FROM {domain.table}"
    return (
        f"SELECT {MARK} AS mark, d.value FROM {table} JOIN ({values}) AS d ON d.position = _code{n}"
    )
