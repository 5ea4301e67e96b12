"""A coarser release drawn from the shown values of a finer one: more noise, which reveals nothing more.

A record's value in the coarser release is a function of its value in the finer one and of bits that do not depend on
the record. So someone with both releases knows only what the finer one reveals (the data-processing inequality). Two
independently perturbed releases would reveal more. Derivation of the probabilities: ``mechanism/uniform.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from duckdb_priv.errors import GuaranteeViolated, InvalidParameter
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.mechanism.alias import alias_tables
from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.operator import invert
from duckdb_priv.mechanism.questions import claimed_amplification, diluted, share_kept
from duckdb_priv.mechanism.uniform import Uniform, epsilon_amplification, epsilon_retention
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.local_privacy import (
    code_guarantees,
    operator_guarantees,
    uniform_guarantees,
)
from duckdb_priv.methods.common.operator_audit import ROUNDING, stored_code, stored_operator
from duckdb_priv.methods.common.perturbation import Drawn, Exchange, Perturbation, RandomBits
from duckdb_priv.release.model import Blocks, Guarantee, SensitiveAttribute


@dataclass(frozen=True)
class Asked:
    """The requested level of the coarser release: exactly one of the two."""

    retention: float | None
    epsilon: float | None

    def of_values(self, domain_size: int) -> float:
        """Return the requested retention of uniform perturbation."""
        if self.retention is not None:
            return self.retention
        return epsilon_retention(self.epsilon or 0.0, domain_size)


@dataclass(frozen=True)
class Coarser:
    """The perturbation that turns an attribute of a finer release into that of a coarser one."""

    attribute: SensitiveAttribute
    shown: tuple[str | None, ...]
    """Possible entries of the finer column: values, or numbers of blocks."""
    draw: Callable[[Domain, RandomBits], Drawn]
    epsilon: float
    guarantees: Sequence[Guarantee]
    parameters: Mapping[str, Any]
    operator: Matrix | None = None
    """Distribution of the shown value given the true one, if intervals need the published histogram."""


def coarser(
    finer: SensitiveAttribute, release: str, asked: Asked, *, keeps_pattern: bool
) -> Coarser:
    """Return the perturbation that makes a finer attribute coarser, by its estimator in the catalog.

    An operator is turned into uniform perturbation, unless the coarser one ``keeps_pattern``. Raises GuaranteeViolated
    if the requested release is not coarser.
    """
    if finer.blocks:
        return _coarser_blocks(finer, finer.blocks, release, asked)
    if form_of(finer).symmetric:
        return _coarser_uniform(finer, release, asked)
    make = _diluted_operator if keeps_pattern else _coarser_operator
    return make(finer, stored_operator(finer), release, asked)


def _coarser_uniform(finer: SensitiveAttribute, release: str, asked: Asked) -> Coarser:
    """Return the perturbation that turns a uniformly perturbed value into one with a smaller retention.

    A value kept with probability p1, and kept again with p2 / p1, is kept with p2; otherwise it is uniform.
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


def _coarser_blocks(
    finer: SensitiveAttribute,
    blocks: Blocks,
    release: str,
    asked: Asked,
) -> Coarser:
    """Return the perturbation that turns a shown block into one that contains the true value less often.

    The block design does not change.
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
        code_guarantees(finer.name, code, amplification),
        {"epsilon": epsilon, "blocks": outcomes, "holding": holding, "shared": shared},
    )


def _coarser_operator(
    finer: SensitiveAttribute, operator: Matrix, release: str, asked: Asked
) -> Coarser:
    """Return the perturbation Q that turns an operator P into uniform perturbation with retention p: Q = U(p) P^-1.

    As the columns of P sum to one, Q = p P^-1 + (1 - p) / m, which is an operator exactly if no entry is negative.
    Otherwise raises GuaranteeViolated, with the largest possible retention.
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


def _diluted_operator(
    finer: SensitiveAttribute, operator: Matrix, release: str, asked: Asked
) -> Coarser:
    """Return the perturbation that keeps a shown value, or replaces it by one that carries no information.

    It keeps the operator's pattern and brings its likelihoods closer together.
    """
    kept = (
        share_kept(operator, math.exp(asked.epsilon) * (1 - ROUNDING))
        if asked.epsilon is not None
        else asked.retention or 0.0
    )
    if not 0 < kept < 1:
        there = claimed_amplification(operator)
        raise GuaranteeViolated(
            f"{finer.name!r} is shown with epsilon {math.log(there):.6g}, and what is asked for is no coarser",
            hint="choose a smaller epsilon, or a retention between 0 and 1; what noise has hidden does not come back",
        )
    transition, composed = diluted(operator, kept)
    tables, guarantees = alias_tables(transition), operator_guarantees(finer.name, composed)
    lists = {"weights": invert(composed).tolist(), "operator": composed.T.tolist()}
    return Coarser(
        replace(finer, release=release, numbers={}, lists=lists),
        finer.values,
        lambda domain, random_bits: Exchange(domain, random_bits, tables),
        guarantees[0].value or 0.0,
        guarantees,
        {"epsilon": guarantees[0].value},
        composed,
    )
