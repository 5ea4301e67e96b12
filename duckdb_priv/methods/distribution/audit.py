"""Audit of releases whose values are redrawn from their distribution."""

from __future__ import annotations

import numpy as np

from duckdb_priv.methods.common.findings import AuditRow, Subject


def audit(subject: Subject) -> list[AuditRow]:
    """Check that published values do not depend on true ones; measure the published counts and the lost association."""
    own, other = (np.array(subject.attribute.numbers[name]) for name in ("own", "other"))
    rows = [
        subject.finding(
            "independence",
            "The largest difference between the probabilities of a shown value for two true values: every record"
            " shows a value with the same probability.",
            float(np.abs(own - other).max()),
            bool((own == other).all()),
        )
    ]
    true = subject.true_counts
    if true is None:
        return [*rows, subject.source_changed()]
    total = true.sum()
    return [
        *rows,
        subject.finding(
            "exact_counts",
            "The largest error of the published counts of values in the source. Small counts are not protected, and two"
            " releases show exactly what has changed.",
            float(np.abs(own * total - true).max()),
        ),
        *_lost(subject),
        subject.noise_as_stated(own * total, own * (1 - own) * total),
    ]


def _lost(subject: Subject) -> list[AuditRow]:
    """Return a finding with the largest association between the values and a public column of the source.

    It is the total variation distance between the joint distribution of two columns and their independence.
    """
    if (largest := subject.most_of_public_columns("distance")) is None:
        return []
    distance, column = largest
    return [
        subject.finding(
            "lost_association",
            "The share of the records that would have to change their value until values depend on no public column, as"
            " in the release. Counts of parts of the table are off by about as much.",
            distance,
            column=column,
        )
    ]
