"""Compute the operator of each sensitive attribute from the arguments of a call.

Retentions follow from frequencies of the values: public ones, or noisy frequencies of the table.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from duckdb_priv.engine import randomness
from duckdb_priv.engine.source import Source, key_type
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.fine_grain import FineGrain
from duckdb_priv.mechanism.fine_grain_program import optimal_operator
from duckdb_priv.mechanism.operator import MAX_CONDITION_NUMBER
from duckdb_priv.mechanism.reference_frequencies import reference_frequencies
from duckdb_priv.mechanism.requirements import Direction, Requirements
from duckdb_priv.methods.common.domain import Domain, open_domains
from duckdb_priv.methods.common.tables import as_domain_value, named_tables, read_columns, shown
from duckdb_priv.methods.fine_grain.arguments import FineGrainArguments
from duckdb_priv.release.model import to_json

MOST_VALUES = 10_000
"""Largest domain; its operator takes 800 MB."""
FREQUENCY_EPSILON = 0.1
"""Default epsilon of the noisy frequencies for a tolerance: three per cent of a usual epsilon."""


@dataclass(frozen=True)
class Reference:
    """Frequencies that may be published, one for each value of the domain."""

    frequencies: Vector
    epsilon: float = 0.0
    """The epsilon of the frequencies; 0 if they do not depend on the table."""
    noise_id: str = ""
    """Fingerprint of the noise in the frequencies."""


@dataclass(frozen=True)
class Program:
    """The requirements of one sensitive attribute, and the operator that satisfies them."""

    domain: Domain
    requirements: Requirements
    operator: FineGrain
    direction: Direction
    tolerance: float | None
    """The tolerance from which the requirements were computed; None if they were given."""
    reference: Reference
    """The frequencies from which the operator was computed."""

    @property
    def claim(self) -> dict[str, Any]:
        """The requirements, as the catalog publishes them."""
        if self.tolerance is not None:
            return {"direction": self.direction, "tolerance": self.tolerance}
        wanted = self.requirements
        return {
            "direction": self.direction,
            "requirements": [
                {"value": self.domain.values[value], "rho1": rho1, "rho2": rho2}
                for value, rho1, rho2 in zip(
                    wanted.values.tolist(), wanted.rho1.tolist(), wanted.rho2.tolist(), strict=True
                )
            ],
        }

    @property
    def indistinct(self) -> list[str | None]:
        """The values that cannot be distinguished: those with retention 0, if there are several."""
        of = zip(self.domain.values, self.operator.identifiable, strict=True)
        return [value for value, identifiable in of if not identifiable]


def solve_programs(
    workspace: Workspace, source: Source, arguments: FineGrainArguments
) -> list[Program]:
    """Return the program of every sensitive attribute, with its requirements and operator.

    Raises InvalidParameter, GuaranteeViolated, and PublicationFailed if the solver gives up.
    """
    domains = open_domains(workspace, source, arguments.domain)
    for domain in domains:
        _check_size(domain)
    tolerance, direction = arguments.tolerance, arguments.direction
    tables = (
        {}
        if tolerance is not None
        else named_tables(arguments.requirements, source, "requirements")
    )
    programs = []
    for domain in domains:
        reference = find_reference(workspace, source, domain, arguments)
        if tolerance is None:
            requirements = _requirements(workspace, source, domain, tables[domain.attribute])
        else:
            requirements = Requirements.from_tolerance(
                reference.frequencies, tolerance, domain.values
            )
        operator = optimal_operator(
            reference.frequencies,
            requirements,
            direction=direction,
            min_retention=arguments.min_retention or 0.0,
        )
        _check_condition(domain, operator)
        programs.append(Program(domain, requirements, operator, direction, tolerance, reference))
    return programs


def find_reference(
    workspace: Workspace, source: Source, domain: Domain, arguments: FineGrainArguments
) -> Reference:
    """Return the given frequencies, or noisy frequencies of the table, or equal ones if none are needed."""
    if arguments.frequencies is not None and arguments.frequency_epsilon is not None:
        raise InvalidParameter(
            "give either public frequencies, or a frequency_epsilon to count them with, not both",
            hint="public frequencies cost nothing: leave frequency_epsilon out",
        )
    if arguments.frequencies is not None:
        tables = named_tables(arguments.frequencies, source, "frequencies")
        return Reference(_frequencies(workspace, source, domain, tables[domain.attribute]))
    epsilon = arguments.frequency_epsilon
    if epsilon is None and arguments.tolerance is None:
        return Reference(np.ones(domain.size))
    epsilon = FREQUENCY_EPSILON if epsilon is None else epsilon
    secret = workspace.secret()
    # The noise depends on the counts, because with the same noise two tables would show their difference.
    context = to_json(
        {
            "purpose": "frequencies",
            "attribute": domain.attribute.lower(),
            "domain": domain.digest,
            "counts": domain.counts,
            "epsilon": epsilon,
        }
    )
    words, streams = randomness.KeyedWords.derive(secret, context), itertools.count()
    return Reference(
        reference_frequencies(
            np.array(domain.counts), epsilon, lambda count: words(next(streams), count)
        ),
        epsilon,
        randomness.fingerprint(secret, context),
    )


def _frequencies(workspace: Workspace, source: Source, domain: Domain, table: str) -> Vector:
    """Read a table of frequencies; raises InvalidParameter unless it has one for each value of the domain."""
    rows = read_columns(
        workspace,
        source,
        "frequencies",
        table,
        {
            "value": as_domain_value("value", key_type(domain.source_type)),
            "frequency": "TRY_CAST(frequency AS DOUBLE)",
        },
    )
    found = dict(rows)
    if len(found) < len(rows):
        raise InvalidParameter(
            f"frequencies {table!r} names a value twice, or one that column {domain.attribute!r} cannot have",
            hint="give each value of the column one row, the missing value too",
        )
    for value in domain.values:
        frequency = found.get(value)
        if frequency is None or not 0 < frequency < np.inf:
            raise InvalidParameter(
                f"frequencies {table!r} has no number above 0 for {shown(value)}, which column"
                f" {domain.attribute!r} has",
                hint="give each value of the column one row, the missing value too; a small number where it is rare",
            )
    return np.array([found[value] for value in domain.values])


def _check_size(domain: Domain) -> None:
    """Raise InvalidParameter for a domain whose operator would need too much memory."""
    if domain.size > MOST_VALUES:
        raise InvalidParameter(
            f"{domain.attribute!r} has {domain.size:,} values, and fine-grain perturbation takes at most"
            f" {MOST_VALUES:,}: its operator has a number for each pair of them",
            hint="make the values coarser in a view, or publish by priv.publish_uniform, which takes any number",
        )


def _requirements(workspace: Workspace, source: Source, domain: Domain, table: str) -> Requirements:
    """Read a table of requirements; raises InvalidParameter unless it has every value of the domain, and no other."""
    rows = read_columns(
        workspace,
        source,
        "requirements",
        table,
        {
            "value": "value::VARCHAR, " + as_domain_value("value", key_type(domain.source_type)),
            "rho1": "rho1::DOUBLE",
            "rho2": "rho2::DOUBLE",
        },
    )
    position = {value: place for place, value in enumerate(domain.values)}
    for text, value, rho1, rho2 in rows:
        if (text is not None and value is None) or value not in position:
            raise InvalidParameter(
                f"requirements {table!r} has a row for {shown(text)}, a value that column"
                f" {domain.attribute!r} does not have",
                hint="remove the row, or write a domain := [...] that has the value",
            )
        if (rho1 is None) != (rho2 is None):
            raise InvalidParameter(
                f"the requirement for value {shown(text)} has rho1 = {rho1} and rho2 = {rho2}",
                hint="give both, or NULL for both if the value needs no protection",
            )
    lacking = [value for value in domain.values if value not in {row[1] for row in rows}]
    if lacking:
        more = f" and {len(lacking) - 1} more values" if len(lacking) > 1 else ""
        raise InvalidParameter(
            f"requirements {table!r} has no row for {shown(lacking[0])}{more} of column"
            f" {domain.attribute!r}",
            hint="add a row for each value, with NULL as rho1 and rho2 if it needs no protection",
        )
    wanted = [(position[value], rho1, rho2) for _, value, rho1, rho2 in rows if rho1 is not None]
    values, rho1s, rho2s = zip(*sorted(wanted), strict=True) if wanted else ((), (), ())
    return Requirements(
        domain.size, np.array(values, np.intp), np.array(rho1s), np.array(rho2s), domain.values
    )


def _check_condition(domain: Domain, operator: FineGrain) -> None:
    """Raise InvalidParameter for an operator whose inverse would be mostly rounding errors."""
    condition = operator.condition_number
    if math.isfinite(condition) and condition > MAX_CONDITION_NUMBER:
        raise InvalidParameter(
            f"the operator for {domain.attribute!r} has a condition number of {condition:.3g}, and"
            f" no count can be estimated beyond {MAX_CONDITION_NUMBER:.0e}",
            hint="relax the tightest requirements, or group values",
        )
