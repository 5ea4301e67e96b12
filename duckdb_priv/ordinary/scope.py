"""Which column of which table a name in a query means: the rules of SQL, as DuckDB has them.

A name is looked up among the tables of its own SELECT first, then of the SELECTs around it. A column that was found
carries the number of its table as a mark, and is qualified if that table is a release: what follows need not know
names, only marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Flag, auto
from itertools import count
from typing import TypeVar

from sqlglot import exp

from duckdb_priv.ordinary.names import named
from duckdb_priv.ordinary.published import Attribute, Release

MARK = "priv_source"
"""Where a column carries the number of its table, and a SELECT the numbers of its tables."""
ESTIMATED = "priv_estimated"
"""Where a SELECT says that it is rewritten."""
ENDS = "priv_ends"
"""Where a SELECT says which of its results have intervals."""
Node = TypeVar("Node", bound="exp.Expr")
_numbers = count()


@dataclass(eq=False)
class FromItem:
    """Something in FROM."""

    alias: str
    node: exp.Expr
    columns: list[str]
    """Its columns in lower case; empty where they are not known."""
    release: Release | None = None
    rows: Rows | None = None
    """What a subquery passes on of the rows of a release, if it sums nothing up."""
    estimated: bool = False
    """Whether there are estimates in it."""
    reported: bool = False
    """Whether a query here looks at what records report."""
    noisy: frozenset[str] = frozenset()
    """Columns that are estimates, in lower case."""
    chosen: bool = False
    """Whether its rows were chosen by them."""
    number: int = field(default_factory=lambda: next(_numbers))

    def owns(self, column: exp.Column) -> bool:
        """Whether a column was found to be of this table."""
        return column.meta.get(MARK) == self.number

    def attribute(self, column: exp.Column) -> Attribute | None:
        """Return the attribute that a column of this table is, if it is one."""
        if self.release is None or not self.owns(column):
            return None
        return self.release.attributes.get(column.name.lower())


@dataclass(eq=False)
class Rows:
    """A SELECT that sums nothing up: it passes rows of a release on, with what it says about each."""

    select: exp.Select
    sources: list[FromItem]
    columns: dict[str, exp.Expr]
    """What it passes on, by name in lower case."""
    asks: bool
    """Whether it speaks of an attribute itself, and does not only pass it on."""
    blocked: str | None = None
    """Why its rows cannot be counted by an attribute, in the words of a message."""


@dataclass(eq=False)
class Scope:
    """The tables that the names of one SELECT may mean."""

    sources: list[FromItem]
    outer: Scope | None = None

    def find(self, column: exp.Column) -> FromItem | None:
        """Return the table that a column belongs to, in this SELECT or around it."""
        table, name = column.table.lower(), column.name.lower()
        for scope in self._outwards():
            named = [each for each in scope.sources if table in ("", each.alias.lower())]
            for source in named:
                if name in source.columns:
                    return source
            # A table of which DuckDB does not tell the columns may have any.
            unknown = [each for each in named if not each.columns]
            if unknown and (table or not self._is_known(name)):
                return unknown[0]
        return None

    def resolve(self, nodes: Iterable[exp.Expr]) -> None:
        """Mark every column in some expressions, their subqueries left out."""
        for node in nodes:
            for column in own_nodes(node, exp.Column):
                if MARK not in column.meta and not isinstance(column.this, exp.Star):
                    source = self.find(column)
                    if source is not None:
                        _mark(column, source)

    def _outwards(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def _is_known(self, name: str) -> bool:
        return any(name in source.columns for scope in self._outwards() for source in scope.sources)


def _mark(column: exp.Column, source: FromItem) -> None:
    column.meta[MARK] = source.number
    if source.release is None and source.rows is None:
        # Two spellings of one column are one.
        column.set("this", exp.Identifier(this=column.name.lower(), quoted=column.this.quoted))
        return
    column.set("db", None)
    column.set("catalog", None)
    column.set("table", named(source.alias).copy())
    if source.release is not None:
        name = column.name.lower()
        attribute = source.release.attributes.get(name) or source.release.reported.get(name)
        public = source.release.public.get(name)
        # Written as the release writes it, so that two spellings of one column are one.
        if attribute is not None:
            public = attribute.name if name == attribute.name.lower() else attribute.column
        if public is not None:
            column.set("this", named(public).copy())


class Kind(Flag):
    """What an expression depends on, seen from a SELECT over a release."""

    CONSTANT = 0
    PUBLIC = auto()
    """Public columns of the release."""
    SENSITIVE = auto()
    """Attributes of the release."""
    OTHER = auto()
    """Other tables of the SELECT, or of a subquery of which the expression is a part."""


PURE = (Kind.CONSTANT, Kind.PUBLIC, Kind.SENSITIVE)
"""What depends on public columns alone, or on attributes alone."""


def kind(expression: exp.Expr, source: FromItem, outer: frozenset[int]) -> Kind:
    """Return what an expression depends on; columns of the tables ``outer``, around the SELECT, are constants."""
    inside = {
        number for query in expression.find_all(exp.Select) for number in query.meta.get(MARK, ())
    }
    found = Kind.CONSTANT
    for column in expression.find_all(exp.Column):
        number = column.meta.get(MARK)
        if source.owns(column):
            found |= Kind.SENSITIVE if source.attribute(column) else Kind.PUBLIC
        elif number not in inside and number not in outer:
            found |= Kind.OTHER
    return found


def own_nodes(node: exp.Expr, *types: type[Node]) -> Iterator[Node]:
    """Find nodes of some types in an expression, but not within its subqueries."""
    for each in node.walk(prune=lambda inner: isinstance(inner, exp.Query)):
        if isinstance(each, types):
            yield each


def subqueries(node: exp.Expr) -> Iterator[exp.Query]:
    """Find the outermost subqueries of an expression."""
    for each in node.walk(prune=lambda inner: isinstance(inner, exp.Query)):
        if isinstance(each, exp.Query):
            yield each
