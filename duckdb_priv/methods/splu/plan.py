"""Plan a publication by decoy groups: each record shows one of the gamma values of its secret group.

Source: Fu, Wang and others, "Small sum privacy and large sum utility in data publishing", with the grouping
and the reconstruction corrected (``mechanism/decoy_groups.md``, ``mechanism/splu.md``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest

import numpy as np

from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.engine.marking import mark_stream
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource
from duckdb_priv.mechanism.arrays import Counts
from duckdb_priv.mechanism.decoy_batches import (
    MOST_VALUES,
    Batch,
    Mixture,
    drawn_in_all,
    mixture,
)
from duckdb_priv.mechanism.decoy_intervals import interval_terms
from duckdb_priv.mechanism.operator import half_step
from duckdb_priv.mechanism.score_terms import likely_shares, score_terms
from duckdb_priv.mechanism.splu import (
    exact_large_sum_threshold,
    large_sum_threshold,
    small_sum_privacy,
)
from duckdb_priv.mechanism.splu_reconstruction import (
    CELL,
    TwoByTwo,
    background_probability,
    cell_errors,
    choose,
)
from duckdb_priv.methods.common.assigning import Grouping, assign
from duckdb_priv.methods.common.decoys import (
    SHOWN,
    count_ranges,
    key_of_groups,
    show,
    without_surplus,
)
from duckdb_priv.methods.common.decoys_at_once import show_at_once
from duckdb_priv.methods.common.decoys_in_ranges import show_in_ranges
from duckdb_priv.methods.common.domain import Domain, open_domains, warn_of_domain
from duckdb_priv.methods.common.memory import Memory
from duckdb_priv.methods.common.republication import (
    domains_of_both,
    drop_known,
    earlier_rows,
    ledger_entries,
    remember,
)
from duckdb_priv.methods.splu.arguments import GROUPS_OF_A_BATCH, SpluArguments
from duckdb_priv.release.model import Guarantee, LedgerEntry, SensitiveAttribute

MECHANISM = "splu"
EPSILON, ALPHA, ERROR_PROBABILITY = 0.3, 3, 0.05
"""Parameters of the guarantees that a release states. Calculators compute them for other parameters."""
WIDE = 1.96
"""Half the width of an interval, in standard errors, that a warning computes with."""
MANY_GROUPS_SHOWN = 5
"""Largest number of values that a warning lists."""


def plan(workspace: Workspace, source: Source, release: str, arguments: SpluArguments) -> Plan:
    """Plan a release of a source by decoy groups."""
    grouping = Grouping(MECHANISM, arguments.gamma, arguments.grouping)
    append = arguments.append
    domains = open_domains(
        workspace,
        source,
        domains_of_both(workspace, source, release, grouping) if append else None,
    )
    marks = mark_stream(workspace) if source.record_id else None
    assigned = assign(workspace, source, domains, grouping, marks, stored=append)
    if append:
        drop_known(source, domains, assigned)
    keys = [
        key_of_groups(workspace, source, domain, n, grouping, assigned)
        for n, domain in enumerate(domains)
    ]
    gamma = grouping.gamma
    ranges = without_surplus(assigned, count_ranges(assigned, domains, gamma), gamma, keys[0].words)
    if append:
        _require_batch(ranges.rows, gamma)
    remember(workspace, source, domains, keys, assigned, ranges.kept)
    memory = Memory(workspace, release)
    reported = bool(source.record_id) and assigned.few and (bool(memory) or not append)
    spilled = assigned.spilled is not None
    kernel = show(assigned, source, domains, keys, grouping, ranges, reported=reported or spilled)
    staged, batches = assigned.staged, None
    if assigned.spilled:
        show_in_ranges(workspace, assigned.spilled, kernel, len(source.public))
        staged = (*staged, SHOWN)
    elif reported:
        if not append:
            # For a batch, known records were deleted from the table of assigned records.
            staged = show_at_once(workspace, assigned, kernel, len(source.public))
        staged = memory.keep(source, domains, kernel, staged)
        batches = [memory.batches(domain.attribute, domain.values) for domain in domains]
    earlier, before = earlier_rows(workspace, source, domains, release) if append else (None, 0)
    if memory and not assigned.few:
        _give_up(memory, domains, before)
    made = Grouped(release, source, domains, grouping, batches)
    plan = made.plan(kernel, ledger_entries(source, domains, keys), ranges.rows + before, earlier)
    return replace(plan, staged=staged, left_out=ranges.left_out)


@dataclass(frozen=True)
class Grouped:
    """The attributes of a release by decoy groups."""

    release: str
    source: Source
    domains: Sequence[Domain]
    grouping: Grouping
    batches: Sequence[Sequence[Batch]] | None
    """By attribute: the published histograms over all records that were ever in a group, including those that left;
    None if they are not stored."""

    @cached_property
    def _mixed(self) -> Sequence[Mixture | None]:
        """By attribute: the mixture of several batches; None for one batch, or if no mixture can be inverted."""
        gamma = self.grouping.gamma
        return [mixture(each, gamma) if len(each) > 1 else None for each in self.batches or ()]

    def plan(
        self,
        kernel: Kernel,
        ledger: Sequence[LedgerEntry],
        rows: int,
        earlier: str | None = None,
    ) -> Plan:
        """Return the plan of ``rows`` rows; ``earlier`` is the query of those that were published before."""
        gamma, batches = self.grouping.gamma, self.batches
        guarantees = [
            each for domain in self.domains for each in guarantees_of(domain.attribute, gamma)
        ]
        biased = []
        for n, domain in enumerate(self.domains):
            if earlier or (batches and len(batches[n]) > 1):
                known = len(batches[n]) if batches else None
                corrected = bool(batches and self._mixed[n])
                guarantees.append(_of_several(domain, known, corrected))
                if not corrected:
                    biased.append(guarantees[-1].statement)
        parts = rows if batches is None else max(int(drawn_in_all(each).sum()) for each in batches)
        return Plan(
            mechanism=MECHANISM,
            parameters={"gamma": gamma, "grouping": self.grouping.name, "rows": parts},
            kernel=kernel,
            earlier=earlier,
            columns=self.source.published_roles,
            attributes=[],
            complete=self._complete,
            provenance=dict.fromkeys(self.source.sensitive, "source"),
            guarantees=guarantees,
            ledger=ledger,
            strongest=guarantees[0].statement,
            rows_expected=rows,
            warnings=biased,
        )

    def _complete(self, plan: Plan, published: Mapping[str, Mapping[str | None, int]]) -> Plan:
        """Complete the plan with the estimators, which depend on the published values only."""
        batches = self.batches or [
            [_as_published(published[domain.attribute], domain.values)] for domain in self.domains
        ]
        attributes, warnings = [], [*plan.warnings]
        for domain, each, mixed in zip_longest(self.domains, batches, self._mixed):
            drawn, gamma = drawn_in_all(each), self.grouping.gamma
            attributes.append(
                _of_batches(self.release, domain, each, mixed, gamma)
                if mixed
                else reconstruction(self.release, domain, drawn, gamma)
            )
            warnings += _warnings(domain, drawn, mixed, self.source, self.grouping)
        return replace(plan, attributes=attributes, warnings=warnings)


def _as_published(published: Mapping[str | None, int], values: Sequence[str | None]) -> Batch:
    """Return the published histogram as a batch from which no record left."""
    counts = np.array([published.get(value, 0) for value in values], np.int64)
    return Batch(counts, counts)


def _give_up(memory: Memory, domains: Sequence[Domain], rows: int) -> None:
    """Delete the stored published values of a release of ``rows`` rows, because those of new records are not stored.

    Raises InvalidParameter if records have left, because estimates need their published values.
    """
    batches = (memory.batches(each.attribute, each.values) for each in domains)
    if any(drawn_in_all(each).sum() > rows for each in batches):
        raise InvalidParameter(
            f"records have left release {memory.release!r} since it was published, and Spark cannot append to it:"
            " their published values would be lost",
            hint="append with DuckDB, or publish the frame under another name",
        )
    memory.forget()


def _require_batch(rows: int, gamma: int) -> None:
    """Raise InvalidSource for a batch of so few groups that a comparison of two versions reveals them."""
    if rows < GROUPS_OF_A_BATCH * gamma:
        raise InvalidSource(
            f"there are {rows} new records, and a batch needs at least {GROUPS_OF_A_BATCH * gamma}. Someone who"
            f" compares the release before and after sees which records are new, and {gamma} of them would be a group",
            hint="append when there are more, or publish the whole table again with republish := true, at its cost",
        )


def reconstruction(release: str, domain: Domain, counts: Counts, gamma: int) -> SensitiveAttribute:
    """Return the catalog entry of an attribute, with the estimator selected from its published histogram."""
    choice = choose(counts, gamma)
    numbers: dict[str, Sequence[float]] = {
        "own": (1 / gamma,) * domain.size,
        "other": tuple(background_probability(counts, gamma).tolist()),
    }
    if not isinstance(choice.weights, TwoByTwo) and choice.design is not None:
        form = choice.weights
        terms = interval_terms(choice.design, form, counts > 0)
        weights = {"own_weight": form.own, "tied_weight": form.tied}
        for_pairs = {"inclusion": form.inclusion, "odds": form.odds, "potential": form.potential}
        of_values = weights | for_pairs | vars(terms)
        numbers |= {name: tuple(of.tolist()) for name, of in of_values.items()}
    return domain.as_attribute(release, choice.method, numbers)


def _of_batches(
    release: str, domain: Domain, batches: Sequence[Batch], mixed: Mixture, gamma: int
) -> SensitiveAttribute:
    remaining = np.sum([batch.remaining for batch in batches], axis=0)
    shares = likely_shares(mixed.weights, mixed.operator, remaining)
    terms = score_terms(mixed.weights, mixed.operator, shares)
    numbers = {
        "own": (1 / gamma,) * domain.size,
        "other": tuple(background_probability(drawn_in_all(batches), gamma).tolist()),
        "half_step": tuple(half_step(mixed.weights).tolist()),
        **{name: tuple(of.tolist()) for name, of in terms._asdict().items()},
    }
    lists = {"weights": mixed.weights.tolist(), "operator": mixed.operator.T.tolist()}
    return domain.as_attribute(release, "batches", numbers, lists)


def _of_several(domain: Domain, batches: int | None, corrected: bool) -> Guarantee:
    """Return a statement of which counts are biased after grouping records in several batches."""
    those = (
        "The records came in several batches"
        if batches is None
        else f"The records came in {batches} batches"
    )
    counted = (
        "Counts are unbiased among rows that are chosen without regard to when they came. Counts among the rows of one"
        " batch are biased."
        if corrected
        else "Counts of all its values are reconstructed as if the batches had the same frequencies"
        + (f", since it has more than {MOST_VALUES}" if domain.size > MOST_VALUES else "")
        + ". Counts among rows of one batch are biased, and those of all rows, too, where records left."
    )
    return Guarantee(
        "several_batches",
        f"{those}, each with decoys of its own frequencies of {domain.attribute}. {counted}",
        value=batches,
        attribute=domain.attribute,
    )


def guarantees_of(attribute: str, gamma: int) -> list[Guarantee]:
    """Return the guarantees of decoy groups for one attribute."""
    small = small_sum_privacy(gamma, EPSILON, ALPHA)
    bound = large_sum_threshold(gamma, EPSILON, ERROR_PROBABILITY)
    exact = exact_large_sum_threshold(gamma, EPSILON, ERROR_PROBABILITY)
    limits = {"gamma": gamma, "epsilon": EPSILON, "error_probability": ERROR_PROBABILITY}
    return [
        Guarantee(
            "decoy_group",
            f"A record shows a value drawn uniformly from {gamma} different ones, its true {attribute} among them."
            f" For someone who knows only the frequencies, the shown value is true with probability 1/{gamma}. This"
            " does not hold against someone who knows that a value is rarer among some records.",
            value=1 / gamma,
            attribute=attribute,
            parameters={"gamma": gamma},
        ),
        Guarantee(
            "small_sum_privacy",
            f"A published count of {attribute} that is truly 1 to {ALPHA} is off by more than {EPSILON:.0%} with"
            f" probability {small:.4g} at least. This is about the published count, not about every way to guess.",
            value=small,
            attribute=attribute,
            parameters={"gamma": gamma, "epsilon": EPSILON, "alpha": ALPHA},
        ),
        Guarantee(
            "large_sum_threshold",
            f"A published count of {attribute} that is truly {bound} or more is off by {EPSILON:.0%} or more with"
            f" probability {ERROR_PROBABILITY:g} at most (Chebyshev).",
            value=bound,
            attribute=attribute,
            parameters=limits,
        ),
        Guarantee(
            "exact_large_sum_threshold",
            f"So is one that is truly {exact} or more, by the exact binomial law.",
            value=exact,
            attribute=attribute,
            parameters=limits,
        ),
    ]


def _warnings(
    domain: Domain, counts: Counts, mixed: Mixture | None, source: Source, grouping: Grouping
) -> list[str]:
    found = warn_of_domain(domain, source)
    choice = choose(counts, grouping.gamma)
    errors = mixed.errors(counts, CELL) if mixed else cell_errors(choice, counts)
    if unknown := [domain.values[code] for code in np.flatnonzero(2 * WIDE * errors > CELL)]:
        listed = ", ".join(map(repr, unknown[:MANY_GROUPS_SHOWN])) + (
            ", …" if len(unknown) > MANY_GROUPS_SHOWN else ""
        )
        found.append(
            f"counts of {listed} of {domain.attribute!r} have large errors: for a count among {CELL:,} records the"
            f" interval is wider than {CELL:,}, or there is none; choose a smaller gamma"
        )
    if mixed is None and np.isnan(choice.bias):
        found.append(
            f"a value of {domain.attribute!r} is in all decoy groups: counts of the others are biased among records"
            " that have it more or less often than all; choose a smaller gamma"
        )
    if grouping.name == "largest_first":
        found.append(
            "grouping 'largest_first' is for comparison only: values of similar frequency often share groups, so"
            " reconstructed counts are biased"
        )
    return found
