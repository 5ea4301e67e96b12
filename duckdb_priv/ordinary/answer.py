"""Estimate every SELECT that aggregates a release by its attributes, and check how queries use the estimates of others.

All names are resolved before.
"""

from __future__ import annotations

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.checks import (
    check,
    noisy_columns,
    refuse_selected_noise,
    refuse_what_is_not_linear,
)
from duckdb_priv.ordinary.estimate import Estimation
from duckdb_priv.ordinary.names import first, nodes
from duckdb_priv.ordinary.scope import (
    ENDS,
    ESTIMATED,
    QueryState,
    Scope,
    called,
    has_own,
    passed_on,
)
from duckdb_priv.ordinary.values import list_values


class UnevenParts(Exception):
    """Only some parts of a set operation have intervals, so the columns of its parts would differ."""


def answer(state: QueryState) -> None:
    """Write the estimates of a query, in place. Raises QueryRefused if it cannot be estimated."""
    for scope in state.scopes.values():
        _estimate(state, scope)
    if len({tuple(each.meta.get(ENDS, ())) for each in state.parts}) > 1:
        raise UnevenParts


def _estimate(state: QueryState, scope: Scope) -> None:
    """Write the estimates of a SELECT whose names are resolved, or check how it uses the estimates of others."""
    select, sources, asked = scope.select, scope.sources, scope.asked
    names = [name for item in select.expressions for name in passed_on(item, sources)]
    if scope.lists:
        outputs = _prepared(state, scope, names)
        pairs = zip(select.expressions, outputs, strict=True)
        items = [called(item.unalias(), name) for item, name in pairs]
        list_values(scope, state.connection)
        select.set("expressions", items)
        return
    if scope.summed:
        _refuse_choices(state, scope)
    if not asked:
        refuse_selected_noise(select, sources)
        scope.noisy = noisy_columns(select, names, sources)
        scope.chosen = any(each.is_chosen for each in sources)
    elif scope.summed:
        outputs = _prepared(state, scope, names)
        scope.chosen = select.args.get("having") is not None
        returned = any(select is each for each in state.parts)
        confidence = state.confidence if returned else None
        estimation = Estimation(scope, state.connection, state.names, outputs, confidence)
        scope.noisy = estimation.rewrite()


def _prepared(state: QueryState, scope: Scope, names: list[str]) -> list[str]:
    """Check a SELECT that is rewritten; return the names of its columns.

    The first one of a query has those that DuckDB gives the query.
    """
    select, (source,) = scope.select, scope.asked
    check(select, source, state.connection, state.parameters)
    leads = any(select is each for each in state.parts[:1])
    if leads and not first(state.original, exp.Placeholder, exp.Parameter):
        names = [name for name, _ in state.described()] or names
    refuse_what_is_not_linear(select, source)
    return names


def _refuse_choices(state: QueryState, scope: Scope) -> None:
    """Refuse sums over records that are selected by reported values or by estimates."""
    choosing, sources, asked = _choosing(scope.select), scope.sources, scope.asked
    by_estimate = any(each.estimated for each in sources) or any(
        inner.meta.get(ESTIMATED) for part in choosing for inner in nodes(part, exp.Select)
    )
    by_report = any(each.reported for each in sources if each not in asked) or any(
        each.name.lower() in state.connection.reported
        for part in choosing
        for each in nodes(part, exp.Column)
    )
    if by_report and (asked or by_estimate):
        raise QueryRefused(
            "what records report, and what is estimated from it, vary together, and cannot be counted together",
            hint="ask for reported values in a query of their own, and join the counts",
        )
    of_release = any(each.release or each.rows for each in sources)
    if state.confidence is not None and by_estimate and of_release:
        raise QueryRefused(
            "the interval of sums over records that another estimate chooses, or is joined to, is not known",
            hint="ask for the other estimate first, and write it as a number; or leave out intervals",
        )


def _choosing(select: exp.Select) -> list[exp.Expr]:
    """Return the conditions, group keys and aggregates of a SELECT."""
    group = select.args.get("group")
    keys = list(group.expressions) if group is not None else []
    found = [select.args["where"]] if select.args.get("where") else []
    found += [join for join in select.args.get("joins") or () if join.args.get("on")]
    for item in select.expressions:
        summed = list(aggregates.aggregates_in(item))
        found += summed
        keys += [] if summed else [item]
    # A key without columns is the same for all records, so it selects none.
    return found + [key for key in keys if has_own(key, exp.Column)]
