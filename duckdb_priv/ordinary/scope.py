"""Resolve the columns of a query to their tables, by DuckDB's rules.

A name is looked up among the tables of its own SELECT first, then of the enclosing SELECTs. A resolved column has its
table's number as a mark, and is qualified if the table is a release. Later passes need only the marks, not the names.

A SELECT may use its own aliases. In WHERE, GROUP BY and later in the SELECT list, a table's column precedes an alias.
In HAVING and QUALIFY, a group key does. In ORDER BY the alias comes first, and is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Flag, auto
from itertools import count, zip_longest

from sqlglot import exp

from duckdb_priv.ordinary.aggregates import is_aggregate
from duckdb_priv.ordinary.names import Node, named, nodes
from duckdb_priv.ordinary.published import Attribute, Release

MARK = "priv_source"
"""Metadata key: the number of a column's table, or the numbers of a SELECT's tables."""
ESTIMATED = "priv_estimated"
"""Metadata key: whether a SELECT is rewritten."""
ENDS = "priv_ends"
"""Metadata key: which results of a SELECT have intervals."""
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
    scope: Scope | None = None
    """The SELECT whose result it is; the first one of a set operation."""
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
        if self.scope is None or not self.owns(column):
            return None
        return self.scope.outputs.get(self.columns[column.name.lower()] or "")

    def passes_attribute(self, column: exp.Column) -> bool:
        """Whether a column of this table is an attribute, or depends on one whose rows are passed on."""
        value = self.value(column) if self.rows else None
        if value is None or self.scope is None:
            return self.attribute(column) is not None
        inner = list(nodes(value, exp.Column))
        return any(each.passes_attribute(part) for part in inner for each in self.scope.sources)

    def is_noisy(self, column: exp.Column) -> bool:
        """Whether a column of this subquery is an estimate."""
        if self.scope is None or not self.owns(column):
            return False
        return (self.columns.get(column.name.lower()) or "").lower() in self.scope.noisy

    @property
    def is_chosen(self) -> bool:
        """Whether its rows are selected by estimates."""
        return self.scope is not None and self.scope.chosen

    def placed(self, alias: str, node: exp.Expr) -> FromItem:
        """Return the same table at another place in FROM."""
        found = replace(self, alias=alias, node=node)
        found.number = self.number
        return found

    def released(self) -> FromItem:
        """Return the release that the rows come from."""
        if self.scope is None:
            return self
        return next(each.released() for each in self.scope.sources if each.release or each.rows)

    def blocked_by(self, why: str) -> FromItem:
        """Return the item with rows, if any, that cannot be counted by an attribute."""
        return replace(self, blocked=why) if self.rows and not self.blocked else self

    def renamed(self, item: exp.Expr) -> FromItem:
        """Return the item with the column names that a node of FROM or WITH gives."""
        names = aliased(item)
        if not names:
            return self
        renamed = [*names, *list(self.columns)[len(names) :]]
        return replace(self, columns=dict(zip_longest(renamed, self.columns.values())))


def aliased(item: exp.Expr) -> list[str]:
    """Return the names that an item in FROM gives to its columns."""
    alias = item.args.get("alias")
    return (
        [each.name.lower() for each in alias.columns] if isinstance(alias, exp.TableAlias) else []
    )


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
        for column in nodes(expression, exp.Column):
            number = column.meta.get(MARK)
            if source.owns(column):
                found |= Kind.SENSITIVE if source.attribute(column) else Kind.PUBLIC
            elif number not in inside and number not in around:
                found |= Kind.OTHER
        return found

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
    if source.release is None and not source.rows:
        # Different spellings of a column become equal.
        column.set("this", exp.Identifier(this=column.name.lower(), quoted=column.this.quoted))
        return
    column.set("db", None)
    column.set("catalog", None)
    column.set("table", named(source.alias).copy())
    if source.release is not None and (spelled := source.release.spelling(column.name)):
        column.set("this", named(spelled).copy())


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


def expand_aliases(select: exp.Select, scope: Scope) -> None:
    """Replace the aliases that a SELECT uses itself by their expressions, in place.

    >>> import sqlglot
    >>> query = sqlglot.parse_one("SELECT a + 1 AS b, count(*) AS n FROM t GROUP BY b HAVING n > 3 ORDER BY n")
    >>> expand_aliases(query, Scope([]))
    >>> query.sql()
    'SELECT a + 1 AS b, COUNT(*) AS n FROM t GROUP BY (a + 1) HAVING (COUNT(*)) > 3 ORDER BY n'
    """
    aliases: dict[str, exp.Expr] = {}
    for item in select.expressions:
        _expand(item, aliases, scope.find)
        if isinstance(item, exp.Alias):
            aliases.setdefault(item.alias.lower(), item.this)
    for name in ("where", "group"):
        _expand(select.args.get(name), aliases, scope.find)
    group = select.args.get("group")
    keys = {each.name.lower() for each in nodes(group, exp.Column)} if group else set()
    for name in ("having", "qualify"):
        _expand(
            select.args.get(name),
            aliases,
            lambda column: column.name.lower() in keys or _within_aggregate(column),
        )


def is_alias(column: exp.Column, select: exp.Select) -> bool:
    """Whether a column in ORDER BY is an alias of the SELECT."""
    if column.table or _within_aggregate(column):
        return False
    return column.name.lower() in {item.alias.lower() for item in select.expressions}


def _expand(
    node: exp.Expr | None, aliases: dict[str, exp.Expr], kept: Callable[[exp.Column], object]
) -> None:
    """Replace the aliases in a part of a SELECT, except columns that are ``kept``."""
    for column in list(own_nodes(node, exp.Column)) if node is not None else ():
        value = aliases.get(column.name.lower())
        if value is not None and not column.table and not kept(column):
            column.replace(exp.paren(value.copy()))


def _within_aggregate(column: exp.Column) -> bool:
    node = column.parent
    while node is not None and not isinstance(node, exp.Query):
        if is_aggregate(node) and not isinstance(node.parent, exp.Window):
            return True
        node = node.parent
    return False
