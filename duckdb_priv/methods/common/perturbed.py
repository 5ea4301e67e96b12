"""The plan of a method that perturbs each record by itself, made from its sensitive attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.alias import alias_tables
from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.operator import half_step, invert
from duckdb_priv.mechanism.score_terms import likely_shares, score_terms
from duckdb_priv.methods.common.domain import Domain, warn_of_domain
from duckdb_priv.methods.common.perturbation import Drawn, Exchange, bits_of, perturb_kernel
from duckdb_priv.methods.common.shuffles import shuffle_guarantees
from duckdb_priv.release.model import Guarantee, LedgerEntry, SensitiveAttribute


@dataclass(frozen=True)
class Perturbed:
    """A sensitive attribute with its perturbation."""

    draw: Drawn
    attribute: SensitiveAttribute
    """Its catalog entry."""
    guarantees: Sequence[Guarantee]
    epsilon: float | None
    """The epsilon that the ledger charges; None if there is no bound."""
    delta: float = 0.0
    """The delta that the ledger charges."""
    operator: tuple[Matrix, Matrix] | None = None
    """The weights of estimates and the operator, if intervals need the published histogram."""
    sentence: str = ""
    """A sentence for the receipt, after the strongest guarantee."""
    warnings: Sequence[str] = ()


def exchanged(
    workspace: Workspace,
    source: Source,
    release: str,
    mechanism: str,
    domain: Domain,
    operator: Matrix,
    guarantees: Sequence[Guarantee],
    epsilon: float | None,
    sentence: str = "",
    **definition: object,
) -> Perturbed:
    """Return an attribute whose values are exchanged with the probabilities of an operator.

    ``definition`` defines the noise, besides the mechanism, the domain and the operator.
    """
    tables, weights = alias_tables(operator), invert(operator)
    lists = {"weights": weights.tolist(), "operator": operator.T.tolist()}
    random_bits = bits_of(workspace, source, mechanism, domain, matrix=tables.digest, **definition)
    return Perturbed(
        Exchange(domain, random_bits, tables),
        domain.as_attribute(release, "operator", {}, lists),
        guarantees,
        epsilon,
        operator=(weights, operator),
        sentence=sentence,
    )


def plan_of(
    workspace: Workspace,
    source: Source,
    mechanism: str,
    parameters: Mapping[str, Any],
    perturbed: Sequence[Perturbed],
    *,
    kernel: Kernel | None = None,
    crowds: bool = True,
) -> Plan:
    """Return the plan of a release; ``kernel`` makes its rows, by default from each record alone.

    ``crowds`` says whether records with equal public columns hide each other, which is a further guarantee.
    """
    draws, attributes = [each.draw for each in perturbed], [each.attribute for each in perturbed]
    guarantees = [claim for each in perturbed for claim in each.guarantees]
    operators = {each.attribute.name: each.operator for each in perturbed if each.operator}
    return Plan(
        mechanism=mechanism,
        parameters=parameters,
        kernel=kernel or perturb_kernel(source, draws),
        columns=source.published_roles,
        attributes=attributes,
        provenance={draw.domain.attribute: draw.domain.provenance for draw in draws},
        guarantees=[
            *guarantees,
            *(shuffle_guarantees(workspace, source, attributes) if crowds else ()),
        ],
        ledger=[
            LedgerEntry(
                attribute=each.attribute.name,
                epsilon=each.epsilon,
                delta=each.delta,
                fingerprint=each.draw.random_bits.fingerprint,
                fresh=each.draw.random_bits.fresh,
            )
            for each in perturbed
        ],
        strongest=" ".join(
            [guarantees[0].statement, *(each.sentence for each in perturbed if each.sentence)]
        ),
        rows_expected=source.rows,
        warnings=[
            warning
            for each in perturbed
            for warning in (*warn_of_domain(each.draw.domain, source), *each.warnings)
        ],
        complete=partial(_complete, operators=operators) if operators else None,
    )


def of_each(numbers: Mapping[str, Any]) -> Any:
    """Return a parameter of the attributes: by attribute, or the number itself if there is one attribute.

    >>> of_each({"disease": 0.5}), of_each({"disease": 0.5, "drug": 0.2})
    (0.5, {'disease': 0.5, 'drug': 0.2})
    """
    return numbers if len(numbers) > 1 else next(iter(numbers.values()))


def _complete(
    plan: Plan,
    published: Mapping[str, Mapping[str | None, int]],
    *,
    operators: Mapping[str, tuple[Matrix, Matrix]],
) -> Plan:
    """Complete the attributes with the terms of their intervals, from their operators and the published histogram."""
    attributes = []
    for attribute in plan.attributes:
        weights, operator = operators[attribute.name]
        histogram = [published[attribute.name].get(value, 0) for value in attribute.values]
        terms = score_terms(weights, operator, likely_shares(weights, operator, histogram))
        numbers = {name: of.tolist() for name, of in terms._asdict().items()}
        numbers["half_step"] = half_step(weights).tolist()
        attributes.append(replace(attribute, numbers={**attribute.numbers, **numbers}))
    return replace(plan, attributes=attributes)
