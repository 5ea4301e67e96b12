"""Merge a query with the counting query in its FROM, so that expressions over the counts have intervals too.

A SELECT over a counting subquery is equivalent to the subquery with other expressions: its conditions select groups,
and sums of counts are counts of larger groups. A subquery that counts in the same table becomes a window over the
outer query's counts, so that the interval of a share of all records, a quotient of two estimates, includes their
covariance. Queries that cannot be merged safely are left unchanged. All names are resolved before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.grouping import group_keys, has_sets
from duckdb_priv.ordinary.names import first, has_only, nodes
from duckdb_priv.ordinary.rows import is_star, name_stars, put_expression, renumbered
from duckdb_priv.ordinary.scope import MARK, FromItem, Scope

UNDERSTOOD = {
    "expressions", "from_", "joins", "where", "group", "having", "qualify", "order", "limit",
}  # fmt: skip
"""Clauses of queries that can be merged; the outer one may also have WITH."""


def merge_counts(scope: Scope) -> exp.Select | None:
    """Merge a SELECT with the counting SELECT in its FROM, in place; return the latter, if they were merged."""
    if not _can_be_merged(scope):
        return None
    (source,) = scope.sources
    assert source.scope is not None
    select, inner, counting = scope.select.copy(), source.scope.select, is_counting(scope.select)
    name_stars(select, scope.sources)
    for each in list(nodes(select, exp.Column)):
        value = source.value(each)
        if value is not None:
            put_expression(each, value.copy())
    group_keys(select, ())
    if counting and not _sums_counts(select):
        return None
    merge = _in_larger_groups if counting else _in_same_groups
    merge(select, source.scope)
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
    source, select = scope.sources[0] if len(scope.sources) == 1 else FromItem({}), scope.select
    if source.scope is None:
        return False
    inner = source.scope.select
    if (
        not is_counting(inner)
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
    name, root = cte.alias.lower(), cte.root()
    used = [each for each in nodes(root, exp.Table) if each.name.lower() == name]
    again = [each for each in nodes(root, exp.CTE) if each.alias.lower() == name]
    recursive = isinstance(cte.parent, exp.With) and cte.parent.args.get("recursive")
    return len(used) == len(again) == 1 and not recursive


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


def _in_larger_groups(select: exp.Select, within: Scope) -> None:
    """Merge a SELECT that sums the counts of groups."""
    for name in ("from_", "joins"):
        select.set(name, within.select.args.get(name))
    select.where(*aggregates.conditions_of(within.select), copy=False)


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
    if select.args.get("group"):
        return True
    return any(map(aggregates.has_aggregates, parts_of(select)))


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
    understood = is_counting(select) and has_only(select, {*UNDERSTOOD, "with_"} - {"having"})
    if (
        not understood
        or has_sets(select)
        or len(inner) < len(queries)
        or any(_asks_within(each, scopes) for each in aggregates.conditions_of(select))
        or not all(_counts_in(each, source) for each in inner)
    ):
        return []
    numbers = {each.sources[0].number: source for each in inner}
    given = [
        [renumbered(part.copy(), numbers) for part in aggregates.conditions_of(each.select)]
        for each in inner
    ]
    common, left = _split(
        aggregates.conditions_of(select), lambda each: all(each in one for one in given)
    )
    last: list[exp.Expr] = []
    grouped = bool(select.args.get("group"))
    if grouped:
        keys = group_keys(select.copy(), ())
        attributes = set(source.release.attributes)
        key_columns = {each.name.lower() for each in keys if isinstance(each, exp.Column)}
        last, left = _split(left, lambda each: _is_of(each, key_columns))
        of_attributes = any(first(each, exp.Query) or _columns(each) & attributes for each in keys)
        if left and (of_attributes or not all(_is_of(each, attributes) for each in left)):
            return []
    counts = [each for item in select.expressions for each in aggregates.aggregates_in(item)]
    if any(first(each, exp.Query) for each in counts):
        return []
    for each in counts:
        each.replace(aggregates.restricted(each, left))
    for query, conditions in zip(queries, given, strict=True):
        count = renumbered(query.this.expressions[0].unalias().copy(), numbers)
        query.replace(_beside(count, [each for each in conditions if each not in common], grouped))
    select.set("where", exp.Where(this=exp.and_(*common)) if common else None)
    select.qualify(*last, copy=False)
    return [each.select for each in inner]


def _split(
    parts: list[exp.Expr], meets: Callable[[exp.Expr], bool]
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    found = [each for each in parts if meets(each)]
    return found, [each for each in parts if each not in found]


def _beside(value: exp.Expr, conditions: list[exp.Expr], grouped: bool) -> exp.Paren:
    """Return the value of a subquery over the outer SELECT, which may have groups."""
    holder = exp.Paren(this=value)
    for each in list(aggregates.aggregates_in(holder)):
        found = aggregates.restricted(each, conditions)
        each.replace(exp.Window(this=exp.Sum(this=found), over="OVER") if grouped else found)
    return holder


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


def _columns(node: exp.Expr) -> set[str]:
    return {each.name.lower() for each in nodes(node, exp.Column)}


def _is_of(node: exp.Expr, columns: set[str]) -> bool:
    """Whether all columns of an expression are in a set."""
    return not first(node, exp.Query) and _columns(node) <= columns
