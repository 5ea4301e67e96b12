"""How large the micro groups of a source are, and how many of their records have each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.templates import body, fill, read


@dataclass(frozen=True)
class GroupCounts:
    """One entry for each combination that occurs of size, count and whether the value is the most frequent."""

    size: NDArray[np.int64]
    """Records in the group."""
    count: NDArray[np.int64]
    """Records of the group with the value."""
    top: NDArray[np.bool_]
    """Whether no value of the group is more frequent; of several such values one is chosen."""
    number: NDArray[np.int64]
    """How often the combination occurs."""

    @property
    def of_groups(self) -> GroupCounts:
        """Look at the most frequent value of each group only."""
        return self.where(self.top)

    @property
    def frequency(self) -> NDArray[np.float64]:
        """The share of the group that has the value."""
        return self.count / self.size

    def where(self, chosen: NDArray[np.bool_]) -> GroupCounts:
        """Look at some of the entries."""
        return GroupCounts(
            self.size[chosen], self.count[chosen], self.top[chosen], self.number[chosen]
        )


def aliased(public: Sequence[str]) -> str:
    """Select public columns under names of our own, each followed by a comma.

    >>> aliased(["age"])
    's."age" AS _priv_public0, '
    """
    return "".join(f"s.{identifier(name)} AS _priv_public{n}, " for n, name in enumerate(public))


def count_groups(
    workspace: Workspace, table: str, public: Sequence[str], sensitive: str
) -> GroupCounts:
    """Count the values in every micro group of a table; ``sensitive`` is an expression over it, as ``s``."""
    groups = ", ".join(f"_priv_public{n}" for n in range(len(public)))
    sql = fill(
        body(read("publisher/fragments", "group_counts")),
        {
            "public": aliased(public),
            "source": f"{table} AS s",
            "sensitive": sensitive,
            "partition": f"PARTITION BY {groups}" if public else "",
        },
    )
    size, count, top, number = np.array(workspace.rows(sql), dtype=np.int64).reshape(-1, 4).T
    return GroupCounts(size, count, top.astype(bool), number)
