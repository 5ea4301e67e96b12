"""Look up the tables of a connection: releases with their catalog, and the columns of all other tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.estimator.forms import FORMS, Form
from duckdb_priv.ordinary.kept import kept_of, run
from duckdb_priv.ordinary.names import Names, named, nodes, tables_in, text
from duckdb_priv.release.catalog import stated_blocks, stated_constants
from duckdb_priv.release.model import Blocks
from duckdb_priv.sqltext.quoting import identifier, literal

CATALOG = ("attribute", "coefficient", "release")
"""Tables of the schema priv in every database with releases."""
SAMPLED = "sample"
"""The form of a sample of the records whose columns are not perturbed."""
NOT_BY_SCALE = "duplicated"
"""The form whose scale bounds how often a record is repeated, not how many records a row represents."""


@cache
def functions() -> Mapping[str, str]:
    """Return the kind of each built-in DuckDB function: aggregate, macro, scalar, ...; the first of several."""
    with duckdb.connect() as connection:
        kinds = connection.execute(
            "SELECT lower(function_name), min(function_type) FROM duckdb_functions() GROUP BY ALL"
        ).fetchall()
    return dict(kinds)


@dataclass(frozen=True)
class Attribute:
    """A perturbed attribute of a release."""

    name: str
    """Its name in queries, which is its name in the source."""
    column: str
    """The published column with the reported values."""
    type: str
    """SQL type of its true values."""
    form: str
    """The name of its estimator form."""
    size: int
    """The number of values in its domain."""
    blocks: Blocks | None = None
    """The blocks of values, if records report blocks."""

    @property
    def traits(self) -> Form:
        """The traits of its form. Raises QueryRefused for an unknown form."""
        if self.form in FORMS:
            return FORMS[self.form]
        raise QueryRefused(
            f'"{self.name}" is estimated in the form "{self.form}", which this version does not know',
            hint="upgrade duckdb_priv, or use the functions of the file, such as priv.reconstructed_count",
        )


@dataclass(frozen=True)
class Release:
    """A published table with the catalog's facts about its columns."""

    database: str
    name: str
    attributes: Mapping[str, Attribute]
    """By name in lower case; empty for a sample without perturbation."""
    public: Mapping[str, str]
    """Public columns by name in lower case."""
    scale: str | None
    """The scale column: the number of source records of a row, the maximum repetitions of a record, or the strength of
    a row's perturbation."""
    weighed: bool
    """Whether the scale is the number of source records that a row represents; else a row represents one."""
    sampled: bool
    """Whether the published rows are a random sample, so that sums of public columns are estimates too."""
    constants: Mapping[str, float] = field(default_factory=dict)
    """Numbers among the parameters of the release."""
    rows: int = 0
    """The number of published rows."""

    @cached_property
    def reported(self) -> Mapping[str, Attribute]:
        """Attributes by published column, if its name differs from the attribute's."""
        return {
            each.column.lower(): each
            for each in self.attributes.values()
            if each.column.lower() not in self.attributes
        }

    @property
    def columns(self) -> list[str]:
        """The columns that queries may name, in lower case."""
        scale = [self.scale.lower()] if self.scale else []
        return [*self.public, *self.attributes, *self.reported, *scale]

    def spelling(self, name: str) -> str | None:
        """Return a column as the release spells it, so that different spellings become equal; None if it has none."""
        attribute = self.attributes.get(name.lower()) or self.reported.get(name.lower())
        if attribute is None:
            return self.public.get(name.lower())
        return attribute.name if name.lower() == attribute.name.lower() else attribute.column


class ConnectedTables:
    """The tables of a connection, looked up once for one query."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self.kept = kept_of(connection)
        """The cache of the connection."""
        self._state = self.kept.state
        self._columns: dict[str, list[str]] = {}

    @property
    def of_releases(self) -> bool:
        """Whether only releases were looked up so far."""
        return not self._columns

    @cached_property
    def _views(self) -> Mapping[tuple[str, str, str], str]:
        """Views by database, schema and name in lower case, except those that distinguish reported and true values."""
        rows = self._rows(
            "SELECT lower(database_name), lower(schema_name), lower(view_name), sql FROM system.main.duckdb_views()"
            " WHERE NOT internal AND schema_name NOT IN ('priv', 'estimated') AND sql NOT LIKE '%priv.%'"
        )
        return {(database, schema, name): sql for database, schema, name, sql in rows}

    @cached_property
    def _databases(self) -> set[str]:
        names = self._rows("SELECT lower(database_name) FROM system.main.duckdb_databases()")
        return {name for (name,) in names}

    @cached_property
    def _temporary(self) -> set[str]:
        return {name.lower() for _, _, name, temporary in self._state.tables if temporary}

    @cached_property
    def releases(self) -> Mapping[tuple[str, str], Release]:
        """Every release of every attached database, by database and name in lower case."""
        found: Mapping[tuple[str, str], Release] = self.kept.once("releases", self._all_releases)
        return found

    def _all_releases(self) -> Mapping[tuple[str, str], Release]:
        catalogs: dict[str, set[str]] = {}
        for database, schema, table, temporary in self._state.tables:
            if schema == "priv" and not temporary:
                catalogs.setdefault(database, set()).add(table)
        return {
            (database.lower(), release.name.lower()): release
            for database, tables in catalogs.items()
            if tables.issuperset(CATALOG)
            for release in self._of(database)
        }

    @cached_property
    def reported(self) -> frozenset[str]:
        """Names of all releases' columns of reported values that differ from the attribute's name."""
        return frozenset(name for each in self.releases.values() for name in each.reported)

    def release(self, table: exp.Table) -> Release | None:
        """Return the release that a table of a query refers to, if any."""
        if not isinstance(table.this, exp.Identifier):
            return None
        for database, schema in self._places(table):
            if schema == "main" and (database, table.name.lower()) in self.releases:
                return self.releases[database, table.name.lower()]
        return None

    def _place_within(self, table: exp.Table, database: str, schema: str) -> None:
        """Qualify a table in a view's query: DuckDB leaves out the view's database."""
        if table.catalog or (table.db and table.db.lower() in self._databases):
            return
        placed = exp.table_(table.this.copy(), db=table.db or schema, catalog=database, quoted=True)
        if self.columns(placed):
            table.set("db", placed.args["db"])
            table.set("catalog", placed.args["catalog"])

    def _places(self, table: exp.Table) -> list[tuple[str, str]]:
        """Return the databases and schemas in which DuckDB looks up a table of a query."""
        name, first, second = table.name.lower(), table.db.lower(), table.catalog.lower()
        database, schema = self._state.database.lower(), self._state.schema.lower()
        if second:
            return [(second, first)]
        if not first:
            return [("temp", "main") if name in self._temporary else (database, schema)]
        # A single qualifier is a schema of the database in use, or a database. Temporary tables take precedence, as
        # does another schema of that name that comes first in the search path.
        several = "," in self._state.path
        hidden = name in self._temporary or (several and schema != "main")
        if first == "main" and hidden:
            return [(first, "main")]
        return [(database, first), (first, schema if first == database else "main")]

    def view(self, table: exp.Table) -> exp.Subquery | None:
        """Return the query of a table, if the table is a view that reads a release."""
        if not isinstance(table.this, exp.Identifier) or self.release(table) is not None:
            return None
        keys = ((*place, table.name.lower()) for place in self._places(table))
        key = next((each for each in keys if each in self._views), None)
        if key is None:
            return None
        created = sqlglot.parse_one(self._views[key], dialect="duckdb")
        if not isinstance(created, exp.Create) or not isinstance(created.expression, exp.Query):
            return None
        query = created.expression
        tables = tables_in(query)
        for each in tables:
            self._place_within(each, *key[:2])
        if not any(self.release(each) or self.view(each) for each in tables):
            return None
        alias = (table.args.get("alias") or exp.TableAlias(this=table.this)).copy()
        if isinstance(created.this, exp.Schema) and not alias.columns:
            alias.set("columns", created.this.expressions)
        rest = {name: table.args.get(name) for name in ("joins", "sample", "pivots")}
        return exp.Subquery(this=query, alias=alias, **rest)

    def catalog_of(self, release: Release) -> str:
        """Write the schema of a release's catalog, with the shortest name that is unambiguous."""
        return (
            "priv"
            if release.database == self._state.database
            else f"{identifier(release.database)}.priv"
        )

    def domain(self, release: Release, attribute: Attribute) -> str:
        """Write FROM and WHERE for an attribute's values and their numbers."""
        return (
            f"FROM {self.catalog_of(release)}.coefficient"
            f" WHERE release = {literal(release.name)} AND attribute = {literal(attribute.name)}"
        )

    def columns(self, source: exp.Expr) -> list[str]:
        """Return the columns of a table that queries may name, in lower case; an empty list if they are unknown."""
        if not isinstance(source, exp.Table):
            return []
        if (release := self.release(source)) is not None:
            return release.columns
        source = source.copy()
        source.set("alias", None)
        source.set("joins", None)
        written = text(source)
        if written not in self._columns:
            try:
                rows = self._rows(f"DESCRIBE SELECT * FROM {written}")
            except duckdb.Error:
                rows = []
            self._columns[written] = [row[0].lower() for row in rows]
        return self._columns[written]

    def described(self, query: exp.Query) -> list[tuple[str, str]]:
        """Return names and types of a query's columns over the true tables. It changes the query.

        The query is described over empty columns with the true types. So errors have DuckDB's messages, and columns
        have DuckDB's names. Raises duckdb.Error for an invalid query.
        """
        names = Names()
        for table in tables_in(query):
            release = self.release(table)
            if release is None or not release.attributes:
                continue
            alias = (table.args.get("alias") or exp.TableAlias(this=named(table.name))).copy()
            for column in nodes(query, exp.Column):
                if column.db and column.table.lower() == alias.name.lower():
                    column.set("db", None)
                    column.set("catalog", None)
            bare = table.copy()
            for name in ("alias", "joins", "sample"):
                bare.set(name, None)
            replaced, added = list[str](), list[str]()
            for each in release.attributes.values():
                same = each.column.lower() == each.name.lower()
                (replaced if same else added).append(
                    f"CAST(NULL AS {each.type}) AS {text(each.name)}"
                )
            star = f"* REPLACE ({', '.join(replaced)})" if replaced else "*"
            place = names.place(f"SELECT {', '.join([star, *added])} FROM {text(bare)}")
            table.replace(exp.Subquery(this=place, alias=alias))
        try:
            rows = self._known if self.of_releases else self._rows
            return [(row[0], row[1]) for row in rows(f"DESCRIBE {names.written(query)}")]
        except duckdb.Error as error:
            # Drop the quoted line of the query, which the user did not write.
            raise type(error)(str(error).partition("\n\nLINE ")[0]) from None

    def count(self, query: str, otherwise: int) -> int:
        """Return the number of rows of a query; ``otherwise`` if it cannot run on its own."""
        try:
            return int(self._rows(f"SELECT count(*) FROM ({query})")[0][0])
        except (duckdb.BinderException, duckdb.InvalidInputException, duckdb.CatalogException):
            return otherwise

    def outside(self, release: Release, attribute: Attribute, values: list[exp.Expr]) -> list[str]:
        """Return the literal values that are outside an attribute's domain."""
        domain = (
            f"SELECT CAST(value AS {attribute.type}) AS value {self.domain(release, attribute)}"
        )
        # Values are compared as in the query: DuckDB casts a text to a number if it compares both.
        listed = ", ".join(
            f"(SELECT coalesce(bool_or(value = {value.sql('duckdb')}), false) FROM domain)"
            for value in values
        )
        (found,) = self._known(f"WITH domain AS ({domain}) SELECT {listed}")
        return [
            value.sql("duckdb") for value, known in zip(values, found, strict=True) if not known
        ]

    def partly_unknown(self, release: Release, attribute: Attribute) -> bool:
        """Whether the catalog has no weights for some value of an attribute."""
        test = {"two_by_two": "own - other <= 1e-12", "singular": "retention = 0"}.get(
            attribute.form
        )
        if test is None:
            return False
        found = self._known(f"SELECT bool_or({test}) {self.domain(release, attribute)}")
        return bool(found[0][0])

    def values(self, release: Release, attribute: Attribute) -> list[str | None]:
        """Return the domain of an attribute as texts."""
        domain = f"SELECT value {self.domain(release, attribute)} ORDER BY position"
        return [value for (value,) in self._known(domain)]

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return run(self._connection, query).fetchall()

    def _known(self, query: str) -> list[tuple[Any, ...]]:
        """Return the cached result of a query on releases."""
        rows: list[tuple[Any, ...]] = self.kept.once(query, lambda: self._rows(query))
        return rows

    def _of(self, database: str) -> list[Release]:
        """Read the releases of one database."""
        priv = f"{identifier(database)}.priv"
        releases = self._rows(f"SELECT release, parameters, rows_published FROM {priv}.release")
        found = self._connection.execute(f"FROM {priv}.attribute ORDER BY release")
        names = [name for name, *_ in found.description]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        return [
            _release(
                database, name, [row for row in rows if row["release"] == name],
                stated_constants(parameters), published or 0,
            )
            for name, parameters, published in releases
        ]  # fmt: skip


def _release(
    database: str,
    name: str,
    rows: list[dict[str, Any]],
    constants: Mapping[str, float],
    published: int,
) -> Release:
    """Return a release from the rows of its columns in the catalog."""
    attributes, public, scale = {}, {}, None
    for row in rows:
        # Without a name of its own, the published column is called like the attribute.
        column = str(row.get("column_name") or row["attribute"])
        if row["role"] == "scale":
            scale = column
        elif row["form"] is None or row["form"] == SAMPLED:
            public[column.lower()] = column
        else:
            blocks = row.get("blocks")
            kind = blocks["type"] if blocks else row["type"]
            kind = "VARCHAR" if kind.startswith("ENUM") else kind.removesuffix("[]")
            attributes[row["attribute"].lower()] = Attribute(
                row["attribute"],
                column,
                kind,
                row["form"],
                row["domain_size"],
                stated_blocks(blocks),
            )
    one_each = any(
        each.form == NOT_BY_SCALE or (each.form in FORMS and each.traits.varied)
        for each in attributes.values()
    )
    classes = float(math.prod(row["domain_size"] or 1 for row in rows))
    return Release(
        database, name, attributes, public, scale,
        weighed=scale is not None and not one_each,
        sampled=any(row["form"] == SAMPLED for row in rows),
        constants={**constants, "classes": classes},
        rows=published,
    )  # fmt: skip
