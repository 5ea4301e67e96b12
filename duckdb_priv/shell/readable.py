"""Formats estimates for a terminal: rounds counts, limits shares, and writes a count's interval in one column."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from duckdb_priv.sqltext.quoting import identifier

ENDS = ("_stderr", "_low", "_high")
"""Suffixes of the three columns that follow an estimate."""
ShownAs = Callable[[str], list[str]]
"""Maps the name of an estimate to the SQL of the columns that replace it and the three columns after it."""


def readable(relation: duckdb.DuckDBPyRelation, asked: str) -> duckdb.DuckDBPyRelation:
    """Round the counts of an answer to whole records, and limit shares to [0, 1] and estimates to their intervals.

    ``asked`` is the query before it was rewritten.

    >>> con = duckdb.connect()
    >>> answer = con.sql("SELECT 'flu' AS disease, -20.3 AS n, 31.0 AS n_stderr, 0.0 AS n_low, 68.2 AS n_high")
    >>> readable(answer, "SELECT disease, count(*) AS n FROM visits GROUP BY ALL").fetchall()
    [('flu', 0, 'not above 69')]
    >>> con.close()
    """
    names = relation.columns
    estimated = {
        at
        for at, name in enumerate(names)
        if names[at + 1 : at + 4] == [name + end for end in ENDS]
    }
    if not estimated:
        return relation
    shown: list[str] = []
    at = 0
    for written in _formats(asked, len(names)):
        if at < len(names):
            shown += written(names[at]) if at in estimated else [identifier(names[at])]
            at += 4 if at in estimated else 1
    return relation.project(", ".join(shown))


def _formats(asked: str, columns: int) -> list[ShownAs]:
    """Return, for each of at most ``columns`` columns of a query, the format of its estimates."""
    unknown: list[ShownAs] = [_within] * columns
    try:
        query = sqlglot.parse_one(asked, dialect="duckdb")
    except SqlglotError:
        return unknown
    selects = query.selects if isinstance(query, exp.Query) else []
    # A star expands to an unknown number of columns.
    if any(each.is_star for each in selects):
        return unknown
    return [_kind(each.unalias()) for each in selects] + unknown


def _kind(aggregate: exp.Expr) -> ShownAs:
    """Return the format of an aggregate's estimates: that of a count, of a share, or of another number."""
    if isinstance(aggregate, exp.Filter):
        return _kind(aggregate.this)
    if isinstance(aggregate, exp.Count | exp.CountIf):
        return _whole
    if isinstance(aggregate, exp.Div):
        parts = {_kind(aggregate.this.unnest()), _kind(aggregate.expression.unnest())}
        return _share if parts == {_whole} else _within
    if isinstance(aggregate, exp.Avg):
        of = aggregate.this.unnest()
        of = of.this.unnest() if isinstance(of, exp.Cast) else of
        return _share if isinstance(of, exp.Predicate | exp.Connector) else _within
    return _within


def _whole(name: str) -> list[str]:
    estimate, low, high = (identifier(f"{name}{end}") for end in ("", "_low", "_high"))
    least, most = f"TRY_CAST(floor({low}) AS BIGINT)", f"TRY_CAST(ceil({high}) AS BIGINT)"
    return [
        f"TRY_CAST(greatest(least(round({estimate}), ceil({high})), 0) AS BIGINT) AS {identifier(name)}",
        f"CASE WHEN {least} <= 0 THEN format('not above {{:,}}', {most})"
        f" ELSE format('{{:,}} to {{:,}}', {least}, {most}) END AS {identifier(f'{name}_interval')}",
    ]


def _share(name: str) -> list[str]:
    return [
        f"round(greatest(least({column}, 1), 0), 4) AS {column}"
        for column in (identifier(f"{name}{end}") for end in ("", "_low", "_high"))
    ]


def _within(name: str) -> list[str]:
    estimate, low, high = (identifier(f"{name}{end}") for end in ("", "_low", "_high"))
    return [
        f"CASE WHEN {estimate} < {low} THEN {low} WHEN {estimate} > {high} THEN {high} ELSE {estimate} END"
        f" AS {identifier(name)}",
        low,
        high,
    ]
