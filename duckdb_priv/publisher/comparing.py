"""What whoever holds two releases of the same records learns by comparing them, told where releases promise something.

Keyed coins show the same value of the same record, so that releases cannot be averaged. The price: a record that shows
another value in a later release has changed, with certainty. And the domain belongs to what defines the coins: where it
is what occurs in the source, one value that comes new draws every record anew, which is a second look at all of them.
"""

from __future__ import annotations

from dataclasses import replace

from duckdb_priv.engine.plan import Plan
from duckdb_priv.methods.register import Method
from duckdb_priv.release.model import Guarantee


def told_of_comparing(method: Method, plan: Plan) -> Plan:
    """Add to the first promise about each attribute with keyed coins what comparing releases tells of it."""
    if method.groups or method.afresh or method.baseline:
        return plan
    sentences = {
        entry.attribute: _sentence(entry.attribute, plan.provenance.get(entry.attribute))
        for entry in plan.ledger
        if not entry.fresh
    }
    guarantees: list[Guarantee] = []
    for each in plan.guarantees:
        said = sentences.pop(each.attribute or "", None)
        guarantees.append(replace(each, statement=f"{each.statement} {said}") if said else each)
    return replace(plan, guarantees=guarantees)


def _sentence(attribute: str, provenance: str | None) -> str:
    certain = (
        "Whoever compares two releases with these coins knows with certainty that a record which shows another"
        f" {attribute} has changed;"
    )
    if provenance == "source":
        return (
            f"{certain} and a value that is new to the domain, which is what occurs, draws all records anew, which is a"
            " second look."
        )
    return f"{certain} as the domain was declared, no other record is drawn anew."
