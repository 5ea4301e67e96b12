"""SQLAlchemy dialect for releases: queries are written as if the tables were the true ones.

``create_engine("duckdb_priv:///visits_public.duckdb")`` opens a release file for reading with duckdb_engine's dialect,
answers every query by estimates, and lists attributes as columns of the table. ``?intervals=true`` adds intervals to
the estimates, and ``&confidence=0.9`` sets their confidence. ``?counts=rounded`` is for programs that require whole
numbers. Like ``duckdb_priv.open_release``, the connection can read only this file; ``?trusted=true`` removes the
restriction.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import duckdb_engine
from sqlalchemy import text, types
from sqlalchemy.engine import URL
from sqlalchemy.engine.default import DefaultDialect

from duckdb_priv.ordinary.published import ConnectedTables
from duckdb_priv.ordinary.rewrite import rewrite_sql
from duckdb_priv.release.opening import CONFINED

TYPES = {
    "BOOLEAN": types.Boolean, "TINYINT": types.SmallInteger, "SMALLINT": types.SmallInteger, "INTEGER": types.Integer,
    "BIGINT": types.BigInteger, "HUGEINT": types.Numeric, "FLOAT": types.Float, "DOUBLE": types.Float,
    "DECIMAL": types.Numeric, "DATE": types.Date, "TIME": types.Time, "TIMESTAMP": types.DateTime,
}  # fmt: skip
"""SQLAlchemy's types by DuckDB's; all other types are shown as text."""
TRUE = ("1", "true", "yes", "on")
NOTHING: Mapping[str, Any] = {
    "get_pk_constraint": {"constrained_columns": [], "name": None}, "get_foreign_keys": [], "get_indexes": [],
    "get_unique_constraints": [], "get_check_constraints": [], "get_table_comment": {"text": None},
    "get_table_options": {},
}  # fmt: skip
"""What a release has none of, by the method that SQLAlchemy asks."""


class Dialect(duckdb_engine.Dialect):  # type: ignore[misc]
    """The DuckDB dialect, with estimates."""

    supports_statement_cache = False
    options: Mapping[str, Any] = {}
    """The options of `rewrite_sql`."""

    def create_connect_args(self, url: URL) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Read the URL's options for intervals, and open its file for reading."""
        arguments, options = super().create_connect_args(url)
        config = options["url_config"]
        self.options = {
            "intervals": config.pop("intervals", "false").lower() in TRUE,
            "confidence": float(config.pop("confidence", 0.95)),
            "counts": config.pop("counts", "estimates"),
        }
        trusted = config.pop("trusted", "false").lower() in TRUE
        if url.database and url.database != ":memory:":
            options.setdefault("read_only", True)
            if not trusted:
                config.update(CONFINED)
        return arguments, options

    def connect(self, *arguments: Any, **options: Any) -> Any:
        """Return a connection whose statements are answered by estimates, or raise QueryRefused."""
        connection = super().connect(*arguments, **options)
        plain = connection.cursor
        # Some programs, such as Superset, execute on their own cursor.
        connection.cursor = lambda: Cursor(plain(), self.options)
        return connection

    def get_columns(
        self, connection: Any, table_name: str, schema: str | None = None, **options: Any
    ) -> list[dict[str, Any]]:
        """Return the columns of a table; for a release, those that queries may name."""
        preparer = self.identifier_preparer
        name = preparer.quote(table_name)
        if schema:
            name = f"{preparer.format_schema(schema)}.{name}"
        described = connection.execute(text(f"DESCRIBE SELECT * FROM {name}")).fetchall()
        columns = {row[0].lower(): (row[0], row[1]) for row in described}
        releases = ConnectedTables(_connection(connection.connection.cursor())).releases.values()
        for release in [each for each in releases if each.name.lower() == table_name.lower()][:1]:
            attributes = {each.column.lower(): each for each in release.attributes.values()}
            if attributes.keys() <= columns.keys():
                columns |= {name: (each.name, each.type) for name, each in attributes.items()}
                columns.pop((release.scale or "").lower(), None)
        return [
            {
                "name": name,
                "type": TYPES.get(kind.partition("(")[0].partition(" ")[0], types.String)(),
                "nullable": True,
                "default": None,
            }
            for name, kind in columns.values()
        ]


class Cursor:
    """A cursor of duckdb_engine that answers every statement by estimates."""

    def __init__(self, cursor: Any, options: Mapping[str, Any]) -> None:
        self._cursor, self._options = cursor, options

    def execute(self, statement: str, parameters: Any = None, context: Any = None) -> None:
        """Answer a statement."""
        meant = rewrite_sql(
            _connection(self._cursor), statement, parameters=parameters, **self._options
        )
        self._cursor.execute(meant, parameters, context)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


def _connection(cursor: Any) -> Any:
    """Return DuckDB's own connection: executing a statement returns the connection that it ran on."""
    return cursor.connection.execute("SELECT 1")


for _name, _nothing in NOTHING.items():
    setattr(Dialect, _name, lambda *_, _nothing=_nothing, **options: deepcopy(_nothing))
# PostgreSQL's catalog lists more for a table, but a release has only columns. SQLAlchemy 1.4 asks table by table,
# without these methods.
for _name in (each for each in vars(DefaultDialect) if each.startswith("get_multi_")):
    setattr(Dialect, _name, getattr(DefaultDialect, _name))
