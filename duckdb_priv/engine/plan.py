"""What a mechanism decides before one row is written: data, and the kernel that turns records into published rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.release.model import Guarantee, LedgerEntry, SensitiveAttribute


@dataclass(frozen=True)
class Plan:
    """Everything that a mechanism decides before one row is written: data, made from counts."""

    mechanism: str
    parameters: Mapping[str, Any]
    kernel: Kernel
    """What gives the published rows of the records, in no order, with attributes as names of the columns."""
    columns: Mapping[str, str]
    """Role of every attribute that is published: public, sensitive, generalized, group or scale."""
    attributes: Sequence[SensitiveAttribute]
    provenance: Mapping[str, str]
    """By sensitive attribute: whether its domain was given or comes from the source."""
    guarantees: Sequence[Guarantee]
    ledger: Sequence[LedgerEntry]
    strongest: str
    """The strongest guarantee, in words."""
    rows_expected: int | None
    """Rows that the query must give, where that is known beforehand."""
    left_out: int | None = None
    """Source records that are not published, where it is not the difference of the rows."""
    waiting: Mapping[str, Mapping[str | None, int]] = field(default_factory=dict)
    """By sensitive attribute: how many of these records have each value, where that is known."""
    sample: bool = False
    """Whether the rows are the rest of a random sample, so that the number of missing ones must not be published."""
    warnings: Sequence[str] = ()
    earlier: str | None = None
    """The query of rows that were published before and stay, where the release is extended by those of the kernel."""
    staged: Sequence[str] = ()
    """Steps of the kernel whose tables planning has left on the publisher's cursor; another process makes them."""
    complete: Complete | None = None
    """What adds to the plan all that follows from how often each value is published."""


Complete = Callable[[Plan, Mapping[str, Mapping[str | None, int]]], Plan]
"""From a plan, and by attribute how many published rows show each value, to the whole plan."""
