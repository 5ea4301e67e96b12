"""SQLAlchemy's dialect for releases: what is asked of them is asked as if they were the true tables.

``create_engine("duckdb_priv:///visits_public.duckdb")`` opens a release file for reading with duckdb_engine's dialect,
answers every query by estimates, and shows attributes as columns of the table. ``?intervals=true`` puts
intervals beside the estimates, and ``&confidence=0.9`` says of which confidence. ``?counts=rounded`` is for programs
that insist on whole numbers. The connection is confined to the
file, as that of ``duckdb_priv.open_release``; ``?trusted=true`` makes it a plain one.
"""

from __future__ import annotations

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
"""SQLAlchemy's types by DuckDB's; everything else is shown as a text."""


TRUE = ("1", "true", "yes", "on")


class Dialect(duckdb_engine.Dialect):  # type: ignore[misc]
    """DuckDB, with estimates."""

    supports_statement_cache = False
    intervals = False
    confidence = 0.95
    counts = "estimates"

    def create_connect_args(self, url: URL) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Read what the URL says of intervals, and open what it names for reading."""
        arguments, options = super().create_connect_args(url)
        config = options["url_config"]
        self.intervals = config.pop("intervals", "false").lower() in TRUE
        self.confidence = float(config.pop("confidence", 0.95))
        self.counts = config.pop("counts", "estimates")
        trusted = config.pop("trusted", "false").lower() in TRUE
        if url.database and url.database != ":memory:":
            options.setdefault("read_only", True)
            if not trusted:
                config.update(CONFINED)
        return arguments, options

    def connect(self, *arguments: Any, **options: Any) -> Any:
        """Connect; what is executed is answered by estimates, or raises QueryRefused."""
        connection = super().connect(*arguments, **options)
        plain = connection.cursor
        # Some programs, as Superset, execute on a cursor of their own.
        connection.cursor = lambda: Cursor(plain(), self)
        return connection

    def get_columns(
        self, connection: Any, table_name: str, schema: str | None = None, **options: Any
    ) -> list[dict[str, Any]]:
        """List the columns of a table; of a release, those that queries may name."""
        preparer = self.identifier_preparer
        name = preparer.quote(table_name)
        if schema:
            name = f"{preparer.format_schema(schema)}.{name}"
        described = connection.execute(text(f"DESCRIBE SELECT * FROM {name}")).fetchall()
        columns = {row[0].lower(): (row[0], row[1]) for row in described}
        tables = ConnectedTables(_connection(connection.connection.cursor()))
        release = next(
            (each for each in tables.releases.values() if each.name.lower() == table_name.lower()),
            None,
        )
        if release is not None and release.columns_are(columns):
            for attribute in release.attributes.values():
                columns[attribute.column.lower()] = (attribute.name, attribute.type)
            if release.scale:
                columns.pop(release.scale.lower(), None)
        return [
            {
                "name": name,
                "type": TYPES.get(kind.partition("(")[0].partition(" ")[0], types.String)(),
                "nullable": True,
                "default": None,
            }
            for name, kind in columns.values()
        ]

    def get_pk_constraint(self, *_: Any, **options: Any) -> dict[str, Any]:
        """Return that there is no primary key."""
        return {"constrained_columns": [], "name": None}

    def get_foreign_keys(self, *_: Any, **options: Any) -> list[Any]:
        """Return that there are no foreign keys."""
        return []

    get_indexes = get_unique_constraints = get_check_constraints = get_foreign_keys

    def get_table_comment(self, *_: Any, **options: Any) -> dict[str, Any]:
        """Return no comment of the table."""
        return {"text": None}

    def get_table_options(self, *_: Any, **options: Any) -> dict[str, Any]:
        """Return no options of how the table is stored."""
        return {}

    def meant(self, cursor: Any, statement: str, parameters: Any) -> str:
        """Rewrite a statement for a cursor."""
        return rewrite_sql(
            _connection(cursor),
            statement,
            intervals=self.intervals,
            confidence=self.confidence,
            counts=self.counts,
            parameters=parameters,
        )


class Cursor:
    """A cursor of duckdb_engine, on which every statement is answered by estimates."""

    def __init__(self, cursor: Any, dialect: Dialect) -> None:
        self._cursor, self._dialect = cursor, dialect

    def execute(self, statement: str, parameters: Any = None, context: Any = None) -> None:
        """Answer a statement."""
        meant = self._dialect.meant(self._cursor, statement, parameters)
        self._cursor.execute(meant, parameters, context)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


def _connection(cursor: Any) -> Any:
    """Return DuckDB's own connection: a statement returns the one that it ran on."""
    return cursor.connection.execute("SELECT 1")


# A release has columns, and nothing else that PostgreSQL's catalog would list for a table. SQLAlchemy 1.4 asks table by
# table, and has none of these.
for _name in (each for each in vars(DefaultDialect) if each.startswith("get_multi_")):
    setattr(Dialect, _name, getattr(DefaultDialect, _name))
