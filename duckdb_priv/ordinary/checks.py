"""Check a SELECT before it is estimated: DuckDB must understand it, its values must exist, and it must sum records.

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
from duckdb_priv.ordinary.names import Names, first, named, nodes, tables_in, text
from duckdb_priv.ordinary.published import Attribute, ConnectedTables, functions
from duckdb_priv.ordinary.rows import UNNEST, blocked_error, is_star, unnests
from duckdb_priv.ordinary.scope import MARK, FromItem, holder
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

TOTALS, EXTREME = ("sum", "avg", "mean"), ("min", "max")
PAIRED = ("covar_pop", "covar_samp", "regr_sxy", "regr_slope", "regr_intercept")
"""Aggregates that multiply two arguments; they are linear in the first one if the second one is public."""
SQUARES = (
    "USE estimated in a release file, and take the error off: sum(n * n - e * e) FROM (SELECT …, count(*) AS n,"
    " count_stderr() AS e …)"
)


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
    for star in select.expressions:
        if is_star(star) or first(star, exp.Columns):
            raise QueryRefused(
                "* in a SELECT that counts does not say what is counted",
                hint="name the columns, and count(*)",
            )
    for column in nodes(select, exp.Column):
        own = MARK not in column.meta and column.table.lower() in ("", source.alias.lower())
        if own and column.name.lower() == "rowid":
            raise QueryRefused(
                "rowid is the place of a published row, and says nothing of the true table",
                hint="leave it out, or name a public column",
            )
    if any(map(unnests, select.expressions)):
        raise blocked_error(UNNEST, source)
    _check_values(select, source, connection, parameters)


def _check_values(
    select: exp.Select,
    source: FromItem,
    connection: ConnectedTables,
    parameters: Mapping[str, Any],
) -> None:
    """Refuse comparisons of an attribute with values outside its domain, which are mostly misspelt."""
    release, compared = source.release, dict[str, list[exp.Expr]]()
    assert release is not None
    for column in nodes(select, exp.Column):
        if attribute := source.attribute(column):
            found = compared.setdefault(attribute.name.lower(), [])
            found += _compared_with(column, parameters)
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


def _compared_with(column: exp.Column, parameters: Mapping[str, Any]) -> list[exp.Expr]:
    """Return the literals and parameter values that a column is compared with for equality."""
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
    return [each for each in (_given(each, parameters) for each in found) if _is_literal(each)]


def _given(node: exp.Expr, parameters: Mapping[str, Any]) -> exp.Expr:
    """Return a parameter's value as a literal if it is a text or a number; any other node unchanged."""
    value = None
    if isinstance(node, exp.Placeholder | exp.Parameter):
        value = parameters.get(node.name)
    return exp.convert(value) if isinstance(value, str | int | float) else node


def _is_literal(node: exp.Expr) -> bool:
    """Whether a node is a value, except '': tools compare every column with it to find empty values."""
    empty = isinstance(node, exp.Literal) and node.is_string and not node.name
    while isinstance(node, exp.Paren | exp.Neg | exp.Cast):
        node = node.this
    return isinstance(node, exp.Literal | exp.Boolean) and not empty


def stand_in(query: exp.Query, connection: ConnectedTables) -> str:
    """Write the query over empty columns with the true types, so that DuckDB can describe it. It changes the query.

    So errors have DuckDB's messages, and columns have DuckDB's names.
    """
    names = Names()
    for table in tables_in(query):
        release = connection.release(table)
        if release is None or not release.attributes:
            continue
        alias = table.args.get("alias") or exp.TableAlias(this=named(table.name).copy())
        for column in nodes(query, exp.Column):
            if column.db and column.table.lower() == alias.name.lower():
                column.set("db", None)
                column.set("catalog", None)
        replaced, added = list[str](), list[str]()
        for each in release.attributes.values():
            same = each.column.lower() == each.name.lower()
            (replaced if same else added).append(f"CAST(NULL AS {each.type}) AS {text(each.name)}")
        star = f"* REPLACE ({', '.join(replaced)})" if replaced else "*"
        bare = table.copy()
        for name in ("alias", "joins", "sample"):
            bare.set(name, None)
        empty = names.place(f"SELECT {', '.join([star, *added])} FROM {text(bare)}")
        table.replace(exp.Subquery(this=empty, alias=alias.copy()))
    return names.written(query)


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


def by_row(source: FromItem) -> QueryRefused:
    """Return the error for a query about single records."""
    assert source.release is not None
    names = ", ".join(each.name for each in source.release.attributes.values())
    return QueryRefused(
        f'nobody knows what a single record of "{source.release.name}" truly is ({names}), only how many are',
        hint="count: SELECT …, count(*) … GROUP BY …",
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
    if not any(each.scope and each.scope.noisy for each in sources):
        return
    where = select.args.get("where")
    chosen = any(each.is_chosen for each in sources) or (
        where is not None and any(_noisy(where, sources))
    )
    for item in [*select.expressions, select.args.get("having"), select.args.get("order")]:
        for aggregate in aggregates_in(item) if item is not None else ():
            name = name_of(unwrapped(aggregate))
            if not any(_noisy(aggregate, sources)):
                continue
            arguments = list(unwrapped(aggregate).iter_expressions())
            if (
                name in SQUARED
                or (name in TOTALS and _squares(aggregate, sources))
                or (name in PAIRED and any(_noisy(arguments[-1], sources)))
            ):
                raise QueryRefused(
                    f"{name}() would square the noise of the estimates of groups",
                    hint=SQUARES,
                )
            # A value that is only compared with others finds a group as ORDER BY and LIMIT do.
            compared = isinstance(holder(select), exp.Predicate)
            if name in EXTREME and not (compared or _picks(aggregate)):
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


def _noisy(node: exp.Expr, sources: Sequence[FromItem]) -> Iterator[exp.Column]:
    for column in nodes(node, exp.Column):
        if any(each.is_noisy(column) for each in sources):
            yield column


def _squares(node: exp.Expr, sources: Sequence[FromItem]) -> bool:
    """Whether an expression multiplies estimates by each other."""
    return any(
        all(any(_noisy(each, sources)) for each in (product.this, product.expression))
        for product in nodes(node, exp.Mul)
    ) or any(any(_noisy(power.this, sources)) for power in nodes(node, exp.Pow))
