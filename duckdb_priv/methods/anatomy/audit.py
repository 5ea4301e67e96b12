"""Audit of Anatomy: checks of its groups, and measurements of what their published values reveal."""

from __future__ import annotations

import numpy as np

from duckdb_priv.methods.common.findings import AuditRow, Subject
from duckdb_priv.release.model import group_column
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.templates import section


def audit(subject: Subject) -> list[AuditRow]:
    """Check that the groups are as diverse as claimed, and measure what they still reveal."""
    diversity = int(subject.claims["l_diversity"][1]["l"])
    name, group = identifier(subject.attribute.column), _group(subject)
    lists = {"name": name, "table": subject.table, "group": group}
    ((smallest, sound),) = subject.workspace.rows(section("audits", "lists", **lists))
    rows = [
        subject.finding(
            "l_diversity",
            "The largest probability that a group by itself gives one of its values: 1 over the number of records,"
            " which all have different values.",
            1 / smallest,
            bool(sound and smallest >= diversity),
            l=diversity,
        ),
        subject.finding(
            "certain_candidates",
            "Someone who finds a person's record by its public columns knows that the true value is one of this many:"
            " all others are excluded.",
            float(smallest),
            of=subject.attribute.size,
        ),
        subject.finding(
            "insiders",
            "Someone who knows the values of this many records of a group, or can rule out as many candidates of a"
            " person, knows the last one with certainty.",
            float(smallest - 1),
        ),
    ]
    true = subject.true_counts
    if true is None:
        return [*rows, subject.source_changed()]
    return [
        *rows,
        _exact_counts(subject, true),
        subject.eligible(true, diversity, "l", l=diversity),
        *_correlation(subject),
    ]


def _group(subject: Subject) -> str:
    return identifier(group_column(subject.attribute.name))


def _exact_counts(subject: Subject, true: np.ndarray) -> AuditRow:
    """Return a finding that compares the counts of listed values with the source."""
    name = identifier(subject.attribute.column)
    query = section(
        "audits", "listed_values", name=name, table=subject.table, group=_group(subject)
    )
    listed = dict(subject.workspace.rows(query))
    shown = np.array([listed.get(value, 0) for value in subject.attribute.values])
    return subject.finding(
        "exact_counts",
        "The largest error of the published counts of values in the source. The true values of every group are"
        " published, so small counts are not protected at all.",
        float(np.abs(shown - true).max()),
    )


def _correlation(subject: Subject) -> list[AuditRow]:
    """Return a finding with the posterior of someone who knows the dependence on the most revealing public column.

    A posterior is the share of a value among the source records with the same value of the public column and a value of
    the group.
    """
    if (largest := subject.most_of_public_columns("posterior_of_lists")) is None:
        return []
    posterior, column = largest
    return [
        subject.finding(
            "posterior_by_correlation",
            "The posterior of the likeliest value of a record's group, on average over the records, for someone who"
            " also knows how often each value occurs with each value of one public column.",
            posterior,
            column=column,
        )
    ]
