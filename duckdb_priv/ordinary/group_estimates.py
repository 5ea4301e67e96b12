"""Refuse functions of group estimates that are not linear: their result would include the noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.scope import FromItem
from duckdb_priv.sqltext.moments import OF_ONE

TOTALS = ("sum", "avg", "mean")
SQUARED = (
    *OF_ONE,
    "corr",
    "kurtosis",
    "kurtosis_pop",
    "skewness",
    "sem",
    "regr_r2",
    "regr_sxx",
    "regr_syy",
)
"""Aggregates that square their argument."""
PAIRED = ("covar_pop", "covar_samp", "regr_sxy", "regr_slope", "regr_intercept")
"""Aggregates that multiply two arguments; they are linear in the first one if the second one is public."""
SQUARES = (
    "USE estimated in a release file, and take the error off: sum(n * n - e * e) FROM (SELECT …, count(*) AS n,"
    " count_stderr() AS e …)"
)


def estimates_of(select: exp.Select, names: Sequence[str]) -> frozenset[str]:
    """Return the columns of a SELECT over a release that are estimates."""
    return frozenset(
        name.lower()
        for item, name in zip(select.expressions, names, strict=False)
        if any(aggregates.aggregates_in(item))
    )


def passed_on(
    select: exp.Select, names: Sequence[str], sources: Sequence[FromItem]
) -> frozenset[str]:
    """Return the columns of a SELECT over estimates that are computed from estimates."""
    return frozenset(
        name.lower()
        for item, name in zip(select.expressions, names, strict=False)
        if any(_noisy(item, sources))
    )


def refuse(select: exp.Select, sources: Sequence[FromItem]) -> None:
    """Refuse expressions that square the noise of estimates, and totals of groups selected by their estimates."""
    if not any(each.noisy for each in sources):
        return
    where = select.args.get("where")
    chosen = any(each.chosen for each in sources) or (
        where is not None and any(_noisy(where, sources))
    )
    for item in [*select.expressions, select.args.get("having"), select.args.get("order")]:
        for aggregate in aggregates.aggregates_in(item) if item is not None else ():
            name = aggregates.name_of(aggregates.unwrapped(aggregate))
            if not any(_noisy(aggregate, sources)):
                continue
            arguments = list(aggregates.unwrapped(aggregate).iter_expressions())
            if (
                name in SQUARED
                or (name in TOTALS and _squares(aggregate, sources))
                or (name in PAIRED and any(_noisy(arguments[-1], sources)))
            ):
                raise QueryRefused(
                    f"{name}() would square the noise of the estimates of groups",
                    hint=SQUARES,
                )
            if chosen and name in TOTALS:
                raise QueryRefused(
                    f"{name}() of groups that are chosen by their estimates is wrong: those with the largest noise are"
                    " chosen",
                    hint="count all groups at once, or choose groups by public columns",
                )


def _noisy(node: exp.Expr, sources: Sequence[FromItem]) -> Iterator[exp.Column]:
    for column in node.find_all(exp.Column):
        if any(each.owns(column) and column.name.lower() in each.noisy for each in sources):
            yield column


def _squares(node: exp.Expr, sources: Sequence[FromItem]) -> bool:
    """Whether an expression multiplies estimates by each other."""
    return any(
        all(any(_noisy(each, sources)) for each in (product.this, product.expression))
        for product in node.find_all(exp.Mul)
    ) or any(any(_noisy(power.this, sources)) for power in node.find_all(exp.Pow))
