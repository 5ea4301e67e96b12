"""Audit of fine-grain perturbation."""

from __future__ import annotations

from typing import Any

import numpy as np

from duckdb_priv.mechanism.fine_grain import FineGrain, worst_posteriors
from duckdb_priv.mechanism.requirements import Requirements
from duckdb_priv.methods.common.findings import (
    TOLERANCE,
    AuditRow,
    Subject,
)
from duckdb_priv.methods.common.operator_audit import audit_perturbed
from duckdb_priv.methods.common.shuffles import audit_shuffle


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute the worst posteriors of every requirement, and the promise for a record in its shuffled group."""
    operator = FineGrain(np.array(subject.attribute.numbers["retention"]))
    _, claim = subject.claims["fine_grain_privacy"]
    requirements = _requirements(subject, claim)
    odds = []
    if requirements is not None:
        odds = _odds(subject, operator, requirements, claim["direction"])
    return [*audit_perturbed(subject, operator.matrix(), odds), *audit_shuffle(subject)]


def _requirements(subject: Subject, claim: dict[str, Any]) -> Requirements | None:
    """Return the requirements that the release states; None for a tolerance without published frequencies."""
    values = subject.attribute.values
    if "tolerance" in claim:
        if "reference_frequencies" not in subject.claims:
            return None
        _, reference = subject.claims["reference_frequencies"]
        return Requirements.from_tolerance(reference["frequencies"], claim["tolerance"], values)
    position = {value: place for place, value in enumerate(values)}
    stated = claim["requirements"]
    return Requirements(
        len(values),
        np.array([position[each["value"]] for each in stated], np.intp),
        np.array([each["rho1"] for each in stated]),
        np.array([each["rho2"] for each in stated]),
        values,
    )


def _odds(
    subject: Subject, operator: FineGrain, requirements: Requirements, direction: str
) -> list[AuditRow]:
    highest, lowest = worst_posteriors(operator, requirements)
    rise = operator.upward_amplification()[requirements.values]
    fall = operator.downward_amplification()[requirements.values]
    factors = requirements.factors() * (1 + TOLERANCE)
    rows = []
    for k, value in enumerate(requirements.values.tolist()):
        rho1, rho2 = float(requirements.rho1[k]), float(requirements.rho2[k])
        limits = {"of": subject.attribute.values[value], "rho1": rho1, "rho2": rho2}
        rows += [
            subject.finding(
                "upward_privacy",
                f"A prior of {rho1:.6g} for this value becomes a posterior of at most {highest[k]:.6g}, whatever is"
                " published and whatever else was likely.",
                float(highest[k]),
                bool(rise[k] <= factors[k]),
                **limits,
            ),
            subject.finding(
                "downward_privacy",
                f"A prior of {rho2:.6g} for this value becomes a posterior of at least {lowest[k]:.6g}, whatever is"
                " published and whatever else was likely.",
                float(lowest[k]),
                # Direction 'upward' claims nothing here, so the finding is for information only.
                bool(fall[k] <= factors[k]) if direction == "both" else None,
                **limits,
            ),
        ]
    return rows
