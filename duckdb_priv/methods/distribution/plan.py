"""Plan a publication whose sensitive values are redrawn from their distribution in the table.

This is a baseline for comparison. It publishes how often each value occurs, and nothing else about sensitive columns.
Source: the method called "distribution" in Fu, Wang and others, "Small sum privacy and large sum utility in data
publishing", section 6.
"""

from __future__ import annotations

import hashlib

import numpy as np

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.alias import alias_tables
from duckdb_priv.methods.common.domain import Domain, open_domains, warn_of_domain
from duckdb_priv.methods.common.perturbation import Redrawn, open_random_bits, perturb_kernel
from duckdb_priv.methods.distribution.arguments import DistributionArguments
from duckdb_priv.release.model import Guarantee, LedgerEntry, SensitiveAttribute

MECHANISM = "distribution"
WARNING = (
    "a baseline to compare with: it answers no question about a part of the table, and publishes exactly how often"
    " each value occurs in the whole table"
)


def plan(
    workspace: Workspace, source: Source, release: str, arguments: DistributionArguments
) -> Plan:
    """Plan a release of values that are redrawn from their distribution."""
    domains = open_domains(workspace, source)
    redrawn = [_redrawn(workspace, source, domain) for domain in domains]
    guarantees = [_guarantee(domain.attribute) for domain in domains]
    return Plan(
        mechanism=MECHANISM,
        parameters={"rows": source.rows},
        kernel=perturb_kernel(source, redrawn),
        columns=source.published_roles,
        attributes=[_attribute(release, domain) for domain in domains],
        provenance=dict.fromkeys(source.sensitive, "source"),
        guarantees=guarantees,
        ledger=[
            LedgerEntry(
                each.domain.attribute, None, each.random_bits.fingerprint, each.random_bits.fresh
            )
            for each in redrawn
        ],
        strongest=guarantees[0].statement,
        rows_expected=source.rows,
        warnings=[
            WARNING,
            *(warning for domain in domains for warning in warn_of_domain(domain, source)),
        ],
    )


def _redrawn(workspace: Workspace, source: Source, domain: Domain) -> Redrawn:
    tables = alias_tables(_shares(domain)[:, np.newaxis])
    digest = hashlib.sha256(tables.bounds.tobytes() + tables.aliases.tobytes()).hexdigest()
    random_bits = open_random_bits(
        workspace,
        source,
        {
            "mechanism": MECHANISM,
            "attribute": domain.attribute.lower(),
            "domain": domain.digest,
            "distribution": digest,
        },
    )
    return Redrawn(domain, random_bits, tables)


def _shares(domain: Domain) -> np.ndarray:
    counts = np.array(domain.counts, np.float64)
    shares: np.ndarray = counts / counts.sum()
    return shares


def _attribute(release: str, domain: Domain) -> SensitiveAttribute:
    shares = _shares(domain).tolist()
    return SensitiveAttribute(
        release=release,
        name=domain.attribute,
        type=domain.catalog_type,
        values=domain.values,
        form="constant",
        numbers={"own": shares, "other": shares},
    )


def _guarantee(attribute: str) -> Guarantee:
    return Guarantee(
        "independence",
        f"What a record shows is drawn from the distribution of {attribute} in the whole table, whatever its own value"
        " is: it says nothing about the record. The distribution itself is published exactly.",
        value=0.0,
        attribute=attribute,
    )
