"""A query that is being rewritten, with what the passes over it know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sqlglot import exp

from duckdb_priv.ordinary.checks import stand_in
from duckdb_priv.ordinary.names import Names, tables_in
from duckdb_priv.ordinary.published import ConnectedTables
from duckdb_priv.ordinary.scope import Scope


@dataclass
class QueryState:
    """A query that is being rewritten, in place."""

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
        if self._described is None:
            self._described = self.connection.describe(stand_in(self.original, self.connection))
        return self._described


def write_out_views(state: QueryState) -> None:
    """Replace views that read a release by their queries, in place."""
    _write_out_views(state.query, state)
    state.original = state.query.copy()


def _write_out_views(query: exp.Query, state: QueryState) -> None:
    for table in tables_in(query):
        view = state.connection.view(table)
        if view is not None:
            state.names.taken.update(Names.of(view).taken)
            table.replace(view)
            _write_out_views(view.this, state)


def _parts(query: exp.Expr) -> list[exp.Select]:
    """Return the SELECTs whose rows a query returns."""
    if isinstance(query, exp.SetOperation):
        return [*_parts(query.this), *_parts(query.expression)]
    if isinstance(query, exp.Subquery):
        return _parts(query.this)
    return [query] if isinstance(query, exp.Select) else []
