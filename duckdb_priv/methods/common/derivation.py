"""A coarser release drawn from what a finer one shows: noise on top of noise, which tells nothing more.

What a record shows in the coarser release is a function of what it shows in the finer one, and of bits that do not
depend on the record. So someone with both knows what the finer one reveals (the data-processing inequality), where
releases that are perturbed apart add up. Derivation of the probabilities: ``mechanism/uniform.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from duckdb_priv.errors import GuaranteeViolated, InvalidParameter
from duckdb_priv.mechanism.alias import alias_tables
from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.operator import invert
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.mechanism.uniform import Uniform, epsilon_amplification, epsilon_retention
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.local_privacy import uniform_guarantees
from duckdb_priv.methods.common.operator_audit import stored_code
from duckdb_priv.methods.common.perturbation import Drawn, Exchange, Perturbation, RandomBits
from duckdb_priv.release.model import Blocks, Guarantee, SensitiveAttribute


@dataclass(frozen=True)
class Asked:
    """How coarse it must be: exactly one of the two."""

    retention: float | None
    epsilon: float | None

    def of_values(self, domain_size: int) -> float:
        """Return the retention of uniform perturbation that is asked for."""
        if self.retention is not None:
            return self.retention
        return epsilon_retention(self.epsilon or 0.0, domain_size)


@dataclass(frozen=True)
class Coarser:
    """How one attribute of a coarser release is drawn from what a finer one shows."""

    attribute: SensitiveAttribute
    shown: tuple[str | None, ...]
    """What the finer column can show: values, or numbers of blocks."""
    draw: Callable[[Domain, RandomBits], Drawn]
    epsilon: float
    guarantees: Sequence[Guarantee]
    parameters: Mapping[str, Any]
    operator: Matrix | None = None
    """What a record of each true value shows, where intervals are completed from the published histogram."""


def coarser_uniform(finer: SensitiveAttribute, release: str, asked: Asked) -> Coarser:
    """Redraw what a uniformly perturbed value shows, so that it is as if it had been kept with a smaller retention.

    Kept with p1, and what is shown kept again with p2 / p1, is kept with p2; redrawn is redrawn. Raises
    GuaranteeViolated where what is asked for is not coarser.
    """
    size, own, other = finer.size, finer.numbers["own"][0], finer.numbers["other"][0]
    target = Uniform(asked.of_values(size), size)
    again = Uniform(_ratio(finer.name, target.retention, own - other), size)
    return _as_uniform(
        finer,
        release,
        target,
        lambda domain, random_bits: Perturbation(domain, random_bits, *again.thresholds()),
    )


def _ratio(name: str, wanted: float, there: float) -> float:
    if not 0 < wanted < there:
        raise GuaranteeViolated(
            f"{name!r} is shown with retention {there:.6g}, and {wanted:.6g} is no coarser",
            hint="choose a smaller retention or epsilon; what noise has hidden does not come back",
        )
    return wanted / there


def _as_uniform(
    finer: SensitiveAttribute,
    release: str,
    target: Uniform,
    draw: Callable[[Domain, RandomBits], Drawn],
) -> Coarser:
    return Coarser(
        replace(
            finer,
            release=release,
            form="two_weights",
            numbers={
                "own": (target.own,) * finer.size,
                "other": (target.other,) * finer.size,
            },
            lists={},
        ),
        finer.values,
        draw,
        target.ldp_epsilon,
        uniform_guarantees(finer.name, target),
        {"retention": target.retention},
    )


def coarser_blocks(
    finer: SensitiveAttribute,
    blocks: Blocks,
    release: str,
    asked: Asked,
    guarantees_of: Callable[[str, Code, float], list[Guarantee]],
) -> Coarser:
    """Redraw the number of a block among all, so that it is as if fewer blocks had been drawn among those of the value.

    The design stays. ``guarantees_of`` says what a code promises of an attribute.
    """
    code, there = stored_code(finer, blocks)
    outcomes, holding, shared = code
    if asked.epsilon is not None:
        amplification = epsilon_amplification(asked.epsilon)
    else:
        kept = asked.retention or 0.0
        amplification = (holding + kept * (outcomes - holding)) / (holding * (1 - kept))
    ratio = _ratio(finer.name, code.retention(amplification), code.retention(there))
    again = Uniform(ratio, outcomes)
    epsilon = math.log(amplification)
    return Coarser(
        replace(
            finer,
            release=release,
            numbers={
                "own": (code.own(amplification),) * finer.size,
                "other": (code.other(amplification),) * finer.size,
            },
        ),
        tuple(str(number) for number in range(outcomes)),
        lambda domain, random_bits: Perturbation(domain, random_bits, *again.thresholds()),
        epsilon,
        guarantees_of(finer.name, code, amplification),
        {"epsilon": epsilon, "blocks": outcomes, "holding": holding, "shared": shared},
    )


def coarser_operator(
    finer: SensitiveAttribute, operator: Matrix, release: str, asked: Asked
) -> Coarser:
    """Factorize: find what turns an operator P into uniform perturbation with retention p, Q = U(p) P^-1.

    As the columns of P sum to one, Q = p P^-1 + (1 - p) / m, which is an operator exactly where no entry is negative.
    Raises GuaranteeViolated otherwise, with the largest retention that can be reached.
    """
    size = finer.size
    target = Uniform(asked.of_values(size), size)
    try:
        weights = invert(operator)
    except InvalidParameter as error:
        raise GuaranteeViolated(
            f"the operator of {finer.name!r} has no inverse, so no noise on top of it is that of another release",
            hint="publish the coarser release from the source, and charge it",
        ) from error
    largest = 1 / (1 - size * min(float(weights.min()), 0.0))
    if target.retention > largest or target.retention >= 1:
        raise GuaranteeViolated(
            f"no noise turns what {finer.name!r} shows into uniform perturbation with retention {target.retention:.6g}:"
            f" the largest is {largest:.6g}",
            hint="choose a smaller retention or epsilon",
        )
    transition = np.maximum(target.retention * weights + (1 - target.retention) / size, 0)
    tables = alias_tables(transition / transition.sum(axis=0))
    return _as_uniform(
        finer, release, target, lambda domain, random_bits: Exchange(domain, random_bits, tables)
    )
