"""Rewrite ordinary SQL: the entry point. A statement that uses no attribute is returned unchanged."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.answer import UnevenParts, answer
from duckdb_priv.ordinary.intervals import Together
from duckdb_priv.ordinary.kept import run
from duckdb_priv.ordinary.names import Names, column_names, nodes, raw, text, written
from duckdb_priv.ordinary.pivots import count_before_pivots
from duckdb_priv.ordinary.published import ConnectedTables
from duckdb_priv.ordinary.resolve import resolve, write_out_views
from duckdb_priv.ordinary.scope import QueryState, own_nodes
from duckdb_priv.release.given import (
    check_choice,
    check_confidence,
    check_connection,
    check_parameters,
    check_text,
)
from duckdb_priv.release.opening import open_release

BEFORE = re.compile(
    r"""\s*(EXPLAIN(\s+ANALYZE|\s*\([^)]*\))?\s|PREPARE\s+(\w+|"([^"]|"")+")\s+AS\s)""",
    re.IGNORECASE,
)
"""Matches prefixes of a query, such as EXPLAIN. The query after it is rewritten."""
RULES = (write_out_views, resolve, answer)
"""The passes over a query, in their order. Each one changes the query in place."""
WHOLE = ("BIGINT", "HUGEINT", "UBIGINT", "UHUGEINT")
"""Types of counts and of sums of integers."""
CALL = (TokenType.DOT, TokenType.L_PAREN)
"""The second and fourth token of ``priv.function(``."""


def rewrite_sql(
    release: duckdb.DuckDBPyConnection | str | Path,
    sql: str,
    *,
    intervals: bool = False,
    confidence: float = 0.95,
    simultaneous: bool = False,
    counts: str = "estimates",
    parameters: Sequence[Any] | Mapping[str, Any] | None = None,
) -> str:
    """Return the plain SQL that answers a query by estimates; write the query as if the table were the true one.

    ``release`` is a connection with releases, or the path of a release file. A statement that uses no attribute is
    returned byte for byte. The text does not depend on the ``parameters`` of the query, which are only compared with
    the domains. With ``simultaneous``, all intervals in the result of a SELECT hold at once with this confidence, so
    you may pick out any of them. With ``counts="rounded"``, results that are whole numbers over the true table, such as
    counts, are rounded to BIGINT, for programs that require it.

    Raises QueryRefused for a query that cannot be estimated, with a hint. Raises duckdb.Error for a query that would
    also fail over the true table.
    """
    check_confidence(confidence)
    check_choice("counts", counts, ("estimates", "rounded"))
    check_text("a statement", sql)
    check_parameters(parameters)
    if not isinstance(release, duckdb.DuckDBPyConnection):
        with open_release(release) as opened:
            return rewrite_sql(
                opened, sql, intervals=intervals, confidence=confidence, simultaneous=simultaneous, counts=counts,
                parameters=parameters,
            )  # fmt: skip
    before = BEFORE.match(sql)
    start = before.end() if before else 0
    asked = Together(confidence) if simultaneous else confidence if intervals else None
    try:
        found = _rewritten(release, sql[start:], asked, counts == "rounded", parameters)
    except RecursionError:
        raise QueryRefused(
            "this statement is nested too deeply to be read", hint="write it in parts, WITH names"
        ) from None
    return sql[:start] + found


def _rewritten(
    release: duckdb.DuckDBPyConnection,
    sql: str,
    asked: float | None,
    rounded: bool,
    parameters: Sequence[Any] | Mapping[str, Any] | None,
) -> str:
    """Return the rewritten statement; ``asked`` is the confidence of its intervals."""
    connection = ConnectedTables(release)
    if not connection.releases or not sql.strip():
        return sql
    key = (sql, type(asked), asked, rounded)
    if key in connection.kept.found and not parameters:
        return str(connection.kept.found[key])
    parsed = _parse(sql, connection)
    if parsed is None:
        return sql
    names = Names.of(parsed)
    count_before_pivots(parsed, connection, names)
    given = parameters if isinstance(parameters, Mapping) else _by_number(parameters or ())
    changed = False
    for query in list(own_nodes(parsed, exp.Query)):
        # A single value has no place for interval columns, and a PIVOT would group by them.
        alone = query.find_ancestor(exp.Values, exp.Update, exp.Pivot) is not None
        state = QueryState(query, connection, names, given, None if alone else asked)
        try:
            for rule in RULES:
                rule(state)
        except UnevenParts:
            return _rewritten(release, sql, None, rounded, parameters)
        changed |= state.changed
    found = sql
    if changed:
        # In a PIVOT, columns have no table qualifier. The pivoted query is written separately.
        for pivot in nodes(parsed, exp.Pivot):
            if isinstance(pivot.this, exp.Subquery):
                pivot.this.set("this", raw(written(pivot.this.this)))
        found = written(parsed)
        if rounded and isinstance(parsed, exp.Query):
            found = _rounded(found, state.described())
    if connection.of_releases and not parameters:
        connection.kept.once(key, lambda: found)
    return found


def _by_number(parameters: Sequence[Any]) -> dict[str, Any]:
    return {str(number): value for number, value in enumerate(parameters, start=1)}


def _rounded(query: str, columns: Sequence[tuple[str, str]]) -> str:
    """Write a query with rounded results; ``columns`` are the columns over the true table, whose types decide."""
    names = [name.lower() for name, _ in columns]
    whole = [name for name, kind in columns if kind in WHOLE and names.count(name.lower()) == 1]
    if not whole:
        return query
    values = (f"TRY_CAST(round({text(name)}) AS BIGINT) AS {text(name)}" for name in whole)
    return f"SELECT * REPLACE ({', '.join(values)})\nFROM (\n{query}\n)"


def reconstruct(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    intervals: bool = False,
    confidence: float = 0.95,
    parameters: Sequence[Any] | Mapping[str, Any] | None = None,
    *,
    simultaneous: bool = False,
    counts: str = "estimates",
) -> duckdb.DuckDBPyConnection:
    """Answer a query by estimates; write it as if the table were the true one.

    The arguments are those of `rewrite_sql`, and the ``parameters`` of the query. Fetch the result from the returned
    connection.

    >>> import duckdb_priv
    >>> con = duckdb_priv.connect(secret=bytes(range(100, 132)))
    >>> con.execute("CREATE TABLE source AS SELECT i AS id, i % 5 = 0 AS ill FROM range(10000) t(i)") and None
    >>> publish = "priv.publish_uniform('source', 'visits', sensitive := 'ill', retention := 0.5, record_id := 'id')"
    >>> con.execute(f"FROM {publish}").fetchall() and None
    >>> [(estimate,)] = reconstruct(con, "SELECT count(*) FROM visits WHERE ill").fetchall()
    >>> 1600 < estimate < 2400
    True
    >>> con.close()
    """
    check_connection(connection)
    answer = rewrite_sql(
        connection, sql, intervals=intervals, confidence=confidence, simultaneous=simultaneous, counts=counts,
        parameters=parameters,
    )  # fmt: skip
    return run(connection, answer, parameters)


def _parse(sql: str, connection: ConnectedTables) -> exp.Expr | None:
    """Parse a statement; None if it is left unchanged.

    A statement that sqlglot cannot parse is left to DuckDB, unless it uses an attribute. A statement that calls
    functions of the schema priv distinguishes reported from true values.
    """
    of_release = any(name in sql.lower() for _, name in connection.releases)
    try:
        tokens = sqlglot.tokenize(sql, dialect="duckdb")
        calls = zip(tokens, tokens[1:], tokens[3:], strict=False)
        if any(
            one.text.lower() == "priv" and (two.token_type, four.token_type) == CALL
            for one, two, four in calls
        ):
            return None
        statements = [
            each for each in sqlglot.parse(_numbered(sql, tokens), dialect="duckdb") if each
        ]
    except SqlglotError as error:
        if not of_release:
            return None
        problem = str(error).splitlines()[0]
        raise QueryRefused(
            f"this statement cannot be read: {problem}", hint="write it in simpler SQL"
        ) from None
    if len(statements) > 1 and of_release:
        raise QueryRefused("several statements at once", hint="run them one by one")
    if len(statements) != 1 or isinstance(statements[0], exp.Command):
        return None
    _refuse_changes(statements[0], connection)
    return _grouped(statements[0])


def _refuse_changes(statement: exp.Expr, connection: ConnectedTables) -> None:
    """Refuse to change or delete the rows of a release by what they truly are."""
    table = statement.this if isinstance(statement, exp.Update | exp.Delete) else None
    release = connection.release(table) if isinstance(table, exp.Table) else None
    asked = column_names(statement) if release else set()
    if release and asked & {each.name.lower() for each in release.reported.values()}:
        raise QueryRefused(
            "rows of a release cannot be changed by what they truly are: nobody knows it",
            hint="count them; or change the source, and publish it again",
        )


def _grouped(statement: exp.Expr) -> exp.Expr:
    """Collect all elements of each GROUP BY in one list: sqlglot 28 separates ROLLUP, CUBE and GROUPING SETS.

    A result in parentheses, (a, b), is one value. It is written as row(a, b), since GROUP BY (a, b) has two keys.

    >>> _grouped(sqlglot.parse_one("SELECT (a, b) AS k, count(*) FROM t GROUP BY k", dialect="duckdb")).sql("duckdb")
    'SELECT ROW(a, b) AS k, COUNT(*) FROM t GROUP BY k'
    """
    # Copies would carry the positions in the text.
    for each in nodes(statement, exp.Identifier, exp.Literal):
        each.meta.clear()
    for select in nodes(statement, exp.Select):
        for item in select.expressions:
            if isinstance(item.unalias(), exp.Tuple):
                item.unalias().replace(exp.func("row", *item.unalias().expressions))
    for group in nodes(statement, exp.Group):
        for kind in ("rollup", "cube", "grouping_sets"):
            if apart := group.args.get(kind):
                group.set(kind, None)
                group.set("expressions", [*group.expressions, *apart])
    return statement


def _numbered(sql: str, tokens: Sequence[Token]) -> str:
    """Number the parameters, so that they can be moved.

    >>> query = "SELECT '?' WHERE a = ? AND b = ?"
    >>> _numbered(query, sqlglot.tokenize(query, dialect="duckdb"))
    "SELECT '?' WHERE a = $1 AND b = $2"
    """
    marks = [
        each for each in tokens if each.token_type is TokenType.PLACEHOLDER and each.text == "?"
    ]
    for number, token in reversed(list(enumerate(marks, start=1))):
        sql = f"{sql[: token.start]}${number}{sql[token.end + 1 :]}"
    return sql
