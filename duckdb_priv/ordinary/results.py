"""The result of a subquery: its columns, rows of a release that the outer query may still count, and estimates.

Functions of group estimates that are not linear are refused: their result would include the noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.aggregates import aggregates_in
from duckdb_priv.ordinary.names import nodes
from duckdb_priv.ordinary.rows import passed_on
from duckdb_priv.ordinary.scope import FromItem, Rows, own_nodes
from duckdb_priv.sqltext.moments import OF_ONE

BLOCKING = {
    "distinct": "DISTINCT",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "qualify": "QUALIFY",
    "sample": "a sample",
    "pivots": "PIVOT",
}
"""Clauses of a SELECT after which rows cannot be counted by an attribute."""


UNNEST = "unnest"


def unnests(item: exp.Expr) -> bool:
    """Whether an expression of a SELECT list turns one row into several."""
    return any(True for _ in own_nodes(item, exp.Unnest, exp.Explode))


def blocked_error(why: str, source: FromItem) -> QueryRefused:
    """Return the error for rows that cannot be counted by an attribute."""
    if why == UNNEST:
        return QueryRefused(
            "unnest in the SELECT list makes rows of rows that are not there one by one",
            hint="write FROM …, unnest(…) AS u(x)",
        )
    return QueryRefused(
        f'{why} before the aggregate chooses rows of "{source.alias}" in a way that weights cannot follow',
        hint=f"leave out {why} there: filter, group and count first, and apply it to the counts",
    )


def block(results: list[FromItem], why: str) -> Rows | None:
    """Return the rows of a release in the results, marked as not countable by an attribute."""
    for result in results:
        if result.rows is not None:
            rows = result.rows
            return Rows(rows.select, rows.sources, rows.columns, rows.asks, rows.blocked or why)
    return None


def released(rows: Rows) -> FromItem:
    """Return the release that rows come from."""
    for each in rows.sources:
        if each.release is not None:
            return each
        if each.rows is not None:
            return released(each.rows)
    raise AssertionError("rows of a release come from a release")


def aliased(item: exp.Expr) -> list[str]:
    """Return the names that an item in FROM gives to its columns."""
    alias = item.args.get("alias")
    return (
        [each.name.lower() for each in alias.columns] if isinstance(alias, exp.TableAlias) else []
    )


def columns_of(result: FromItem, item: exp.Expr) -> list[str]:
    """Return the column names of a result as an item in FROM."""
    given = aliased(item)
    return [*given, *result.columns[len(given) :]]


def renamed(result: FromItem, alias: exp.TableAlias) -> FromItem:
    """Return a result with the column names given in WITH."""
    names = [each.name.lower() for each in alias.columns]
    if not names:
        return result
    columns = [*names, *result.columns[len(names) :]]
    rows = result.rows
    if rows is not None:
        renamed = dict(zip(columns, rows.columns.values(), strict=False))
        rows = Rows(rows.select, rows.sources, renamed, rows.asks, rows.blocked)
    noisy = frozenset(
        new for new, old in zip(columns, result.columns, strict=False) if old in result.noisy
    )
    return replace(result, columns=columns, rows=rows, noisy=noisy)


def rows_of(select: exp.Select, sources: list[FromItem], *, asks: bool) -> Rows | None:
    """Return the rows of a SELECT without aggregates, if it is over a release."""
    if not any(each.release or each.rows for each in sources):
        return None
    if _is_no_limit(select, sources):
        select.set("limit", None)
    columns: dict[str, exp.Expr] = {}
    for item in select.expressions:
        columns |= passed_on(item, sources)
    blocked = next((word for name, word in BLOCKING.items() if select.args.get(name)), None)
    if any(True for item in select.expressions for _ in own_nodes(item, exp.Window)):
        blocked = "a window"
    if any(map(unnests, select.expressions)):
        blocked = UNNEST
    if any(each.rows is not None and each.rows.blocked for each in sources):
        blocked = next(each.rows.blocked for each in sources if each.rows and each.rows.blocked)
    return Rows(select, sources, columns, asks, blocked)


def _is_no_limit(select: exp.Select, sources: list[FromItem]) -> bool:
    """Whether LIMIT keeps all rows. Tools add such a LIMIT so that users do not fetch a whole table by mistake."""
    limit, release = select.args.get("limit"), sources[0].release
    if limit is None or len(sources) > 1 or release is None or release.scale or release.sampled:
        return False
    number = limit.expression
    return (
        isinstance(number, exp.Literal)
        and not number.is_string
        and int(number.name) >= release.rows > 0
    )


def has_attribute(expression: exp.Expr, sources: list[FromItem]) -> bool:
    """Whether an expression uses an attribute, directly or through a subquery."""
    for column in nodes(expression, exp.Column):
        for source in sources:
            if source.attribute(column):
                return True
            if source.rows is not None and source.owns(column):
                inner = source.rows.columns.get(column.name.lower())
                if inner is not None and has_attribute(inner, source.rows.sources):
                    return True
    return False


TOTALS, EXTREME = ("sum", "avg", "mean"), ("min", "max")
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


def noisy_columns(
    select: exp.Select, names: Sequence[str], sources: Sequence[FromItem]
) -> frozenset[str]:
    """Return the columns of a SELECT over estimates that are computed from estimates."""
    return frozenset(
        name.lower()
        for item, name in zip(select.expressions, names, strict=False)
        if any(_noisy(item, sources))
    )


def refuse_selected_noise(select: exp.Select, sources: Sequence[FromItem]) -> None:
    """Refuse expressions that square or select the noise of estimates, and totals of groups selected by estimates."""
    if not any(each.noisy for each in sources):
        return
    where = select.args.get("where")
    chosen = any(each.chosen for each in sources) or (
        where is not None and any(_noisy(where, sources))
    )
    for item in [*select.expressions, select.args.get("having"), select.args.get("order")]:
        for aggregate in aggregates_in(item) if item is not None else ():
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
            if name in EXTREME and not (_picks(aggregate) or _is_compared(select)):
                raise QueryRefused(
                    f"{name}() of the estimates of groups is wrong: the one with the most noise is chosen",
                    hint="show groups with simultaneous intervals: SELECT …, count(*) AS n … ORDER BY n DESC LIMIT 5",
                )
            if chosen and name in TOTALS:
                raise QueryRefused(
                    f"{name}() of groups that are chosen by their estimates is wrong: those with the largest noise are"
                    " chosen",
                    hint="count all groups at once, or choose groups by public columns",
                )


def _picks(aggregate: exp.Expr) -> bool:
    """Whether max or min only picks the group that meets a condition, as tools do to turn rows into columns."""
    return isinstance(aggregate, exp.Filter) or isinstance(aggregate.this, exp.Case | exp.If)


def _is_compared(select: exp.Select) -> bool:
    """Whether a SELECT is a value that is only compared with others, which finds a group as ORDER BY and LIMIT do."""
    holder = select.parent
    while isinstance(holder, exp.Subquery | exp.Paren):
        holder = holder.parent
    return isinstance(holder, exp.Predicate)


def _noisy(node: exp.Expr, sources: Sequence[FromItem]) -> Iterator[exp.Column]:
    for column in nodes(node, exp.Column):
        if any(each.owns(column) and column.name.lower() in each.noisy for each in sources):
            yield column


def _squares(node: exp.Expr, sources: Sequence[FromItem]) -> bool:
    """Whether an expression multiplies estimates by each other."""
    return any(
        all(any(_noisy(each, sources)) for each in (product.this, product.expression))
        for product in nodes(node, exp.Mul)
    ) or any(any(_noisy(power.this, sources)) for power in nodes(node, exp.Pow))
