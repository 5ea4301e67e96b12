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
from duckdb_priv.methods.common.domain import Domain, given_domains, open_domains, warn_of_domain
from duckdb_priv.methods.common.local_privacy import (
    uniform_attribute,
    uniform_guarantees,
    uniform_perturbation,
)
from duckdb_priv.methods.common.perturbation import perturb_kernel
from duckdb_priv.methods.common.shuffles import shuffle_guarantees
from duckdb_priv.methods.uniform.arguments import UniformArguments
from duckdb_priv.release.model import LedgerEntry

MECHANISM = "uniform"


def plan(workspace: Workspace, source: Source, release: str, arguments: UniformArguments) -> Plan:
    """Plan a uniformly perturbed release of a source."""
    domains = open_domains(workspace, source, given_domains(arguments.domain, source))
    limits = _limits(arguments)
    operators = [_operator(arguments, domain, limits) for domain in domains]
    perturbations = [
        uniform_perturbation(workspace, source, domain, operator)
        for domain, operator in zip(domains, operators, strict=True)
    ]
    guarantees = [
        guarantee
        for domain, operator in zip(domains, operators, strict=True)
        for guarantee in uniform_guarantees(domain.attribute, operator, limits)
    ]
    strongest = guarantees[0].statement
    attributes = [
        uniform_attribute(release, domain, operator)
        for domain, operator in zip(domains, operators, strict=True)
    ]
    guarantees += shuffle_guarantees(workspace, source, attributes)
    return Plan(
        mechanism=MECHANISM,
        parameters={
            "retention": {
                domain.attribute: operator.retention
                for domain, operator in zip(domains, operators, strict=True)
            }
            if len(domains) > 1
            else operators[0].retention,
            **({"rho1": limits[0], "rho2": limits[1]} if limits else {}),
        },
        kernel=perturb_kernel(source, perturbations),
        columns=source.published_roles,
        attributes=attributes,
        provenance={domain.attribute: domain.provenance for domain in domains},
        guarantees=guarantees,
        ledger=[
            LedgerEntry(
                attribute=each.domain.attribute,
                epsilon=operator.ldp_epsilon,
                fingerprint=each.random_bits.fingerprint,
                fresh=each.random_bits.fresh,
            )
            for each, operator in zip(perturbations, operators, strict=True)
        ],
        strongest=strongest,
        rows_expected=source.rows,
        warnings=[warning for domain in domains for warning in warn_of_domain(domain, source)],
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
