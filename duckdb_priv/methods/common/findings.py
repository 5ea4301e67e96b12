"""The input of an audit, and the rows that it returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.engine.source import SCALAR, Source, key_expression
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism import binomial
from duckdb_priv.release.model import SensitiveAttribute, to_json
from duckdb_priv.release.promise import factor, weak
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.reading import counts_of, select
from duckdb_priv.sqltext.templates import section

FALSE_ALARM = 1e-9
"""Probability that an audit calls correct counts inconsistent with their operator."""
TOLERANCE = 1e-9
"""Relative rounding error that a recomputed guarantee may have."""

ENOUGH = 100
"""Average records per value of a public column, from which on it describes more than single people."""

UNIT_OF = {
    name: unit
    for unit, names in {
        "epsilon": "local_differential_privacy differential_privacy shuffle_privacy accumulated_epsilon"
        " privacy_of_a_person",
        "probability": "upward_privacy downward_privacy largest_posterior smallest_posterior decoy_group"
        " small_sum_privacy exact_tails tight_delta l_diversity posterior_by_correlation operator independence",
        "standard errors": "noise_as_stated",
        "share of the records": "singletons homogeneous_neighbourhoods lost_association eligible sampled_as_stated",
        "share of the groups": "largest_inclusion",
        "% of the groups": "violating_groups_before violating_groups_after groups_outside_the_claim",
        "% of the records": "largest_frequencies_given_away",
        "records": "sample_size largest_sample large_sum_threshold exact_large_sum_threshold k_anonymity scale"
        " insiders exact_counts records_of_a_person rows_in_all_versions order_of_rows left_their_groups",
        "groups": "groups_represented",
        "sizes": "scale_by_size",
        "batches": "several_batches",
        "values": "certain_candidates",
        "publications": "sample_used_once",
        "factor": "largest_likelihood_ratio condition_number",
        "1: yes, 0: no": "keyed_randomness",
        "claims": "verdict",
    }.items()
    for name in names.split()
}
"""The unit of a finding's value, by the name of the finding."""

AuditRow = dict[str, Any]


def finding(
    name: str,
    statement: str,
    value: float | None,
    holds: bool | None = None,
    attribute: str | None = None,
    *,
    unit: str | None = None,
    **parameters: Any,
) -> AuditRow:
    """Return one row of an audit.

    ``holds`` is None for information that makes no claim. ``unit`` is the unit of the value; by default that of all
    findings of this name.
    """
    return {
        "attribute": attribute,
        "guarantee": name,
        "statement": statement,
        "parameters": to_json(parameters),
        "value": value,
        "holds": holds,
        "unit": None if value is None else unit or UNIT_OF.get(name),
    }


@dataclass(frozen=True)
class Audited:
    """A release with the claims that it makes as a whole."""

    workspace: Workspace
    release: str
    table: str
    """The published table, quoted."""
    source: Source | None
    """The source, if it has not changed."""
    claims: Mapping[str, tuple[float | None, dict[str, Any]]]
    """By guarantee: the value and the parameters in the catalog."""

    def columns(self, role: str) -> list[str]:
        """Return the attributes of the release that have a role."""
        query = "SELECT attribute FROM priv.attribute WHERE release = ? AND role = ?"
        return [name for (name,) in self.workspace.rows(query, [self.release, role])]


@dataclass(frozen=True)
class Subject(Audited):
    """One sensitive attribute of a release, with its claims."""

    attribute: SensitiveAttribute

    def finding(
        self,
        name: str,
        statement: str,
        value: float | None,
        holds: bool | None = None,
        *,
        unit: str | None = None,
        **parameters: Any,
    ) -> AuditRow:
        """Return one row of an audit, about this attribute."""
        return finding(name, statement, value, holds, self.attribute.name, unit=unit, **parameters)

    def source_changed(self) -> AuditRow:
        """Return the row which says that the source has changed, so that no comparison is possible."""
        return self.finding(
            "source",
            "The source is no longer what was published, so nothing is compared with it.",
            None,
        )

    def most_of_public_columns(self, query: str) -> tuple[float, str] | None:
        """Return the largest figure that a query of ``audits`` computes of a public column, and that column.

        Only columns about many records are read, not those about single people. Returns None without such a column.
        """
        source, found = self.source, []
        if source is None:
            return None
        fillings = {
            "source": source.table,
            "table": self.table,
            "name": identifier(self.attribute.column),
            "value": key_expression(self.attribute.name, source.types[self.attribute.name]),
        }
        for column in self.columns("public"):
            if SCALAR.match(source.types.get(column, "")):
                public = identifier(column)
                distinct = select([f"count(DISTINCT {public})"], source.table)
                ((values,),) = self.workspace.rows(distinct)
                if values * ENOUGH <= source.rows:
                    sql = section("audits", query, public=public, **fillings)
                    ((figure,),) = self.workspace.rows(sql)
                    found.append((float(figure), column))
        return max(found, default=None)

    @cached_property
    def true_counts(self) -> NDArray[np.float64] | None:
        """The number of source records with each value of the domain; None if the source has changed."""
        if self.source is None:
            return None
        column = key_expression(self.attribute.name, self.source.types[self.attribute.name])
        counts = self._counts(self.source.table, column)
        return counts if counts.sum() == self.source.rows else None

    @cached_property
    def same_counts(self) -> NDArray[np.float64] | None:
        """The true counts; None if the source has changed, or has another number of records than the release."""
        true = self.true_counts
        return true if true is not None and true.sum() == self.shown_counts.sum() else None

    @cached_property
    def shown_counts(self) -> NDArray[np.float64]:
        """The number of published rows with each value of the domain, or each block that records show."""
        column, blocks = identifier(self.attribute.column), self.attribute.blocks
        return self._counts(self.table, column, map(str, range(blocks.count)) if blocks else None)

    def _counts(
        self, table: str, column: str, labels: Iterable[str | None] | None = None
    ) -> NDArray[np.float64]:
        found = dict(counts_of(self.workspace.cursor, column, table))
        labels = self.attribute.values if labels is None else labels
        return np.array([found.get(label, 0) for label in labels], dtype=np.float64)

    def eligible(
        self, true: NDArray[np.float64], size: int, called: str, **parameters: Any
    ) -> AuditRow:
        """Return the finding whether groups of ``size`` different values exist; ``called`` writes the size."""
        return self.finding(
            "eligible",
            f"No value is in more than 1 of {called} records of the source, so groups of different values exist.",
            float(true.max() / true.sum()),
            bool(true.max() * size <= true.sum()),
            **parameters,
        )

    def noise_as_stated(self, mean: NDArray[np.float64], spread: NDArray[np.float64]) -> AuditRow:
        """Test whether the published counts are plausible for their mean and variance, given the source.

        Given the source, a published count is a sum of independent draws with unequal probabilities; a
        binomial of the same mean has tails that are no lighter (Hoeffding 1956), so the test errs
        towards no alarm.
        """
        shown = self.shown_counts
        total = shown.sum()
        tail = np.minimum(
            binomial.cdf(shown, int(total), mean / total),
            binomial.sf(shown - 1, int(total), mean / total),
        )
        deviations = np.abs(shown - mean) / np.sqrt(np.maximum(spread, 1e-9))
        likely = tail.min() * 2 * len(shown)
        return self.plausible("the source and the stated operator", deviations, likely)

    def plausible(self, what: str, deviations: NDArray[np.float64], likely: float) -> AuditRow:
        """Return the finding about the fit of the published counts with ``what``; ``likely`` bounds its probability."""
        return self.finding(
            "noise_as_stated",
            f"The published counts fit {what}: the largest deviation, in standard errors.",
            float(deviations.max()),
            bool(likely >= FALSE_ALARM),
            false_alarm=FALSE_ALARM,
        )


def audit_epsilon(subject: Subject, epsilon: float, shown: str = "noisy value") -> AuditRow:
    """Check the local differential privacy of an attribute; ``shown`` names a record's published value."""
    claimed = subject.claims["local_differential_privacy"][0] or 0.0
    return subject.finding(
        "local_differential_privacy",
        f"From one {shown} alone: the odds between two true values change by a factor of {factor(epsilon)}."
        + weak(epsilon),
        epsilon,
        epsilon <= claimed * (1 + TOLERANCE),
        claimed=claimed,
    )


def audit_posterior(
    subject: Subject,
    highest: NDArray[np.float64],
    prior: NDArray[np.float64],
    shown: str = "one noisy value alone",
) -> AuditRow:
    """Return the largest posterior of a true value; ``highest`` and ``prior`` have an entry for each value."""
    top = int(highest.argmax())
    return subject.finding(
        "largest_posterior",
        f"The largest posterior of a true value that {shown} causes, for someone who knows the true frequencies.",
        float(highest[top]),
        of=subject.attribute.values[top],
        prior=float(prior[top]),
    )
