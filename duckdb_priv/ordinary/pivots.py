"""Rewrite a PIVOT of a release's rows into a PIVOT of counts, by the groups and by the values that become columns."""

from __future__ import annotations

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.names import Names, column, nodes
from duckdb_priv.ordinary.published import ConnectedTables
from duckdb_priv.ordinary.scope import called, output_name


def count_before_pivots(statement: exp.Expr, connection: ConnectedTables, names: Names) -> None:
    """Rewrite every PIVOT of a release's rows to pivot counts, in place; raises QueryRefused if it cannot."""
    for pivot in list(nodes(statement, exp.Pivot)):
        if isinstance(pivot.this, exp.Table) and connection.release(pivot.this) is not None:
            _count_before(pivot, names)


def _count_before(pivot: exp.Pivot, names: Names) -> None:
    group = pivot.args.get("group")
    keys = group.expressions if group is not None else []
    columns = [each.this if isinstance(each, exp.In) else each for each in pivot.expressions]
    using = pivot.args.get("using") or [exp.Count(this=exp.Star())]
    if (
        not keys
        or pivot.args.get("unpivot")
        or pivot.find_ancestor(exp.Query)
        or not all(isinstance(each, exp.Column) for each in (*keys, *columns))
    ):
        raise pivoted()
    counts, shown = [], []
    for each in using:
        name = names.fresh("pivoted")
        counts.append(exp.alias_(each.unalias().copy(), name))
        call: exp.Expr = exp.Anonymous(this="any_value", expressions=[column(name)])
        # DuckDB names the columns of several aggregates after these.
        given = each.alias or (output_name(each) if len(using) > 1 else "")
        shown.append(called(call, given) if given else call)
    selected = {each.name.lower(): each.copy() for each in (*keys, *columns)}
    counted = exp.Select(
        expressions=[*selected.values(), *counts],
        from_=exp.From(this=pivot.this.copy()),
        group=exp.Group(expressions=[each.copy() for each in selected.values()]),
    )
    pivot.set("this", exp.Subquery(this=counted))
    pivot.set("using", shown)


def pivoted() -> QueryRefused:
    """Return the error for a PIVOT of rows that are not counted first."""
    return QueryRefused(
        "this PIVOT of perturbed rows cannot be estimated",
        hint="as a statement of its own, PIVOT name ON column USING count(*) AS n GROUP BY columns; or"
        " PIVOT (SELECT …, count(*) AS n FROM … GROUP BY ALL) ON … USING sum(n)",
    )
