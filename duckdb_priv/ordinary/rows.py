"""Inline subqueries that pass on rows of a release into the SELECT that counts the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.names import Names, Node, column, named, nodes, text
from duckdb_priv.ordinary.scope import MARK, FromItem, Scope, from_items, has_own

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
NAMED = "priv_name"
"""Metadata key: the name of a result without an alias."""


def rows_of(result: FromItem, select: exp.Select, sources: list[FromItem]) -> FromItem:
    """Return the result of a SELECT without aggregates: rows, if it is over a release."""
    if not any(each.release or each.rows for each in sources):
        return result
    if _is_no_limit(select, sources):
        select.set("limit", None)
    why = next((word for name, word in BLOCKING.items() if select.args.get(name)), None)
    if any(has_own(item, exp.Window) for item in select.expressions):
        why = "a window"
    if any(map(unnests, select.expressions)):
        why = UNNEST
    why = next((each.blocked for each in sources if each.blocked), why)
    return replace(result, rows=True, blocked=why)


def unnests(item: exp.Expr) -> bool:
    """Whether an expression of a SELECT list turns one row into several."""
    return has_own(item, exp.Unnest, exp.Explode)


def _is_no_limit(select: exp.Select, sources: list[FromItem]) -> bool:
    """Whether LIMIT keeps all rows. Tools add such a LIMIT so that users do not fetch a whole table by mistake."""
    limit, release = select.args.get("limit"), sources[0].release
    if limit is None or len(sources) > 1 or release is None or release.scale or release.sampled:
        return False
    number = limit.expression
    return number.is_int and int(number.name) >= release.rows > 0


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


def inline(scope: Scope, source: FromItem, scopes: dict[int, Scope], names: Names) -> None:
    """Replace a subquery by its tables, move its conditions to WHERE, and replace its columns by their expressions.

    ``scopes`` are those of all SELECTs by id, to which those of copies are added.
    """
    assert source.scope is not None
    select, sources = scope.select, scope.sources
    if any(join.args.get("using") for join in select.args.get("joins") or ()):
        raise QueryRefused(
            "a subquery over perturbed rows that is joined with USING cannot be estimated from",
            hint="write the join with ON",
        )
    inner = _copied(source.scope.select, source.scope, scope, scopes)
    fresh = _fresh_sources(inner, source, sources, names)
    numbers = {old.number: new for old, new in zip(source.scope.sources, fresh, strict=True)}
    name_stars(select, sources)
    for each in list(nodes(select, exp.Column)):
        value = source.value(each)
        if value is not None:
            value = _copied(value, source.scope, scope, scopes)
            put_expression(each, renumbered(value, numbers))
    renumbered(inner, numbers)
    _place(select, source, inner)
    _carry_with(select, inner)
    if inner.args.get("where"):
        select.where(inner.args["where"].this, copy=False)
    place = sources.index(source)
    sources[place : place + 1] = fresh


def _copied(node: Node, old: Scope, new: Scope, scopes: dict[int, Scope]) -> Node:
    """Return a copy of a part of the SELECT ``old`` as a part of ``new``, and add the scopes of its subqueries."""
    copy = node.copy()
    made = {id(old): new}
    pairs = zip(nodes(node, exp.Select), nodes(copy, exp.Select), strict=True)
    for known, select in [(scopes.get(id(one)), two) for one, two in pairs]:
        if known is None or known is old:
            continue
        outwards = known.outer.outwards() if known.outer else ()
        items = zip(known.sources, from_items(select), strict=True)
        again = {each.number: each.placed(each.alias, item) for each, item in items}
        made[id(known)] = replace(
            known,
            select=select,
            sources=list(again.values()),
            asked=[again[each.number] for each in known.asked],
            outer=next((made[id(one)] for one in outwards if id(one) in made), known.outer),
        )
    for scope in reversed(list(made.values())[1:]):
        scopes[id(scope.select)] = scope
    return copy


def _carry_with(select: exp.Select, inner: exp.Select) -> None:
    """Move the subquery's WITH clause to the SELECT."""
    clause = inner.args.get("with_")
    if clause is None or not clause.expressions:
        return
    own = select.args.get("with_") or exp.With(expressions=[])
    names = {each.alias.lower() for each in own.expressions}
    if any(each.alias.lower() in names for each in clause.expressions):
        raise QueryRefused(
            "two WITH clauses that define the same name, one within the other, cannot be estimated from",
            hint="give them different names",
        )
    select.set("with_", exp.With(expressions=[*clause.expressions, *own.expressions]))


def name_stars(select: exp.Select, sources: list[FromItem]) -> None:
    """Expand * into columns before the tables change."""
    if any(map(is_star, select.expressions)) and not all(each.columns for each in sources):
        raise QueryRefused(
            "* of a table whose columns are not known in advance", hint="name the columns"
        )
    items: list[exp.Expr] = []
    for item in select.expressions:
        for name, value in passed_on(item, sources).items() if is_star(item) else ():
            items.append(value if name == value.alias_or_name else called(value, name))
        items += [] if is_star(item) else [item]
    select.set("expressions", items)


def called(value: exp.Expr, name: str) -> exp.Expr:
    """Return an item of a SELECT list with a name."""
    return exp.Alias(this=value, alias=named(name).copy())


def is_star(item: exp.Expr) -> bool:
    """Whether an item of a SELECT list is a star."""
    return isinstance(item, exp.Star) or (
        isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
    )


def passed_on(item: exp.Expr, sources: list[FromItem]) -> dict[str, exp.Expr]:
    """Return the columns that an item of a SELECT list passes on, by name; those of a table's star in lower case."""
    if not is_star(item):
        return {output_name(item): item.unalias()}
    star = item.this if isinstance(item, exp.Column) else item
    table = item.table.lower() if isinstance(item, exp.Column) else ""
    left_out = {each.name.lower() for each in star.args.get("except_") or ()}
    renamed = {each.this.name.lower(): each.alias for each in star.args.get("rename") or ()}
    found: dict[str, exp.Expr] = {}
    spelled: dict[str, str] = {}
    for source in sources:
        if table in ("", source.alias.lower()):
            for name, inner in source.columns.items():
                if name not in left_out and name not in found:
                    found[name] = column(name, source.alias)
                    found[name].meta[MARK] = source.number
                    given = inner if inner and inner.lower() == name else name
                    spelled[name] = renamed.get(name, given)
    for each in star.args.get("replace") or ():
        found[each.alias.lower()] = each.this
    return {spelled.get(name, name): value for name, value in found.items()}


def output_name(item: exp.Expr) -> str:
    """Return the result column's name of an item of a SELECT list.

    It is noted at the first call, because names in the item are resolved afterwards.
    """
    if isinstance(item, exp.Alias | exp.Column):
        return str(item.alias_or_name)
    if NAMED not in item.meta:
        item.meta[NAMED] = "count_star()" if item.sql() == "COUNT(*)" else text(item).lower()
    return str(item.meta[NAMED])


def _fresh_sources(
    inner: exp.Select, source: FromItem, sources: list[FromItem], names: Names
) -> list[FromItem]:
    """Add the tables of the subquery to the SELECT, under unused names."""
    taken = {each.alias.lower() for each in sources if each is not source}
    found = []
    assert source.scope is not None
    for old, item in zip(source.scope.sources, from_items(inner), strict=True):
        alias = old.alias if old.alias.lower() not in taken else names.fresh(old.alias)
        taken.add(alias.lower())
        if alias != item.alias_or_name:
            columns = item.args["alias"].columns if item.args.get("alias") else []
            item.set("alias", exp.TableAlias(this=named(alias).copy(), columns=columns))
        found.append(replace(old, alias=alias, node=item))
    return found


def renumbered(expression: exp.Expr, numbers: Mapping[int, FromItem]) -> exp.Expr:
    """Return an expression with its columns marked as those of the new tables."""
    for each in nodes(expression, exp.Column):
        new = numbers.get(each.meta.get(MARK, -1))
        if new is not None:
            each.meta[MARK] = new.number
            each.set("table", named(new.alias).copy())
    return expression


def put_expression(old: exp.Column, value: exp.Expr) -> None:
    """Replace a column of the subquery by its expression; in a SELECT list it keeps the name."""
    simple = exp.Column | exp.Literal | exp.Func | exp.Filter
    if isinstance(old.parent, exp.Select) and old.arg_key == "expressions":
        old.replace(called(value, old.name))
    elif isinstance(value, simple) and not isinstance(value, exp.Binary):
        old.replace(value)
    else:
        old.replace(exp.paren(value, copy=False))


def _place(select: exp.Select, source: FromItem, inner: exp.Select) -> None:
    """Put the tables of the subquery in its place in FROM."""
    first, joins = inner.args["from_"].this, inner.args.get("joins") or []
    outer, start = list(select.args.get("joins") or ()), select.args["from_"]
    if start.this is source.node:
        start.set("this", first)
        select.set("joins", [*joins, *outer])
        return
    place = next(number for number, join in enumerate(outer) if join.this is source.node)
    join = outer[place]
    if joins and (join.side or join.kind.upper() in ("SEMI", "ANTI")):
        raise QueryRefused(
            "an outer join with a subquery that joins perturbed rows cannot be estimated",
            hint="put the release first and write LEFT JOIN, or join the grouped counts",
        )
    join.set("this", first)
    condition = join.args.get("on")
    if joins and condition is not None:
        # The condition may use tables that are joined later.
        join.set("on", exp.true())
        select.where(condition, copy=False)
    select.set("joins", [*outer[: place + 1], *joins, *outer[place + 1 :]])
