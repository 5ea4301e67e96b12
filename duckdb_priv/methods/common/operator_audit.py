"""The operator of a perturbed attribute as a matrix, the highest posteriors under it, and its audit."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.mechanism.arrays import Matrix, Vector
from duckdb_priv.mechanism.block_design import operator_of_blocks
from duckdb_priv.mechanism.difference_family import least_by_value, sums_by_block
from duckdb_priv.mechanism.fine_grain import FineGrain
from duckdb_priv.mechanism.operator import (
    COLUMN_SUM_TOLERANCE,
    MAX_CONDITION_NUMBER,
    condition_number,
    identifiability_classes,
    largest_posterior,
    ldp_epsilon,
)
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.methods.common.findings import (
    AuditRow,
    Subject,
    audit_epsilon,
    audit_posterior,
)
from duckdb_priv.release.model import Blocks, SensitiveAttribute

ROUNDING = 1e-12
"""Differences of probabilities below this are rounding errors."""


def stored_operator(attribute: SensitiveAttribute) -> Matrix:
    """Build the operator of an attribute from the catalog: entry [y, x] is Pr[published = y | true = x].

    Raises InvalidParameter unless every record of the attribute is perturbed by itself.
    """
    operator = None if form_of(attribute).scaled else drawn_operator(attribute)
    if attribute.blocks:
        raise InvalidParameter(
            f"records of {attribute.release!r} report blocks of values, so that none shows one of {attribute.name!r}",
            hint="ask FROM priv.evaluate(…) how exact its counts are",
        )
    if operator is None:
        raise InvalidParameter(
            f"{attribute.release!r} does not perturb each record of {attribute.name!r} on its own",
            hint="ask for a uniform, fine-grain or matrix release",
        )
    return operator


def drawn_operator(attribute: SensitiveAttribute) -> Matrix | None:
    """Return the operator from true to shown values, also if a row counts for several records; None without one."""
    if not form_of(attribute).drawn:
        return None
    if "operator" in attribute.lists:
        return np.array(attribute.lists["operator"], dtype=np.float64).T
    if "retention" in attribute.numbers:
        return FineGrain(np.array(attribute.numbers["retention"])).matrix()
    other = np.array(attribute.numbers["other"])
    matrix: Matrix = np.diag(np.array(attribute.numbers["own"]) - other) + other[:, np.newaxis]
    return matrix


def block_operator(attribute: SensitiveAttribute, blocks: Blocks) -> tuple[Matrix, Matrix]:
    """Return the operator from true values to reported blocks, and the weight of each block for each value."""
    own, other = attribute.numbers["own"][0], attribute.numbers["other"][0]
    places = (blocks.count, blocks.stride, blocks.first)
    return operator_of_blocks(attribute.size, *places, own, other)


def operator_of(attribute: SensitiveAttribute) -> Matrix | None:
    """Return the matrix Pr[published = y | true = x], with a row for every y; None if the catalog lacks it."""
    if attribute.blocks:
        return block_operator(attribute, attribute.blocks)[0]
    return drawn_operator(attribute)


def stored_code(attribute: SensitiveAttribute, blocks: Blocks) -> tuple[Code, float]:
    """Return the block code of an attribute, and its amplification."""
    own, other = attribute.numbers["own"][0], attribute.numbers["other"][0]
    holding = len(blocks.first)
    held, free = own / holding, (1 - own) / (blocks.count - holding)
    # Its probability with another value follows from the number of blocks that two values share.
    shared = round((other - holding * free) / (held - free))
    return Code(blocks.count, holding, shared), held / free


def highest_posteriors(attribute: SensitiveAttribute, prior: Vector) -> Vector | None:
    """Return the highest posterior of each value over all noisy values.

    Returns None if the attribute is not perturbed, or if the perturbation differs between records. ``prior`` has a
    probability for each value; they sum to one. For mechanisms that do not perturb records independently, the
    observation is whether the value is reported. Its probabilities are ``own`` for the true value, else ``other``.

    >>> numbers = {"own": (0.75, 0.75), "other": (0.25, 0.25)}
    >>> kept = SensitiveAttribute("r", "s", "ENUM", ("a", "b"), "two_weights", numbers)
    >>> highest_posteriors(kept, np.array([0.5, 0.5])).tolist()
    [0.75, 0.75]
    """
    form = form_of(attribute)
    if not form.perturbed or form.varied:
        return None
    if attribute.blocks:
        return posteriors_of_blocks(attribute, attribute.blocks, prior)
    if form.drawn and (parts := _one_by_one(attribute)):
        return _of_diagonal_and_rank_one(*parts, prior)
    operator = drawn_operator(attribute)
    if operator is not None:
        return largest_posterior(operator, prior)
    own, other = (np.array(attribute.numbers[name]) for name in ("own", "other"))
    posterior: Vector = prior * own / np.maximum(prior * own + (1 - prior) * other, 1e-300)
    return posterior


def _one_by_one(attribute: SensitiveAttribute) -> tuple[Vector, Vector, Vector] | None:
    """Return d, b, c with Pr[shows y | true x] = d[x] 1{x = y} + b[y] c[x]; None if the operator has another form."""
    size = attribute.size
    if "retention" in attribute.numbers:
        kept = np.array(attribute.numbers["retention"])
        return kept, np.full(size, 1 / size), 1 - kept
    if "operator" in attribute.lists:
        return None
    other = np.array(attribute.numbers["other"])
    return np.array(attribute.numbers["own"]) - other, other, np.ones(size)


def _of_diagonal_and_rank_one(own: Vector, other: Vector, given: Vector, prior: Vector) -> Vector:
    """Return the highest posterior of each value from the parts of the operator, in time linear in the domain."""
    shown = own * prior + other * (given @ prior)
    ratio = np.divide(other, shown, out=np.zeros_like(shown), where=shown > 0)
    # The largest ratio among the other values; for the value with the largest ratio, the second largest.
    first = int(ratio.argmax())
    largest = np.full(ratio.size, ratio[first])
    largest[first] = np.delete(ratio, first).max(initial=0)
    itself = np.divide(own, shown, out=np.zeros_like(shown), where=shown > 0) + ratio * given
    found: Vector = prior * np.maximum(itself, given * largest)
    return found


def posteriors_of_blocks(attribute: SensitiveAttribute, blocks: Blocks, prior: Vector) -> Vector:
    """Return the posterior of each value if the reported block contains it and has the least other prior mass."""
    _, odds = stored_code(attribute, blocks)
    within = sums_by_block(prior, blocks.count, blocks.stride, blocks.first)
    reported = least_by_value(1 + (odds - 1) * within, len(prior), blocks.stride, blocks.first)
    highest: Vector = odds * prior / reported
    return highest


def audit_perturbed(
    subject: Subject, operator: Matrix, more: Iterable[AuditRow] = ()
) -> list[AuditRow]:
    """Audit an operator by itself, with ``more`` findings about it, and against the source if that is unchanged."""
    rows = [*_audit_operator(subject, operator), *more]
    true = subject.same_counts
    if true is None:
        return [*rows, subject.source_changed()]
    return [
        *rows,
        audit_posterior(subject, largest_posterior(operator, true), true / true.sum()),
        subject.noise_as_stated(operator @ true, (operator * (1 - operator)) @ true),
    ]


def _audit_operator(subject: Subject, operator: Matrix) -> list[AuditRow]:
    """Check that a matrix is a valid operator, whether it can be inverted, and how much it changes odds."""
    off = float(np.abs(operator.sum(axis=0) - 1).max())
    classes = identifiability_classes(operator, tolerance=ROUNDING)
    condition = condition_number(operator) if classes.max() == len(operator) - 1 else np.inf
    rows = [
        subject.finding(
            "operator",
            "The probabilities with which a true value is published sum to one: the largest difference.",
            off,
            off <= COLUMN_SUM_TOLERANCE and bool((operator >= 0).all()),
            domain_size=len(operator),
        ),
        subject.finding(
            "condition_number",
            "How much reconstruction can enlarge an error; NULL if some values cannot be distinguished.",
            condition if np.isfinite(condition) else None,
            # If two values have the same noise, the release reports that and offers no linear estimate.
            bool(condition <= MAX_CONDITION_NUMBER) or "not_distinguished" in subject.claims,
            largest=MAX_CONDITION_NUMBER,
        ),
    ]
    if "local_differential_privacy" in subject.claims:
        rows.append(audit_epsilon(subject, ldp_epsilon(operator)))
    return rows
