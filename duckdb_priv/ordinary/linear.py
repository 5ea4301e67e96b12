"""Refuse queries that are not sums over records: rows selected, joined or shown by their true values."""

from __future__ import annotations

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.scope import MARK, FromItem


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
    for each in select.find_all(exp.Column):
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
