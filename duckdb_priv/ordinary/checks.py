"""Check a SELECT before it is estimated: it must sum records, and the values in it must exist.

Functions of group estimates that are not linear are refused: their result would include the noise.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from duckdb_priv.errors import QueryRefused, echoed, shortened
from duckdb_priv.estimator.estimated_names import RANDOM
from duckdb_priv.ordinary.aggregates import aggregates_in, name_of, unwrapped
from duckdb_priv.ordinary.names import first, nodes
from duckdb_priv.ordinary.published import Attribute, ConnectedTables, functions
from duckdb_priv.ordinary.scope import MARK, FromItem, has_own, holder, is_star
from duckdb_priv.sqltext.moments import SQUARED

BY_CHANCE = {*RANDOM, "rand"}
"""Functions that return a different value for every row."""
SHOWN = 20
"""Maximum number of values in a message."""
HANDLED = {
    "with_", "expressions", "from_", "joins", "where", "group", "having", "qualify", "order", "limit", "offset",
    "distinct", "windows", "operation_modifiers",
}  # fmt: skip
"""Supported clauses of a SELECT."""
UNNEST = "unnest"
TOTALS, EXTREME = ("sum", "avg", "mean"), ("min", "max")
PAIRED = ("covar_pop", "covar_samp", "regr_sxy", "regr_slope", "regr_intercept")
"""Aggregates that multiply two arguments; they are linear in the first one if the second one is public."""


def by_row(source: FromItem) -> QueryRefused:
    """Return the error for a query about single records."""
    assert source.release is not None
    names = ", ".join(each.name for each in source.release.attributes.values())
    return QueryRefused(
        f'nobody knows what a single record of "{source.release.name}" truly is ({names}), only how many are',
        hint="count: SELECT …, count(*) … GROUP BY …",
    )


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


def unnests(item: exp.Expr) -> bool:
    """Whether an expression of a SELECT list turns one row into several."""
    return has_own(item, exp.Unnest, exp.Explode)


def check(
    select: exp.Select,
    source: FromItem,
    connection: ConnectedTables,
    parameters: Mapping[str, Any],
) -> None:
    """Refuse clauses that cannot be estimated, and values that do not exist."""
    for clause, node in select.args.items():
        if node and clause not in HANDLED:
            raise QueryRefused(
                f"a SELECT with {clause.rstrip('_').upper()} cannot be estimated",
                hint="write it with FROM, JOIN, WHERE, GROUP BY and HAVING",
            )
    for function in nodes(select, exp.Func):
        name = name_of(function)
        if name in BY_CHANCE:
            raise QueryRefused(
                f"{name}() says something else of every row, and rows are not estimated one by one",
                hint="leave it out, or use it above the counts",
            )
        if isinstance(function, exp.Anonymous) and name not in functions():
            raise QueryRefused(
                f"{name} is no function of DuckDB's own, and what it does is not looked into",
                hint="write its body instead",
            )
    if any(is_star(each) or first(each, exp.Columns) for each in select.expressions):
        raise QueryRefused(
            "* in a SELECT that counts does not say what is counted",
            hint="name the columns, and count(*)",
        )
    compared: dict[str, list[exp.Expr]] = {}
    for column in nodes(select, exp.Column):
        own = MARK not in column.meta and column.table.lower() in ("", source.alias.lower())
        if own and column.name.lower() == "rowid":
            raise QueryRefused(
                "rowid is the place of a published row, and says nothing of the true table",
                hint="leave it out, or name a public column",
            )
        if attribute := source.attribute(column):
            found = compared.setdefault(attribute.name.lower(), [])
            found += _compared_with(column, parameters)
    if any(map(unnests, select.expressions)):
        raise blocked_error(UNNEST, source)
    # A value outside the domain is mostly misspelt.
    release = source.release
    assert release is not None
    for name, values in compared.items():
        attribute = release.attributes[name]
        missing = connection.outside(release, attribute, values) if values else []
        if missing:
            raise _misspelt(attribute, connection.values(release, attribute), missing[0])


def _misspelt(attribute: Attribute, domain: Sequence[str | None], value: str) -> QueryRefused:
    """Return the error for a value that is not in a domain, with the one that may be meant."""
    shown = ", ".join("NULL" if each is None else echoed(each) for each in domain[:SHOWN])
    if len(domain) > SHOWN:
        shown += f", … ({len(domain)} values; see FROM priv.coefficient)"
    lower = {each.lower(): each for each in reversed(domain) if each}
    near = difflib.get_close_matches(value.strip("'").lower(), list(lower), n=1)
    return QueryRefused(
        f'"{attribute.name}" has no value {shortened(value)}; it has {shown}',
        hint=f"did you mean {echoed(lower[near[0]])}?" if near else "compare it with one of these",
    )


def _compared_with(column: exp.Column, parameters: Mapping[str, Any]) -> Iterator[exp.Expr]:
    """Yield the literals and values of parameters that a column is compared with for equality.

    '' is left out: tools compare every column with it to find empty values.
    """
    node: exp.Expr = column
    parent = node.parent
    while isinstance(parent, exp.Paren):
        node, parent = parent, parent.parent
    found: list[exp.Expr] = []
    if isinstance(parent, exp.EQ | exp.NEQ | exp.NullSafeEQ | exp.NullSafeNEQ):
        found = [parent.expression if parent.this is node else parent.this]
    elif isinstance(parent, exp.In) and parent.this is node:
        found = parent.expressions
    elif isinstance(parent, exp.Case) and parent.this is node:
        found = [branch.this for branch in parent.args["ifs"]]
    for each in found:
        if isinstance(each, exp.Placeholder | exp.Parameter):
            given = parameters.get(each.name)
            each = exp.convert(given) if isinstance(given, str | int | float) else each
        inner = each
        while isinstance(inner, exp.Paren | exp.Neg | exp.Cast):
            inner = inner.this
        if isinstance(inner, exp.Literal | exp.Boolean) and each != exp.Literal.string(""):
            yield each


def refuse_what_is_not_linear(select: exp.Select, source: FromItem) -> None:
    """Refuse clauses that select or show rows in a way that weights cannot express."""
    release = source.release
    assert release is not None
    if isinstance(source.node, exp.Table) and source.node.args.get("sample"):
        raise QueryRefused(
            "a sample of perturbed records cannot be counted by what they truly are",
            hint="leave out the sample: counting everything takes milliseconds",
        )
    for join in select.args.get("joins") or ():
        _refuse_join(join, source)
    for each in nodes(select, exp.Column):
        name = each.name.lower()
        if not source.owns(each):
            # The name of a table alone means its rows.
            if MARK not in each.meta and not each.table and name == source.alias.lower():
                raise by_row(source)
            continue
        if release.scale and name == release.scale.lower():
            raise QueryRefused(
                f'"{each.name}" says what a row counts for, which is taken account of already',
                hint="leave it out: write count(*), sum(…) or avg(…) as if the table were the true one",
            )
        if name in release.reported:
            raise QueryRefused(
                f'"{each.name}" is what records report, and cannot be counted together with what is true',
                hint=f"write {release.reported[name].name}; or ask for reported values in a query of their own",
            )


def _refuse_join(join: exp.Join, source: FromItem) -> None:
    side, kind, method = (
        str(join.args.get(name) or "").upper() for name in ("side", "kind", "method")
    )
    is_release = join.this is source.node
    if method:
        raise QueryRefused(
            f"{method} JOIN cannot be counted by an attribute",
            hint="write JOIN … ON, or LEFT JOIN with the release first",
        )
    if side in ("RIGHT", "FULL") or (side == "LEFT" and is_release):
        raise QueryRefused(
            "an outer join that does not keep the release asks which rows of the other table have no record,"
            " which perturbed records do not tell",
            hint="put the release first and write LEFT JOIN or JOIN; or join the other table to the grouped counts",
        )
    if is_release and kind in ("SEMI", "ANTI"):
        raise QueryRefused(
            f"a {kind} JOIN asks whether a record exists, which perturbed records do not tell",
            hint="count them: (SELECT count(*) FROM … WHERE …), and compare the count",
        )


def noisy_columns(
    select: exp.Select, names: Sequence[str], sources: Sequence[FromItem]
) -> frozenset[str]:
    """Return the columns of a SELECT over estimates that are computed from estimates."""
    pairs = zip(select.expressions, names, strict=False)
    return frozenset(name.lower() for item, name in pairs if _noisy(item, sources))


def refuse_selected_noise(select: exp.Select, sources: Sequence[FromItem]) -> None:
    """Refuse expressions that square or select the noise of estimates, and totals of groups selected by estimates."""
    if not any(each.scope.noisy for each in sources):
        return
    where = select.args.get("where")
    chosen = any(each.scope.chosen for each in sources) or (where and _noisy(where, sources))
    for item in [*select.expressions, select.args.get("having"), select.args.get("order")]:
        for aggregate in aggregates_in(item) if item is not None else ():
            name = name_of(unwrapped(aggregate))
            if not _noisy(aggregate, sources):
                continue
            arguments = list(unwrapped(aggregate).iter_expressions())
            if (
                name in SQUARED
                or (name in TOTALS and _squares(aggregate, sources))
                or (name in PAIRED and _noisy(arguments[-1], sources))
            ):
                raise QueryRefused(
                    f"{name}() would square the noise of the estimates of groups",
                    hint="USE estimated in a release file, and take the error off: sum(n * n - e * e) FROM (SELECT …,"
                    " count(*) AS n, count_stderr() AS e …)",
                )
            # Tools turn rows into columns by max or min of the group that meets a condition. A value that is only
            # compared with others finds a group as ORDER BY and LIMIT do.
            picks = isinstance(aggregate, exp.Filter) or isinstance(
                aggregate.this, exp.Case | exp.If
            )
            if name in EXTREME and not (picks or isinstance(holder(select), exp.Predicate)):
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


def _noisy(node: exp.Expr, sources: Sequence[FromItem]) -> bool:
    """Whether an expression depends on estimates."""
    return any(each.is_noisy(column) for column in nodes(node, exp.Column) for each in sources)


def _squares(node: exp.Expr, sources: Sequence[FromItem]) -> bool:
    """Whether an expression multiplies estimates by each other."""
    return any(
        _noisy(each.this, sources)
        and (isinstance(each, exp.Pow) or _noisy(each.expression, sources))
        for each in nodes(node, exp.Mul, exp.Pow)
    )
