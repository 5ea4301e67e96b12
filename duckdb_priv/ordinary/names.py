"""Quote names in SQL, generate new ones, and write queries from their clauses."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.helper import find_new_name
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

LINE, BREAK = "\0", "\1"
"""Marks the start of our own lines in the text of a step, and line breaks in the user's texts, which are kept."""
DUCKDB = sqlglot.Dialect.get_or_raise("duckdb")
Node = TypeVar("Node", bound="exp.Expr")
NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")


def named(name: str) -> exp.Identifier:
    """Return a name as an identifier, quoted if necessary.

    >>> print(named("age").sql(), named("Of age").sql(), named("left").sql())
    age "Of age" "left"
    """
    return exp.Identifier(this=name, quoted=not _is_plain(name))


@cache
def _is_plain(name: str) -> bool:
    tokens = sqlglot.tokenize(name, dialect="duckdb") if NAME.match(name) else []
    return len(tokens) == 1 and tokens[0].token_type is TokenType.VAR


def table_alias(name: str, columns: Sequence[exp.Expr] = ()) -> exp.TableAlias:
    """Return the alias of a table, with names of its columns."""
    return exp.TableAlias(this=named(name), columns=list(columns))


def column(name: str, table: str | None = None) -> exp.Column:
    """Return a column by its name and its table's name."""
    return exp.Column(this=named(name), table=named(table) if table else None)


def text(node: exp.Expr | str) -> str:
    """Write a part of a query in DuckDB's SQL; a string is a name."""
    if isinstance(node, str):
        return _name(node)
    # Writing cannot change a node without children, so it needs no copy.
    found = node.sql(DUCKDB, copy=not isinstance(node, exp.Column | exp.Literal))
    return str(found).replace(LINE, " ")


def parsed(sql: str) -> exp.Expr:
    """Read an expression or a query in DuckDB's SQL."""
    found: exp.Expr = sqlglot.parse_one(sql, dialect=DUCKDB)
    return found


@cache
def _name(name: str) -> str:
    return str(named(name).sql(DUCKDB))


def nodes(node: exp.Expr, *types: type[Node]) -> Iterator[Node]:
    """Yield a node and those below it that have one of the types, as find_all does, but in a third of its time."""
    found: list[exp.Expr] = [node]
    for each in found:
        if isinstance(each, types):
            yield each
        for value in each.args.values():
            if isinstance(value, exp.Expression):
                found.append(value)
            elif isinstance(value, list):
                found.extend(part for part in value if isinstance(part, exp.Expression))


def column_names(node: exp.Expr) -> set[str]:
    """Return the names of all columns in an expression, in lower case."""
    return {each.name.lower() for each in nodes(node, exp.Column)}


def tables_in(query: exp.Expr) -> list[exp.Table]:
    """Return the tables in a query, except references to its common table expressions."""
    common = {each.alias.lower() for each in nodes(query, exp.CTE)}
    return [each for each in nodes(query, exp.Table) if each.db or each.name.lower() not in common]


def first(node: exp.Expr, *types: type[Node]) -> Node | None:
    """Return the first of `nodes`, if there is any."""
    return next(nodes(node, *types), None)


def split(
    parts: Sequence[exp.Expr], meets: Callable[[exp.Expr], bool]
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Split expressions into those that meet a condition, and others."""
    found = [each for each in parts if meets(each)]
    return found, [each for each in parts if each not in found]


def has_only(node: exp.Expr, names: Collection[str]) -> bool:
    """Whether all arguments of a node are among these."""
    return all(name in names for name, value in node.args.items() if value)


def indented(query: str) -> str:
    """Write a query as a subquery, on lines of its own."""
    return f"({LINE}    {query.replace(LINE, f'{LINE}    ')}{LINE})"


def select_sql(
    selected: Sequence[str],
    tables: str,
    where: Sequence[str] = (),
    groups: Sequence[str] = (),
    having: str = "",
) -> str:
    """Write a SELECT, one line for each clause."""
    clauses = {
        "SELECT": ", ".join(selected), "FROM": tables, "WHERE": all_of(where), "GROUP BY": ", ".join(groups),
        "HAVING": having,
    }  # fmt: skip
    return LINE.join(f"{name} {clause}" for name, clause in clauses.items() if clause)


def filtered(conditions: Iterable[str]) -> str:
    """Write a FILTER, if there are conditions."""
    joined = all_of(conditions)
    return f" FILTER (WHERE {joined})" if joined else ""


def all_of(conditions: Iterable[str]) -> str:
    """Write conditions that all have to hold.

    >>> all_of(["a = 1 OR b = 2", "a = 1"])
    '(a = 1 OR b = 2) AND a = 1'
    """
    return " AND ".join(f"({each})" if " OR " in each else each for each in conditions)


def same_keys(one: str, keys: Sequence[str], two: str, others: Sequence[str]) -> str:
    """Write the condition that the keys of two tables are the same."""
    pairs = zip(keys, others, strict=True)
    same = [f"{one}.{text(a)} IS NOT DISTINCT FROM {two}.{text(b)}" for a, b in pairs]
    return all_of(same) or "true"


def raw(query: str) -> exp.Var:
    """Return the text of a query as a node, which is kept as written and not parsed again."""
    return exp.Var(this=query.replace("\n", BREAK))


def lines_of(query: str) -> str:
    """Write the text of a step with its line breaks."""
    return query.replace(LINE, "\n").replace(BREAK, "\n")


def written(statement: exp.Expr) -> str:
    """Write a statement with line breaks. It may modify the statement."""
    for each in nodes(statement, exp.Var):
        own = each.name.replace(LINE, "\n")
        each.set("this", own.replace(BREAK, DUCKDB.generator_class.SENTINEL_LINE_BREAK))
    return str(statement.sql(DUCKDB, pretty=True, max_text_width=100, copy=False))


@dataclass
class Names:
    """The names used in a statement."""

    taken: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, statement: exp.Expr) -> Names:
        """Return all names in a statement."""
        return cls({each.name.lower() for each in nodes(statement, exp.Identifier)})

    def fresh(self, stem: str) -> str:
        """Return a new name.

        >>> Names({"n", "n_2"}).fresh("n")
        'n_3'
        """
        found = find_new_name(self.taken, stem.lower())
        self.taken.add(found)
        return stem + found[len(stem) :]


@dataclass
class StepColumns:
    """The columns of one step, by their SQL."""

    taken: Names
    found: dict[str, str] = field(default_factory=dict)

    def name(self, sql: str, stem: str) -> str:
        """Return the name of an expression's column; add the column if it does not exist."""
        if sql not in self.found:
            self.found[sql] = self.taken.fresh(stem)
        return self.found[sql]

    def take(self, sql: str, stem: str) -> str:
        """Return the column of an expression, quoted if necessary."""
        return text(self.name(sql, stem))

    def sql(self, name: str) -> str:
        """Return the expression of a column."""
        return next(sql for sql, each in self.found.items() if text(each) == name)

    @property
    def selected(self) -> list[str]:
        """The columns as items of a SELECT list."""
        return [f"{sql} AS {text(name)}" for sql, name in self.found.items()]
