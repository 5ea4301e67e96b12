"""The arguments of ``priv.publish_splu``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duckdb_priv.release.arguments import FLAG, WHOLES, Arguments, argument, choice, whole

GROUPS_OF_A_BATCH = 10
"""Smallest number of groups in an appended batch."""


@dataclass(frozen=True, kw_only=True)
class SpluArguments(Arguments):
    """The size of the groups, and whether records may be published again."""

    gamma: int = argument(
        whole(2), "the number of values that a record hides among, usually 5 to 10", "5"
    )
    grouping: str = argument(
        choice("mixed", "largest_first"),
        "how groups are made, 'largest_first' being biased and for comparison only",
        "'mixed'",
        default="mixed",
    )
    append: bool = argument(
        FLAG, "whether new records are added to the release", "true", default=False
    )

    @property
    def extends(self) -> bool:
        """Whether rows are added to an existing release."""
        return self.append


def fewest_of_a_batch(arguments: SpluArguments) -> int:
    """Return the smallest size of an appended batch, so that comparing releases does not reveal a single group."""
    return GROUPS_OF_A_BATCH * arguments.gamma


@dataclass(frozen=True, kw_only=True)
class SpluGrid(Arguments):
    """The parameters that advice about decoy groups tries."""

    gammas: Sequence[int] = argument(
        WHOLES, "the sizes of decoy groups to try", "[5, 10]", default=(2, 3, 5, 10)
    )
