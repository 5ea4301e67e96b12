"""Audit of reconstruction privacy: checks of every micro group, before and after sampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from duckdb_priv.engine.aggregates import GroupCounts, aliased, count_groups
from duckdb_priv.engine.source import Source, key_expression
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.mechanism.reconstruction_privacy import sample_size, threshold
from duckdb_priv.mechanism.sampling_variance import weighted_variance
from duckdb_priv.mechanism.tails import tails
from duckdb_priv.mechanism.uniform import Uniform
from duckdb_priv.methods.common.findings import AuditRow, Subject
from duckdb_priv.methods.common.local_privacy import audit_draw
from duckdb_priv.methods.reconstruction_private.plan import FINE
from duckdb_priv.methods.reconstruction_private.samples import draws_of
from duckdb_priv.sqltext.quoting import identifier, literal, same
from duckdb_priv.sqltext.templates import fragment, section

HOMOGENEOUS = 0.9
"""A union of groups in which one value is at least this frequent is homogeneous."""


@dataclass(frozen=True)
class Examined:
    """A release whose source has not changed, with what it claims."""

    subject: Subject
    source: Source
    operator: Uniform
    claim: Mapping[str, Any]

    @cached_property
    def public(self) -> list[str]:
        """The public attributes, whose values form the groups."""
        return self.subject.columns("public")

    @property
    def sensitive(self) -> str:
        """SQL for the value of a record ``s`` of the source."""
        name = self.subject.attribute.name
        return f"s.{key_expression(name, self.source.types[name])}"

    @cached_property
    def counts(self) -> GroupCounts:
        """The counts of values in the groups of the source."""
        workspace = self.subject.workspace
        return count_groups(workspace, self.source.table, self.public, self.sensitive)

    @property
    def groups_of_public(self) -> str:
        """SQL that partitions records by their group, from their aliased public columns."""
        return _partition([f"_priv_public{n}" for n in range(len(self.public))])

    def allowed(self, groups: GroupCounts) -> NDArray[np.float64]:
        """Return the number of records of each group that the bound allows at its largest frequency."""
        claim = self.claim
        return threshold(
            groups.frequency, self.operator, claim["epsilon"], claim["delta"], claim["bound"]
        )


def _partition(columns: Sequence[str]) -> str:
    return f"PARTITION BY {', '.join(columns)}" if columns else ""


def audit(subject: Subject) -> list[AuditRow]:
    """Recompute the claims of a reconstruction-private attribute."""
    numbers = subject.attribute.numbers
    own, other = numbers["own"][0], numbers["other"][0]
    operator = Uniform(own - other, subject.attribute.size)
    paper = subject.claims.get("reconstruction_privacy_of_the_paper")
    _, claim = paper or subject.claims["reconstruction_privacy"]
    rows = []
    if not paper:
        rows = [*audit_draw(subject, own, other), _sample_size(subject, operator, claim)]
    if subject.true_counts is None or subject.source is None:
        return [*rows, subject.source_changed()]
    of = Examined(subject, subject.source, operator, claim)
    if paper:
        return _paper(of)
    if claim.get("grown"):
        return [*rows, *_grown(of)]
    if of.source.rows != last_of(subject.workspace.cursor, subject.release).records:
        return [*rows, subject.source_changed()]
    rows += [*_represented(of), *_violations(of), _tails(of), _noise(of)]
    return [*rows, _neighbourhoods(of)] if of.public else rows


def _paper(of: Examined) -> list[AuditRow]:
    """Return the findings about a release with the paper's sampling: the sampled groups, and what copies reveal."""
    groups = of.counts.of_groups
    allowed = of.allowed(groups)
    sampled = groups.size > allowed
    copied = sampled & (groups.size > 3 * allowed)
    records = (groups.number * groups.size).sum()
    return [
        _violating(of.subject, groups, groups.where(sampled)),
        of.subject.finding(
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


def _represented(of: Examined) -> tuple[AuditRow, AuditRow]:
    """Return findings that compare every micro group with the rows that represent it."""
    subject, size = of.subject, of.claim["sample_size"]
    names = [f"_priv_public{n}" for n in range(len(of.public))]
    query = section(
        "audits",
        "represented",
        size=str(size),
        public=aliased(of.public),
        source=of.source.table,
        table=subject.table,
        same=" AND ".join(same(f"a.{name}", f"b.{name}") for name in names) or "true",
    )
    ((wrong, largest),) = subject.workspace.rows(query)
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


def _grown(of: Examined) -> list[AuditRow]:
    """Return the findings about samples that have grown: rows per group, in this version and in all versions."""
    subject, claim, size = of.subject, of.claim, of.claim["sample_size"]
    query = section("audits", "largest_group", public=aliased(of.public), table=subject.table)
    ((largest,),) = subject.workspace.rows(query)
    present, ever = draws_of(subject.workspace, subject.attribute.release)
    published = max(ever, 1)
    upper, lower = tails(
        FINE * published,
        round(FINE * published * claim["max_frequency"]),
        of.operator,
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


def _violations(of: Examined) -> list[AuditRow]:
    """Return findings that count groups with more independent trials than their largest frequency allows."""
    subject, claim, groups = of.subject, of.claim, of.counts.of_groups
    inside = groups.where(groups.frequency <= claim["max_frequency"])
    allowed = of.allowed(inside)
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


def _tails(of: Examined) -> AuditRow:
    """Return the smallest exact tail over all values of all groups that the claim covers."""
    subject, claim, counts = of.subject, of.claim, of.counts
    cells = counts.where(counts.frequency <= claim["max_frequency"])
    if not len(cells.size):
        return subject.finding("exact_tails", "No group is within the claim.", None)  # fmt: skip
    pairs = np.unique(np.stack([cells.size, cells.count]), axis=1)
    published = np.minimum(pairs[0], claim["sample_size"])
    upper, lower = tails(pairs[0], pairs[1], of.operator, claim["epsilon"], published)
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


def _noise(of: Examined) -> AuditRow:
    """Test whether the scaled counts agree with sampling and perturbation, by Bernstein's inequality."""
    subject, operator = of.subject, of.operator
    query = section(
        "audits",
        "cells",
        public=aliased(of.public),
        value=of.sensitive,
        source=of.source.table,
        partition=of.groups_of_public,
    )
    cells = subject.workspace.rows(query)
    column = identifier(subject.attribute.column)
    query = section("audits", "scaled_counts", column=column, table=subject.table)
    shown: dict[str | None, float] = dict(subject.workspace.rows(query))
    position = {value: n for n, value in enumerate(subject.attribute.values)}
    place = np.array([position[value] for value, *_ in cells])
    size, count, number = np.array([numbers for _, *numbers in cells], dtype=np.int64).T
    published = np.minimum(size, of.claim["sample_size"])
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


def _neighbourhoods(of: Examined) -> AuditRow:
    """Find unions of groups that share a value and are estimated accurately, although each single group is not."""
    subject, claim, public = of.subject, of.claim, of.public
    a, q, p = of.operator.own, of.operator.other, of.operator.retention
    worst, without, unions = 0.0, public[0], 0
    for n, dropped in enumerate(public):
        rest = [f"_priv_public{k}" for k in range(len(public)) if k != n]
        query = fragment(
            "neighbourhoods",
            public=aliased(public),
            sensitive=of.sensitive,
            source=f"{of.source.table} AS s",
            sample_size=literal(float(claim["sample_size"])),
            group=of.groups_of_public,
            rest="".join(f"{name}, " for name in rest),
            union=_partition(rest),
        )
        found = subject.workspace.rows(query)
        size, scaled, count, held, rounding = np.array(found, dtype=np.float64).reshape(-1, 5).T
        variance = (held * a * (1 - a) + (scaled - held) * q * (1 - q)) / p**2 + rounding
        tail = ndtr(-claim["epsilon"] * count / np.sqrt(variance))
        risky = (count >= HOMOGENEOUS * size) & (tail < claim["delta"])
        share = float(size[risky].sum() / of.source.rows)
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
