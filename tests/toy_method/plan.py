"""Publishing with coins."""

from __future__ import annotations

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.uniform import Uniform
from duckdb_priv.methods.common.domain import open_domains
from duckdb_priv.methods.common.local_privacy import uniform_guarantees
from duckdb_priv.methods.common.perturbation import Perturbation, open_random_bits, perturb_kernel
from duckdb_priv.release.model import LedgerEntry, SensitiveAttribute
from toy_method.arguments import CoinsArguments


def plan(workspace: Workspace, source: Source, release: str, arguments: CoinsArguments) -> Plan:
    """Decide everything about a release; one sensitive column is enough for a toy."""
    (domain,) = open_domains(workspace, source)
    operator = Uniform(1 - 2.0**-arguments.coins, domain.size)
    context = {"mechanism": "coins", "domain": domain.digest, "coins": arguments.coins}
    coins = open_random_bits(workspace, source, context)
    guarantees = uniform_guarantees(domain.attribute, operator)
    return Plan(
        mechanism="coins",
        parameters={"coins": arguments.coins},
        kernel=perturb_kernel(source, [Perturbation(domain, coins, *operator.thresholds())]),
        columns=dict.fromkeys(source.public, "public") | {domain.attribute: "sensitive"},
        attributes=[
            SensitiveAttribute(
                release=release,
                name=domain.attribute,
                type=domain.catalog_type,
                values=domain.values,
                form="two_weights",
                numbers={
                    "own": (operator.own,) * domain.size,
                    "other": (operator.other,) * domain.size,
                },
            )
        ],
        provenance={domain.attribute: domain.provenance},
        guarantees=guarantees,
        ledger=[
            LedgerEntry(domain.attribute, operator.ldp_epsilon, coins.fingerprint, coins.fresh)
        ],
        strongest=guarantees[0].statement,
        rows_expected=source.rows,
    )
