"""The arguments of ``priv.publish_distribution``, which has none of its own."""

from __future__ import annotations

from dataclasses import dataclass

from duckdb_priv.release.arguments import Arguments


@dataclass(frozen=True, kw_only=True)
class DistributionArguments(Arguments):
    """No arguments: the distribution is that of the table."""
