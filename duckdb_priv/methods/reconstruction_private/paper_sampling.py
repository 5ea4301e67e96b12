"""The sampling algorithm of the paper, for comparison only.

The threshold of a group depends on its own largest frequency. A group with more records is sampled down to about the
threshold, value by value. Every perturbed record is published size / sampled times, randomly rounded. The number of
copies is visible, so it reveals the threshold and the largest frequency. That is several times more precise than the
estimate that sampling prevents (``mechanism/reconstruction_privacy.md``).

Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.kernel import Step, Table
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.reconstruction_privacy import Bound, threshold
from duckdb_priv.mechanism.uniform import Uniform
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.reconstruction_private.micro_groups import (
    LARGE,
    LARGEST_SAMPLE,
    SAMPLE,
    VALUES,
    Sampling,
    as_source,
    bits_of_groups,
    group_sql,
)
from duckdb_priv.sqltext.quoting import identifiers
from duckdb_priv.sqltext.templates import body, expand, read


def sample_as_in_paper(
    workspace: Workspace,
    source: Source,
    domain: Domain,
    operator: Uniform,
    requirement: tuple[float, float, Bound],
    context: Mapping[str, object],
) -> tuple[Sampling, int]:
    """Return the paper's sampling, whose scale is the number of copies, and the number of sampled groups.

    ``requirement`` is epsilon, delta and the bound. A group with an empty sample is not published.
    """
    epsilon, delta, bound = requirement
    groups = aggregates_of(workspace, source).group_counts(domain.attribute).of_groups
    allowed = threshold(groups.frequency, operator, epsilon, delta, bound)
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
    return expand(
        body(read("publisher/fragments", "duplicated")),
        {
            "perturbed": perturbed,
            "partition": f"PARTITION BY {identifiers(public)}" if public else "",
        },
    )
