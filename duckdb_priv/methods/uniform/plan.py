"""Plan a publication by uniform perturbation (k-ary randomized response): keep with probability p, else redraw.

Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", section 3.
"""

from __future__ import annotations

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import GuaranteeViolated
from duckdb_priv.mechanism.uniform import (
    Uniform,
    amplification_gamma,
    epsilon_retention,
    max_retention,
)
from duckdb_priv.methods.common.domain import Domain, given_domains, open_domains
from duckdb_priv.methods.common.local_privacy import uniformly_perturbed
from duckdb_priv.methods.common.perturbed import of_each, plan_of
from duckdb_priv.methods.uniform.arguments import UniformArguments

MECHANISM = "uniform"


def plan(workspace: Workspace, source: Source, release: str, arguments: UniformArguments) -> Plan:
    """Plan a uniformly perturbed release of a source."""
    domains = open_domains(workspace, source, given_domains(arguments.domain, source))
    limits = _limits(arguments)
    operators = [_operator(arguments, domain, limits) for domain in domains]
    retentions = dict(zip(source.sensitive, (each.retention for each in operators), strict=True))
    stated = {"rho1": limits[0], "rho2": limits[1]} if limits else {}
    perturbed = [
        uniformly_perturbed(workspace, source, release, domain, operator, limits)
        for domain, operator in zip(domains, operators, strict=True)
    ]
    return plan_of(
        workspace, source, MECHANISM, {"retention": of_each(retentions), **stated}, perturbed
    )


def _limits(arguments: UniformArguments) -> tuple[float, float] | None:
    """Return (rho1, rho2), or None if they are not given."""
    if arguments.rho1 is None or arguments.rho2 is None:
        return None
    amplification_gamma(arguments.rho1, arguments.rho2)
    return arguments.rho1, arguments.rho2


def _operator(
    arguments: UniformArguments, domain: Domain, limits: tuple[float, float] | None
) -> Uniform:
    if arguments.retention is not None:
        return Uniform(arguments.retention, domain.size)
    if arguments.epsilon is not None:
        return Uniform(epsilon_retention(arguments.epsilon, domain.size), domain.size)
    assert limits is not None
    operator = Uniform(max_retention(*limits, domain.size), domain.size)
    if operator.amplification > amplification_gamma(*limits):
        raise GuaranteeViolated(
            f"({limits[0]}, {limits[1]})-privacy does not hold for {domain.attribute!r}"
        )
    return operator
