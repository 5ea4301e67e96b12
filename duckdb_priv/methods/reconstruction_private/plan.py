"""Plan a publication with reconstruction privacy: few independent trials in every micro group.

Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction". ``mechanism/reconstruction_privacy.md``
explains the public sample size and the paper's bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.kernel import Kernel, Step, Table
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.reconstruction_privacy import Bound, sample_size, threshold
from duckdb_priv.mechanism.tails import tails
from duckdb_priv.mechanism.uniform import Uniform, epsilon_retention
from duckdb_priv.methods.common.domain import Domain, open_domains
from duckdb_priv.methods.common.local_privacy import own_and_other, uniform_guarantees
from duckdb_priv.methods.common.perturbation import Perturbation, open_random_bits
from duckdb_priv.methods.common.perturbed import Perturbed, plan_of
from duckdb_priv.methods.reconstruction_private.arguments import ReconstructionPrivateArguments
from duckdb_priv.methods.reconstruction_private.micro_groups import (
    LARGE,
    LARGEST_SAMPLE,
    SAMPLE,
    VALUES,
    Sampling,
    as_source,
    bits_of_groups,
    group_sql,
    most_of_value,
    sample_groups,
    values_at_once,
)
from duckdb_priv.methods.reconstruction_private.samples import Samples
from duckdb_priv.release.model import GROUPED_BY, SCALE, Guarantee
from duckdb_priv.sqltext.quoting import identifiers
from duckdb_priv.sqltext.templates import fragment

MECHANISM = "reconstruction_private"
FINE = 10**6
"""Size multiple that makes the number of records of a frequency whole, up to 1 / FINE."""


@dataclass(frozen=True)
class Requirement:
    """The requirement for every micro group, and the public sample size that follows from it."""

    operator: Uniform
    epsilon: float
    delta: float
    bound: Bound
    max_frequency: float
    sample_size: int

    @classmethod
    def of(cls, arguments: ReconstructionPrivateArguments, domain_size: int) -> Requirement:
        """Return the requirement with its sample size; raises InvalidParameter if no group may publish a record."""
        retention = (
            epsilon_retention(arguments.ldp_epsilon or 0.0, domain_size)
            if arguments.retention is None
            else arguments.retention
        )
        operator = Uniform(retention, domain_size)
        epsilon, delta, bound = arguments.epsilon, arguments.delta, arguments.bound
        frequency = arguments.max_frequency
        size = sample_size(operator, epsilon, delta, bound, frequency)
        return cls(operator, epsilon, delta, bound, frequency, min(size, LARGEST_SAMPLE))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the requirement, as in the catalog."""
        return {
            "retention": self.operator.retention,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "bound": self.bound,
            "max_frequency": self.max_frequency,
            "sample_size": self.sample_size,
        }

    def worst_tails(self) -> tuple[float, float]:
        """Return the exact tails of a value of frequency ``max_frequency`` in a group that a sample represents."""
        size = FINE * self.sample_size
        upper, lower = tails(
            size, round(size * self.max_frequency), self.operator, self.epsilon, self.sample_size
        )
        return float(upper), float(lower)

    def guarantee(self, attribute: str, *, grown: bool = False) -> Guarantee:
        """Return the guarantee; it claims a delta only if the exact tails were computed.

        The exact tails of samples that have ``grown`` with their groups are unknown, because their scales differ.
        """
        wrong = f"by more than {self.epsilon:.4g} of it"
        scope = (
            ""
            if self.max_frequency == 1
            else f" in which no {attribute} is more frequent than {self.max_frequency:g}"
        )
        if self.bound == "exact" and not grown:
            statement = (
                f"In every micro group (records that agree on all public attributes){scope}, the frequency of every"
                f" {attribute} that occurs is reconstructed too high {wrong} with probability {self.delta:g} at least,"
                f" and too low {wrong} with probability {self.delta:g} at least. Unions of groups are not covered."
            )
        else:
            upper, lower = self.worst_tails()
            lasting = (
                ", and none of them gives way to another one from version to version as long as it is there"
                if grown
                else ""
            )
            statement = (
                f"Of every micro group (records that agree on all public attributes) at most {self.sample_size} records"
                f" are published{lasting}, each with noise of its own. That limits how well a group{scope} is"
                f" reconstructed, and proves no delta: where one {attribute} has frequency {self.max_frequency:g} in"
                f" a larger group, that frequency is reconstructed too high {wrong} with probability {upper:.2g}, and"
                f" too low {wrong} with probability {lower:.2g}. Unions of groups are not covered."
            )
        return Guarantee(
            "reconstruction_privacy",
            statement,
            value=self.sample_size,
            attribute=attribute,
            parameters={
                **self.parameters,
                "domain_size": self.operator.domain_size,
                **({"grown": True} if grown else {}),
            },
        )


@dataclass(frozen=True)
class Decided:
    """The parts of a plan that do not depend on which groups are sampled."""

    domain: Domain
    requirement: Requirement
    context: Mapping[str, object]
    """The parameters that define the noise."""
    perturbation: Perturbation


def decide(
    workspace: Workspace, source: Source, arguments: ReconstructionPrivateArguments
) -> Decided:
    """Read the domain and the requirement, and open the random bits of the attribute."""
    domain = _only(open_domains(workspace, source, arguments.domain))
    requirement = Requirement.of(arguments, domain.size)
    context = {
        "mechanism": MECHANISM,
        "attribute": domain.attribute.lower(),
        "domain": domain.digest,
        "sampling": "paper" if arguments.sampling == "paper" else "public",
        "within": "keyed order",
        **requirement.parameters,
    }
    random_bits = open_random_bits(workspace, source, context)
    perturbation = Perturbation(domain, random_bits, *requirement.operator.thresholds())
    return Decided(domain, requirement, context, perturbation)


def release_plan(
    workspace: Workspace,
    source: Source,
    release: str,
    decided: Decided,
    sampling: Sampling,
    kernel: Kernel,
    guarantees: Sequence[Guarantee],
    *,
    paper: bool = False,
) -> Plan:
    """Return the plan of the rows that a kernel makes of sampled records."""
    domain, requirement = decided.domain, decided.requirement
    numbers = own_and_other(domain, requirement.operator)
    perturbed = Perturbed(
        decided.perturbation,
        domain.as_attribute(release, "duplicated" if paper else "scaled", numbers),
        guarantees,
        None if paper else requirement.operator.ldp_epsilon,
    )
    parameters = {**requirement.parameters, "sampling": "paper" if paper else "public"}
    plan = plan_of(
        workspace, source, MECHANISM, parameters, [perturbed], kernel=kernel, crowds=False
    )
    notes = {GROUPED_BY: sorted(name.lower() for name in source.public)}
    return replace(
        plan,
        columns={**sampling.source.published_roles, SCALE: "scale"},
        ledger=[replace(entry, grouped=True, notes=notes) for entry in plan.ledger],
    )


def plan(
    workspace: Workspace,
    source: Source,
    release: str,
    arguments: ReconstructionPrivateArguments,
) -> Plan:
    """Plan a reconstruction-private release of a source."""
    decided = decide(workspace, source, arguments)
    domain, requirement, context = decided.domain, decided.requirement, decided.context
    perturbation = decided.perturbation
    paper = arguments.sampling == "paper"
    staged: tuple[str, ...] = ()
    if paper:
        sampling, large = sample_as_in_paper(workspace, source, domain, requirement, context)
        kernel = sampling.kernel(source, perturbation)
        kernel = replace(kernel, select=duplicated_sql(kernel.select, source.public))
        expected = None
        guarantees = [_leak(domain.attribute, requirement)]
    else:
        size = requirement.sample_size
        samples = Samples(workspace, source, release, domain, size)
        sampling = sample_groups(workspace, source, domain, size, context)
        large, records = aggregates_of(workspace, source).large_groups(
            sampling.steps[0], requirement.sample_size
        )
        expected = source.rows - records + large * requirement.sample_size
        staged = (LARGE,)
        if source.answers is None and not samples.kept:
            if values_at_once(workspace, source, domain, sampling, size):
                staged = (LARGE, VALUES)
            else:
                # Counting the records that are taken of each value, and then collecting so many, is several times
                # faster than collecting ``sample_size`` records of every value.
                most = most_of_value(workspace, source, domain, size)
                sampling = sample_groups(workspace, source, domain, size, context, most=most)
        kernel = sampling.kernel(source, perturbation)
        if samples.kept:
            samples.mark(perturbation, context)
            samples.sample(sampling, perturbation)
            samples.keep()
            staged = (LARGE, VALUES, SAMPLE)
        guarantees = [
            requirement.guarantee(domain.attribute),
            *uniform_guarantees(domain.attribute, requirement.operator),
        ]
    plan = release_plan(
        workspace, source, release, decided, sampling, kernel, guarantees, paper=paper
    )
    return replace(
        plan,
        staged=staged,
        rows_expected=expected,
        sample=paper,
        warnings=[
            *plan.warnings,
            *_warn_of_groups(workspace, source, domain, requirement, large),
        ],
    )


def _only(domains: list[Domain]) -> Domain:
    """Return the only sensitive attribute; a sample can keep the frequencies of one attribute only."""
    if len(domains) > 1:
        raise InvalidParameter(
            "reconstruction privacy is for one sensitive column, got "
            + " and ".join(repr(domain.attribute) for domain in domains),
            hint="publish one release for each column, and exclude the others",
        )
    return domains[0]


def _leak(attribute: str, requirement: Requirement) -> Guarantee:
    """Return a statement of what the paper's algorithm reveals."""
    return Guarantee(
        "reconstruction_privacy_of_the_paper",
        "Micro groups (records that agree on all public attributes) that are too large for their own largest frequency"
        " are sampled, and the perturbed records duplicated. This is not a guarantee: how often a record appears"
        f" reveals the largest frequency of {attribute} in its group, more precisely than the estimate that sampling"
        " defends against, and no local differential privacy holds. Use sampling := 'public' to publish.",
        attribute=attribute,
        parameters={**requirement.parameters, "domain_size": requirement.operator.domain_size},
    )


def _warn_of_groups(
    workspace: Workspace, source: Source, domain: Domain, requirement: Requirement, large: int
) -> list[str]:
    """Return warnings about a single micro group, no sampled group, or groups that the claim excludes."""
    found = []
    if not source.public:
        found.append(
            f"there are no public attributes, so all {source.rows} records are one micro group, of which at most"
            f" {requirement.sample_size} are published"
        )
    if large == 0:
        found.append(
            f"no micro group has more than {requirement.sample_size} records, so nothing was sampled:"
            " the release protects as priv.publish_uniform does, and no better"
        )
    if requirement.max_frequency < 1:
        counts = aggregates_of(workspace, source).group_counts(domain.attribute).of_groups
        outside = counts.where(counts.frequency > requirement.max_frequency)
        groups, records = outside.number.sum(), (outside.number * outside.size).sum()
        if groups:
            found.append(
                f"{groups} micro groups with {records} records have a value that is more frequent than"
                f" max_frequency = {requirement.max_frequency:g} (every group of one record does): what is promised"
                " does not concern them"
            )
    return found


def sample_as_in_paper(
    workspace: Workspace,
    source: Source,
    domain: Domain,
    requirement: Requirement,
    context: Mapping[str, object],
) -> tuple[Sampling, int]:
    """Return the paper's sampling, whose scale is the number of copies, and the number of sampled groups.

    The threshold of a group depends on its own largest frequency. A group with more records is sampled down to about
    the threshold, value by value. Every perturbed record is published size / sampled times, randomly rounded. The
    number of copies is visible, so it reveals the threshold and the largest frequency. That is several times more
    precise than the estimate that sampling prevents (``mechanism/reconstruction_privacy.md``).

    A group with an empty sample is not published.
    Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", algorithm 1.
    """
    groups = aggregates_of(workspace, source).group_counts(domain.attribute).of_groups
    allowed = threshold(
        groups.frequency,
        requirement.operator,
        requirement.epsilon,
        requirement.delta,
        requirement.bound,
    )
    thresholds = {"size": groups.size, "count": groups.count, "threshold": allowed}
    most = min(math.ceil(allowed.max()) + 1, LARGEST_SAMPLE)
    sql = group_sql(source, domain, most)
    sampling = Sampling(
        as_source(source, sql("copied_records"), "BIGINT"),
        (
            Step(LARGE, sql("violating_groups")),
            Step(VALUES, sql("group_values")),
            Step(SAMPLE, sql("independent_sample")),
        ),
        bits_of_groups(workspace, source, context),
        {"_priv_thresholds": Table.of(thresholds)},
    )
    return sampling, int(groups.number[groups.size > allowed].sum())


def duplicated_sql(perturbed: str, public: Sequence[str]) -> str:
    """Return SQL in which every perturbed record appears as often as its scale says."""
    return fragment(
        "duplicated",
        perturbed=perturbed,
        partition=f"PARTITION BY {identifiers(public)}" if public else "",
    )
