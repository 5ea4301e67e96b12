"""The tables of each SELECT of a query, and the columns that it passes on.

A name is looked up among the tables of its own SELECT first, then of the SELECTs around it. A resolved column has its
table's number as a mark, and is qualified if the table is a release. Later passes need only the marks, not the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Flag, auto
from functools import cached_property
from itertools import count, zip_longest
from typing import Any

from sqlglot import exp

from duckdb_priv.ordinary.names import Names, Node, column, named, nodes, text
from duckdb_priv.ordinary.published import Attribute, ConnectedTables, Release

MARK = "priv_source"
"""Metadata key: the number of a column's table, or the numbers of a SELECT's tables."""
ESTIMATED = "priv_estimated"
"""Metadata key: whether a SELECT is rewritten."""
ENDS = "priv_ends"
"""Metadata key: which results of a SELECT have intervals."""
NAMED = "priv_name"
"""Metadata key: the name of a result without an alias."""
_numbers = count()


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


@dataclass(eq=False)
class FromItem:
    """A table or a subquery, as the query around it sees it."""

    columns: Mapping[str, str | None]
    """Its columns in lower case, with their names in the SELECT; empty if they are unknown."""
    alias: str = ""
    node: exp.Expr = field(default_factory=exp.Null)
    """The item in FROM."""
    release: Release | None = None
    scope: Scope = field(default_factory=lambda: Scope([]))
    """The SELECT whose result it is; the first one of a set operation. It is empty for a table."""
    rows: bool = False
    """Whether it passes on rows of a release."""
    asks: bool = False
    """Whether it uses an attribute of these rows itself, and does not only pass it on."""
    blocked: str | None = None
    """Why its rows cannot be counted by an attribute, as part of a message."""
    estimated: bool = False
    """Whether it contains estimates."""
    reported: bool = False
    """Whether a subquery uses reported values."""
    number: int = field(default_factory=lambda: next(_numbers), init=False)

    def owns(self, column: exp.Column) -> bool:
        """Whether a resolved column belongs to this table."""
        return column.meta.get(MARK) == self.number

    def attribute(self, column: exp.Column) -> Attribute | None:
        """Return the attribute of a column of this table, if it is one."""
        if self.release is None or not self.owns(column):
            return None
        return self.release.attributes.get(column.name.lower())

    def value(self, column: exp.Column) -> exp.Expr | None:
        """Return the expression of a column of this subquery; None for other columns."""
        return self.scope.outputs.get(self._inner(column)) if self.owns(column) else None

    def passes_attribute(self, column: exp.Column) -> bool:
        """Whether a column of this table is an attribute, or depends on one whose rows are passed on."""
        value = self.value(column) if self.rows else None
        if value is None:
            return self.attribute(column) is not None
        inner = list(nodes(value, exp.Column))
        return any(each.passes_attribute(part) for part in inner for each in self.scope.sources)

    def is_noisy(self, column: exp.Column) -> bool:
        """Whether a column of this subquery is an estimate."""
        return self.owns(column) and self._inner(column).lower() in self.scope.noisy

    def _inner(self, column: exp.Column) -> str:
        """Return the name of a column in the SELECT; empty if it has none."""
        return self.columns.get(column.name.lower()) or ""

    def released(self) -> FromItem:
        """Return the release that the rows come from."""
        sources = (each for each in self.scope.sources if each.release or each.rows)
        return next((each.released() for each in sources), self)

    def blocked_by(self, why: str) -> FromItem:
        """Return the item with rows, if any, that cannot be counted by an attribute."""
        return replace(self, blocked=why) if self.rows and not self.blocked else self

    def renamed(self, item: exp.Expr) -> FromItem:
        """Return the item with the column names that a node of FROM or WITH gives."""
        names = aliased(item)
        renamed = [*names, *list(self.columns)[len(names) :]]
        return replace(self, columns=dict(zip_longest(renamed, self.columns.values())))


def aliased(item: exp.Expr) -> list[str]:
    """Return the names that an item in FROM gives to its columns."""
    alias = item.args.get("alias")
    columns = alias.columns if isinstance(alias, exp.TableAlias) else ()
    return [each.name.lower() for each in columns]


@dataclass(eq=False)
class Scope:
    """A SELECT with the tables to which its names can refer."""

    sources: list[FromItem]
    """The items in its FROM, in their order."""
    outer: Scope | None = None
    """The SELECT around it."""
    select: exp.Select = field(default_factory=exp.Select)
    outputs: Mapping[str, exp.Expr] = field(default_factory=dict)
    """The expressions of its columns, by name."""
    asked: Sequence[FromItem] = ()
    """The releases whose attributes it uses."""
    summed: bool = False
    """Whether it groups or aggregates."""
    lists: bool = False
    """Whether it returns distinct values of attributes, without any count."""
    noisy: frozenset[str] = frozenset()
    """Its columns that are estimates, in lower case."""
    chosen: bool = False
    """Whether its rows are selected by estimates."""

    @property
    def around(self) -> frozenset[int]:
        """The numbers of the tables of the SELECTs around it."""
        outwards = self.outer.outwards() if self.outer else ()
        return frozenset(each.number for level in outwards for each in level.sources)

    def kind(self, expression: exp.Expr) -> Kind:
        """Return the kind of an expression; columns of the SELECTs around this one are constants."""
        (source,), around = self.asked, self.around
        inside = {
            number for query in nodes(expression, exp.Select) for number in query.meta.get(MARK, ())
        }
        found = Kind.CONSTANT
        for each in nodes(expression, exp.Column):
            number = each.meta.get(MARK)
            if source.owns(each):
                found |= Kind.SENSITIVE if source.attribute(each) else Kind.PUBLIC
            elif number not in inside and number not in around:
                found |= Kind.OTHER
        return found

    def find(self, column: exp.Column) -> FromItem | None:
        """Return the table of a column, in this SELECT or one around it. A table of unknown columns may have any."""
        table, name = column.table.lower(), column.name.lower()
        tables = [
            each
            for scope in self.outwards()
            for each in scope.sources
            if table in ("", each.alias.lower())
        ]
        known = not table and any(name in each.columns for each in tables)
        return next(
            (each for each in tables if name in each.columns or not (each.columns or known)), None
        )

    def resolve(self, parts: Iterable[exp.Expr]) -> None:
        """Mark every column in the expressions, except in their subqueries."""
        for each in (each for part in parts for each in own_nodes(part, exp.Column)):
            if MARK not in each.meta and not isinstance(each.this, exp.Star):
                source = self.find(each)
                if source is not None:
                    _mark(each, source)

    def outwards(self) -> Iterator[Scope]:
        """Yield the scopes of this SELECT and of those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer


@dataclass
class QueryState:
    """A query that is being rewritten, in place, with what the passes over it know."""

    query: exp.Query
    connection: ConnectedTables
    names: Names
    """All names of the statement."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values of the parameters of the query."""
    confidence: float | None = None
    """The confidence of the intervals; None without intervals."""
    changed: bool = False
    """Whether anything is estimated."""
    scopes: dict[int, Scope] = field(default_factory=dict)
    """The SELECTs of the query by id, the innermost first; known after names are resolved."""
    original: exp.Query = field(default_factory=exp.Select)
    """The query with its views written out, until it is described."""
    _described: list[tuple[str, str]] | None = None

    @cached_property
    def parts(self) -> list[exp.Select]:
        """The SELECTs whose rows the query returns: several in a set operation."""
        return _parts(self.query)

    def described(self) -> list[tuple[str, str]]:
        """Return names and types of the columns of the query over the true table."""
        # No cached_property: `run` finds the caller in the first frame that is not ours.
        if self._described is None:
            self._described = self.connection.described(self.original)
        return self._described


def _parts(query: exp.Expr) -> list[exp.Select]:
    if isinstance(query, exp.SetOperation):
        return [*_parts(query.this), *_parts(query.expression)]
    if isinstance(query, exp.Subquery):
        return _parts(query.this)
    return [query] if isinstance(query, exp.Select) else []


def _mark(column: exp.Column, source: FromItem) -> None:
    column.meta[MARK] = source.number
    if source.release is None and not source.rows:
        # Different spellings of a column become equal.
        column.set("this", exp.Identifier(this=column.name.lower(), quoted=column.this.quoted))
        return
    column.set("db", None)
    column.set("catalog", None)
    column.set("table", named(source.alias))
    if source.release is not None:
        spelled = source.release.columns.get(column.name.lower(), column.name)
        column.set("this", named(spelled))


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


def has_own(node: exp.Expr, *types: type[exp.Expr]) -> bool:
    """Whether there are such nodes in an expression, outside its subqueries."""
    return next(own_nodes(node, *types), None) is not None


def holder(query: exp.Query) -> exp.Expr | None:
    """Return what a query is a part of, outside its parentheses."""
    found = query.parent
    while isinstance(found, exp.Subquery | exp.Paren):
        found = found.parent
    return found


def called(value: exp.Expr, name: str) -> exp.Expr:
    """Return an item of a SELECT list with a name."""
    return exp.Alias(this=value, alias=named(name))


def is_star(item: exp.Expr) -> bool:
    """Whether an item of a SELECT list is a star."""
    return isinstance(item.this if isinstance(item, exp.Column) else item, exp.Star)


def passed_on(item: exp.Expr, sources: Sequence[FromItem]) -> dict[str, exp.Expr]:
    """Return the columns that an item of a SELECT list passes on, by name; those of a table's star in lower case."""
    if not is_star(item):
        return {output_name(item): item.unalias()}
    star = item.this if isinstance(item, exp.Column) else item
    table = item.table.lower() if isinstance(item, exp.Column) else ""
    left_out = {each.name.lower() for each in star.args.get("except_") or ()}
    renamed = {each.this.name.lower(): each.alias for each in star.args.get("rename") or ()}
    replaced = {each.alias.lower(): each.this for each in star.args.get("replace") or ()}
    found: dict[str, exp.Expr] = {}
    names: dict[str, str] = {}
    for source in sources:
        for name, inner in source.columns.items() if table in ("", source.alias.lower()) else ():
            if name not in left_out and name not in found:
                found[name] = column(name, source.alias)
                found[name].meta[MARK] = source.number
                given = inner if inner and inner.lower() == name else name
                names[name] = renamed.get(name, given)
    return {names.get(name, name): value for name, value in {**found, **replaced}.items()}


def output_name(item: exp.Expr) -> str:
    """Return the result column's name of an item of a SELECT list.

    It is noted at the first call, because names in the item are resolved afterwards.
    """
    if isinstance(item, exp.Alias | exp.Column):
        return str(item.alias_or_name)
    if NAMED not in item.meta:
        item.meta[NAMED] = "count_star()" if item.sql() == "COUNT(*)" else text(item).lower()
    return str(item.meta[NAMED])
