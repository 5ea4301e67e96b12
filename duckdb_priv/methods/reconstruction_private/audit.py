"""Audit of reconstruction privacy: checks of every micro group, before and after sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from duckdb_priv.engine.aggregates import GroupCounts, aliased, count_groups
from duckdb_priv.engine.source import key_expression
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.mechanism.reconstruction_privacy import sample_size, threshold
from duckdb_priv.mechanism.sampling_variance import weighted_variance
from duckdb_priv.mechanism.tails import tails
from duckdb_priv.mechanism.uniform import Uniform
from duckdb_priv.methods.common.findings import (
    AuditRow,
    Subject,
)
from duckdb_priv.methods.common.local_privacy import audit_draw
from duckdb_priv.methods.reconstruction_private.plan import FINE
from duckdb_priv.methods.reconstruction_private.samples import draws_of
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import fragment

HOMOGENEOUS = 0.9
"""A union of groups in which one value is at least this frequent is homogeneous."""


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute the claims of a reconstruction-private attribute."""
    numbers = subject.attribute.numbers
    own, other = numbers["own"][0], numbers["other"][0]
    operator = Uniform(own - other, subject.attribute.size)
    if "reconstruction_privacy_of_the_paper" in subject.claims:
        return _paper(subject, operator)
    _, claim = subject.claims["reconstruction_privacy"]
    public = subject.columns("public")
    rows = [*audit_draw(subject, own, other), _sample_size(subject, operator, claim)]
    if subject.true_counts is None or subject.source is None:
        return [*rows, subject.source_changed()]
    kind = subject.source.types[subject.attribute.name]
    sensitive = f"s.{key_expression(subject.attribute.name, kind)}"
    counts = count_groups(subject.workspace, subject.source.table, public, sensitive)
    if claim.get("grown"):
        return [*rows, *_grown(subject, operator, claim, public)]
    if subject.source.rows != last_of(subject.workspace.cursor, subject.attribute.release).records:
        return [*rows, subject.source_changed()]
    represented, largest = _represented(subject, public, claim["sample_size"])
    rows += [
        represented,
        largest,
        *_violations(subject, operator, claim, counts),
        _tails(subject, operator, claim, counts),
        _noise(subject, operator, claim, public, sensitive),
    ]
    if public:
        rows.append(_neighbourhoods(subject, operator, claim, public, sensitive))
    return rows


def _paper(subject: Subject, operator: Uniform) -> list[AuditRow]:
    """Return the findings about a release with the paper's sampling: the sampled groups, and what copies reveal."""
    _, claim = subject.claims["reconstruction_privacy_of_the_paper"]
    if subject.true_counts is None or subject.source is None:
        return [subject.source_changed()]
    kind = subject.source.types[subject.attribute.name]
    sensitive = f"s.{key_expression(subject.attribute.name, kind)}"
    groups = count_groups(
        subject.workspace, subject.source.table, subject.columns("public"), sensitive
    ).of_groups
    allowed = threshold(
        groups.frequency, operator, claim["epsilon"], claim["delta"], claim["bound"]
    )
    sampled = groups.size > allowed
    copied = sampled & (groups.size > 3 * allowed)
    records = (groups.number * groups.size).sum()
    return [
        _violating(subject, groups, groups.where(sampled)),
        subject.finding(
            "largest_frequencies_given_away",
            "Records, in percent, in micro groups whose records appear three times or more: the copies reveal the"
            " largest frequency.",
            100 * (groups.number * groups.size)[copied].sum() / records,
            not copied.any(),
        ),
    ]


def _violating(subject: Subject, groups: GroupCounts, larger: GroupCounts) -> AuditRow:
    total = groups.number.sum()
    return subject.finding(
        "violating_groups_before",
        "Micro groups that are larger than the bound allows at their largest frequency, in percent. These groups are"
        " sampled.",
        100 * larger.number.sum() / total,
        records_percent=100
        * (larger.number * larger.size).sum()
        / (groups.number * groups.size).sum(),
        groups=int(total),
    )


def _sample_size(subject: Subject, operator: Uniform, claim: dict[str, Any]) -> AuditRow:
    allowed = sample_size(
        operator, claim["epsilon"], claim["delta"], claim["bound"], claim["max_frequency"]
    )
    return subject.finding(
        "sample_size",
        "The number of records that may represent a micro group, from public numbers alone.",
        allowed,
        claim["sample_size"] <= allowed,
        claimed=claim["sample_size"],
    )


def _represented(subject: Subject, public: list[str], size: int) -> tuple[AuditRow, AuditRow]:
    """Return findings that compare every micro group with the rows that represent it."""
    assert subject.source is not None
    same = (
        " AND ".join(f"a._priv_public{n} IS NOT DISTINCT FROM b._priv_public{n}" for n in range(len(public)))
        or "true"
    )  # fmt: skip
    wrong, largest = subject.workspace.rows(
        f"SELECT count(*) FILTER (b.published IS DISTINCT FROM least(a.records, {size})"
        "     OR abs(b.records - a.records) > 1e-6 * a.records), max(b.published)"
        f" FROM (SELECT {aliased(public)} count(*) AS records FROM {subject.source.table} AS s GROUP BY ALL) AS a"
        f" FULL JOIN (SELECT {aliased(public)} count(*) AS published, sum(s.scale) AS records"
        f" FROM {subject.table} AS s GROUP BY ALL) AS b ON {same}"
    )[0]
    return (
        subject.finding(
            "groups_represented",
            "Micro groups with the wrong number of published rows, or whose scales do not add up to their size.",
            wrong,
            wrong == 0,
        ),
        _largest_sample(subject, largest, size),
    )


def _largest_sample(subject: Subject, largest: int, allowed: int) -> AuditRow:
    return subject.finding(
        "largest_sample",
        "The largest number of rows that represent one micro group.",
        largest,
        largest <= allowed,
        allowed=allowed,
    )


def _grown(
    subject: Subject, operator: Uniform, claim: dict[str, Any], public: list[str]
) -> list[AuditRow]:
    """Return the findings about samples that have grown: rows per group, in this version and in all versions."""
    size = claim["sample_size"]
    ((largest,),) = subject.workspace.rows(
        f"SELECT max(rows) FROM (SELECT {aliased(public)} count(*) AS rows FROM {subject.table} AS s GROUP BY ALL)"
    )
    present, ever = draws_of(subject.workspace, subject.attribute.release)
    published = max(ever, 1)
    upper, lower = tails(
        FINE * published,
        round(FINE * published * claim["max_frequency"]),
        operator,
        claim["epsilon"],
        published,
    )
    return [
        _largest_sample(subject, largest, size),
        subject.finding(
            "rows_in_all_versions",
            "The largest number of records that are in one micro group now and were its rows in some version. It is"
            " more than allowed if records came back to it.",
            present,
            present <= size,
            allowed=size,
        ),
        subject.finding(
            "exact_tails",
            "Take a value that max_frequency of a group have, and someone who has all versions and all rows that the"
            " group ever had. The smaller of the two probabilities that they reconstruct its frequency wrong by more"
            " than the factor epsilon, upwards or downwards, if the frequency had not changed though its records did.",
            float(min(upper, lower)),
            upper=float(upper),
            lower=float(lower),
            rows=ever,
            delta=claim["delta"],
        ),
    ]


def _violations(
    subject: Subject, operator: Uniform, claim: dict[str, Any], counts: GroupCounts
) -> list[AuditRow]:
    """Return findings that count groups with more independent trials than their largest frequency allows."""
    groups = counts.of_groups
    inside = groups.where(groups.frequency <= claim["max_frequency"])
    allowed = threshold(
        inside.frequency, operator, claim["epsilon"], claim["delta"], claim["bound"]
    )
    total = groups.number.sum()
    before = inside.where(inside.size > allowed)
    after = inside.where(np.minimum(inside.size, claim["sample_size"]) > allowed)
    return [
        _violating(subject, groups, before),
        subject.finding(
            "violating_groups_after",
            "Micro groups of which more rows are published than the bound allows, in percent.",
            100 * after.number.sum() / total,
            after.number.sum() == 0,
        ),
        subject.finding(
            "groups_outside_the_claim",
            "Micro groups with a value above max_frequency, in percent: nothing is promised for them.",
            100 * (1 - inside.number.sum() / total),
            max_frequency=claim["max_frequency"],
        ),
    ]


def _tails(
    subject: Subject, operator: Uniform, claim: dict[str, Any], counts: GroupCounts
) -> AuditRow:
    """Return the smallest exact tail over all values of all groups that the claim covers."""
    cells = counts.where(counts.frequency <= claim["max_frequency"])
    if not len(cells.size):
        return subject.finding("exact_tails", "No group is within the claim.", None)  # fmt: skip
    pairs = np.unique(np.stack([cells.size, cells.count]), axis=1)
    published = np.minimum(pairs[0], claim["sample_size"])
    upper, lower = tails(pairs[0], pairs[1], operator, claim["epsilon"], published)
    worst = int(np.minimum(upper, lower).argmin())
    least = float(min(upper[worst], lower[worst]))
    return subject.finding(
        "exact_tails",
        "The smallest probability, over all values of all micro groups, that a reconstructed frequency is wrong by"
        " more than the factor epsilon in one direction.",
        least,
        bool(least >= claim["delta"] - 1e-12) if claim["bound"] == "exact" else None,
        upper=float(upper[worst]),
        lower=float(lower[worst]),
        size=int(pairs[0, worst]),
        count=int(pairs[1, worst]),
        delta=claim["delta"],
    )


def _noise(
    subject: Subject, operator: Uniform, claim: dict[str, Any], public: list[str], sensitive: str
) -> AuditRow:
    """Test whether the scaled counts agree with sampling and perturbation, by Bernstein's inequality."""
    assert subject.source is not None
    groups = ", ".join(f"_priv_public{n}" for n in range(len(public)))
    partition = f"PARTITION BY {groups}" if public else ""
    cells = subject.workspace.rows(
        "SELECT value::VARCHAR, size::BIGINT, rows, count(*)"
        f" FROM (SELECT value, rows, sum(rows) OVER ({partition}) AS size"
        f" FROM (SELECT {aliased(public)} {sensitive} AS value, count(*) AS rows"
        f" FROM {subject.source.table} AS s GROUP BY ALL)) GROUP BY ALL"
    )
    shown: dict[str | None, float] = dict(
        subject.workspace.rows(
            f"SELECT {identifier(subject.attribute.column)}::VARCHAR, sum(scale) FROM {subject.table} GROUP BY ALL"
        )
    )
    position = {value: n for n, value in enumerate(subject.attribute.values)}
    place = np.array([position[value] for value, *_ in cells])
    size, count, number = np.array([numbers for _, *numbers in cells], dtype=np.int64).T
    published = np.minimum(size, claim["sample_size"])
    p, domain = operator.retention, subject.attribute.size
    # Groups without a value also add to the variance of its count. So the sum has a term for every group, and a
    # further term for the groups with the value.
    own = weighted_variance(size, count, published, operator)
    lacking = weighted_variance(size, 0 * count, published, operator)
    beyond = np.bincount(place, weights=number * (own - lacking), minlength=domain)
    everywhere = (number * lacking * count / size).sum()
    spread = p**2 * (beyond + everywhere)
    true = np.bincount(place, weights=number * count, minlength=domain)
    total = true.sum()
    observed = np.array([shown.get(value, 0.0) for value in subject.attribute.values])
    deviation = np.abs(observed - p * true - operator.other * total)
    heaviest = float((size / published).max())
    tail = 2 * np.exp(-(deviation**2) / 2 / (spread + heaviest * deviation / 3))
    return subject.plausible(
        "the source, sampling and the stated operator",
        deviation / np.sqrt(np.maximum(spread, 1e-9)),
        tail.min() * domain,
    )


def _neighbourhoods(
    subject: Subject, operator: Uniform, claim: dict[str, Any], public: list[str], sensitive: str
) -> AuditRow:
    """Find unions of groups that share a value and are estimated accurately, although each single group is not."""
    assert subject.source is not None
    a, q, p = operator.own, operator.other, operator.retention
    worst, without, unions = 0.0, public[0], 0
    for n, dropped in enumerate(public):
        rest = [f"_priv_public{k}" for k in range(len(public)) if k != n]
        found = subject.workspace.rows(
            fragment(
                "neighbourhoods",
                public=aliased(public),
                sensitive=sensitive,
                source=f"{subject.source.table} AS s",
                sample_size=literal(float(claim["sample_size"])),
                group=", ".join(f"_priv_public{k}" for k in range(len(public))),
                rest="".join(f"{name}, " for name in rest),
                union=f"PARTITION BY {', '.join(rest)}" if rest else "",
            )
        )
        size, scaled, count, held, rounding = np.array(found, dtype=np.float64).reshape(-1, 5).T
        variance = (held * a * (1 - a) + (scaled - held) * q * (1 - q)) / p**2 + rounding
        tail = ndtr(-claim["epsilon"] * count / np.sqrt(variance))
        risky = (count >= HOMOGENEOUS * size) & (tail < claim["delta"])
        share = float(size[risky].sum() / subject.source.rows)
        if share >= worst:
            worst, without, unions = share, dropped, int(risky.sum())
    return subject.finding(
        "homogeneous_neighbourhoods",
        "Share of records in unions of micro groups (all that agree on all public attributes but one) of which"
        f" {HOMOGENEOUS:.0%} have one value, and that are reconstructed within epsilon with a higher probability than"
        " delta allows for a single group. Nothing is promised for unions.",
        worst,
        without=without,
        unions=unions,
    )
