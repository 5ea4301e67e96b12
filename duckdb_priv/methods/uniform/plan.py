"""Plan a publication by uniform perturbation (k-ary randomized response): keep with probability p, else redraw.

Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", section 3.
"""

from __future__ import annotations

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.uniform import Uniform, amplified_retention
from duckdb_priv.methods.common.domain import open_domains
from duckdb_priv.methods.common.local_privacy import asked_amplification, uniformly_perturbed
from duckdb_priv.methods.common.perturbed import of_each, plan_of
from duckdb_priv.methods.uniform.arguments import UniformArguments

MECHANISM = "uniform"


def plan(workspace: Workspace, source: Source, release: str, arguments: UniformArguments) -> Plan:
    """Plan a uniformly perturbed release of a source."""
    domains = open_domains(workspace, source, arguments.domain)
    retention, limits = arguments.retention, None
    if retention is None:
        amplification, limits = asked_amplification(
            arguments.epsilon, arguments.rho1, arguments.rho2
        )
        operators = [
            Uniform(amplified_retention(amplification, each.size), each.size) for each in domains
        ]
    else:
        operators = [Uniform(retention, each.size) for each in domains]
    retentions = dict(zip(source.sensitive, (each.retention for each in operators), strict=True))
    stated = {"rho1": limits[0], "rho2": limits[1]} if limits else {}
    perturbed = [
        uniformly_perturbed(workspace, source, release, domain, operator, limits)
        for domain, operator in zip(domains, operators, strict=True)
    ]
    return plan_of(
        workspace, source, MECHANISM, {"retention": of_each(retentions), **stated}, perturbed
    )
