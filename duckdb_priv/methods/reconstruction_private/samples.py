"""The stored samples of a release: which records represent each group, from version to version.

A record that represents its group keeps its row as long as it is in the group with its value. The records that are new
to a group are sampled separately, for its free rows (``mechanism/growing_sample.md``). The database stores keyed marks
of groups, and of records with their true values.
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
from duckdb_priv.sqltext.templates import expand, section

REMEMBERED = 1_000_000
"""Largest source whose samples are stored. For larger sources, storing would take longer than publishing."""
MARKED, NEW, SAMPLED, REPRESENTED = (
    f"temp.main._priv_{name}" for name in ("marked", "new", "sampled", "represented")
)
"""Temporary tables: all records with their marks; records that are new to a group, or have a new value; records with a
row; new records that do not wait."""


@dataclass(frozen=True)
class RowsOfGroups:
    """The largest number of records of one group that had a row in some version."""

    present: int
    """Counting only records that are in the group now."""
    ever: int
    """Counting all records that were ever in the group."""
    waiting: int
    """Number of records, in all groups, that wait for a free row."""


@dataclass(frozen=True)
class Samples:
    """The records of a source, and the stored samples of a release."""

    workspace: Workspace
    source: Source
    release: str
    domain: Domain
    sample_size: int

    @property
    def kept(self) -> bool:
        """Whether samples can be stored: records have ids, are in this database, and are not too many."""
        source = self.source
        return bool(source.record_id) and source.answers is None and source.rows <= REMEMBERED

    def mark(self, perturbation: Perturbation, context: Mapping[str, object]) -> None:
        """Materialize the tables MARKED, of all records with their marks, and NEW, of the new records."""
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
        """Materialize the records that get a row: those that had one, and a sample of the new records."""
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
        """Return the number of new records if all of them wait and no record left its group or value, else None."""
        tables = {"represented": REPRESENTED, "marked": MARKED, "new": NEW}
        query = section("remembered", "unsampled", **tables)
        ((new, gone, waiting),) = self.workspace.rows(query, [self.release])
        return None if new or gone else int(waiting)

    def keep(self) -> RowsOfGroups:
        """Store which records represent their groups, and count the rows of groups."""
        run, release = self.workspace.cursor.execute, self.release
        run(section("remembered", "leave_sample", marked=MARKED), [release])
        run(section("remembered", "enter_sample", represented=REPRESENTED), [release])
        ((waiting,),) = self.workspace.rows(section("remembered", "waiting", large=LARGE))
        return RowsOfGroups(*draws_of(self.workspace, release), waiting)


def rows_together(workspace: Workspace, release: str, sample_size: int) -> float:
    """Return T such that sampling adds a variance of at most a sum of squared scales over 4 T, in any set of groups.

    T is ``sample_size`` if every sampled group has the rows of one sample. Batches and records that left add variance
    (``mechanism/growing_sample.md``). A smaller T is rounded down to a power of two, so that it reveals little about
    single groups.
    """
    ((least,),) = workspace.rows(section("remembered", "rows_together"), [release])
    if least is None or least >= sample_size:
        return sample_size
    return 2.0 ** math.floor(math.log2(least))


def draws_of(workspace: Workspace, release: str) -> tuple[int, int]:
    """Return the largest number of records of one group that had a row: among its present records, and among all."""
    ((present, ever),) = workspace.rows(section("remembered", "draws"), [release])
    return present, ever
