"""Audit of a code of a block design."""

from __future__ import annotations

import math

import numpy as np

from duckdb_priv.mechanism.difference_family import (
    is_balanced,
    least_by_value,
    sums_by_block,
)
from duckdb_priv.methods.common.findings import (
    TOLERANCE,
    AuditRow,
    Subject,
    finding,
    source_changed,
)
from duckdb_priv.methods.common.local_privacy import audit_odds, audit_uniform
from duckdb_priv.release.model import Blocks


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute what the code of an attribute claims, and what may be believed of it."""
    blocks = subject.attribute.blocks
    if blocks is None:
        return audit_uniform(subject)
    own, other = subject.attribute.numbers["own"][0], subject.attribute.numbers["other"][0]
    holding = len(blocks.first)
    held, free = own / holding, (1 - own) / (blocks.count - holding)
    claimed, given = subject.claims["local_differential_privacy"]
    epsilon = math.log(held / free)
    rows = [
        _design(subject, blocks, given["shared"], held, free, other),
        finding(
            "local_differential_privacy",
            f"A block changes the odds between two true values by a factor of at most {held / free:.4g}.",
            epsilon,
            epsilon <= (claimed or 0.0) * (1 + TOLERANCE),
            subject.attribute.name,
            claimed=claimed,
        ),
    ]
    if "rho1_rho2_privacy" in subject.claims:
        _, limits = subject.claims["rho1_rho2_privacy"]
        rows += audit_odds(subject, held / free, limits["rho1"], limits["rho2"])
    true, shown = subject.true_counts(), subject.shown_counts()
    if true is None or true.sum() != shown.sum():
        return [*rows, source_changed(subject)]
    within = sums_by_block(true, blocks.count, blocks.stride, blocks.first)
    outside = true.sum() - within
    mean = held * within + free * outside
    spread = held * (1 - held) * within + free * (1 - free) * outside
    return [
        *rows,
        _posterior(subject, blocks, held, free, true / true.sum()),
        subject.noise_as_stated(shown, mean, spread),
    ]


def _design(
    subject: Subject, blocks: Blocks, shared: int, held: float, free: float, other: float
) -> AuditRow:
    """Check that any two values share equally many blocks, and that the stated numbers follow from that."""
    holding = len(blocks.first)
    stated = shared * held + (holding - shared) * free
    return finding(
        "operator",
        "Every value is in equally many blocks and any two values are, so that a record reports a block with a"
        " given other value with one probability, whatever its own value is.",
        stated,
        is_balanced(blocks.count, blocks.stride, blocks.first, shared)
        and abs(stated - other) <= 1e-9
        and held > free,
        subject.attribute.name,
        blocks=blocks.count,
        holding=holding,
        shared=shared,
    )


def _posterior(
    subject: Subject, blocks: Blocks, held: float, free: float, prior: np.ndarray
) -> AuditRow:
    within = sums_by_block(prior, blocks.count, blocks.stride, blocks.first)
    reported = free + (held - free) * within
    least = least_by_value(reported, len(prior), blocks.stride, blocks.first)
    highest = prior * held / least
    top = int(highest.argmax())
    return finding(
        "largest_posterior",
        "The largest posterior of a true value that a reported block causes, for somebody who knows the true"
        " frequencies.",
        float(highest[top]),
        None,
        subject.attribute.name,
        of=subject.attribute.values[top],
        prior=float(prior[top]),
    )
