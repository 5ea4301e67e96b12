"""Audit of a code of a block design."""

from __future__ import annotations

import math

from duckdb_priv.mechanism.difference_family import is_balanced, sums_by_block
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.methods.common.findings import (
    AuditRow,
    Subject,
    audit_epsilon,
    audit_posterior,
)
from duckdb_priv.methods.common.local_privacy import audit_limits, audit_uniform
from duckdb_priv.methods.common.operator_audit import posteriors_of_blocks, stored_code
from duckdb_priv.methods.common.shuffles import audit_shuffle
from duckdb_priv.release.model import Blocks


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute the claims of an attribute's code, and its posteriors."""
    blocks = subject.attribute.blocks
    found = audit_uniform(subject) if blocks is None else _code(subject, blocks)
    return [*found, *audit_shuffle(subject)]


def _code(subject: Subject, blocks: Blocks) -> list[AuditRow]:
    code, amplification = stored_code(subject.attribute, blocks)
    free = 1 / code.total(amplification)
    held = free * amplification
    rows = [
        _design(subject, blocks, code, amplification),
        audit_epsilon(subject, math.log(amplification), "block"),
        *audit_limits(subject, amplification),
    ]
    true = subject.same_counts
    if true is None:
        return [*rows, subject.source_changed()]
    within = sums_by_block(true, blocks.count, blocks.stride, blocks.first)
    outside = true.sum() - within
    prior = true / true.sum()
    mean = held * within + free * outside
    spread = held * (1 - held) * within + free * (1 - free) * outside
    return [
        *rows,
        audit_posterior(
            subject,
            posteriors_of_blocks(subject.attribute, blocks, prior),
            prior,
            "one block alone",
        ),
        subject.noise_as_stated(mean, spread),
    ]


def _design(subject: Subject, blocks: Blocks, code: Code, amplification: float) -> AuditRow:
    """Return a finding: whether any two values share equally many blocks, as the stated probabilities require."""
    _, given = subject.claims["local_differential_privacy"]
    follows = code.other(amplification)
    return subject.finding(
        "operator",
        "The probability that a record reports a block with a given other value. It is the same for every true value,"
        " since every value is in equally many blocks, and so are any two values.",
        follows,
        is_balanced(blocks.count, blocks.stride, blocks.first, given["shared"])
        and code.shared == given["shared"]
        and abs(follows - subject.attribute.numbers["other"][0]) <= 1e-9
        and amplification > 1,
        blocks=code.outcomes,
        holding=code.holding,
        shared=code.shared,
    )
