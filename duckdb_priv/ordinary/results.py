"""The result of a subquery: its columns, and the rows of a release that the outer query may still count."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.names import nodes
from duckdb_priv.ordinary.rows import passed_on
from duckdb_priv.ordinary.scope import FromItem, Rows, own_nodes

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


def blocked(result: FromItem, why: str) -> FromItem:
    """Return a result whose rows, if any, cannot be counted by an attribute."""
    if result.rows is None or result.rows.blocked:
        return result
    return replace(result, rows=replace(result.rows, blocked=why))


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


def renamed(result: FromItem, item: exp.Expr) -> FromItem:
    """Return a result with the column names that an item in FROM or WITH gives."""
    names = aliased(item)
    if not names:
        return result
    columns, rows = [*names, *result.columns[len(names) :]], result.rows
    if rows is not None:
        rows = replace(rows, columns=dict(zip(columns, rows.columns.values(), strict=False)))
    pairs = zip(columns, result.columns, strict=False)
    noisy = frozenset(new for new, old in pairs if old in result.noisy)
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
    why = next((word for name, word in BLOCKING.items() if select.args.get(name)), None)
    if any(True for item in select.expressions for _ in own_nodes(item, exp.Window)):
        why = "a window"
    if any(map(unnests, select.expressions)):
        why = UNNEST
    within = [each.rows.blocked for each in sources if each.rows and each.rows.blocked]
    return Rows(select, sources, columns, asks, within[0] if within else why)


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
