"""Plan a publication whose sensitive values are redrawn from their distribution in the table.

This is a baseline for comparison. It publishes how often each value occurs, and nothing else about sensitive columns.
Source: the method called "distribution" in Fu, Wang and others, "Small sum privacy and large sum utility in data
publishing", section 6.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.alias import alias_tables
from duckdb_priv.methods.common.domain import Domain, open_domains
from duckdb_priv.methods.common.perturbation import Redrawn, bits_of
from duckdb_priv.methods.common.perturbed import Perturbed, plan_of
from duckdb_priv.methods.distribution.arguments import DistributionArguments
from duckdb_priv.release.model import Guarantee

MECHANISM = "distribution"
WARNING = (
    "a baseline to compare with: it answers no question about a part of the table, and publishes exactly how often"
    " each value occurs in the whole table"
)


def plan(
    workspace: Workspace, source: Source, release: str, arguments: DistributionArguments
) -> Plan:
    """Plan a release of values that are redrawn from their distribution."""
    redrawn = [
        _redrawn(workspace, source, release, domain) for domain in open_domains(workspace, source)
    ]
    plan = plan_of(workspace, source, MECHANISM, {"rows": source.rows}, redrawn, crowds=False)
    return replace(plan, warnings=[WARNING, *plan.warnings])


def _redrawn(workspace: Workspace, source: Source, release: str, domain: Domain) -> Perturbed:
    counts = np.array(domain.counts, np.float64)
    shares = counts / counts.sum()
    tables = alias_tables(shares[:, np.newaxis])
    random_bits = bits_of(workspace, source, MECHANISM, domain, distribution=tables.digest)
    return Perturbed(
        Redrawn(domain, random_bits, tables),
        domain.as_attribute(release, "constant", dict.fromkeys(("own", "other"), shares.tolist())),
        [_guarantee(domain.attribute)],
        epsilon=None,
    )


def _guarantee(attribute: str) -> Guarantee:
    return Guarantee(
        "independence",
        f"What a record shows is drawn from the distribution of {attribute} in the whole table, whatever its own value"
        " is: it says nothing about the record. The distribution itself is published exactly.",
        value=0.0,
        attribute=attribute,
    )
