"""Plan a publication of shuffled groups: the retention depends on the size of a group of equal public columns.

Source: Balle, Bell, Gascon, Nissim, "The privacy blanket of the shuffle model" (CRYPTO 2019); derivation:
mechanism/shuffle.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from duckdb_priv.engine.kernel import Kernel, Table
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource
from duckdb_priv.mechanism.shuffled_retention import scaled_retention, scales_of_sizes
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.mechanism.uniform import MAX_EPSILON, Uniform
from duckdb_priv.methods.common.domain import Domain, open_domains
from duckdb_priv.methods.common.perturbation import PerturbationByRecord, bits_of, perturb_sql
from duckdb_priv.methods.common.perturbed import Perturbed, plan_of
from duckdb_priv.methods.common.shuffles import (
    GROUPS,
    digest_of_records,
    groups_of,
    require_crowds,
    same_group,
    sizes_of_groups,
)
from duckdb_priv.methods.shuffled.arguments import MIN_EPSILON, ShuffledArguments
from duckdb_priv.release.model import SCALE, Guarantee
from duckdb_priv.release.promise import factor
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.templates import section

MECHANISM = "shuffled"
SIZES = "temp.main._priv_sizes"
"""Temporary table with the thresholds of the perturbation for each group size."""

FEW = 10
"""In groups with fewer records, the noise is nearly that of a single record."""


def plan(workspace: Workspace, source: Source, release: str, arguments: ShuffledArguments) -> Plan:
    """Plan a release of shuffled groups."""
    _check(arguments)
    _refuse_taken(source)
    domains = open_domains(workspace, source, arguments.domain)
    sizes = sizes_of_groups(workspace, source)
    instead = f"priv.publish_uniform with epsilon := {arguments.epsilon:g} asks for no crowd"
    require_crowds(workspace, source, sizes, instead)
    codes = tuple(Code(domain.size) for domain in domains)
    scales = scales_of_sizes(codes, sizes, arguments.epsilon, arguments.delta)
    noise: dict[str, object] = {
        "epsilon": arguments.epsilon,
        "delta": arguments.delta,
        "sizes": [domain.size for domain in domains],
        "public": sorted(source.public),
    }
    if source.record_id:
        # With the same random bits in two versions, their difference would show the value of a changed record.
        noise["records"] = digest_of_records(workspace, source, {"mechanism": MECHANISM, **noise})
    draws = [
        PerturbationByRecord(domain, bits_of(workspace, source, MECHANISM, domain, **noise))
        for domain in domains
    ]
    plan = plan_of(
        workspace,
        source,
        MECHANISM,
        {"epsilon": arguments.epsilon, "delta": arguments.delta},
        [
            Perturbed(
                draw,
                draw.domain.as_attribute(release, "by_group", {}),
                [_shuffle_guarantee(source, draw.domain, domains, arguments, sizes)],
                arguments.epsilon,
                arguments.delta,
            )
            for draw in draws
        ],
        kernel=_kernel(source, draws, scales),
        crowds=False,
    )
    return replace(
        plan,
        staged=(GROUPS,),
        columns={**plan.columns, SCALE: "scale"},
        guarantees=[*plan.guarantees, *(_local_guarantee(each, scales) for each in domains)],
        warnings=[*plan.warnings, *_warn_of_small_groups(source, sizes)],
    )


def _check(arguments: ShuffledArguments) -> None:
    """Raise InvalidParameter for an epsilon or delta outside its range."""
    if not MIN_EPSILON <= arguments.epsilon <= MAX_EPSILON:
        raise InvalidParameter(
            f"epsilon must be at least {MIN_EPSILON:g} and at most {MAX_EPSILON:g}, got {arguments.epsilon!r}",
            hint="1.0 is a usual value",
        )
    if not 0 < arguments.delta < 1:
        raise InvalidParameter(
            f"delta must lie strictly between 0 and 1, got {arguments.delta!r}",
            hint="1e-6 is usual; with delta 0 use priv.publish_uniform, which needs no delta",
        )


def _refuse_taken(source: Source) -> None:
    if taken := [name for name in source.read_types if name.lower() == SCALE]:
        raise InvalidSource(
            f"column {taken[0]!r} has the name of the column for the noise scale of a row",
            hint="rename it in a view, or exclude it",
        )


def _kernel(
    source: Source, perturbations: Sequence[PerturbationByRecord], scales: Mapping[int, float]
) -> Kernel:
    """Return the kernel that looks up the group of each record, and perturbs it as its size requires."""
    thresholds = {
        f"{name}{n}": np.array(column, dtype=np.uint64)
        for n, each in enumerate(perturbations)
        for name, column in zip(
            ("_priv_keep", "_priv_width"),
            zip(
                *(
                    Uniform(
                        scaled_retention(scale, each.domain.size), each.domain.size
                    ).thresholds()
                    for scale in scales.values()
                ),
                strict=True,
            ),
            strict=True,
        )
    }
    read = ", ".join(f"s.{identifier(name)}" for name in source.read_types)
    records = section(
        "kernels",
        "records_in_crowds",
        columns=read,
        groups=GROUPS,
        sizes=SIZES,
        same_group=same_group(source),
    )
    with_scale = replace(
        source, types={**source.types, SCALE: "DOUBLE"}, public=(*source.public, SCALE)
    )
    table = Table.of({"_priv_size": list(scales), SCALE: list(scales.values()), **thresholds})
    return Kernel(
        reads=source.read_types,
        select=perturb_sql(with_scale, perturbations, records),
        random_bits={f"random{n}": each.random_bits.bits for n, each in enumerate(perturbations)},
        tables={SIZES: table}
        | {name: table for each in perturbations for name, table in each.tables().items()},
        steps=(groups_of(source),),
        alone=False,
        together=source.public,
    )


def _shuffle_guarantee(
    source: Source,
    domain: Domain,
    domains: Sequence[Domain],
    arguments: ShuffledArguments,
    sizes: Mapping[int, int],
) -> Guarantee:
    alone, of = sizes.get(1, 0), f"the true {domain.attribute}"
    if len(domains) > 1:
        of = f"the true {domain.attribute}, and all other sensitive attributes together,"
    return Guarantee(
        "shuffle_privacy",
        "For someone who knows all other records and sees the release, but not the secret, it changes the odds"
        f" between two values of {of} of a record by a factor of {factor(arguments.epsilon)} (epsilon ="
        f" {arguments.epsilon:g}), except with probability delta = {arguments.delta:g}. The record hides among"
        " the records with the same public columns, whose order says nothing."
        + (
            f" {alone} of {source.rows} records are unique in theirs; for these the same holds without a delta."
            if alone
            else ""
        )
        + " A change of any record redraws all of them.",
        value=arguments.epsilon,
        attribute=domain.attribute,
        parameters={
            "delta": arguments.delta,
            "domain_sizes": [each.size for each in domains],
            "smallest_group": min(sizes),
            "records_alone": alone,
        },
    )


def _local_guarantee(domain: Domain, scales: Mapping[int, float]) -> Guarantee:
    largest = max(scales)
    operator = Uniform(scaled_retention(scales[largest], domain.size), domain.size)
    return Guarantee(
        "local_differential_privacy",
        f"For someone who learns which row is a record's, the odds between two values of"
        f" {domain.attribute} change by a factor of {factor(operator.ldp_epsilon)} (epsilon ="
        f" {operator.ldp_epsilon:.4g}) in the largest group, of {largest} records, and less in smaller ones.",
        value=operator.ldp_epsilon,
        attribute=domain.attribute,
        parameters={"domain_size": domain.size, "largest_group": largest},
    )


def _warn_of_small_groups(source: Source, sizes: Mapping[int, int]) -> list[str]:
    """Return a warning if most records are in small groups, so that their noise is nearly that of a single record."""
    small = sum(size * number for size, number in sizes.items() if size < FEW)
    if 2 * small <= source.rows:
        return []
    return [
        f"{small} of {source.rows} records are in groups of fewer than {FEW} with the same public columns: coarser"
        " or fewer public columns would need less noise"
    ]
