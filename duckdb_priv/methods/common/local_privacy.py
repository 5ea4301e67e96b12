"""What a draw that keeps a value or takes a uniform one promises, and how that is recomputed."""

from __future__ import annotations

import numpy as np

from duckdb_priv.mechanism.uniform import Uniform, amplification_gamma
from duckdb_priv.methods.common.findings import TOLERANCE, AuditRow, Subject, finding
from duckdb_priv.release.model import Guarantee


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
                f"No prior of at most {rho1:g} for the true {attribute} of a record becomes a posterior above"
                f" {rho2:g}, and none of at least {rho2:g} one below {rho1:g}.",
                value=operator.amplification,
                attribute=attribute,
                parameters={"rho1": rho1, "rho2": rho2, "gamma": amplification_gamma(rho1, rho2)},
            )
        )
    return found


def audit_draw(subject: Subject, own: float, other: float) -> list[AuditRow]:
    """Recompute what the draw of one record's value claims."""
    return [_operator(subject, own, other), _differential(subject, own, other)]


def _operator(subject: Subject, own: float, other: float) -> AuditRow:
    total = own + (subject.attribute.size - 1) * other
    return finding(
        "operator",
        "The probabilities with which a true value is published sum to one, and their matrix can be inverted.",
        total,
        abs(total - 1) <= 1e-9 and own > other,
        subject.attribute.name,
        retention=own - other,
        domain_size=subject.attribute.size,
    )


def _differential(subject: Subject, own: float, other: float) -> AuditRow:
    claimed = subject.claims["local_differential_privacy"][0] or 0.0
    epsilon = float(np.log(own / other))
    return finding(
        "local_differential_privacy",
        f"A published value changes the odds between two true values by a factor of at most {own / other:.4g}.",
        epsilon,
        epsilon <= claimed * (1 + TOLERANCE),
        subject.attribute.name,
        claimed=claimed,
    )
