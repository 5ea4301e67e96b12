"""What the next version of a release keeps of the one before, and how far its source has moved since."""

from __future__ import annotations

from dataclasses import dataclass, field

from duckdb_priv.engine.fingerprints import Fingerprints
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.recognition import Recognition
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import GuaranteeViolated
from duckdb_priv.mechanism.sketch import Overlap, at_most
from duckdb_priv.methods.common.memory import Memory
from duckdb_priv.methods.register import METHODS, Method

FALSE_ALARM = 1e-9
"""Chance that more records moved than is published as at most, where a sample of them was looked at."""
ROUNDED = 100
"""To so many the rows that moved are rounded up where it is published how many they are."""


@dataclass(frozen=True)
class Moved:
    """How many records came, left, and changed since a version was published."""

    arrived: int
    gone: int
    changed: int
    """Those of which a sensitive value is another one."""
    level: int = 0
    """One of 2 ** level records was looked at, and the others are estimated from them."""
    placed: int | None = None
    """Those of the others that have another value in a public column, where that is known."""

    @property
    def exact(self) -> bool:
        """Whether every record has a fingerprint."""
        return self.level == 0

    def rows(self, *, placed: bool = False) -> int | None:
        """Count the rows of both versions that are of records that moved, at most, rounded up.

        Of a sample at most means but for a probability of ``FALSE_ALARM``. With ``placed``, who has other public values
        has moved, too; None where that is not known.
        """
        redrawn = (self.changed + (self.placed or 0)) if placed else self.changed
        if placed and self.placed is None:
            return None
        rows = sum(
            weight * at_most(Overlap(count >> self.level, self.level), FALSE_ALARM)
            for weight, count in ((1, self.arrived + self.gone), (2, redrawn))
        )
        return -(-rows // ROUNDED) * ROUNDED


@dataclass
class Succession:
    """The version that is followed, and what is learned while the next one is published."""

    release: str
    method: Method
    coins: dict[str, str]
    """Of the version before, by attribute."""
    last_source: int
    level: int
    shared: bool
    """Whether other publications know that source under the same number, and rely on it."""
    remembered: bool = False
    """Whether it is known what each of its records showed."""
    moved: Moved | None = field(default=None)
    waiting: int = 0
    """Records that are not published yet, where new ones wait for others to be grouped with."""

    @property
    def source_number(self) -> int | None:
        """The known source that goes on, if one does."""
        goes_on = self.method.refreshing.keeps or self.remembered
        return self.last_source if goes_on and not self.shared else None

    @property
    def rows_moved(self) -> int | None:
        """Count the rows whose noise is not the same in both versions, rounded up: how many exactly, is not told."""
        return self._rows(placed=False)

    @property
    def rows_placed(self) -> int | None:
        """Count those, and the rows of records whose public values are others."""
        return self._rows(placed=True)

    def _rows(self, *, placed: bool) -> int | None:
        if self.moved is None or not self.method.refreshing.keeps:
            return None
        return self.moved.rows(placed=placed)

    def check(self, plan: Plan, recognition: Recognition) -> None:
        """Count what moved; refuse to draw all records anew.

        Raises GuaranteeViolated where the coins are not those of the version before.
        """
        if self.remembered:
            self.waiting = plan.left_out or 0
        if recognition.source.record_id:
            self.moved = moved(recognition.fingerprints, self.last_source, self.level)
        if not self.method.refreshing.keeps:
            return
        for entry in plan.ledger:
            if self.coins.get(entry.attribute) != entry.coins:
                raise GuaranteeViolated(
                    f"a refresh of {self.release!r} would draw {entry.attribute!r} of every record anew, a second look"
                    " at all of them: its domain, its operator, the record id or the secret is another than before",
                    hint="declare a domain := […] with every value that could occur, and publish once more with"
                    " replace := true and what that costs",
                )


def succeed(workspace: Workspace, release: str) -> Succession:
    """Look up what the next version of a release follows.

    Raises GuaranteeViolated where its coins were fresh: every version would be a second look at all records.
    """
    entries = workspace.rows(
        "SELECT attribute, coins, source_number, mechanism, fresh FROM priv.ledger WHERE lower(release) = lower(?)"
        " AND published_at = (SELECT max(published_at) FROM priv.ledger WHERE lower(release) = lower(?))",
        [release, release],
    )
    method = METHODS[entries[0][3]]
    if method.sensitive and any(fresh for *_, fresh in entries):
        raise GuaranteeViolated(
            f"{release!r} was published without record_id, so every version would draw all records anew, and their"
            " average would tell the true values",
            hint="publish it once more with record_id := …, replace := true and what that costs",
        )
    number = entries[0][2]
    others = workspace.rows(
        "SELECT count(*) FROM priv.ledger WHERE source_number = ? AND lower(release) <> lower(?)",
        [number, release],
    )
    ((level,),) = workspace.rows("SELECT level FROM priv.source WHERE number = ?", [number])
    return Succession(
        release,
        method,
        {attribute: coins for attribute, coins, *_ in entries},
        number,
        level,
        others != [(0,)],
        method.refreshing.remembers and bool(Memory(workspace, release)),
    )


def moved(taken: Fingerprints, number: int, level: int) -> Moved:
    """Count how far a source has moved from a known one, of which one of 2 ** level records has a fingerprint."""
    of_both = max(level, taken.level)
    arrived, gone, changed, placed = taken.moved_from(number, level)
    return Moved(
        arrived << of_both,
        gone << of_both,
        changed << of_both,
        of_both,
        None if placed is None else placed << of_both,
    )
