"""Plan the next version of a reconstruction-private release: current rows stay, and new records take free rows."""

from __future__ import annotations

from dataclasses import replace

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source, key_expression
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.methods.common.local_privacy import uniform_guarantees
from duckdb_priv.methods.reconstruction_private.arguments import ReconstructionPrivateArguments
from duckdb_priv.methods.reconstruction_private.micro_groups import Sampling, sample_groups
from duckdb_priv.methods.reconstruction_private.plan import (
    Decided,
    Requirement,
    decide,
    release_plan,
)
from duckdb_priv.methods.reconstruction_private.samples import (
    MARKED,
    SAMPLED,
    Samples,
    rows_together,
)
from duckdb_priv.release import catalog
from duckdb_priv.sqltext.quoting import identifiers, literal
from duckdb_priv.sqltext.reading import count_of
from duckdb_priv.sqltext.templates import section


def plan(
    workspace: Workspace,
    source: Source,
    release: str,
    arguments: ReconstructionPrivateArguments,
) -> Plan:
    """Plan the next version of a release whose samples are stored."""
    release = catalog.find_release(workspace.cursor, release)
    decided = decide(workspace, source, arguments)
    domain, requirement = decided.domain, decided.requirement
    perturbation = decided.perturbation
    samples, sampling = _sampled(workspace, source, release, decided)
    kernel = replace(sampling, source=replace(sampling.source, table=SAMPLED)).kernel(
        source, perturbation
    )
    kernel = replace(kernel, random_bits={"random0": perturbation.random_bits.bits}, steps=())
    draws = samples.keep()
    together = rows_together(workspace, release, requirement.sample_size)
    rows = count_of(workspace.cursor, SAMPLED)
    guarantee = requirement.guarantee(domain.attribute, grown=True)
    guarantees = [guarantee, *uniform_guarantees(domain.attribute, requirement.operator)]
    plan = release_plan(workspace, source, release, decided, sampling, kernel, guarantees)
    return replace(
        plan,
        parameters={**plan.parameters, "together": together},
        rows_expected=rows,
        left_out=draws.waiting,
        warnings=[*plan.warnings, *_warn_of_draws(draws.present, requirement)],
    )


def waiting(
    workspace: Workspace,
    source: Source,
    release: str,
    arguments: ReconstructionPrivateArguments,
) -> int | None:
    """Return the number of waiting records, or None if the next version would differ from the current one."""
    release = catalog.find_release(workspace.cursor, release)
    samples, _ = _sampled(workspace, source, release, decide(workspace, source, arguments))
    return samples.waiting()


def entered(workspace: Workspace, source: Source, release: str) -> str:
    """Return SQL for the ids of the records that the release counts: those with a row, and those rows represent."""
    given = last_of(workspace.cursor, release).parameters
    (attribute,) = catalog.sensitive_attributes(workspace.cursor, release)
    arguments = ReconstructionPrivateArguments(
        domain=attribute.values,
        **{
            each: given[each]
            for each in ("retention", "epsilon", "delta", "bound", "max_frequency")
        },
    )
    value = key_expression(attribute.name, source.types[attribute.name])
    table = section(
        "kernels",
        "records_of_domain",
        source=source.table,
        release=literal(release),
        attribute=literal(attribute.name),
        value=value,
    )
    known = replace(source, table=table, rows=count_of(workspace.cursor, table))
    decided = decide(workspace, known, arguments)
    samples = Samples(workspace, known, release, decided.domain, decided.requirement.sample_size)
    samples.mark(decided.perturbation, decided.context)
    ids = identifiers(source.record_id)
    return section("kernels", "known_ids", ids=ids, marked=MARKED)


def _sampled(
    workspace: Workspace, source: Source, release: str, decided: Decided
) -> tuple[Samples, Sampling]:
    """Materialize the records that get a row, and return the samples and the sampling."""
    domain, size = decided.domain, decided.requirement.sample_size
    samples = Samples(workspace, source, release, domain, size)
    samples.mark(decided.perturbation, decided.context)
    sampling = sample_groups(workspace, source, domain, size, decided.context, "grown_groups")
    samples.sample(sampling, decided.perturbation)
    return samples, sampling


def _warn_of_draws(present: int, requirement: Requirement) -> list[str]:
    """Return a warning if records came back to a group, so that more of its records had rows than is promised."""
    if present <= requirement.sample_size:
        return []
    upper, lower = replace(requirement, sample_size=present).worst_tails()
    return [
        f"{present:,} records that are in one group were its rows in some version, since some came back to it: for"
        " someone with all versions the frequency of a value that all have is too high by more than"
        f" {requirement.epsilon:.4g} of it with probability {upper:.2g}, and too low with probability {lower:.2g}"
    ]
