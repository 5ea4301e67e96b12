"""Guarantees for one shown value, and the audit of a draw that keeps a value or takes a uniform one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.questions import claimed_amplification
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.mechanism.uniform import Uniform, amplification_gamma, epsilon_amplification
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.findings import (
    TOLERANCE,
    AuditRow,
    Subject,
    audit_epsilon,
    audit_posterior,
)
from duckdb_priv.methods.common.perturbation import Perturbation, bits_of
from duckdb_priv.methods.common.perturbed import Perturbed, of_each
from duckdb_priv.release.model import Guarantee
from duckdb_priv.release.promise import of_value


def local_guarantees(
    attribute: str,
    amplification: float,
    parameters: Mapping[str, Any],
    limits: tuple[float, float] | None = None,
    shown: str = "noisy value",
) -> list[Guarantee]:
    """Return the guarantees for one shown value of an attribute, which changes odds by at most ``amplification``.

    ``limits`` are rho1 and rho2, if they are promised. ``shown`` is the noun for the value.
    """
    epsilon = math.log(amplification)
    found = [
        Guarantee(
            "local_differential_privacy",
            of_value(attribute, epsilon, shown),
            value=epsilon,
            attribute=attribute,
            parameters=parameters,
        )
    ]
    return [*found, *([_rho_guarantee(attribute, amplification, limits)] if limits else [])]


def uniform_guarantees(
    attribute: str, operator: Uniform, limits: tuple[float, float] | None = None
) -> list[Guarantee]:
    """Return the guarantees of uniform perturbation for an attribute."""
    parameters = {"retention": operator.retention, "domain_size": operator.domain_size}
    return local_guarantees(attribute, operator.amplification, parameters, limits)


def operator_guarantees(
    attribute: str, operator: Matrix, limits: tuple[float, float] | None = None
) -> list[Guarantee]:
    """Return the guarantees of an operator that was chosen for questions, from the integers that draw its values."""
    amplification = claimed_amplification(operator)
    parameters = {"amplification": amplification, "domain_size": len(operator)}
    return local_guarantees(attribute, amplification, parameters, limits)


def code_guarantees(
    attribute: str, code: Code, amplification: float, limits: tuple[float, float] | None = None
) -> list[Guarantee]:
    """Return the guarantees of a code for an attribute."""
    parameters = {"amplification": amplification, **stated_codes({attribute: code})}
    shown = "noisy value, the number of a block,"
    return local_guarantees(attribute, amplification, parameters, limits, shown)


def stated_codes(codes: Mapping[str, Code]) -> dict[str, object]:
    """Return the parameters of codes: the number of blocks, of those with a given value, and of those with two."""
    found = {"blocks": "outcomes", "holding": "holding", "shared": "shared"}
    return {
        name: of_each({attribute: getattr(code, field) for attribute, code in codes.items()})
        for name, field in found.items()
    }


def asked_amplification(
    epsilon: float | None, rho1: float | None, rho2: float | None
) -> tuple[float, tuple[float, float] | None]:
    """Return the largest permitted likelihood ratio, and the limits rho1 and rho2 if it follows from them.

    >>> asked_amplification(None, 0.1, 0.5)
    (9.0, (0.1, 0.5))
    """
    if rho1 is not None and rho2 is not None:
        return amplification_gamma(rho1, rho2), (rho1, rho2)
    assert epsilon is not None
    return epsilon_amplification(epsilon), None


def _rho_guarantee(attribute: str, amplification: float, limits: tuple[float, float]) -> Guarantee:
    """Return the guarantee on posteriors if odds change by a factor of at most ``amplification``."""
    rho1, rho2 = limits
    return Guarantee(
        "rho1_rho2_privacy",
        f"From one noisy value alone: someone who thought a value of {attribute} at most {100 * rho1:.6g}% likely for a"
        f" record thinks it at most {100 * rho2:.6g}% likely afterwards, and someone who thought it at least"
        f" {100 * rho2:.6g}% likely still thinks it at least {100 * rho1:.6g}% likely.",
        value=amplification,
        attribute=attribute,
        parameters={"rho1": rho1, "rho2": rho2, "gamma": amplification_gamma(rho1, rho2)},
    )


def uniformly_perturbed(
    workspace: Workspace,
    source: Source,
    release: str,
    domain: Domain,
    operator: Uniform,
    limits: tuple[float, float] | None,
    sentence: str = "",
) -> Perturbed:
    """Perturb an attribute uniformly; the same record gives the same value for every method that does so."""
    bits = bits_of(workspace, source, "uniform", domain, retention=operator.retention)
    return Perturbed(
        Perturbation(domain, bits, *operator.thresholds()),
        domain.as_attribute(release, "two_weights", own_and_other(domain, operator)),
        uniform_guarantees(domain.attribute, operator, limits),
        operator.ldp_epsilon,
        sentence=sentence,
    )


def own_and_other(domain: Domain, operator: Uniform) -> dict[str, tuple[float, ...]]:
    """Return the probabilities with which each value shows itself, and is shown by another one."""
    return {"own": (operator.own,) * domain.size, "other": (operator.other,) * domain.size}


def audit_uniform(subject: Subject) -> list[AuditRow]:
    """Recompute the claims for a uniformly perturbed attribute, and the posteriors that are possible."""
    own, other = subject.attribute.numbers["own"][0], subject.attribute.numbers["other"][0]
    operator = Uniform(own - other, subject.attribute.size)
    rows = [*audit_draw(subject, own, other), *audit_limits(subject, own / other)]
    true = subject.same_counts
    if true is None:
        return [*rows, subject.source_changed()]
    mean = operator.retention * true + other * true.sum()
    spread = true * own * (1 - own) + (true.sum() - true) * other * (1 - other)
    return [
        *rows,
        *_posteriors(subject, operator, true),
        subject.noise_as_stated(mean, spread),
    ]


def audit_draw(subject: Subject, own: float, other: float) -> list[AuditRow]:
    """Recompute the claims for the draw of one record's value."""
    epsilon = float(np.log(own / other))
    return [_operator(subject, own, other), audit_epsilon(subject, epsilon)]


def _operator(subject: Subject, own: float, other: float) -> AuditRow:
    total = own + (subject.attribute.size - 1) * other
    return subject.finding(
        "operator",
        "The probabilities with which a true value is published sum to one, and their matrix can be inverted.",
        total,
        abs(total - 1) <= 1e-9 and own > other,
        retention=own - other,
        domain_size=subject.attribute.size,
    )


def audit_limits(subject: Subject, gamma: float) -> list[AuditRow]:
    """Compute the worst posterior over all priors that the attribute's claim about priors covers, if it has one."""
    if "rho1_rho2_privacy" not in subject.claims:
        return []
    _, given = subject.claims["rho1_rho2_privacy"]
    rho1, rho2 = given["rho1"], given["rho2"]
    up = gamma * rho1 / (gamma * rho1 + 1 - rho1)
    down = rho2 / (rho2 + gamma * (1 - rho2))
    limits = {"rho1": rho1, "rho2": rho2, "gamma": amplification_gamma(rho1, rho2)}
    return [
        subject.finding(
            "upward_privacy",
            f"A prior of {rho1:g} for a true value becomes a posterior of at most {up:.6g}, whatever is published.",
            up,
            up <= rho2 * (1 + TOLERANCE),
            **limits,
        ),
        subject.finding(
            "downward_privacy",
            f"A prior of {rho2:g} for a true value becomes a posterior of at least {down:.6g}, whatever is published.",
            down,
            down >= rho1 * (1 - TOLERANCE),
            **limits,
        ),
    ]


def _posteriors(subject: Subject, operator: Uniform, true: np.ndarray) -> list[AuditRow]:
    high, low = operator.posteriors(true / true.sum())
    return [
        audit_posterior(subject, high, true / true.sum()),
        subject.finding(
            "smallest_posterior",
            "The smallest posterior of an occurring value that one noisy value alone causes, for someone who knows"
            " the true frequencies.",
            float(low[true > 0].min()),
        ),
    ]
