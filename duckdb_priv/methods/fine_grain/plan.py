"""Plan a publication by fine-grain perturbation: a separate retention for each value.

Source: Chaytor, Wang, "Fine grain perturbation for privacy preserving data publishing".
"""

from __future__ import annotations

import hashlib
import math

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.methods.common.perturbation import PerturbationByValue, bits_of
from duckdb_priv.methods.common.perturbed import Perturbed, plan_of
from duckdb_priv.methods.common.tables import shown
from duckdb_priv.methods.fine_grain.arguments import FineGrainArguments
from duckdb_priv.methods.fine_grain.program import Program, Reference, solve_programs
from duckdb_priv.release.model import Guarantee
from duckdb_priv.release.promise import factor, of_value

MECHANISM = "fine_grain"
LISTED = 5
"""Largest number of values that a warning lists."""


def plan(workspace: Workspace, source: Source, release: str, arguments: FineGrainArguments) -> Plan:
    """Plan a release with a separate retention for each value."""
    programs = solve_programs(workspace, source, arguments)
    # An operator that was computed from the table reveals something about a record, which no shuffle hides.
    given = not any(program.reference.epsilon for program in programs)
    return plan_of(
        workspace,
        source,
        MECHANISM,
        {
            "direction": programs[0].direction,
            "min_retention": arguments.min_retention or 0.0,
            **({"tolerance": programs[0].tolerance} if programs[0].tolerance is not None else {}),
        },
        [_perturbed(workspace, source, release, program) for program in programs],
        crowds=given,
    )


def _perturbed(workspace: Workspace, source: Source, release: str, program: Program) -> Perturbed:
    domain, operator, epsilon = program.domain, program.operator, _epsilon(program)
    keep, width = operator.thresholds()
    random_bits = bits_of(
        workspace,
        source,
        MECHANISM,
        domain,
        keep=hashlib.sha256(keep.tobytes()).hexdigest(),
        # With the same bits and other noise, the ledger would not charge the noise of the frequencies.
        **({"frequencies": program.reference.noise_id} if program.reference.noise_id else {}),
    )
    numbers = {
        "retention": operator.retentions.tolist(),
        "background": operator.background.tolist(),
    }
    return Perturbed(
        PerturbationByValue(domain, random_bits, keep, width),
        domain.as_attribute(release, "singular" if program.indistinct else "rank_one", numbers),
        _guarantees(program),
        epsilon if math.isfinite(epsilon) else None,
        operator=(operator.weights(), operator.matrix()),
        warnings=_warnings(program),
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
