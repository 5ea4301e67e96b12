"""The values that grouped records have shown, for each true value that they had.

A group cannot be drawn again once one of its records has left, and must not be redrawn for the others. So the shown
value of every record is stored, under keyed marks of the record and of its true value. Neither the groups nor the
values are stored. A later version reads the shown values here, whichever records have left (``mechanism/leaving.md``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.engine.marking import VALUES, mark_of_text, mark_stream
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.decoy_batches import Batch
from duckdb_priv.methods.common.assigning import ASSIGNED
from duckdb_priv.methods.common.decoys import SHOWN
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.release.catalog import table_definitions
from duckdb_priv.sqltext.templates import section

KEPT = (
    "(SELECT release, attribute, mark, value, shown, pair FROM priv.shown_record"
    " JOIN priv.shown_pair ON shown_pair.number = shown_record.pair)"
)
"""Query of the shown values, by release, attribute, mark of the record and mark of its true value."""


@dataclass(frozen=True)
class Memory:
    """The stored shown values of a release's records."""

    workspace: Workspace
    release: str

    def __bool__(self) -> bool:
        """Return whether values are stored; releases of earlier versions of duckdb_priv and large ones have none."""
        return any(
            self.workspace.rows(
                f"SELECT 1 FROM priv.{table} WHERE lower(release) = lower(?) LIMIT 1",
                [self.release],
            )
            for table in ("shown_pair", "sampled_record")
        )

    def forget(self) -> None:
        """Delete the release's values, because another release takes its name or it is withdrawn."""
        run, of_release = self.workspace.cursor.execute, "WHERE lower(release) = lower(?)"
        own = "SELECT bool_and(lower(release) = lower($1)), bool_or(lower(release) = lower($1)) FROM priv.shown_pair"
        ((every, some),) = self.workspace.rows(own, [self.release])
        if every:
            # Each deleted row is logged, which takes longer than writing it; dropping a table logs no rows.
            run("DROP TABLE priv.shown_record")
            run(table_definitions()["shown_record"])
        elif some:
            pairs = f"SELECT number FROM priv.shown_pair {of_release}"
            run(f"DELETE FROM priv.shown_record WHERE pair IN ({pairs})", [self.release])
        for table in ("shown_pair", "sampled_record") if some else ("sampled_record",):
            run(f"DELETE FROM priv.{table} {of_release}", [self.release])

    def keep(
        self, source: Source, domains: Sequence[Domain], kernel: Kernel, staged: Collection[str]
    ) -> tuple[str, ...]:
        """Store the shown value of each record that a kernel groups, from the table that ``show`` made.

        Returns the kernel steps whose tables are then on the publisher's cursor; those of ``staged`` already were.
        """
        kernel.stage(self.workspace.cursor, source.table, staged)
        run = self.workspace.cursor.execute
        for n, domain in enumerate(domains):
            ((first,),) = self.workspace.rows(
                "SELECT coalesce(max(number) + 1, 0) FROM priv.shown_pair"
            )
            columns = {"code": f"_code{n}", "drawn": f"_shown{n}", "shown": SHOWN}
            numbers = {"first": str(first), "size": str(domain.size)}
            run(section("remembered", "keep_records", **columns, **numbers))
            values = {"values": _values_sql(self.workspace, domain), "domain": domain.table}
            pairs = section("remembered", "keep_pairs", **columns, **numbers, **values)
            run(pairs, {"release": self.release, "attribute": domain.attribute.lower()})
        return tuple(step.table for step in kernel.steps)

    def recall(self, domain: Domain, n: int) -> str:
        """Make a table of the stored shown values of an attribute, and return its name.

        Its columns are ``mark``, ``shown`` and ``pair``.
        """
        table = recalled(n)
        marks = marks_sql(self.workspace, domain, n, ASSIGNED)
        query = section("remembered", "recall", table=table, marks=marks, kept=KEPT)
        self.workspace.cursor.execute(query, [self.release, domain.attribute.lower()])
        return table

    def keep_remaining(self, attribute: str, pairs: str) -> None:
        """Store the number of records that the release publishes now, by a query of the ``pair`` of each record."""
        query = section("remembered", "keep_remaining", pairs=pairs)
        self.workspace.cursor.execute(query, [self.release, attribute.lower()])

    def batches(
        self, attribute: str, values: Sequence[str | None], *, true: bool = False
    ) -> list[Batch]:
        """Count the shown or the ``true`` values of each batch: of all its records, and of those that are published."""
        column, key = "shown", "text"
        if true:
            stream = str(self.workspace.open_stream(mark_stream(self.workspace, VALUES)))
            column, key = "value", mark_of_text("text", stream)
        found: dict[int, Batch] = {}
        query = section("remembered", "batches", key=key, column=column)
        given = [self.release, attribute.lower(), [*values], len(values)]
        for batch, position, drawn, remaining in self.workspace.rows(query, given):
            counts = found.setdefault(batch, Batch(*np.zeros((2, len(values)), np.int64)))
            counts.drawn[position], counts.remaining[position] = drawn, remaining
        return [*found.values()]


def recalled(n: int) -> str:
    """Return the name of the table of an attribute's stored shown values."""
    return f"temp.main._priv_recalled{n}"


def marks_sql(workspace: Workspace, domain: Domain, n: int, table: str) -> str:
    """Return the query of the marks of assigned records: ``mark`` of the record, ``value`` of its true value."""
    return (
        f"SELECT _mark AS mark, d.value FROM {table}"
        f" JOIN ({_values_sql(workspace, domain)}) AS d ON d.position = _code{n}"
    )


def _values_sql(workspace: Workspace, domain: Domain) -> str:
    """Return the query of the keyed marks of a domain's values, by position."""
    stream = str(workspace.open_stream(mark_stream(workspace, VALUES)))
    return f"SELECT position, {mark_of_text('value::VARCHAR', stream)} AS value FROM {domain.table}"
