"""What records in groups have shown, of each true value that they had.

A group cannot be drawn again once one of its records is gone, and must not be redrawn for the others. So what every
record shows is kept, under keyed marks of the record and of its true value; neither the groups nor the values are. A
later version takes from here what its records show, whichever records left meanwhile (``mechanism/leaving.md``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.engine.marking import VALUES, mark_of_text, mark_stream
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.arrays import Counts
from duckdb_priv.methods.common.dealing import DEALT, MARK
from duckdb_priv.methods.common.decoys import SHOWN
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.release.catalog import table_definitions

KEPT = (
    "(SELECT release, attribute, mark, value, shown FROM priv.shown_record"
    " JOIN priv.shown_pair ON shown_pair.number = shown_record.pair)"
)
"""What records in groups have shown: of a release and an attribute, for which of their values."""


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
            for table in ("shown_pair", "sampled_record")
        )

    def forget(self) -> None:
        """Forget the release: another one takes its name, or none."""
        run, of_release = self.workspace.cursor.execute, "WHERE lower(release) = lower(?)"
        alone = "SELECT bool_and(lower(release) = lower(?)) FROM priv.shown_pair"
        if self.workspace.rows(alone, [self.release]) == [(True,)]:
            # Rows that are deleted are logged one by one, which takes longer than to write them; a table is not.
            run("DROP TABLE priv.shown_record")
            run(table_definitions()["shown_record"])
        else:
            pairs = f"SELECT number FROM priv.shown_pair {of_release}"
            run(f"DELETE FROM priv.shown_record WHERE pair IN ({pairs})", [self.release])
        for table in ("shown_pair", "sampled_record"):
            run(f"DELETE FROM priv.{table} {of_release}", [self.release])

    def keep(
        self, source: Source, domains: Sequence[Domain], kernel: Kernel, staged: Collection[str]
    ) -> tuple[str, ...]:
        """Keep what each record shows that a kernel groups, from the table that ``show`` made.

        Returns the kernel steps whose tables are on the publisher's cursor afterwards; those of ``staged`` were before.
        """
        kernel.stage(self.workspace.cursor, source.table, staged)
        run = self.workspace.cursor.execute
        for n, domain in enumerate(domains):
            # The texts that millions of records share are kept once: most of the time goes into what is written.
            ((first,),) = self.workspace.rows(
                "SELECT coalesce(max(number) + 1, 0) FROM priv.shown_pair"
            )
            pair = f"{first}::UBIGINT + _code{n}::UBIGINT * {domain.size} + _shown{n}"
            run(f"INSERT INTO priv.shown_record SELECT _mark, {pair} FROM {SHOWN}")
            run(
                f"INSERT INTO priv.shown_pair SELECT {pair}, ?, ?, d.value, p.shown"
                f" FROM (SELECT DISTINCT _code{n}, _shown{n} FROM {SHOWN}) AS found"
                f" JOIN ({_values_sql(self.workspace, domain)}) AS d ON d.position = _code{n}"
                f" JOIN (SELECT position, published::VARCHAR AS shown FROM {domain.table}) AS p"
                f" ON p.position = _shown{n}",
                [self.release, domain.attribute.lower()],
            )
        return tuple(step.table for step in kernel.steps)

    def recall(self, domain: Domain, n: int) -> str:
        """Make a table of what the records have shown of an attribute: ``mark`` and ``shown``; return its name."""
        table = recalled(n)
        self.workspace.cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT told.mark, kept.shown"
            f" FROM ({told_sql(self.workspace, domain, n, DEALT)}) AS told JOIN {KEPT} AS kept USING (mark, value)"
            " WHERE lower(release) = lower(?) AND attribute = ?",
            [self.release, domain.attribute.lower()],
        )
        return table

    def drawn(self, attribute: str, values: Sequence[str | None]) -> Counts:
        """Count what all records have shown that were ever in a group, those that left included, by value."""
        counts = dict(
            self.workspace.rows(
                f"SELECT shown, count(*) FROM {KEPT} WHERE lower(release) = lower(?) AND attribute = ?"
                " GROUP BY ALL",
                [self.release, attribute.lower()],
            )
        )
        return np.array([counts.get(value, 0) for value in values], np.int64)


def recalled(n: int) -> str:
    """Name the table of what records have shown of an attribute."""
    return f"temp.main._priv_recalled{n}"


def told_sql(workspace: Workspace, domain: Domain, n: int, table: str) -> str:
    """Write the query of the marks of records with random bits: ``mark`` of the record, ``value`` of its true value."""
    return (
        f"SELECT {MARK} AS mark, d.value FROM {table}"
        f" JOIN ({_values_sql(workspace, domain)}) AS d ON d.position = _code{n}"
    )


def _values_sql(workspace: Workspace, domain: Domain) -> str:
    """Write the query of the keyed marks of the values of a domain, by their places."""
    stream = str(workspace.open_stream(mark_stream(workspace, VALUES)))
    return f"SELECT position, {mark_of_text('value::VARCHAR', stream)} AS value FROM {domain.table}"
