"""Formulas of variances, correlations and regressions from sums over records, since sums can be estimated."""

from __future__ import annotations

OF_ONE = {
    "var_pop": "CASE WHEN n > 0 THEN xx / n END",
    "var_samp": "CASE WHEN n > 1 THEN xx / (n - 1) END",
    "stddev_pop": "CASE WHEN n > 0 THEN sqrt(greatest(xx / n, 0)) END",
    "stddev_samp": "CASE WHEN n > 1 THEN sqrt(greatest(xx / (n - 1), 0)) END",
}
OF_ONE |= {"variance": OF_ONE["var_samp"], "stddev": OF_ONE["stddev_samp"]}
"""Aggregates of x. n is the number of records in which x is not NULL; xx sums the squared distances from the mean."""
OF_PAIRS = {
    "covar_pop": "CASE WHEN n > 0 THEN xy / n END",
    "covar_samp": "CASE WHEN n > 1 THEN xy / (n - 1) END",
    "corr": "CASE WHEN n > 0 AND xx > 0 AND yy > 0 THEN xy / sqrt(xx * yy) END",
    "regr_slope": "CASE WHEN n > 0 AND xx > 0 THEN xy / xx END",
    "regr_intercept": "CASE WHEN n > 0 AND xx > 0 THEN y / n - xy / xx * x / n END",
    "regr_r2": "CASE WHEN n > 0 AND xx > 0 AND yy > 0 THEN xy * xy / (xx * yy) END",
    "regr_avgx": "CASE WHEN n > 0 THEN x / n END",
    "regr_avgy": "CASE WHEN n > 0 THEN y / n END",
    "regr_sxx": "CASE WHEN n > 0 THEN xx END",
    "regr_syy": "CASE WHEN n > 0 THEN yy END",
    "regr_sxy": "CASE WHEN n > 0 THEN xy END",
    "regr_count": "n",
}
"""Aggregates of pairs (y, x) without NULL. x and y are sums; xy sums the products of the distances from the means."""
MOMENTS = OF_ONE | OF_PAIRS
SQUARED = (
    *OF_ONE, "corr", "kurtosis", "kurtosis_pop", "skewness", "sem", "regr_r2", "regr_sxx", "regr_syy",
)  # fmt: skip
"""Aggregates that square their argument."""


def centred(products: str, one: str, two: str, records: str) -> str:
    """Write a sum of products of distances from the means, from the sum of the products and the sums of both factors.

    If one of them is constant, rounding leaves less than 1e-12 of the sum, which is written as 0.

    >>> import duckdb
    >>> duckdb.connect().execute(f"SELECT {centred('3 * 0.1::DOUBLE ** 2', '0.3::DOUBLE', '0.3', '3')}").fetchall()
    [(0.0,)]
    """
    distances = f"({products} - {one} * {two} / {records})"
    return f"(CASE WHEN abs({distances}) > 1e-12 * abs({products}) THEN {distances} ELSE 0e0 END)"
