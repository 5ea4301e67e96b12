"""Audit of releases by decoy groups."""

from __future__ import annotations

import numpy as np

from duckdb_priv.mechanism import binomial
from duckdb_priv.mechanism.arrays import Counts, Vector
from duckdb_priv.mechanism.decoy_batches import drawn_in_all
from duckdb_priv.mechanism.splu import (
    exact_large_sum_threshold,
    large_sum_threshold,
    small_sum_privacy,
)
from duckdb_priv.mechanism.splu_reconstruction import HIGH_INCLUSION
from duckdb_priv.methods.common.findings import (
    TOLERANCE,
    AuditRow,
    Subject,
)
from duckdb_priv.methods.common.memory import Memory


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute the claims of decoy groups for one attribute, and measure what a published value reveals."""
    shown = subject.shown_counts
    attribute, gamma = subject.attribute, int(subject.claims["decoy_group"][1]["gamma"])
    memory = Memory(subject.workspace, attribute.release)
    batches = memory.batches(attribute.name, attribute.values) if memory else []
    drawn = drawn_in_all(batches) if batches else shown
    rows = [
        _groups(subject, drawn, gamma),
        _small_sums(subject, gamma),
        *_large_sums(subject, gamma),
        _inclusion(subject, drawn, gamma),
    ]
    if "several_batches" in subject.claims:
        rows.append(_several(subject, len(batches)))
    if drawn.sum() > shown.sum():
        return [*rows, _left(subject, drawn, shown)]
    true = subject.true_counts
    if true is None or not 0 <= true.sum() - shown.sum() < gamma:
        return [*rows, subject.source_changed()]
    return [
        *rows,
        subject.eligible(true, gamma, str(gamma), gamma=gamma),
        _likelihood_ratio(subject, true, gamma),
        _as_drawn(subject, true, shown, gamma),
    ]


def _groups(subject: Subject, drawn: Vector | Counts, gamma: int) -> AuditRow:
    own = np.array(subject.attribute.numbers["own"])
    return subject.finding(
        "decoy_group",
        f"The rows that were ever drawn fill whole groups of {gamma}, and a record shows its true value with"
        f" probability 1/{gamma}, for someone who knows only the frequencies.",
        float(own.max()),
        bool(drawn.sum() % gamma == 0 and np.allclose(own, 1 / gamma, rtol=TOLERANCE)),
        gamma=gamma,
    )


def _left(subject: Subject, drawn: Vector | Counts, shown: Vector) -> AuditRow:
    return subject.finding(
        "left_their_groups",
        "This many records were in a group and are not published now: they are gone, or have another value. Counts are"
        " reconstructed from all rows that were ever drawn, which are not compared with the source as it is.",
        float(drawn.sum() - shown.sum()),
        bool((shown <= drawn).all()),
    )


def _several(subject: Subject, batches: int) -> AuditRow:
    claimed, _ = subject.claims["several_batches"]
    return subject.finding(
        "several_batches",
        "So many batches of records have decoys of their own: counts among the rows of one are biased. 0 where it is"
        " not known which records are of which.",
        float(batches),
        batches == (claimed or 0),
    )


def _small_sums(subject: Subject, gamma: int) -> AuditRow:
    claimed, limits = subject.claims["small_sum_privacy"]
    value = small_sum_privacy(gamma, limits["epsilon"], limits["alpha"])
    return subject.finding(
        "small_sum_privacy",
        f"A published count that is truly 1 to {limits['alpha']} is off by more than {limits['epsilon']:.0%} with at"
        " least this probability.",
        value,
        value >= (claimed or 1.0) * (1 - TOLERANCE),
        **limits,
    )


def _large_sums(subject: Subject, gamma: int) -> list[AuditRow]:
    rows = []
    for name, threshold in (
        ("large_sum_threshold", large_sum_threshold),
        ("exact_large_sum_threshold", exact_large_sum_threshold),
    ):
        claimed, limits = subject.claims[name]
        value = threshold(gamma, limits["epsilon"], limits["error_probability"])
        rows.append(
            subject.finding(
                name,
                f"From this true count on, a published one is off by {limits['epsilon']:.0%} or more with probability"
                f" {limits['error_probability']:g} at most.",
                value,
                value <= (claimed or 0.0),
                **limits,
            )
        )
    return rows


def _inclusion(subject: Subject, drawn: Vector | Counts, gamma: int) -> AuditRow:
    share = np.minimum(gamma * drawn / drawn.sum(), 1)
    top = int(share.argmax())
    return subject.finding(
        "largest_inclusion",
        "The share of the decoy groups that hold the most frequent value, by the published counts. Near 1, its"
        " counts cannot be reconstructed.",
        float(share[top]),
        of=subject.attribute.values[top],
        high=HIGH_INCLUSION,
    )


def _likelihood_ratio(subject: Subject, true: Vector, gamma: int) -> AuditRow:
    """Compare Pr[shown | true] with Pr[shown | not true], (N - f) / ((gamma - 1) f), for the rarest value."""
    present = np.where(true > 0, true, np.inf)
    rarest = int(present.argmin())
    ratio = (true.sum() - true[rarest]) / ((gamma - 1) * true[rarest])
    return subject.finding(
        "largest_likelihood_ratio",
        "The factor by which the rarest value, if it is shown, changes the odds for someone who knows more than the"
        " frequencies. Someone who knows that a person may well have it learns a lot. Suppress or merge rare values"
        " to avoid this.",
        float(ratio),
        of=subject.attribute.values[rarest],
        count=int(true[rarest]),
    )


def _as_drawn(subject: Subject, true: Vector, shown: Vector, gamma: int) -> AuditRow:
    """Test the published counts against their distribution, binomial(gamma f, 1/gamma), for any left-out records."""
    left_out = true.sum() - shown.sum()
    fewest = np.maximum(true - left_out, 0)
    tail = np.minimum(
        binomial.cdf(shown, gamma * fewest, 1 / gamma),
        binomial.sf(shown - 1, gamma * true, 1 / gamma),
    )
    deviations = np.abs(shown - true) / np.sqrt(np.maximum(true * (1 - 1 / gamma), 1))
    likely = tail.min() * 2 * len(shown)
    return subject.plausible("the source and its decoy groups", deviations, likely)
