"""Audit of uniform perturbation."""

from __future__ import annotations

import numpy as np

from duckdb_priv.audits.subject import TOLERANCE, Finding, Subject, finding
from duckdb_priv.mechanism.uniform import Uniform, amplification_gamma


def audit_uniform(subject: Subject) -> list[Finding]:
    """Recompute what a uniformly perturbed attribute claims, and what may be believed of it."""
    own, other = subject.attribute.numbers["own"][0], subject.attribute.numbers["other"][0]
    operator = Uniform(own - other, subject.attribute.size)
    rows = audit_draw(subject, own, other)
    if "rho1_rho2_privacy" in subject.claims:
        _, given = subject.claims["rho1_rho2_privacy"]
        rows += _beliefs(subject, own / other, given["rho1"], given["rho2"])
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


def audit_draw(subject: Subject, own: float, other: float) -> list[Finding]:
    """Recompute what the draw of one record's value claims."""
    return [_operator(subject, own, other), _differential(subject, own, other)]


def source_changed(subject: Subject) -> Finding:
    """Say that nothing can be compared with the source."""
    return finding(
        "source",
        "The source is no longer what was published, so nothing is compared with it.",
        None,
        None,
        subject.attribute.name,
    )


def _operator(subject: Subject, own: float, other: float) -> Finding:
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


def _differential(subject: Subject, own: float, other: float) -> Finding:
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


def _beliefs(subject: Subject, gamma: float, rho1: float, rho2: float) -> list[Finding]:
    """Compute the worst belief after, over all beliefs before that the claim speaks of."""
    up = gamma * rho1 / (gamma * rho1 + 1 - rho1)
    down = rho2 / (rho2 + gamma * (1 - rho2))
    limits = {"rho1": rho1, "rho2": rho2, "gamma": amplification_gamma(rho1, rho2)}
    return [
        finding(
            "upward_privacy",
            f"A belief of {rho1:g} in a true value rises to at most {up:.6g}, whatever is published.",
            up,
            up <= rho2 * (1 + TOLERANCE),
            subject.attribute.name,
            **limits,
        ),
        finding(
            "downward_privacy",
            f"A belief of {rho2:g} in a true value falls to no less than {down:.6g}, whatever is published.",
            down,
            down >= rho1 * (1 - TOLERANCE),
            subject.attribute.name,
            **limits,
        ),
    ]


def _posteriors(subject: Subject, operator: Uniform, true: np.ndarray) -> list[Finding]:
    high, low = operator.posteriors(true / true.sum())
    top = int(high.argmax())
    return [
        finding(
            "largest_posterior",
            "The largest belief in a true value that a published value causes, for somebody who knows the"
            " true frequencies.",
            float(high[top]),
            None,
            subject.attribute.name,
            of=subject.attribute.values[top],
            prior=float(true[top] / true.sum()),
        ),
        finding(
            "smallest_posterior",
            "The smallest belief in an occurring value that a published value causes, for somebody who knows"
            " the true frequencies.",
            float(low[true > 0].min()),
            None,
            subject.attribute.name,
        ),
    ]
