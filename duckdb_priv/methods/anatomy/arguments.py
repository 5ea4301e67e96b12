"""The arguments of ``priv.publish_anatomy``."""

from __future__ import annotations

from dataclasses import dataclass

from duckdb_priv.release.arguments import Arguments, argument, whole


@dataclass(frozen=True, kw_only=True)
class AnatomyArguments(Arguments):
    """The size of the groups."""

    l: int = argument(  # noqa: E741  (the paper's name)
        whole(2), "the number of different values in a group, at least", "3"
    )
