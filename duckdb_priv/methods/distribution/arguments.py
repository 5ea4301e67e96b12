"""What ``priv.publish_distribution`` takes: nothing of its own."""

from __future__ import annotations

from dataclasses import dataclass

from duckdb_priv.release.arguments import Arguments


@dataclass(frozen=True, kw_only=True)
class DistributionArguments(Arguments):
    """Nothing: the distribution is that of the table."""
