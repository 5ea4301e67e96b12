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
from duckdb_priv.mechanism.decoy_batches import Batch
from duckdb_priv.methods.common.assigning import ASSIGNED, MARK
from duckdb_priv.methods.common.decoys import SHOWN
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.release.catalog import table_definitions

KEPT = (
    "(SELECT release, attribute, mark, value, shown, pair FROM priv.shown_record"
    " JOIN priv.shown_pair ON shown_pair.number = shown_record.pair)"
)
"""What records in groups have shown: of a release and an attribute, for which of their values."""


@dataclass(frozen=True)
class Memory:
    """What the records of a release have shown."""

    workspace: Workspace
    release: str

    def __bool__(self) -> bool:
        """Return whether anything is kept: not for releases of earlier versions of duckdb_priv, nor for large ones."""
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
            of_release = [self.release, domain.attribute.lower()]
            ((batch,),) = self.workspace.rows(
                "SELECT coalesce(max(batch) + 1, 0) FROM priv.shown_pair"
                " WHERE lower(release) = lower(?) AND attribute = ?",
                of_release,
            )
            run(
                f"INSERT INTO priv.shown_pair SELECT {pair}, ?, ?, d.value, p.shown, {batch}, records"
                f" FROM (SELECT _code{n}, _shown{n}, count(*) AS records FROM {SHOWN} GROUP BY ALL) AS found"
                f" JOIN ({_values_sql(self.workspace, domain)}) AS d ON d.position = _code{n}"
                f" JOIN (SELECT position, published::VARCHAR AS shown FROM {domain.table}) AS p"
                f" ON p.position = _shown{n}",
                of_release,
            )
        return tuple(step.table for step in kernel.steps)

    def recall(self, domain: Domain, n: int) -> str:
        """Make a table of what the records have shown of an attribute, and return its name.

        Its columns are ``mark``, ``shown`` and ``pair``.
        """
        table = recalled(n)
        self.workspace.cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT own.mark, kept.shown, kept.pair"
            f" FROM ({marks_sql(self.workspace, domain, n, ASSIGNED)}) AS own JOIN {KEPT} AS kept USING (mark, value)"
            " WHERE lower(release) = lower(?) AND attribute = ?",
            [self.release, domain.attribute.lower()],
        )
        return table

    def keep_remaining(self, attribute: str, pairs: str) -> None:
        """Keep how many records are published as the release is now, by a query of the ``pair`` of each."""
        self.workspace.cursor.execute(
            f"UPDATE priv.shown_pair SET remaining = (SELECT count(*) FROM ({pairs}) AS p WHERE p.pair = number)"
            " WHERE lower(release) = lower(?) AND attribute = ?",
            [self.release, attribute.lower()],
        )

    def batches(self, attribute: str, values: Sequence[str | None]) -> list[Batch]:
        """Count what the records of each batch have shown, by value: all of them, and those that are published."""
        place = {value: position for position, value in enumerate(values)}
        found: list[Batch] = []
        for batch, shown, drawn, remaining in self.workspace.rows(
            "SELECT batch, shown, sum(records)::BIGINT, sum(remaining)::BIGINT FROM priv.shown_pair"
            " JOIN (SELECT pair, count(*) AS records FROM priv.shown_record GROUP BY pair) AS kept ON pair = number"
            " WHERE lower(release) = lower(?) AND attribute = ? GROUP BY ALL ORDER BY batch",
            [self.release, attribute.lower()],
        ):
            while len(found) <= batch:
                found.append(Batch(*np.zeros((2, len(values)), np.int64)))
            if shown in place:
                found[batch].drawn[place[shown]] += drawn
                found[batch].remaining[place[shown]] += remaining
        return found

    def true_batches(
        self, attribute: str, values: Sequence[str | None]
    ) -> list[tuple[Counts, Counts]]:
        """Count the true values of each batch: of all records that were ever in it, and of those that are published."""
        if not self:
            return []
        stream = str(self.workspace.open_stream(mark_stream(self.workspace, VALUES)))
        known = (
            f"SELECT {mark_of_text('text', stream)} AS value, position"
            " FROM (SELECT unnest($3::VARCHAR[]) AS text, unnest(range($4)) AS position)"
        )
        found: dict[int, tuple[Counts, Counts]] = {}
        for batch, position, drawn, remaining in self.workspace.rows(
            "SELECT batch, position, sum(records)::BIGINT, sum(remaining)::BIGINT FROM priv.shown_pair"
            " JOIN (SELECT pair, count(*) AS records FROM priv.shown_record GROUP BY pair) AS kept ON pair = number"
            f" JOIN ({known}) AS known USING (value)"
            " WHERE lower(release) = lower($1) AND attribute = $2 GROUP BY ALL ORDER BY batch",
            [self.release, attribute.lower(), [*values], len(values)],
        ):
            nobody = np.zeros(len(values), np.int64)
            counts = found.setdefault(batch, (nobody, nobody.copy()))
            counts[0][position], counts[1][position] = drawn, remaining
        return [*found.values()]


def recalled(n: int) -> str:
    """Name the table of what records have shown of an attribute."""
    return f"temp.main._priv_recalled{n}"


def marks_sql(workspace: Workspace, domain: Domain, n: int, table: str) -> str:
    """Write the query of the marks of records with random bits: ``mark`` of the record, ``value`` of its true value."""
    return (
        f"SELECT {MARK} AS mark, d.value FROM {table}"
        f" JOIN ({_values_sql(workspace, domain)}) AS d ON d.position = _code{n}"
    )


def _values_sql(workspace: Workspace, domain: Domain) -> str:
    """Write the query of the keyed marks of the values of a domain, by their places."""
    stream = str(workspace.open_stream(mark_stream(workspace, VALUES)))
    return f"SELECT position, {mark_of_text('value::VARCHAR', stream)} AS value FROM {domain.table}"
