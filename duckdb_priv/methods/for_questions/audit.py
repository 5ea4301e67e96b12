"""Audit of ordered values that a chosen operator has perturbed."""

from __future__ import annotations

from fractions import Fraction

from duckdb_priv.mechanism.questions import exact_amplification
from duckdb_priv.methods.common.findings import AuditRow, Subject
from duckdb_priv.methods.common.local_privacy import audit_limits
from duckdb_priv.methods.common.operator_audit import audit_perturbed, stored_operator
from duckdb_priv.methods.common.shuffles import audit_shuffle


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute the guarantees for one record, and for a record among those with the same public columns."""
    operator = stored_operator(subject.attribute)
    exact = exact_amplification(operator)
    claimed = subject.claims["local_differential_privacy"][1]["amplification"]
    more = [
        subject.finding(
            "largest_likelihood_ratio",
            "The largest ratio of two probabilities of the same published value, computed from the integers that"
            " draw the records. It does not exceed the claim.",
            float(exact),
            exact <= Fraction(claimed),
        ),
        *audit_limits(subject, float(exact)),
        *audit_shuffle(subject),
    ]
    return audit_perturbed(subject, operator, more)
