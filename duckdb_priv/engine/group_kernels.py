"""Arrow functions that compute the risks of a whole list of micro groups in one call.

Modules that need scipy are loaded at the first call, because most sessions never need them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from duckdb_priv.engine.udfs import Udf
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Integers
from duckdb_priv.mechanism.uniform import Uniform

GROUPS = "STRUCT(size BIGINT, count BIGINT)[]"
"""The SQL type of a list of groups: the records of each, and those that have the examined value."""
RISKS = (
    "STRUCT(found STRUCT(size BIGINT, count BIGINT, threshold DOUBLE, too_high DOUBLE, too_low DOUBLE)[],"
    " mistake VARCHAR)"
)
"""The SQL type of the result: the risks of each group, or the mistake in the parameters."""
_NUMBERS = ("threshold", "too_high", "too_low")
_RISKS = pa.struct(
    {
        "found": pa.list_(
            pa.struct(
                {"size": pa.int64(), "count": pa.int64(), **dict.fromkeys(_NUMBERS, pa.float64())}
            )
        ),
        "mistake": pa.string(),
    }
)

Risks = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""Threshold, upper tail, lower tail."""


def perturbed_groups(
    groups: pa.ChunkedArray,
    domain_size: pa.ChunkedArray,
    retention: pa.ChunkedArray,
    epsilon: pa.ChunkedArray,
    delta: pa.ChunkedArray,
    bound: pa.ChunkedArray,
) -> pa.Array:
    """Return the thresholds and exact tail probabilities of groups whose records are all perturbed."""
    from duckdb_priv.mechanism.reconstruction_privacy import threshold
    from duckdb_priv.mechanism.tails import tails

    def compute(row: int, size: Integers, count: Integers) -> Risks:
        operator = Uniform(
            _number("retention", retention[row].as_py()), int(domain_size[row].as_py() or 0)
        )
        error = _number("epsilon", epsilon[row].as_py())
        allowed = threshold(
            count / size, operator, error, _number("delta", delta[row].as_py()), bound[row].as_py()
        )
        return allowed, *tails(size, count, operator, error)

    return _answers(groups, compute)


def counted_groups(
    groups: pa.ChunkedArray, epsilon_dp: pa.ChunkedArray, epsilon: pa.ChunkedArray
) -> pa.Array:
    """Return exact tails of the ratio attack on noisy counts of groups; there is no threshold."""
    from duckdb_priv.mechanism.ratio_attack import ratio_tails

    def compute(row: int, size: Integers, count: Integers) -> Risks:
        noise = _number("epsilon_dp", epsilon_dp[row].as_py())
        found = ratio_tails(size, count, noise, _number("epsilon", epsilon[row].as_py()))
        return np.full(len(size), np.nan), *found

    return _answers(groups, compute)


def _answers(
    groups: pa.ChunkedArray, compute: Callable[[int, Integers, Integers], Risks]
) -> pa.Array:
    answers: list[dict[str, Any]] = []
    for row, listed in enumerate(groups):
        if listed.values is None:
            answers.append({"found": [], "mistake": None})
            continue
        size, count = (listed.values.field(name).to_numpy() for name in ("size", "count"))
        try:
            numbers = dict(zip(_NUMBERS, compute(row, size, count), strict=True))
        except InvalidParameter as error:
            answers.append({"found": None, "mistake": str(error)})
            continue
        found = pa.table({"size": size, "count": count, **numbers}).to_pylist()
        answers.append({"found": found, "mistake": None})
    return pa.array(answers, _RISKS)


def _number(name: str, value: float | None) -> float:
    if value is None:
        raise InvalidParameter(f"{name} is missing", hint=f"write {name} := …")
    return float(value)


GROUP_KERNELS = (
    Udf(
        "_priv_perturbed_groups",
        perturbed_groups,
        (GROUPS, "BIGINT", "DOUBLE", "DOUBLE", "DOUBLE", "VARCHAR"),
        RISKS,
    ),
    Udf("_priv_counted_groups", counted_groups, (GROUPS, "DOUBLE", "DOUBLE"), RISKS),
)
"""These functions as DuckDB calls them."""
