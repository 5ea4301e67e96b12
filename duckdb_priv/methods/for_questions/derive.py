"""A coarser release of ordered values: a shown value is kept, or replaced by one that carries no information."""

from __future__ import annotations

import math
from dataclasses import replace

from duckdb_priv.errors import GuaranteeViolated
from duckdb_priv.mechanism.alias import alias_tables
from duckdb_priv.mechanism.operator import invert
from duckdb_priv.mechanism.questions import claimed_amplification, diluted, share_kept
from duckdb_priv.methods.common.derivation import Asked, Coarser
from duckdb_priv.methods.common.operator_audit import ROUNDING, stored_operator
from duckdb_priv.methods.common.perturbation import Exchange
from duckdb_priv.methods.for_questions.plan import operator_guarantees
from duckdb_priv.release.model import SensitiveAttribute


def coarser(attribute: SensitiveAttribute, release: str, asked: Asked) -> Coarser:
    """Return the perturbation that keeps the operator's pattern but brings its likelihoods closer together.

    Raises GuaranteeViolated if the requested release is not coarser.
    """
    operator = stored_operator(attribute)
    there = claimed_amplification(operator)
    kept = (
        share_kept(operator, math.exp(asked.epsilon) * (1 - ROUNDING))
        if asked.epsilon is not None
        else asked.retention or 0.0
    )
    if not 0 < kept < 1:
        raise GuaranteeViolated(
            f"{attribute.name!r} is shown with epsilon {math.log(there):.6g}, and what is asked for is no coarser",
            hint="choose a smaller epsilon, or a retention between 0 and 1; what noise has hidden does not come back",
        )
    transition, composed = diluted(operator, kept)
    tables = alias_tables(transition)
    guarantees = operator_guarantees(attribute.name, composed)
    return Coarser(
        replace(
            attribute,
            release=release,
            numbers={},
            lists={"weights": invert(composed).tolist(), "operator": composed.T.tolist()},
        ),
        attribute.values,
        lambda domain, random_bits: Exchange(domain, random_bits, tables),
        guarantees[0].value or 0.0,
        guarantees,
        {"epsilon": guarantees[0].value},
        composed,
    )
