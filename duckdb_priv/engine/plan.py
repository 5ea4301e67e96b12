"""A plan: what a mechanism decides before it writes a row, and the kernel that makes the published rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.release.model import Guarantee, LedgerEntry, SensitiveAttribute


@dataclass(frozen=True)
class Plan:
    """All decisions of a mechanism before it writes a row: data, made from counts."""

    mechanism: str
    parameters: Mapping[str, Any]
    kernel: Kernel
    """Makes the published rows from the records, in no order; its columns are named by the attributes."""
    columns: Mapping[str, str]
    """Role of every published attribute: public, sensitive, generalized, group or scale."""
    attributes: Sequence[SensitiveAttribute]
    provenance: Mapping[str, str]
    """By sensitive attribute: whether its domain was given or comes from the source."""
    guarantees: Sequence[Guarantee]
    ledger: Sequence[LedgerEntry]
    strongest: str
    """The strongest guarantee, in words."""
    rows_expected: int | None
    """Number of rows that the query must return, if planning knows it."""
    left_out: int | None = None
    """Number of source records that are not published, if it is not the difference of the row counts."""
    waiting: Mapping[str, Mapping[str | None, int]] = field(default_factory=dict)
    """By sensitive attribute: how many unpublished records have each value, if known."""
    sample: bool = False
    """Whether the rows are a random sample; the number of unpublished records must then stay secret."""
    warnings: Sequence[str] = ()
    earlier: str | None = None
    """The query of the rows published earlier, if the kernel's rows extend a release."""
    staged: Sequence[str] = ()
    """Kernel steps whose tables are already on the publisher's cursor; another process has to make them."""
    complete: Complete | None = None
    """Completes the plan from the published counts of each value."""


Complete = Callable[[Plan, Mapping[str, Mapping[str | None, int]]], Plan]
"""Takes a plan and, by attribute, the published count of each value; returns the completed plan."""
