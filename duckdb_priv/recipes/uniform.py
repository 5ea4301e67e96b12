"""Publishing by uniform perturbation: keep with probability p, else draw from the whole domain.

Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", section 3.
"""

from __future__ import annotations

from typing import Any

from duckdb_priv.errors import GuaranteeViolated, InvalidParameter
from duckdb_priv.mechanism.uniform import Uniform, amplification_gamma, max_retention
from duckdb_priv.parameters import Guarantee, LedgerEntry, Plan, SensitiveAttribute
from duckdb_priv.procedures import Call, required
from duckdb_priv.recipes.domain import MANY_VALUES, Domain, open_domains
from duckdb_priv.recipes.perturbation import Perturbation, open_coins, perturb_sql
from duckdb_priv.source import Source

MECHANISM = "uniform"


def plan_uniform(call: Call, source: Source, release: str) -> Plan:
    """Decide everything about a uniformly perturbed release of a source."""
    domains = open_domains(call, source)
    limits = _limits(call.arguments)
    operators = [_operator(call, domain, limits) for domain in domains]
    perturbations = []
    for domain, operator in zip(domains, operators, strict=True):
        coins = open_coins(
            call,
            source,
            {
                "mechanism": MECHANISM,
                "attribute": domain.attribute.lower(),
                "domain": domain.digest,
                "retention": operator.retention,
            },
        )
        perturbations.append(Perturbation(domain, coins, *operator.thresholds()))
    total = sum(operator.ldp_epsilon for operator in operators)
    guarantees = [
        guarantee
        for domain, operator in zip(domains, operators, strict=True)
        for guarantee in uniform_guarantees(domain.attribute, operator, limits)
    ]
    if len(domains) > 1:
        guarantees.append(
            Guarantee(
                "local_differential_privacy",
                f"Over all sensitive attributes together, a published record is {total:.4g}-locally"
                " differentially private.",
                value=total,
            )
        )
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
        select=perturb_sql(source, perturbations),
        columns={
            name: "sensitive" if name in source.sensitive else "public"
            for name in source.types
            if name in source.sensitive or name in source.public
        },
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
            for domain, operator in zip(domains, operators, strict=True)
        ],
        provenance={domain.attribute: domain.provenance for domain in domains},
        guarantees=guarantees,
        ledger=[
            LedgerEntry(
                attribute=each.domain.attribute,
                epsilon=operator.ldp_epsilon,
                coins=each.coins.fingerprint,
                fresh=each.coins.fresh,
            )
            for each, operator in zip(perturbations, operators, strict=True)
        ],
        strongest=guarantees[-1].statement if len(domains) > 1 else guarantees[0].statement,
        rows_expected=source.rows,
        warnings=[warning for domain in domains for warning in warn_of_domain(domain, source)],
    )


def _limits(arguments: Any) -> tuple[float, float] | None:
    """Return (rho1, rho2) where they are given instead of a retention."""
    rho1, rho2 = arguments.get("rho1"), arguments.get("rho2")
    if (arguments.get("retention") is None) == (rho1 is None and rho2 is None):
        raise InvalidParameter(
            "give either a retention, or rho1 and rho2",
            hint="write retention := 0.3, or rho1 := 0.1, rho2 := 0.5",
        )
    if rho1 is None and rho2 is None:
        return None
    limits = (number(arguments, "rho1"), number(arguments, "rho2"))
    amplification_gamma(*limits)
    return limits


def number(arguments: Any, name: str) -> float:
    """Return an argument that must be a number."""
    value = required(arguments, name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidParameter(
            f"{name} must be a number, got {value!r}", hint=f"write {name} := 0.5"
        )
    return float(value)


def _operator(call: Call, domain: Domain, limits: tuple[float, float] | None) -> Uniform:
    if limits is None:
        return Uniform(number(call.arguments, "retention"), domain.size)
    operator = Uniform(max_retention(*limits, domain.size), domain.size)
    if operator.amplification > amplification_gamma(*limits):
        raise GuaranteeViolated(
            f"({limits[0]}, {limits[1]})-privacy does not hold for {domain.attribute!r}"
        )
    return operator


def uniform_guarantees(
    attribute: str, operator: Uniform, limits: tuple[float, float] | None = None
) -> list[Guarantee]:
    """Say what uniform perturbation of an attribute promises."""
    found = [
        Guarantee(
            "local_differential_privacy",
            f"Whatever was known before, a published value of {attribute} changes the odds between two"
            f" true values by a factor of at most {operator.amplification:.4g}"
            f" (epsilon = {operator.ldp_epsilon:.4g}).",
            value=operator.ldp_epsilon,
            attribute=attribute,
            parameters={"retention": operator.retention, "domain_size": operator.domain_size},
        )
    ]
    if limits is not None:
        rho1, rho2 = limits
        found.append(
            Guarantee(
                "rho1_rho2_privacy",
                f"No belief about the true {attribute} of a record that was at most {rho1:g} before rises"
                f" above {rho2:g}, and none that was at least {rho2:g} falls below {rho1:g}.",
                value=operator.amplification,
                attribute=attribute,
                parameters={"rho1": rho1, "rho2": rho2, "gamma": amplification_gamma(rho1, rho2)},
            )
        )
    return found


def warn_of_domain(domain: Domain, source: Source) -> list[str]:
    """Say where a sensitive column looks like an identifier, or is too fine to estimate anything."""
    name, size = repr(domain.attribute), domain.size
    found = sum(count > 0 for count in domain.counts)
    if found == source.rows > 2:
        return [f"sensitive column {name} differs in every row: it is an identifier; exclude it"]
    if size > MANY_VALUES:
        return [
            f"sensitive column {name} has {size} values: estimates will be noise; group its values first"
        ]
    return []
