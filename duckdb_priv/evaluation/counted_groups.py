"""Counts micro groups and groups of equal generalized records, in total and for each query.

The table temp.main._priv_numbers maps queries to their positions in the arrays here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from duckdb_priv.engine.source import Source, key_expression
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.evaluation.answers import asked_together, lay_out, same_cell, spelled
from duckdb_priv.mechanism.arrays import Integers
from duckdb_priv.methods.common.hierarchy import Hierarchy, open_hierarchies, read_levels
from duckdb_priv.methods.common.options import Generalized, MicroGroups
from duckdb_priv.methods.common.shuffles import keys_of
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.reading import make_table
from duckdb_priv.sqltext.templates import section

SQL = "evaluation/groups"


def micro_groups(workspace: Workspace, source: Source, above: int) -> MicroGroups:
    """Count the micro groups of each query by their size and by their number of records with the query's value.

    Only groups of more than ``above`` records are counted.
    """
    (sensitive,) = source.sensitive
    places = [f"_priv_p{n}" for n in range(len(source.public))]
    aliases = list(zip(source.public, places, strict=True))
    columns = "".join(f"{identifier(name)} AS {place}, " for name, place in aliases)
    same = " AND ".join(
        [
            "true",
            *(f"s.{identifier(name)} IS NOT DISTINCT FROM g.{place}" for name, place in aliases),
        ]
    )
    groups = section(
        SQL,
        "large_groups",
        columns=columns,
        table=source.table,
        above=str(above),
        key=key_expression(sensitive, source.types[sensitive]),
        same=same,
    )
    make_table(workspace.cursor, "_priv_groups", groups)
    found: list[Mapping[str, Any]] = []
    for attribute, names in asked_together(workspace.cursor):
        public = spelled(names, source.public, source.name, "public")
        lay_out(workspace.cursor, attribute, names, [source.types[name] for name in public])
        cells = "".join(
            f"{places[source.public.index(name)]} AS _priv_c{n}, " for n, name in enumerate(public)
        )
        of_queries = section(
            SQL,
            "groups_of_queries",
            cells=cells,
            named="".join(f"_priv_c{n}, " for n in range(len(public))),
            same_cell=same_cell(len(public), "cell"),
            same_total=same_cell(len(public), "total"),
        )
        found.append(workspace.cursor.execute(of_queries).fetchnumpy())
    query, size, held, number = _joined(found, ("query", "size", "held", "number"))
    return MicroGroups(query, size, held, number)


class CountedValues(NamedTuple):
    """One entry for each group of records with equal public values, and each value that occurs in it."""

    group: Integers
    """The number of the group, from 0."""
    value: Integers
    """The position of the value in the domain."""
    held: Integers
    """The number of the group's records with this value."""
    size: Integers
    """The number of the group's records."""
    most: Integers
    """The number of the group's records with its most frequent value."""


def cells_of_groups(
    workspace: Workspace,
    source: Source,
    public: Sequence[str],
    attribute: SensitiveAttribute,
    above: int,
) -> CountedValues:
    """Count the values of an attribute in the groups of more than ``above`` records with equal public columns."""
    keys = keys_of({name: source.types[name] for name in public})
    query = section(
        SQL,
        "values_of_groups",
        keys="".join(f"{key} AS _priv_key{n}, " for n, key in enumerate(keys)),
        names="".join(f"_priv_key{n}, " for n in range(len(keys))),
        same="".join(
            f" AND cell._priv_key{n} IS NOT DISTINCT FROM g._priv_key{n}" for n in range(len(keys))
        ),
        value=key_expression(attribute.name, source.types[attribute.name]),
        table=source.table,
        above=str(above),
    )
    found = workspace.cursor.execute(query, [[*attribute.values]]).fetchnumpy()
    return CountedValues(*(np.asarray(each, np.int64) for each in found.values()))


def generalized_groups(
    workspace: Workspace, source: Source, name: str, given: Mapping[str, Any]
) -> Generalized:
    """Count the groups of each query by their size, after generalizing records and conditions.

    Raises InvalidParameter and InvalidSource as publishing does.
    """
    published = {*source.public, *source.sensitive}
    columns = tuple(each for each in source.types if each in published)
    hierarchies = open_hierarchies(workspace, replace(source, public=columns, sensitive=()), name)
    levels = dict(zip(columns, read_levels(given, hierarchies), strict=True))
    place = {each: n for n, each in enumerate(columns)}
    _count_generalized(workspace, source, hierarchies, levels)
    found: list[Mapping[str, Any]] = []
    for attribute, names in asked_together(workspace.cursor):
        public = spelled(names, source.public, source.name, "public")
        lay_out(workspace.cursor, attribute, names, [source.types[each] for each in public])
        asked = [(place[each], f"asked._priv_c{n}::VARCHAR") for n, each in enumerate(public)]
        asked.append((place[source.sensitive[0]], "asked.value"))
        joins = " ".join(
            f"JOIN {hierarchies[n].table} AS l{n} ON l{n}.level = {levels[columns[n]]}"
            f" AND l{n}.value IS NOT DISTINCT FROM {text}"
            for n, text in asked
        )
        of_queries = section(
            SQL,
            "generalized_of_queries",
            codes=", ".join(f"_priv_code{n}" for n, _ in asked),
            joins=joins,
            same=" AND ".join(f"sized._priv_code{n} = l{n}.code" for n, _ in asked),
        )
        found.append(workspace.cursor.execute(of_queries).fetchnumpy())
    query, size, number = _joined(found, ("query", "size", "number"))
    sizes = workspace.cursor.execute("SELECT size FROM _priv_generalized").fetchnumpy()["size"]
    return Generalized(name, levels, np.asarray(sizes, np.int64), query, size, number)


def _count_generalized(
    workspace: Workspace,
    source: Source,
    hierarchies: Sequence[Hierarchy],
    levels: Mapping[str, int],
) -> None:
    """Count the groups of equal generalized records into ``_priv_generalized``."""
    values = ", ".join(
        f"{identifier(each.attribute)}::VARCHAR AS _priv_value{n}"
        for n, each in enumerate(hierarchies)
    )
    joins = " ".join(
        f"JOIN {each.table} AS l{n} ON l{n}.level = {levels[each.attribute]}"
        f" AND l{n}.value IS NOT DISTINCT FROM _priv_value{n}"
        for n, each in enumerate(hierarchies)
    )
    query = section(
        SQL,
        "generalized",
        codes=", ".join(f"l{n}.code AS _priv_code{n}" for n in range(len(hierarchies))),
        values=values,
        table=source.table,
        joins=joins,
    )
    make_table(workspace.cursor, "_priv_generalized", query)


def _joined(found: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Integers]:
    return [
        np.concatenate([np.asarray(part[name], dtype=np.int64) for part in found]) for name in names
    ]
