"""Which records represent the groups of a release, kept from version to version.

A record that represents its group goes on to do so as long as it is there with its value, and no other one takes its
place; records that are new to a group are sampled among themselves, for the places that its rows leave
(``mechanism/growing_sample.md``). What is kept are keyed marks of groups, and of records with their true values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from duckdb_priv.engine import randomness
from duckdb_priv.engine.kernel import Kernel, Step
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.perturbation import Perturbation, open_random_bits
from duckdb_priv.methods.reconstruction_private.micro_groups import LARGE, Sampling, group_sql
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import expand

REMEMBERED = 1_000_000
"""Of larger sources it is not kept: that would take longer than to publish them."""
MARKED, NEW, SAMPLED, REPRESENTED = (
    f"temp.main._priv_{name}" for name in ("marked", "new", "sampled", "represented")
)
"""All records with their marks; those that are new to their groups, or have another value; those with a row; and those
that are new and do not wait."""


@dataclass(frozen=True)
class RowsOfGroups:
    """How many rows of a single group have been published, at most."""

    present: int
    """Of records that are in the group now, in all versions."""
    ever: int
    """Of all records that were ever in it, in all versions."""
    waiting: int
    """Records of all groups that have no place yet."""


@dataclass(frozen=True)
class Samples:
    """The records of a source, and what is known of them as those of a release."""

    workspace: Workspace
    source: Source
    release: str
    domain: Domain
    sample_size: int

    @property
    def kept(self) -> bool:
        """Whether it can be kept who represents whom: records have ids, and are here, and not too many."""
        source = self.source
        return bool(source.record_id) and source.answers is None and source.rows <= REMEMBERED

    def mark(self, perturbation: Perturbation, context: Mapping[str, object]) -> None:
        """Materialize the records with their marks, and those of them that are new."""
        marks: dict[str, randomness.KeyedBits | randomness.FreshBits] = {
            f"{purpose}_bits": open_random_bits(
                self.workspace, self.source, {**context, "purpose": f"marks of {purpose}"}
            ).bits
            for purpose in ("groups", "marks")
        }
        sql = group_sql(self.source, self.domain, self.sample_size)
        marked = expand(sql("marked_records"), {"release": literal(self.release)})
        Kernel(
            reads={},
            select="",
            random_bits=marks,
            tables=perturbation.tables(),
            steps=(
                Step(MARKED, marked),
                Step(NEW, f"FROM {MARKED} WHERE NOT _priv_known"),
            ),
        ).stage(self.workspace.cursor, self.source.table)

    def sample(self, sampling: Sampling, perturbation: Perturbation) -> None:
        """Materialize the records that get a row: those that had one, and the sample of those that are new."""
        sql = group_sql(self.source, self.domain, self.sample_size)
        Kernel(
            reads={},
            select="",
            random_bits=sampling.random_bits,
            tables=perturbation.tables(),
            steps=(
                *sampling.steps,
                Step(
                    SAMPLED, f"FROM {sampling.source.table} UNION ALL BY NAME {sql('kept_records')}"
                ),
                Step(REPRESENTED, sql("represented_records")),
            ),
        ).stage(self.workspace.cursor, NEW)

    def waiting(self) -> int | None:
        """Count the new records, if all of them wait and nobody left a group or a value; otherwise None."""
        ((new, gone, waiting),) = self.workspace.rows(
            f"SELECT (SELECT count(*) FROM {REPRESENTED}), (SELECT count(*) FROM priv.sampled_record WHERE release = ?"
            f" AND in_version AND NOT EXISTS (FROM {MARKED} WHERE _priv_grouped = grouped AND _priv_mark = mark)),"
            f" (SELECT count(*) FROM {NEW})",
            [self.release],
        )
        return None if new or gone else int(waiting)

    def keep(self) -> RowsOfGroups:
        """Keep who represents whom from now on, and count the draws."""
        run, release = self.workspace.cursor.execute, self.release
        run(
            "UPDATE priv.sampled_record SET in_version = false WHERE release = ? AND in_version AND NOT EXISTS"
            f" (FROM {MARKED} WHERE _priv_grouped = grouped AND _priv_mark = mark)",
            [release],
        )
        run(
            "INSERT INTO priv.sampled_record"
            f" SELECT ?, _priv_grouped, _priv_mark, scale, true FROM {REPRESENTED}",
            [release],
        )
        ((waiting,),) = self.workspace.rows(
            f"SELECT coalesce(sum(_priv_size), 0)::BIGINT FROM {LARGE} WHERE _priv_take = 0"
        )
        return RowsOfGroups(*draws_of(self.workspace, release), waiting)


def rows_together(workspace: Workspace, release: str, sample_size: int) -> float:
    """Return how many rows share the variance of a quarter of a squared scale that sampling adds, at least.

    It is ``sample_size`` where every sampled group has the rows of one sample. Batches and records that left add
    variance (``mechanism/growing_sample.md``). Below ``sample_size`` it is rounded down to a power of two, so that it
    says little about single groups.
    """
    ((least,),) = workspace.rows(
        """
        WITH batches AS (
            SELECT grouped, scale, count(*) AS ever, count(*) FILTER (in_version) AS now
            FROM priv.sampled_record WHERE release = $1 AND scale > 1 GROUP BY ALL
        ), gone AS (
            SELECT grouped, count(*) FILTER (NOT in_version) AS records
            FROM priv.sampled_record WHERE release = $1 GROUP BY grouped
        )
        SELECT min(remaining / added) FROM (
            SELECT sum(now * scale ** 2) AS remaining,
                sum(scale ** 2) + least(sum(ever * scale ** 2), 4 * max(scale) * any_value(records)) AS added
            FROM batches JOIN gone USING (grouped) GROUP BY grouped
        ) WHERE remaining > 0
        """,
        [release],
    )
    if least is None or least >= sample_size:
        return sample_size
    return 2.0 ** math.floor(math.log2(least))


def draws_of(workspace: Workspace, release: str) -> tuple[int, int]:
    """Count the records of one group that were its rows in some version: of those in it now, and of all, at most."""
    ((present, ever),) = workspace.rows(
        "SELECT coalesce(max(present), 0), coalesce(max(ever), 0) FROM ("
        "SELECT count(DISTINCT mark) FILTER (here) AS present, count(DISTINCT mark) AS ever FROM ("
        "SELECT grouped, mark, bool_or(in_version) OVER (PARTITION BY grouped, mark) AS here, scale"
        " FROM priv.sampled_record WHERE release = ?) WHERE scale IS NOT NULL GROUP BY grouped)",
        [release],
    )
    return present, ever
