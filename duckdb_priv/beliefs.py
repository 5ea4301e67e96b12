"""What may be believed of a record after seeing what it shows, whatever the mechanism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.audits.operator import stored_operator
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.operator import ldp_epsilon
from duckdb_priv.parameters import SensitiveAttribute

Vector = NDArray[np.float64]


def highest_beliefs(attribute: SensitiveAttribute, before: Vector) -> Vector | None:
    """Return the highest belief in each value that a shown value causes; None where nothing is perturbed.

    ``before`` are the beliefs before, one per value, summing to one. Where records are not perturbed one by one, a
    value counts as shown or not shown: own and other are the probabilities that it is.

    >>> numbers = {"own": (0.75, 0.75), "other": (0.25, 0.25)}
    >>> kept = SensitiveAttribute("r", "s", "ENUM", ("a", "b"), "two_weights", numbers)
    >>> highest_beliefs(kept, np.array([0.5, 0.5])).tolist()
    [0.75, 0.75]
    """
    if attribute.form == "sample":
        return None
    operator = operator_of(attribute)
    if operator is not None:
        joint = operator * before
        shown = joint.sum(axis=1, keepdims=True)
        highest: Vector = np.divide(joint, shown, out=np.zeros_like(joint), where=shown > 0).max(
            axis=0
        )
        return highest
    own, other = (np.array(attribute.numbers[name]) for name in ("own", "other"))
    belief: Vector = before * own / np.maximum(before * own + (1 - before) * other, 1e-300)
    return belief


def operator_of(attribute: SensitiveAttribute) -> Vector | None:
    """Return the operator, where records are perturbed one by one."""
    if attribute.form == "scaled":
        # What a record shows does not depend on how many it stands for.
        attribute = replace(attribute, form="two_weights")
    try:
        return stored_operator(attribute)
    except InvalidParameter:
        return None


def amplification(attribute: SensitiveAttribute) -> float | None:
    """Return the largest factor by which a published value changes the odds; None where there is none."""
    operator = operator_of(attribute)
    if operator is None:
        return None
    epsilon = ldp_epsilon(operator)
    return float(np.exp(epsilon)) if np.isfinite(epsilon) else None
