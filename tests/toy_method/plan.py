"""Publishing with coins."""

from __future__ import annotations

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.uniform import Uniform
from duckdb_priv.methods.common.domain import open_domains
from duckdb_priv.methods.common.local_privacy import own_and_other, uniform_guarantees
from duckdb_priv.methods.common.perturbation import Perturbation, bits_of
from duckdb_priv.methods.common.perturbed import Perturbed, plan_of
from toy_method.arguments import CoinsArguments


def plan(workspace: Workspace, source: Source, release: str, arguments: CoinsArguments) -> Plan:
    """Decide everything about a release; one sensitive column is enough for a toy."""
    (domain,) = open_domains(workspace, source)
    operator = Uniform(1 - 2.0**-arguments.coins, domain.size)
    coins = bits_of(workspace, source, "coins", domain, coins=arguments.coins)
    perturbed = Perturbed(
        Perturbation(domain, coins, *operator.thresholds()),
        domain.as_attribute(release, "two_weights", own_and_other(domain, operator)),
        uniform_guarantees(domain.attribute, operator),
        operator.ldp_epsilon,
    )
    parameters = {"coins": arguments.coins}
    return plan_of(workspace, source, "coins", parameters, [perturbed], crowds=False)
