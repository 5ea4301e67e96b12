"""Generalization hierarchies: a publisher's table, checked and converted to numbers.

A hierarchy contains the generalized value of each value at each level. It must be public, that is, made without looking
at the data that it generalizes. So messages may quote its values. The values of a level are the domain of the published
column, even if no record has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.kernel import Table
from duckdb_priv.engine.source import SCALAR, Source, open_source, refuse_reading
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource, echoed, how_many
from duckdb_priv.mechanism.arrays import Integers
from duckdb_priv.release.arguments import nested
from duckdb_priv.release.request import Roles
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import section

COLUMNS = ("attribute", "value", "level", "generalized")


@dataclass(frozen=True)
class Hierarchy:
    """The checked hierarchy of one column of the source."""

    attribute: str
    table: str
    """Temporary table: for each level and leaf, the leaf's value, and the code and text of its generalized value."""
    codes: Integers
    """[levels, leaves]: the code of each leaf at each level, in the form that the lattice takes."""

    @property
    def top(self) -> int:
        """The coarsest level."""
        return len(self.codes) - 1

    def generalized(self, workspace: Workspace, level: int) -> tuple[str | None, ...]:
        """Return the values of a level, the missing one last."""
        rows = workspace.rows(
            f"SELECT any_value(generalized) FROM {self.table} WHERE level = ? GROUP BY code ORDER BY code",
            [level],
        )
        return tuple(text for (text,) in rows)

    def leaves(self, workspace: Workspace, level: int) -> Table:
        """Return the table of each leaf's generalized value at a level."""
        rows = workspace.rows(
            f"SELECT value, generalized FROM {self.table} WHERE level = ? ORDER BY leaf", [level]
        )
        columns = zip(*rows, strict=True)
        texts = (pa.array(column, pa.string()) for column in columns)
        return Table.of(dict(zip(("value", "generalized"), texts, strict=True)))


def open_hierarchies(workspace: Workspace, source: Source, name: str) -> list[Hierarchy]:
    """Check the hierarchies of all columns that would be published, in the order of the source.

    Raises InvalidParameter for an invalid hierarchy. Raises InvalidSource for a column without a hierarchy, and for a
    value of the source that is not in its hierarchy.
    """
    given = open_source(workspace, name, Roles())
    refuse_reading(
        source,
        given.origins,
        f"the table of hierarchies {echoed(name)}",
        "make it without looking at the data, as priv.range_hierarchy, priv.date_hierarchy or a file do",
    )
    if missing := [column for column in COLUMNS if column not in map(str.lower, given.types)]:
        raise InvalidParameter(
            f"the table of hierarchies {name!r} has no column {missing[0]!r}",
            hint="it needs attribute, value, level and generalized, as priv.load_hierarchy gives them",
        )
    workspace.cursor.execute(section("hierarchies", "copy", given=given.table))
    known = {name for (name,) in workspace.rows("SELECT DISTINCT attribute FROM _priv_hierarchy")}
    for column in source.public:
        if column.lower() not in known:
            raise InvalidSource(
                f"column {column!r} has no hierarchy, and nothing is published as it is",
                hint=f"give it one (at least: each value at level 0, * at level 1), or exclude := [{column!r}]",
            )
        if not SCALAR.match(source.types[column]):
            raise InvalidSource(
                f"column {column!r} has type {source.types[column]}, whose values have no text of their own",
                hint="cast it in a view, and publish the view",
            )
    _check(workspace, source.public)
    return [
        _lay_out(workspace, source, column, number) for number, column in enumerate(source.public)
    ]


def _check(workspace: Workspace, columns: Sequence[str]) -> None:
    """Refuse hierarchies in which a value lacks a level, or in which a level is not coarser than the previous one."""
    workspace.cursor.execute(
        "DELETE FROM _priv_hierarchy WHERE NOT list_contains(?, attribute)",
        [[column.lower() for column in columns]],
    )
    spelling = {column.lower(): column for column in columns}
    for name, (message, hint) in CHECKS.items():
        if found := workspace.rows(section("hierarchies", name)):
            attribute, *details = found[0]
            shown = ["NULL" if each is None else repr(each) for each in details]
            raise InvalidParameter(
                f"the hierarchy of {spelling[attribute]!r} " + message.format(*shown), hint=hint
            )


CHECKS = {
    "no_level": (
        "has a level of the value {} that is no whole number from 0 on",
        "level 0 is the value itself, level 1 the first that generalizes it",
    ),
    "twice": ("has the value {} twice at level {}", "give each value once at each level"),
    "lacks_level": (
        "has no level {1} for the value {0}",
        "every value has every level, from 0 (the value itself) to the top",
    ),
    "not_itself": ("generalizes the value {} to {} at level 0", "level 0 is the value itself"),
    "made_missing": (
        "makes the value {} a missing one at level {}",
        "write * for what is generalized away; a line of the file may be too short",
    ),
    "separates": (
        "separates at level {} what level {} has merged as {}",
        "each level must coarsen the level below it",
    ),
}
"""Checks of a hierarchy, by the name of the query of the violations: the message, and the hint."""


def _lay_out(workspace: Workspace, source: Source, column: str, number: int) -> Hierarchy:
    """Number the leaves in the order of the column's type, and generalized values in the order of their leaves."""
    table = f"_priv_levels_{number}"
    attribute, kind = literal(column.lower()), source.types[column]
    workspace.cursor.execute(
        section("hierarchies", "levels", table=table, attribute=attribute, type=kind)
    )
    _check_leaves(workspace, source, column, table)
    codes = workspace.cursor.execute(f"SELECT code FROM {table} ORDER BY level, leaf").fetchnumpy()
    (leaves,) = workspace.rows(f"SELECT count(*) FROM {table} WHERE level = 0")[0]
    return Hierarchy(column, table, np.asarray(codes["code"], dtype=np.int64).reshape(-1, leaves))


def _check_leaves(workspace: Workspace, source: Source, column: str, table: str) -> None:
    """Refuse a value of the source that is not in the hierarchy."""
    found = aggregates_of(workspace, source).combinations([column])
    ((missing,),) = workspace.rows(
        section("hierarchies", "missing_leaves", found=found, table=table)
    )
    if missing:
        raise InvalidSource(
            f"column {column!r} has {how_many(missing, 'value')} that its hierarchy lacks",
            hint="add to every level of the hierarchy, or replace in a view and publish the view:"
            f" SELECT DISTINCT {identifier(column)} lists what the column has",
        )


def read_levels(given: Mapping[str, Any], hierarchies: Sequence[Hierarchy]) -> list[int]:
    """Return the level of each column, from a struct that has all of them."""
    levels = nested(given, [each.attribute for each in hierarchies], "column to be generalized")
    for each in hierarchies:
        level = levels.get(each.attribute)
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= each.top:
            raise InvalidParameter(
                f"levels has no level of {each.attribute!r}"
                if level is None
                else f"{each.attribute!r} has no level {level!r}",
                hint=f"give it one from 0 (as it is) to {each.top}",
            )
    return [levels[each.attribute] for each in hierarchies]


def count_leaves(
    workspace: Workspace, source: Source, hierarchies: Sequence[Hierarchy]
) -> tuple[list[Integers], Integers]:
    """Count the records of each combination of leaves that occurs.

    Returns the codes of the leaves per attribute, and the counts; both have one entry per combination.
    """
    counted = aggregates_of(workspace, source).combinations(
        [each.attribute for each in hierarchies]
    )
    leaves = ", ".join(f"l{n}.leaf::BIGINT AS _priv_leaf{n}" for n in range(len(hierarchies)))
    joins = _joined((each.table, 0, f"_priv_value{n}") for n, each in enumerate(hierarchies))
    found = workspace.cursor.execute(
        f"SELECT {leaves}, _priv_rows FROM {counted} {joins}"
    ).fetchnumpy()
    *codes, counts = (np.asarray(column, dtype=np.int64) for column in found.values())
    return codes, counts


def generalize(
    workspace: Workspace, source: Source, name: str, levels: Mapping[str, int]
) -> Source:
    """Make a temporary table of all records with their true values generalized to these levels.

    Raises the errors of ``open_hierarchies``, and InvalidParameter for a level that a hierarchy does not have.
    """
    columns = tuple(column for column in source.types if column in levels)
    hierarchies = open_hierarchies(workspace, replace(source, public=columns, sensitive=()), name)
    for each in hierarchies:
        if levels[each.attribute] > each.top:
            raise InvalidParameter(
                f"the hierarchy of {each.attribute!r} has no level {levels[each.attribute]} any more",
                hint="name the hierarchies that the release was published with",
            )
    shown = ", ".join(
        f"l{n}.generalized AS {identifier(each.attribute)}" for n, each in enumerate(hierarchies)
    )
    joins = _joined(
        (each.table, levels[each.attribute], f"s.{identifier(each.attribute)}::VARCHAR")
        for each in hierarchies
    )
    workspace.cursor.execute(
        f"CREATE TEMP TABLE _priv_generalized_source AS SELECT {shown} FROM {source.table} AS s {joins}"
    )
    return replace(
        source,
        table="temp.main._priv_generalized_source",
        types=dict.fromkeys(columns, "VARCHAR"),
        public=columns,
        sensitive=(),
        record_id=(),
    )


def _joined(levels: Iterable[tuple[str, int, str]]) -> str:
    """Return the joins with levels: the table of each, the level, and SQL for the value of a record."""
    return " ".join(
        section("hierarchies", "joined", n=str(n), table=table, level=str(level), value=value)
        for n, (table, level, value) in enumerate(levels)
    )
