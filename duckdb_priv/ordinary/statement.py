"""A query that is being rewritten, with what the passes over it know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    _described: list[tuple[str, str]] | None = None

    def __post_init__(self) -> None:
        self._write_out_views(self.query)
        self.original = self.query.copy()
        """The query before it is rewritten, until it is described."""
        self.parts = _parts(self.query)
        """The SELECTs whose rows the query returns: several in a set operation."""

    def _write_out_views(self, query: exp.Query) -> None:
        """Replace views that read a release by their queries."""
        for table in tables_in(query):
            view = self.connection.view(table)
            if view is not None:
                self.names.taken.update(Names.of(view).taken)
                table.replace(view)
                self._write_out_views(view.this)

    def described(self) -> list[tuple[str, str]]:
        """Return names and types of the columns of the query over the true table."""
        if self._described is None:
            self._described = self.connection.describe(stand_in(self.original, self.connection))
        return self._described


def _parts(query: exp.Expr) -> list[exp.Select]:
    """Return the SELECTs whose rows a query returns."""
    if isinstance(query, exp.SetOperation):
        return [*_parts(query.this), *_parts(query.expression)]
    if isinstance(query, exp.Subquery):
        return _parts(query.this)
    return [query] if isinstance(query, exp.Select) else []
