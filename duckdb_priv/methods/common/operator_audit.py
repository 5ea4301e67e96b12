"""The operator of a perturbed attribute as a matrix, and its audit against the source."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.block_design import operator_of_blocks
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
