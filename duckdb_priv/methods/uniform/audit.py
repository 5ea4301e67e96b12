"""Audit of uniform perturbation."""

from __future__ import annotations

import numpy as np

from duckdb_priv.mechanism.uniform import Uniform, amplification_gamma
from duckdb_priv.methods.common.findings import (
    TOLERANCE,
    AuditRow,
    Subject,
    finding,
    source_changed,
)
from duckdb_priv.methods.common.local_privacy import audit_draw


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute what a uniformly perturbed attribute claims, and what may be believed of it."""
    own, other = subject.attribute.numbers["own"][0], subject.attribute.numbers["other"][0]
    operator = Uniform(own - other, subject.attribute.size)
    rows = audit_draw(subject, own, other)
    if "rho1_rho2_privacy" in subject.claims:
        _, given = subject.claims["rho1_rho2_privacy"]
        rows += _odds(subject, own / other, given["rho1"], given["rho2"])
    true, shown = subject.true_counts(), subject.shown_counts()
    if true is None or true.sum() != shown.sum():
        return [*rows, source_changed(subject)]
    mean = operator.retention * true + other * true.sum()
    spread = true * own * (1 - own) + (true.sum() - true) * other * (1 - other)
    return [
        *rows,
        *_posteriors(subject, operator, true),
        subject.noise_as_stated(shown, mean, spread),
    ]


def _odds(subject: Subject, gamma: float, rho1: float, rho2: float) -> list[AuditRow]:
    """Compute the worst posterior, over all priors that the claim speaks of."""
    up = gamma * rho1 / (gamma * rho1 + 1 - rho1)
    down = rho2 / (rho2 + gamma * (1 - rho2))
    limits = {"rho1": rho1, "rho2": rho2, "gamma": amplification_gamma(rho1, rho2)}
    return [
        finding(
            "upward_privacy",
            f"A prior of {rho1:g} for a true value becomes a posterior of at most {up:.6g}, whatever is published.",
            up,
            up <= rho2 * (1 + TOLERANCE),
            subject.attribute.name,
            **limits,
        ),
        finding(
            "downward_privacy",
            f"A prior of {rho2:g} for a true value becomes a posterior of at least {down:.6g}, whatever is published.",
            down,
            down >= rho1 * (1 - TOLERANCE),
            subject.attribute.name,
            **limits,
        ),
    ]


def _posteriors(subject: Subject, operator: Uniform, true: np.ndarray) -> list[AuditRow]:
    high, low = operator.posteriors(true / true.sum())
    top = int(high.argmax())
    return [
        finding(
            "largest_posterior",
            "The largest posterior of a true value that a published value causes, for somebody who knows the"
            " true frequencies.",
            float(high[top]),
            None,
            subject.attribute.name,
            of=subject.attribute.values[top],
            prior=float(true[top] / true.sum()),
        ),
        finding(
            "smallest_posterior",
            "The smallest posterior of an occurring value that a published value causes, for somebody who knows"
            " the true frequencies.",
            float(low[true > 0].min()),
            None,
            subject.attribute.name,
        ),
    ]
