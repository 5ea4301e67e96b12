"""What someone learns from comparing two releases of the same records: a sentence in their promises.

With keyed noise the same record shows the same value, so releases cannot be averaged. The price: a record that shows
another value in a later release has changed, with certainty. And the domain is part of what defines the noise: if it
is what occurs in the source, one new value redraws every record, which is a second look at all of them.
"""

from __future__ import annotations

from dataclasses import replace

from duckdb_priv.engine.plan import Plan
from duckdb_priv.methods.register import Method
from duckdb_priv.release.model import Guarantee


def with_comparison(method: Method, plan: Plan) -> Plan:
    """Add to the first promise about each attribute with keyed noise what comparing releases reveals about it."""
    if method.groups or method.afresh or method.baseline:
        return plan
    sentences = {
        entry.attribute: _sentence(entry.attribute, plan.provenance.get(entry.attribute))
        for entry in plan.ledger
        if not entry.fresh
    }
    guarantees: list[Guarantee] = []
    for each in plan.guarantees:
        stated = sentences.pop(each.attribute or "", None)
        guarantees.append(replace(each, statement=f"{each.statement} {stated}") if stated else each)
    return replace(plan, guarantees=guarantees)


def _sentence(attribute: str, provenance: str | None) -> str:
    certain = (
        "Someone who compares two releases with this noise knows with certainty that a record which shows another"
        f" {attribute} has changed."
    )
    if provenance == "source":
        return (
            f"{certain} The domain is what occurs in the source, so a value that is new to it redraws all records: a"
            " second look."
        )
    return f"{certain} The domain was declared, so no other record is redrawn."
