"""Plan a publication by fine-grain perturbation: a separate retention for each value.

Source: Chaytor, Wang, "Fine grain perturbation for privacy preserving data publishing".
"""

from __future__ import annotations

import hashlib
import math

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.methods.common.domain import warn_of_domain
from duckdb_priv.methods.common.perturbation import (
    PerturbationByValue,
    open_random_bits,
    perturb_kernel,
)
from duckdb_priv.methods.common.score_terms import completed_by
from duckdb_priv.methods.common.shuffles import shuffle_guarantees
from duckdb_priv.methods.common.tables import shown
from duckdb_priv.methods.fine_grain.arguments import FineGrainArguments
from duckdb_priv.methods.fine_grain.program import Program, solve_programs
from duckdb_priv.methods.fine_grain.reference import Reference
from duckdb_priv.release.model import Guarantee, LedgerEntry, SensitiveAttribute
from duckdb_priv.release.promise import factor, of_value

MECHANISM = "fine_grain"
LISTED = 5
"""Largest number of values that a warning lists."""


def plan(workspace: Workspace, source: Source, release: str, arguments: FineGrainArguments) -> Plan:
    """Plan a release with a separate retention for each value."""
    programs = solve_programs(workspace, source, arguments)
    perturbations = [_perturbation(workspace, source, program) for program in programs]
    epsilons = [_epsilon(program) for program in programs]
    guarantees = [each for program in programs for each in _guarantees(program)]
    attributes = [_attribute(release, program) for program in programs]
    if not any(program.reference.epsilon for program in programs):
        # An operator that was computed from the table reveals something about a record, which no shuffle hides.
        guarantees += shuffle_guarantees(workspace, source, attributes)
    return Plan(
        mechanism=MECHANISM,
        parameters={
            "direction": programs[0].direction,
            "min_retention": arguments.min_retention or 0.0,
            **({"tolerance": programs[0].tolerance} if programs[0].tolerance is not None else {}),
        },
        kernel=perturb_kernel(source, perturbations),
        columns=source.published_roles,
        attributes=attributes,
        provenance={program.domain.attribute: program.domain.provenance for program in programs},
        guarantees=guarantees,
        ledger=[
            LedgerEntry(
                attribute=each.domain.attribute,
                epsilon=epsilon if math.isfinite(epsilon) else None,
                fingerprint=each.random_bits.fingerprint,
                fresh=each.random_bits.fresh,
            )
            for each, epsilon in zip(perturbations, epsilons, strict=True)
        ],
        strongest=guarantees[0].statement,
        rows_expected=source.rows,
        warnings=[
            warning
            for program in programs
            for warning in (*warn_of_domain(program.domain, source), *_warnings(program))
        ],
        complete=completed_by(
            {
                program.domain.attribute: (program.operator.weights(), program.operator.matrix())
                for program in programs
            }
        ),
    )


def _perturbation(workspace: Workspace, source: Source, program: Program) -> PerturbationByValue:
    keep, width = program.operator.thresholds()
    random_bits = open_random_bits(
        workspace,
        source,
        {
            "mechanism": MECHANISM,
            "attribute": program.domain.attribute,
            "domain": program.domain.digest,
            "keep": hashlib.sha256(keep.tobytes()).hexdigest(),
            # With the same bits and other noise, the ledger would not charge the noise of the frequencies.
            **({"frequencies": program.reference.noise_id} if program.reference.noise_id else {}),
        },
    )
    return PerturbationByValue(program.domain, random_bits, keep, width)


def _attribute(release: str, program: Program) -> SensitiveAttribute:
    operator = program.operator
    return SensitiveAttribute(
        release=release,
        name=program.domain.attribute,
        type=program.domain.catalog_type,
        values=program.domain.values,
        form="singular" if program.indistinct else "rank_one",
        numbers={
            "retention": operator.retentions.tolist(),
            "background": operator.background.tolist(),
        },
    )


def _epsilon(program: Program) -> float:
    """Return the epsilon of the whole release: that of a published value plus that of the operator."""
    return program.reference.epsilon + math.log(program.operator.upward_amplification().max())


def _guarantees(program: Program) -> list[Guarantee]:
    attribute, epsilon = program.domain.attribute, _epsilon(program)
    wanted = (
        f"at most its reference frequency becomes a posterior above {program.tolerance:g} times that"
        if program.tolerance is not None
        else "at most its rho1 becomes a posterior above its rho2"
    )
    fall = (
        ", and none of at least the second one below the first."
        if program.direction == "both"
        else "; how far a probability may fall is not bounded."
    )
    found = [
        Guarantee(
            "fine_grain_privacy",
            f"From one noisy value alone: no prior of a value of {attribute} that is {wanted}{fall}",
            attribute=attribute,
            parameters=program.claim,
        )
    ]
    if math.isfinite(epsilon):
        found.append(
            Guarantee(
                "local_differential_privacy",
                of_value(
                    attribute,
                    epsilon,
                    more=", the retentions included" if program.reference.epsilon else "",
                ),
                value=epsilon,
                attribute=attribute,
                parameters={"domain_size": program.domain.size},
            )
        )
    if program.tolerance is not None or program.reference.epsilon:
        found.append(_of_reference(attribute, program.reference))
    if program.indistinct:
        found.append(
            Guarantee(
                "not_distinguished",
                f"These values of {attribute} have the same noise, and only their total can be"
                f" reconstructed: {', '.join(map(shown, program.indistinct))}.",
                value=len(program.indistinct),
                attribute=attribute,
                parameters={"values": program.indistinct},
            )
        )
    return found


def _of_reference(attribute: str, reference: Reference) -> Guarantee:
    reported = (
        "were counted with noise and rounded to half powers of two: seeing them changes the odds of two true values"
        f" of a record by a factor of {factor(reference.epsilon)} (epsilon = {reference.epsilon:.4g})"
        if reference.epsilon
        else "come from elsewhere and do not depend on the table"
    )
    return Guarantee(
        "reference_frequencies",
        f"The retentions of {attribute} follow from these frequencies of its values, which {reported}.",
        value=reference.epsilon,
        attribute=attribute,
        parameters={"frequencies": reference.frequencies.tolist()},
    )


def _warnings(program: Program) -> list[str]:
    name, warnings = repr(program.domain.attribute), []
    if program.direction == "upward":
        warnings.append(
            f"direction 'upward' does not bound how far the posterior of a value of {name} may fall"
        )
    if program.indistinct:
        listed = ", ".join(map(shown, program.indistinct[:LISTED]))
        more = (
            f", and {len(program.indistinct) - LISTED} more"
            if len(program.indistinct) > LISTED
            else ""
        )
        warnings.append(
            f"the requirements leave no retention to {listed}{more} of {name}: they cannot be"
            " distinguished, and their counts cannot be reconstructed; write a min_retention to avoid this"
        )
    return warnings
