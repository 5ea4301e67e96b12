"""Inline subqueries that pass on rows of a release into the SELECT that counts the rows."""

from __future__ import annotations

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.names import Names, column, named, nodes, text
from duckdb_priv.ordinary.scope import MARK, FromItem, Rows, from_items


def inline(
    select: exp.Select, source: FromItem, sources: list[FromItem], rows: Rows, names: Names
) -> None:
    """Replace a subquery by its tables, move its conditions to WHERE, and replace its columns by their expressions."""
    _name_stars(select, sources)
    inner = rows.select.copy()
    fresh = _fresh_sources(inner, rows, sources, source, names)
    numbers = {old.number: new for old, new in zip(rows.sources, fresh, strict=True)}
    passed = {
        name: _renumbered(expression.copy(), numbers) for name, expression in rows.columns.items()
    }
    for each in list(nodes(select, exp.Column)):
        if source.owns(each):
            _put(each, passed)
    for join in select.args.get("joins") or ():
        if join.args.get("using"):
            raise QueryRefused(
                "a subquery over perturbed rows that is joined with USING cannot be estimated from",
                hint="write the join with ON",
            )
    first = inner.args["from_"].this
    inner_joins = inner.args.get("joins") or []
    conditions = [inner.args["where"].this] if inner.args.get("where") else []
    for join in inner_joins:
        if join.args.get("on"):
            _renumbered(join.args["on"], numbers)
    conditions = [_renumbered(each, numbers) for each in conditions]
    _place(select, source, first, inner_joins)
    _carry_with(select, inner)
    where = select.args.get("where")
    if conditions:
        select.set("where", exp.Where(this=exp.and_(*([where.this] if where else []), *conditions)))
    place = sources.index(source)
    sources[place : place + 1] = fresh


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


def _name_stars(select: exp.Select, sources: list[FromItem]) -> None:
    """Expand * into columns before the tables change."""
    items: list[exp.Expr] = []
    for item in select.expressions:
        if not is_star(item):
            items.append(item)
            continue
        if any(not each.columns for each in sources):
            raise QueryRefused(
                "* of a table whose columns are not known in advance", hint="name the columns"
            )
        items += [
            exp.Alias(this=value, alias=named(name).copy())
            if name != value.alias_or_name
            else value
            for name, value in passed_on(item, sources).items()
        ]
    select.set("expressions", items)


def is_star(item: exp.Expr) -> bool:
    """Whether an item of a SELECT list is a star."""
    return isinstance(item, exp.Star) or (
        isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
    )


def passed_on(item: exp.Expr, sources: list[FromItem]) -> dict[str, exp.Expr]:
    """Return the columns that an item of a SELECT list passes on, by name in lower case."""
    if not is_star(item):
        return {output_name(item).lower(): item.unalias()}
    star = item.this if isinstance(item, exp.Column) else item
    table = item.table.lower() if isinstance(item, exp.Column) else ""
    left_out = {each.name.lower() for each in star.args.get("except_") or ()}
    found: dict[str, exp.Expr] = {}
    for source in sources:
        if table in ("", source.alias.lower()):
            for name in source.columns:
                if name not in left_out and name not in found:
                    found[name] = column(name, source.alias)
                    found[name].meta[MARK] = source.number
    for each in star.args.get("replace") or ():
        found[each.alias.lower()] = each.this
    return found


def output_name(item: exp.Expr) -> str:
    """Return the result column's name of an item of a SELECT list."""
    if isinstance(item, exp.Alias | exp.Column):
        return str(item.alias_or_name)
    return "count_star()" if item.sql() == "COUNT(*)" else text(item).lower()


def _fresh_sources(
    inner: exp.Select, rows: Rows, sources: list[FromItem], replaced: FromItem, names: Names
) -> list[FromItem]:
    """Add the tables of the subquery to the SELECT, under unused names."""
    taken = {each.alias.lower() for each in sources if each is not replaced}
    found = []
    for old, item in zip(rows.sources, from_items(inner), strict=True):
        alias = old.alias
        if alias.lower() in taken:
            alias = names.fresh(alias)
        taken.add(alias.lower())
        if alias != item.alias_or_name or not item.args.get("alias"):
            columns = item.args["alias"].columns if item.args.get("alias") else []
            if alias != item.name:
                item.set("alias", exp.TableAlias(this=named(alias).copy(), columns=columns))
        found.append(FromItem(old.columns, alias, item, old.release, old.rows))
    return found


def _renumbered(expression: exp.Expr, numbers: dict[int, FromItem]) -> exp.Expr:
    """Return an expression with its columns marked as those of the new tables."""
    for each in nodes(expression, exp.Column):
        new = numbers.get(each.meta.get(MARK, -1))
        if new is not None:
            each.meta[MARK] = new.number
            each.set("table", named(new.alias).copy())
    return expression


def _put(old: exp.Column, passed: dict[str, exp.Expr]) -> None:
    """Replace a column of the subquery by its expression; in a SELECT list it keeps the name."""
    value = passed[old.name.lower()].copy()
    parent = old.parent
    if isinstance(parent, exp.Select) and old.arg_key == "expressions":
        old.replace(exp.Alias(this=value, alias=named(old.name).copy()))
    elif isinstance(value, exp.Column | exp.Literal):
        old.replace(value)
    else:
        old.replace(exp.paren(value))


def _place(select: exp.Select, source: FromItem, first: exp.Expr, joins: list[exp.Join]) -> None:
    """Put the tables of the subquery in its place in FROM."""
    outer = list(select.args.get("joins") or ())
    start = select.args["from_"]
    if start.this is source.node:
        start.set("this", first)
        select.set("joins", [*joins, *outer])
        return
    for place, join in enumerate(outer):
        if join.this is source.node:
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
                where = select.args.get("where")
                both = [where.this] if where else []
                select.set("where", exp.Where(this=exp.and_(*both, condition)))
            select.set("joins", [*outer[: place + 1], *joins, *outer[place + 1 :]])
            return
