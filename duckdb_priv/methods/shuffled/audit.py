"""Audit of shuffled groups."""

from __future__ import annotations

import numpy as np

from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.methods.common.findings import (
    TOLERANCE,
    AuditRow,
    Subject,
)
from duckdb_priv.methods.common.shuffles import (
    audit_order,
    counts_by_size,
    scales_by_size,
    worst_delta,
)
from duckdb_priv.release.promise import factor


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute the guarantee of every group from its published size and scale."""
    epsilon, given = subject.claims["shuffle_privacy"]
    assert epsilon is not None
    rows = scales_by_size(subject)
    mixed = sum(least < most for _, least, most, _ in rows)
    smallest: dict[float, int] = {}
    for size, least, _, _ in rows:
        smallest.setdefault(least, size)
    codes = [Code(each) for each in given["domain_sizes"]]
    delta, group = worst_delta(codes, smallest, epsilon)
    local = float(np.log1p(1 / min(smallest)))
    claimed = subject.claims["local_differential_privacy"][0] or 0.0
    found = [
        subject.finding(
            "scale_by_size",
            "The number of group sizes with different scales. How strongly a row is perturbed must depend only on the"
            " size of its group of equal public columns.",
            float(mixed),
            mixed == 0,
        ),
        subject.finding(
            "shuffle_privacy",
            f"At epsilon = {epsilon:g}, the largest delta of any group is that of {group} records.",
            delta,
            delta <= given["delta"] * (1 + TOLERANCE),
            unit="probability",
            epsilon=epsilon,
            delta=given["delta"],
            group_size=group,
        ),
        subject.finding(
            "local_differential_privacy",
            "For someone who learns which row is a record's, the odds between two true values change by a factor of"
            f" {factor(local)}.",
            local,
            local <= claimed * (1 + TOLERANCE),
            claimed=claimed,
        ),
        audit_order(subject),
    ]
    return [*found, _noise(subject, {size: least for size, least, _, _ in rows})]


def _noise(subject: Subject, scales: dict[int, float]) -> AuditRow:
    """Test whether the published counts agree with the groups of the source and their scales."""
    counts = counts_by_size(subject)
    if counts is None or {*counts} != {*scales}:
        return subject.source_changed()
    size = subject.attribute.size
    mean, spread = np.zeros(size), np.zeros(size)
    for records, true in counts.items():
        scale = scales[records]
        own, other = (1 + scale) / (1 + size * scale), scale / (1 + size * scale)
        mean += (own - other) * true + other * true.sum()
        spread += true * own * (1 - own) + (true.sum() - true) * other * (1 - other)
    if mean.sum().round() != subject.shown_counts.sum():
        return subject.source_changed()
    return subject.noise_as_stated(mean, spread)
