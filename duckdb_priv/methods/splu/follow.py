"""Plan the next version of a release by decoy groups: removed records leave, and new records get groups of their own.

A record with an unchanged value shows its previous published value again. New records wait until they fill groups
among themselves, for each attribute separately. A corrected value counts as new, and its old row is removed. The
current rows are a subset of all rows ever drawn, whose histogram determines the weights (``mechanism/leaving.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.engine.marking import MARKS, VALUES, mark, mark_of_text, mark_stream
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source, key_expression
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.mechanism.eligibility import largest_gamma
from duckdb_priv.methods.common.assigning import (
    ASSIGNED,
    Assigned,
    Grouping,
    assign,
    assigned_in,
)
from duckdb_priv.methods.common.decoys import count_ranges, key_of_groups, show, without_surplus
from duckdb_priv.methods.common.domain import Domain, open_domains
from duckdb_priv.methods.common.memory import KEPT, Memory, marks_sql, recalled
from duckdb_priv.methods.common.perturbation import columns_sql
from duckdb_priv.methods.common.republication import (
    domains_of_both,
    grouped_sql,
    remember,
)
from duckdb_priv.methods.splu.arguments import SpluArguments, fewest_of_a_batch
from duckdb_priv.methods.splu.plan import MECHANISM, Grouped
from duckdb_priv.release.catalog import published_columns, sensitive_attributes
from duckdb_priv.release.model import LedgerEntry
from duckdb_priv.sqltext.quoting import identifier, identifiers, literal

BATCH = "temp.main._priv_batch"
"""Temporary table of the records to be grouped for one attribute."""


@dataclass(frozen=True)
class Followed:
    """The current records of the source with their random bits, and the stored published values of the release."""

    workspace: Workspace
    source: Source
    arguments: SpluArguments
    grouping: Grouping
    domains: Sequence[Domain]
    assigned: Assigned
    memory: Memory

    def batch(self, n: int) -> tuple[Assigned, int, bool]:
        """Materialize the records without a published value for their current value of attribute number ``n``.

        Returns the records, their number, and whether they can be grouped: they must be enough and eligible. Records
        with a group in another release are left out, because they would have two groups.
        """
        domain = self.domains[n]
        name = domain.attribute.lower()
        self.workspace.cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE {BATCH} AS"
            f" SELECT _code{n} AS _code0, _order{n} AS _order0, _word{n} AS _word0, _mark"
            f" FROM {ASSIGNED} JOIN ({marks_sql(self.workspace, domain, n, ASSIGNED)}) AS m ON m.mark = _mark WHERE"
            f" NOT EXISTS (FROM {KEPT} AS kept WHERE kept.attribute = $2 AND kept.mark = m.mark"
            " AND kept.value = m.value)"
            f" AND (m.mark NOT IN ({grouped_sql(self.source, [domain])})"
            f" OR EXISTS (FROM {KEPT} AS kept WHERE kept.attribute = $2"
            " AND lower(kept.release) = lower($1) AND kept.mark = m.mark))",
            [self.memory.release, name],
        )
        kernel = Kernel({}, "", tables={domain.table: domain.as_table()}, alone=False)
        batch = assigned_in(self.workspace, kernel, BATCH)
        counts = batch.answers.counts(0, domain.size, 0)
        rows, gamma = int(counts.sum()), self.grouping.gamma
        enough = rows >= fewest_of_a_batch(self.arguments)
        found = enough and largest_gamma(counts.sum(axis=1)) >= gamma
        return batch, rows, found

    def group(self, n: int) -> str | None:
        """Group the records without a published value; return the fingerprint of the groups, or None without groups."""
        batch, _, found = self.batch(n)
        if not found:
            return None
        domain, gamma = self.domains[n], self.grouping.gamma
        key = key_of_groups(self.workspace, self.source, domain, 0, self.grouping, batch)
        ranges = without_surplus(batch, count_ranges(batch, [domain], gamma), gamma, key.words)
        source = replace(self.source, public=())
        kernel = show(batch, source, [domain], [key], self.grouping, ranges, reported=True)
        self.memory.keep(source, [domain], kernel, batch.staged)
        remember(self.workspace, self.source, [domain], [key], batch, ranges.kept)
        return key.fingerprint

    def rows_sql(self) -> str:
        """Return SQL for the current rows: records with a published value for each of their current values."""
        values = {domain.attribute: f"p{n}.published" for n, domain in enumerate(self.domains)}
        columns = columns_sql(self.source, values)
        joins = " ".join(
            f"JOIN {self.memory.recall(domain, n)} AS s{n} ON s{n}.mark = _mark"
            f" JOIN {domain.table} AS p{n} ON p{n}.published::VARCHAR IS NOT DISTINCT FROM s{n}.shown"
            for n, domain in enumerate(self.domains)
        )
        return f"SELECT {columns} FROM {ASSIGNED} {joins}"

    def waiting_values(self) -> dict[str, dict[str | None, int]]:
        """Return the number of records without a row, by attribute and value. Call ``rows_sql`` first."""
        shown = " AND ".join(
            f"EXISTS (FROM {recalled(n)} AS s WHERE s.mark = _mark)"
            for n in range(len(self.domains))
        )
        return {
            domain.attribute: {
                domain.values[code]: rows
                for code, rows in self.workspace.rows(
                    f"SELECT _code{n}, count(*) FROM {ASSIGNED} WHERE NOT ({shown}) GROUP BY ALL"
                )
            }
            for n, domain in enumerate(self.domains)
        }

    def keep_remaining(self) -> None:
        """Store the number of published records of each batch. Call ``rows_sql`` first."""
        tables = [recalled(n) for n in range(len(self.domains))]
        known = " AND ".join(f"mark IN (SELECT mark FROM {each})" for each in tables)
        for table, domain in zip(tables, self.domains, strict=True):
            self.memory.keep_remaining(domain.attribute, f"SELECT pair FROM {table} WHERE {known}")


def open_assigned(
    workspace: Workspace, source: Source, release: str, arguments: SpluArguments
) -> Followed:
    """Assign codes and random bits to the records of a release's source.

    Raises InvalidParameter if the source does not match the release.
    """
    grouping = Grouping(MECHANISM, arguments.gamma, arguments.grouping)
    known = domains_of_both(workspace, source, release, grouping)
    domains = open_domains(workspace, source, known)
    marks = mark_stream(workspace) if source.record_id else None
    assigned = assign(workspace, source, domains, grouping, marks, stored=True)
    memory = Memory(workspace, release)
    return Followed(workspace, source, arguments, grouping, domains, assigned, memory)


def waiting(
    workspace: Workspace, source: Source, release: str, arguments: SpluArguments
) -> int | None:
    """Return the number of waiting records, or None if the next version would differ from the current one."""
    records = open_assigned(workspace, source, release, arguments)
    found = [records.batch(n) for n in range(len(records.domains))]
    if any(grouped for _, _, grouped in found):
        return None
    names = {each.attribute: each.name for each in published_columns(workspace.cursor, release)}
    texts = ", ".join(f"{identifier(name)}::VARCHAR" for name in names)
    renamed = ", ".join(f"{identifier(a)} AS {identifier(b)}" for b, a in names.items())
    table = workspace.table(release)
    digests = [
        workspace.rows(
            f"SELECT count(*), bit_xor(row), sum(row::HUGEINT) FROM (SELECT hash({texts}) AS row FROM ({rows}))"
        )
        for rows in (records.rows_sql(), f"SELECT {renamed} FROM {table}")
    ]
    if digests[0] != digests[1]:
        return None
    return source.rows - int(digests[0][0][0])


def entered(workspace: Workspace, source: Source, release: str) -> str:
    """Return SQL for the ids of the records with a published value for each of their current values."""
    marks, values = (
        str(workspace.open_stream(mark_stream(workspace, purpose))) for purpose in (MARKS, VALUES)
    )
    shown = " AND ".join(
        f"({mark(source, marks)}, {mark_of_text(f's.{value}::VARCHAR', values)}) IN (SELECT (mark, value) FROM {KEPT}"
        f" WHERE lower(release) = {literal(release.lower())} AND attribute = {literal(each.name.lower())})"
        for each in sensitive_attributes(workspace.cursor, release)
        for value in [key_expression(each.name, source.types[each.name])]
    )
    return f"SELECT {identifiers(source.record_id)} FROM {source.table} AS s WHERE {shown}"


def plan(workspace: Workspace, source: Source, release: str, arguments: SpluArguments) -> Plan:
    """Plan the next version of a release whose published values are stored."""
    records = open_assigned(workspace, source, release, arguments)
    domains, memory = records.domains, records.memory
    random_bits = [records.group(n) for n in range(len(domains))]
    select = records.rows_sql()
    records.keep_remaining()
    batches = [memory.batches(domain.attribute, domain.values) for domain in domains]
    ((rows,),) = workspace.rows(f"SELECT count(*) FROM ({select})")
    entries = [
        _entry(workspace, release, domain, each)
        for domain, each in zip(domains, random_bits, strict=True)
    ]
    kernel = replace(records.assigned.kernel, select=select)
    made = Grouped(release, source, domains, records.grouping, batches)
    return replace(
        made.plan(kernel, entries, rows),
        staged=records.assigned.staged,
        left_out=source.rows - rows,
        waiting=records.waiting_values(),
    )


def _entry(
    workspace: Workspace, release: str, domain: Domain, random_bits: str | None
) -> LedgerEntry:
    """Return the ledger entry of the new groups; without new groups, that of the previous groups."""
    if random_bits is None:
        random_bits = last_of(workspace.cursor, release).draws[domain.attribute]
    return LedgerEntry(domain.attribute, None, random_bits, fresh=False, grouped=True)
