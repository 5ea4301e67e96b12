"""Resolve the columns of a query to their tables, by DuckDB's rules.

A name is looked up among the tables of its own SELECT first, then of the enclosing SELECTs. A resolved column has its
table's number as a mark, and is qualified if the table is a release. Later passes need only the marks, not the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Flag, auto
from itertools import count

from sqlglot import exp

from duckdb_priv.ordinary.names import Node, named, nodes
from duckdb_priv.ordinary.published import Attribute, Release

MARK = "priv_source"
"""Metadata key: the number of a column's table, or the numbers of a SELECT's tables."""
ESTIMATED = "priv_estimated"
"""Metadata key: whether a SELECT is rewritten."""
ENDS = "priv_ends"
"""Metadata key: which results of a SELECT have intervals."""
_numbers = count()


@dataclass(eq=False)
class FromItem:
    """A table or a subquery, as the query around it sees it."""

    columns: list[str]
    """Its columns in lower case; empty if they are unknown."""
    alias: str = ""
    node: exp.Expr = field(default_factory=exp.Null)
    """The item in FROM."""
    release: Release | None = None
    rows: Rows | None = None
    """The rows of a release that a subquery without aggregates passes on."""
    estimated: bool = False
    """Whether it contains estimates."""
    reported: bool = False
    """Whether a subquery uses reported values."""
    noisy: frozenset[str] = frozenset()
    """Columns that are estimates, in lower case."""
    chosen: bool = False
    """Whether its rows were selected by estimates."""
    number: int = field(default_factory=lambda: next(_numbers), init=False)

    def owns(self, column: exp.Column) -> bool:
        """Whether a resolved column belongs to this table."""
        return column.meta.get(MARK) == self.number

    def attribute(self, column: exp.Column) -> Attribute | None:
        """Return the attribute of a column of this table, if it is one."""
        if self.release is None or not self.owns(column):
            return None
        return self.release.attributes.get(column.name.lower())


@dataclass(eq=False)
class Rows:
    """A SELECT without aggregates: it passes on rows of a release with expressions over each row."""

    select: exp.Select
    sources: list[FromItem]
    columns: dict[str, exp.Expr]
    """Its expressions, by name in lower case."""
    asks: bool
    """Whether it uses an attribute itself, and does not only pass it on."""
    blocked: str | None = None
    """Why its rows cannot be counted by an attribute, as part of a message."""


@dataclass(eq=False)
class Scope:
    """The tables to which the names in one SELECT can refer."""

    sources: list[FromItem]
    outer: Scope | None = None

    def find(self, column: exp.Column) -> FromItem | None:
        """Return the table of a column, in this SELECT or an enclosing one."""
        table, name = column.table.lower(), column.name.lower()
        for scope in self.outwards():
            named = [each for each in scope.sources if table in ("", each.alias.lower())]
            for source in named:
                if name in source.columns:
                    return source
            # A table whose columns are unknown may have any column.
            unknown = [each for each in named if not each.columns]
            if unknown and (table or not self._is_known(name)):
                return unknown[0]
        return None

    def resolve(self, nodes: Iterable[exp.Expr]) -> None:
        """Mark every column in the expressions, except in their subqueries."""
        for node in nodes:
            for column in own_nodes(node, exp.Column):
                if MARK not in column.meta and not isinstance(column.this, exp.Star):
                    source = self.find(column)
                    if source is not None:
                        _mark(column, source)

    def outwards(self) -> Iterator[Scope]:
        """Yield the scopes of this SELECT and of those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def _is_known(self, name: str) -> bool:
        return any(name in source.columns for scope in self.outwards() for source in scope.sources)


def _mark(column: exp.Column, source: FromItem) -> None:
    column.meta[MARK] = source.number
    if source.release is None and source.rows is None:
        # Different spellings of a column become equal.
        column.set("this", exp.Identifier(this=column.name.lower(), quoted=column.this.quoted))
        return
    column.set("db", None)
    column.set("catalog", None)
    column.set("table", named(source.alias).copy())
    if source.release is not None:
        name = column.name.lower()
        attribute = source.release.attributes.get(name) or source.release.reported.get(name)
        public = source.release.public.get(name)
        # The column gets the release's spelling, so that different spellings become equal.
        if attribute is not None:
            public = attribute.name if name == attribute.name.lower() else attribute.column
        if public is not None:
            column.set("this", named(public).copy())


class Kind(Flag):
    """The kinds of columns on which an expression depends, in a SELECT over a release."""

    CONSTANT = 0
    PUBLIC = auto()
    """Public columns of the release."""
    SENSITIVE = auto()
    """Attributes of the release."""
    OTHER = auto()
    """Other tables of the SELECT, or of a subquery that contains the expression."""


PURE = (Kind.CONSTANT, Kind.PUBLIC, Kind.SENSITIVE)
"""Kinds that depend on public columns alone, or on attributes alone."""


def kind(expression: exp.Expr, source: FromItem, outer: frozenset[int]) -> Kind:
    """Return the kind of an expression; columns of ``outer``, the enclosing SELECTs' tables, are constants."""
    inside = {
        number for query in nodes(expression, exp.Select) for number in query.meta.get(MARK, ())
    }
    found = Kind.CONSTANT
    for column in nodes(expression, exp.Column):
        number = column.meta.get(MARK)
        if source.owns(column):
            found |= Kind.SENSITIVE if source.attribute(column) else Kind.PUBLIC
        elif number not in inside and number not in outer:
            found |= Kind.OTHER
    return found


def from_items(select: exp.Expr) -> list[exp.Expr]:
    """Return the items in FROM."""
    start = select.args.get("from_")
    found = [start.this] if start is not None else []
    return [*found, *(join.this for join in select.args.get("joins") or ())]


def own_nodes(node: exp.Expr, *types: type[Node]) -> Iterator[Node]:
    """Yield the nodes of some types in an expression, except in its subqueries."""
    for each in node.walk(prune=lambda inner: isinstance(inner, exp.Query)):
        if isinstance(each, types):
            yield each


def holder(query: exp.Query) -> exp.Expr | None:
    """Return what a query is a part of, outside its parentheses."""
    found = query.parent
    while isinstance(found, exp.Subquery | exp.Paren):
        found = found.parent
    return found
