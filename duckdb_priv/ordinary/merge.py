"""Merge a SELECT with the query in its FROM: one that passes on rows of a release, or one that counts.

Rows are inlined, so that the SELECT that counts them reads the release itself. A SELECT over a counting query becomes
one query, so that expressions over the counts have intervals too: its conditions select groups, and sums of counts are
counts of larger groups. A subquery that counts in the same table becomes a window over the counts, so that the interval
of a share of all records includes the covariance. Queries that cannot be merged safely are left unchanged. All names
are resolved before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import replace

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.grouping import group_keys, has_sets
from duckdb_priv.ordinary.names import (
    Names,
    Node,
    column_names,
    first,
    has_only,
    named,
    nodes,
    split,
    table_alias,
)
from duckdb_priv.ordinary.scope import (
    MARK,
    FromItem,
    Scope,
    called,
    from_items,
    is_star,
    passed_on,
)

UNDERSTOOD = {
    "expressions", "from_", "joins", "where", "group", "having", "qualify", "order", "limit",
}  # fmt: skip
"""Clauses of counting queries that can be merged; the outer one may also have WITH."""


def inline(scope: Scope, source: FromItem, scopes: dict[int, Scope], names: Names) -> None:
    """Replace a subquery by its tables, move its conditions to WHERE, and replace its columns by their expressions.

    ``scopes`` are those of all SELECTs by id, to which those of copies are added.
    """
    select, sources, old = scope.select, scope.sources, source.scope
    if any(join.args.get("using") for join in select.args.get("joins") or ()):
        raise QueryRefused(
            "a subquery over perturbed rows that is joined with USING cannot be estimated from",
            hint="write the join with ON",
        )
    inner = _copied(old.select, old, scope, scopes)
    # The tables of the subquery get unused names.
    taken = {each.alias.lower() for each in sources if each is not source}
    fresh: dict[int, FromItem] = {}
    for each, item in zip(old.sources, from_items(inner), strict=True):
        alias = each.alias if each.alias.lower() not in taken else names.fresh(each.alias)
        taken.add(alias.lower())
        if alias != item.alias_or_name:
            columns = item.args["alias"].columns if item.args.get("alias") else []
            item.set("alias", table_alias(alias, columns))
        fresh[each.number] = replace(each, alias=alias, node=item)
    _put_outputs(
        scope, source, lambda value: _renumbered(_copied(value, old, scope, scopes), fresh)
    )
    _renumbered(inner, fresh)
    _place(select, source, inner)
    _carry_with(select, inner)
    if inner.args.get("where"):
        select.where(inner.args["where"].this, copy=False)
    place = sources.index(source)
    sources[place : place + 1] = fresh.values()


def _copied(node: Node, old: Scope, new: Scope, scopes: dict[int, Scope]) -> Node:
    """Return a copy of a part of the SELECT ``old`` as a part of ``new``, and add the scopes of its subqueries."""
    found = node.copy()
    made = {id(old): new}
    pairs = zip(nodes(node, exp.Select), nodes(found, exp.Select), strict=True)
    for known, select in [(scopes.get(id(one)), two) for one, two in pairs]:
        if known is None or known is old:
            continue
        again = {each.number: copy(each) for each in known.sources}
        for each, item in zip(again.values(), from_items(select), strict=True):
            each.node = item
        outwards = known.outer.outwards() if known.outer else ()
        made[id(known)] = replace(
            known,
            select=select,
            sources=list(again.values()),
            asked=[again[each.number] for each in known.asked],
            outer=next((made[id(one)] for one in outwards if id(one) in made), known.outer),
        )
    for scope in reversed(list(made.values())[1:]):
        scopes[id(scope.select)] = scope
    return found


def _put_outputs(
    scope: Scope, source: FromItem, fitted: Callable[[exp.Expr], exp.Expr] = exp.Expression.copy
) -> None:
    """Replace the columns of a subquery by its expressions, after * is expanded; results keep their names."""
    select = scope.select
    if any(map(is_star, select.expressions)) and not all(each.columns for each in scope.sources):
        raise QueryRefused(
            "* of a table whose columns are not known in advance", hint="name the columns"
        )
    items: list[exp.Expr] = []
    for item in select.expressions:
        for name, value in passed_on(item, scope.sources).items() if is_star(item) else ():
            items.append(value if name == value.alias_or_name else called(value, name))
        items += [] if is_star(item) else [item]
    select.set("expressions", items)
    simple = exp.Column | exp.Literal | exp.Func | exp.Filter
    for each in list(nodes(select, exp.Column)):
        known = source.value(each)
        if known is None:
            continue
        new = fitted(known)
        if isinstance(each.parent, exp.Select) and each.arg_key == "expressions":
            new = called(new, each.name)
        elif not isinstance(new, simple) or isinstance(new, exp.Binary):
            new = exp.paren(new, copy=False)
        each.replace(new)


def _renumbered(expression: exp.Expr, numbers: Mapping[int, FromItem]) -> exp.Expr:
    """Return an expression with its columns marked as those of the new tables."""
    for each in nodes(expression, exp.Column):
        new = numbers.get(each.meta.get(MARK, -1))
        if new is not None:
            each.meta[MARK] = new.number
            each.set("table", named(new.alias))
    return expression


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


def _place(select: exp.Select, source: FromItem, inner: exp.Select) -> None:
    """Put the tables of the subquery in its place in FROM."""
    start, joins = inner.args["from_"].this, inner.args.get("joins") or []
    outer = list(select.args.get("joins") or ())
    place = next((number for number, join in enumerate(outer) if join.this is source.node), -1)
    join = outer[place] if place >= 0 else select.args["from_"]
    if joins and place >= 0:
        if join.side or join.kind.upper() in ("SEMI", "ANTI"):
            raise QueryRefused(
                "an outer join with a subquery that joins perturbed rows cannot be estimated",
                hint="put the release first and write LEFT JOIN, or join the grouped counts",
            )
        if condition := join.args.get("on"):
            # The condition may use tables that are joined later.
            join.set("on", exp.true())
            select.where(condition, copy=False)
    join.set("this", start)
    select.set("joins", [*outer[: place + 1], *joins, *outer[place + 1 :]])


def merge_counts(scope: Scope) -> exp.Select | None:
    """Merge a SELECT with the counting SELECT in its FROM, in place; return the latter, if they were merged."""
    if not _can_be_merged(scope):
        return None
    (source,) = scope.sources
    select, inner, counting = scope.select.copy(), source.scope.select, is_counting(scope.select)
    _put_outputs(replace(scope, select=select), source)
    group_keys(select, ())
    if counting and not _sums_counts(select):
        return None
    if counting:
        for name in ("from_", "joins"):
            select.set(name, inner.args.get(name))
        select.where(*aggregates.conditions_of(inner), copy=False)
    else:
        _in_same_groups(select, source.scope)
    for name in UNDERSTOOD:
        scope.select.set(name, select.args.get(name))
    scope.select.meta[MARK] = inner.meta[MARK]
    scope.sources = source.scope.sources
    cte = inner.parent
    if isinstance(cte, exp.CTE) and isinstance(cte.parent, exp.With):
        (cte if len(cte.parent.expressions) > 1 else cte.parent).pop()
    return inner


def _can_be_merged(scope: Scope) -> bool:
    """Whether a SELECT is over one counting SELECT, and both can become one."""
    source, select = [*scope.sources, FromItem({})][0], scope.select
    inner = source.scope.select
    if (
        len(scope.sources) != 1
        or not is_counting(inner)
        or not _is_only_use(source.node, inner)
        or any(map(is_star, inner.expressions))
        or not (has_only(select, {*UNDERSTOOD, "with_"}) and has_only(inner, UNDERSTOOD))
        or any(first(part, exp.Query) for part in (*parts_of(select), *inner.expressions))
        or len(source.columns) < len(inner.expressions)
    ):
        return False
    windows = any(first(each, exp.Window) for each in parts_of(inner))
    if is_counting(select):
        chosen = any(inner.args.get(name) for name in ("having", "qualify", "limit"))
        return bool(inner.args.get("group")) and not (has_sets(inner) or chosen or windows)
    changes_rows = any(select.args.get(name) for name in ("where", "qualify", "order", "limit"))
    more_windows = any(first(each, exp.Window) for each in parts_of(select))
    limited = inner.args.get("limit") and (changes_rows or more_windows)
    return not (limited or (windows and more_windows))


def _is_only_use(item: exp.Expr, inner: exp.Select) -> bool:
    """Whether an item in FROM is all that reads a SELECT: a subquery, or a common table expression."""
    if not has_only(item, ("this", "alias")):
        return False
    cte = inner.parent
    if not isinstance(cte, exp.CTE):
        return item.this is inner
    same = [
        each
        for each in nodes(cte.root(), exp.Table, exp.CTE)
        if (each.alias if isinstance(each, exp.CTE) else each.name).lower() == cte.alias.lower()
    ]
    recursive = isinstance(cte.parent, exp.With) and cte.parent.args.get("recursive")
    return len(same) == 2 and not recursive


def _in_same_groups(select: exp.Select, within: Scope) -> None:
    """Merge a SELECT that computes expressions for each group, or selects groups."""
    inner, order = within.select, select.args.get("order")
    group_keys(inner, ())
    windows = any(first(each, exp.Window) for each in parts_of(inner))
    choose = inner.qualify if windows else inner.having
    choose(*aggregates.conditions_of(select), copy=False)
    if last := select.args.get("qualify"):
        inner.qualify(last.this, copy=False)
    if inner.args.get("order") and not order:
        _write_out_order(inner.args["order"], within.outputs)
    for name in UNDERSTOOD - {"expressions"}:
        if not select.args.get(name) or name not in ("order", "limit"):
            select.set(name, inner.args.get(name))


def _write_out_order(order: exp.Expr, outputs: Mapping[str, exp.Expr]) -> None:
    """Replace aliases and positions in an ORDER BY, in place, because the SELECT list will change."""
    items = {name.lower(): each for name, each in outputs.items()}
    for each in order.expressions:
        if each.this.is_int:
            each.set("this", list(items.values())[int(each.this.name) - 1].copy())
            continue
        for column in list(nodes(each.this, exp.Column)):
            known = items.get(column.name.lower())
            if known is not None and not column.table and MARK not in column.meta:
                column.replace(exp.paren(known.copy()))


def _sums_counts(select: exp.Select) -> bool:
    """Replace the sums of counts in a SELECT by counts, in place; return whether it has no other aggregates."""
    for part in parts_of(select):
        for each in list(aggregates.aggregates_in(part)):
            new = _sum_of_counts(each)
            if new is None or each is part:
                return False
            each.replace(new)
    return True


def _sum_of_counts(node: exp.Expr) -> exp.Expr | None:
    """Return a sum over the counts of groups as a count of their records; None for any other aggregate."""
    node, conditions = aggregates.without_filter(node)
    if not isinstance(node, exp.Sum):
        return None
    value: exp.Expr = node.this.unnest()
    branch = aggregates.only_branch(value)
    if branch is not None:
        conditions, value = [*conditions, branch[0]], branch[1].unnest()
    if not aggregates.is_count_or_sum(value) or any(map(aggregates.has_aggregates, conditions)):
        return None
    return aggregates.restricted(value, conditions)


def parts_of(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the expressions of a SELECT outside its FROM."""
    for name in ("expressions", "where", "group", "having", "qualify", "order"):
        found = select.args.get(name)
        yield from found if isinstance(found, list) else [found] if found is not None else []


def is_counting(select: exp.Select) -> bool:
    """Whether a SELECT groups, or aggregates without groups."""
    return bool(select.args.get("group")) or any(map(aggregates.has_aggregates, parts_of(select)))


def beside_counts(scope: Scope, scopes: Mapping[int, Scope]) -> list[exp.Select]:
    """Replace subqueries that return a single count from the same release by windows over the counts, in place.

    ``scopes`` are those of all SELECTs, by id. Returns the SELECTs that were replaced.
    """
    select = scope.select
    queries = [each for part in select.expressions for each in nodes(part, exp.Subquery)]
    if len(scope.sources) != 1 or not queries or not _is_plain(scope.sources[0]):
        return []
    (source,) = scope.sources
    assert source.release is not None
    inner = [scopes[id(each.this)] for each in queries if id(each.this) in scopes]
    if (
        not (is_counting(select) and has_only(select, {*UNDERSTOOD, "with_"} - {"having"}))
        or has_sets(select)
        or len(inner) < len(queries)
        or any(_asks_within(each, scopes) for each in aggregates.conditions_of(select))
        or not all(_counts_in(each, source) for each in inner)
    ):
        return []
    numbers = {each.sources[0].number: source for each in inner}
    given = [
        [_renumbered(part.copy(), numbers) for part in aggregates.conditions_of(each.select)]
        for each in inner
    ]
    common, left = split(
        aggregates.conditions_of(select), lambda each: all(each in one for one in given)
    )
    last: list[exp.Expr] = []
    grouped = bool(select.args.get("group"))
    if grouped:
        keys = group_keys(select.copy(), ())
        attributes = set(source.release.attributes)
        key_columns = {each.name.lower() for each in keys if isinstance(each, exp.Column)}
        last, left = split(left, lambda each: _is_of(each, key_columns))
        of_attributes = any(
            first(each, exp.Query) or column_names(each) & attributes for each in keys
        )
        if left and (of_attributes or not all(_is_of(each, attributes) for each in left)):
            return []
    counts = [each for item in select.expressions for each in aggregates.aggregates_in(item)]
    if any(first(each, exp.Query) for each in counts):
        return []
    for each in counts:
        each.replace(aggregates.restricted(each, left))
    for query, conditions in zip(queries, given, strict=True):
        count = exp.Paren(this=_renumbered(query.this.expressions[0].unalias().copy(), numbers))
        for each in list(aggregates.aggregates_in(count)):
            found = aggregates.restricted(each, [one for one in conditions if one not in common])
            each.replace(exp.Window(this=exp.Sum(this=found), over="OVER") if grouped else found)
        query.replace(count)
    select.set("where", exp.Where(this=exp.and_(*common)) if common else None)
    select.qualify(*last, copy=False)
    return [each.select for each in inner]


def _asks_within(condition: exp.Expr, scopes: Mapping[int, Scope]) -> bool:
    """Whether a subquery of a condition uses an attribute. The condition may be copied, its scopes may not."""
    known = (scopes.get(id(each)) for each in nodes(condition, exp.Select))
    return any(each is not None and each.asked for each in known)


def _is_plain(source: FromItem) -> bool:
    """Whether a table is a release without a clause of its own."""
    return source.release is not None and has_only(source.node, ("this", "db", "catalog", "alias"))


def _counts_in(scope: Scope, source: FromItem) -> bool:
    """Whether a subquery only counts in a release."""
    if len(scope.sources) != 1 or len(scope.select.expressions) != 1:
        return False
    (own,), select = scope.sources, scope.select
    calls = list(aggregates.aggregates_in(select.expressions[0].unalias()))
    return (
        has_only(select, ("expressions", "from_", "where"))
        and own.release is source.release
        and _is_plain(own)
        and all(map(own.owns, nodes(select, exp.Column)))
        and bool(calls)
        and all(map(aggregates.is_count_or_sum, calls))
        and not first(select, exp.Window)
        and not any(first(each, exp.Query) for each in parts_of(select))
    )


def _is_of(node: exp.Expr, columns: set[str]) -> bool:
    """Whether all columns of an expression are in a set."""
    return not first(node, exp.Query) and column_names(node) <= columns
