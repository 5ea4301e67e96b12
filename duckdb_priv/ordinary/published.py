"""Look up the tables of a connection: releases with their catalog, and the columns of all other tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import duckdb
from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.estimator.forms import FORMS, Form
from duckdb_priv.ordinary.kept import kept_of, run
from duckdb_priv.ordinary.names import nodes, parsed, raw, table_alias, tables_in, text, written
from duckdb_priv.release.catalog import stated_blocks, stated_constants
from duckdb_priv.release.model import Blocks
from duckdb_priv.sqltext.quoting import identifier, literal

CATALOG = ("attribute", "coefficient", "release")
"""Tables of the schema priv in every database with releases."""
SAMPLED = "sample"
"""The form of a sample of the records whose columns are not perturbed."""


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

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """The columns that queries may name, by name in lower case."""
        attributes = [each.name for each in self.attributes.values()]
        reported = [each.column for each in self.reported.values()]
        scale = [self.scale] if self.scale else []
        names = [*self.public.values(), *attributes, *reported, *scale]
        return {name.lower(): name for name in names}


class ConnectedTables:
    """The tables of a connection, looked up once for one query."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self.kept = kept_of(connection)
        """The cache of the connection."""
        self._columns: dict[str, list[str]] = {}
        self._temporary = {name.lower() for *_, name, temporary in self.kept.tables if temporary}

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
    def releases(self) -> Mapping[tuple[str, str], Release]:
        """Every release of every attached database, by database and name in lower case."""

        def find() -> Mapping[tuple[str, str], Release]:
            catalogs: dict[str, set[str]] = {}
            for database, schema, table, temporary in self.kept.tables:
                if schema == "priv" and not temporary:
                    catalogs.setdefault(database, set()).add(table)
            return {
                (database.lower(), release.name.lower()): release
                for database, tables in catalogs.items()
                if tables.issuperset(CATALOG)
                for release in self._of(database)
            }

        found: Mapping[tuple[str, str], Release] = self.kept.once("releases", find)
        return found

    @cached_property
    def reported(self) -> frozenset[str]:
        """Names of all releases' columns of reported values that differ from the attribute's name."""
        return frozenset(name for each in self.releases.values() for name in each.reported)

    def release(self, table: exp.Table) -> Release | None:
        """Return the release that a table of a query refers to, if any."""
        name = table.name.lower()
        keys = [(database, name) for database, schema in self._places(table) if schema == "main"]
        return next((self.releases[each] for each in keys if each in self.releases), None)

    def _places(self, table: exp.Table) -> list[tuple[str, str]]:
        """Return the databases and schemas in which DuckDB looks up a table of a query; none for a table function."""
        name, first, second = table.name.lower(), table.db.lower(), table.catalog.lower()
        database, schema = self.kept.database.lower(), self.kept.schema.lower()
        if not isinstance(table.this, exp.Identifier):
            return []
        if second:
            return [(second, first)]
        if not first:
            return [("temp", "main") if name in self._temporary else (database, schema)]
        # A single qualifier is a schema of the database in use, or a database. Temporary tables take precedence, as
        # does another schema of that name that comes first in the search path.
        several = "," in self.kept.path
        if first == "main" and (name in self._temporary or (several and schema != "main")):
            return [(first, "main")]
        return [(database, first), (first, schema if first == database else "main")]

    def view(self, table: exp.Table) -> exp.Subquery | None:
        """Return the query of a table, if the table is a view that reads a release."""
        if self.release(table) is not None:
            return None
        keys = ((*place, table.name.lower()) for place in self._places(table))
        key = next((each for each in keys if each in self._views), None)
        created = parsed(self._views[key]) if key else None
        if key is None or not isinstance(created, exp.Create):
            return None
        query = created.expression
        if not isinstance(query, exp.Query):
            return None
        databases = {"system", "temp", *(each.lower() for each in self.kept.databases)}
        tables = tables_in(query)
        for each in tables:
            # DuckDB leaves out the view's database.
            if each.catalog or each.db.lower() in databases:
                continue
            placed = exp.table_(each.this.copy(), db=each.db or key[1], catalog=key[0], quoted=True)
            if self.columns(placed):
                each.set("db", placed.args["db"])
                each.set("catalog", placed.args["catalog"])
        if not any(self.release(each) or self.view(each) for each in tables):
            return None
        alias = (table.args.get("alias") or exp.TableAlias(this=table.this)).copy()
        if isinstance(created.this, exp.Schema) and not alias.columns:
            alias.set("columns", created.this.expressions)
        rest = {name: table.args.get(name) for name in ("joins", "sample", "pivots")}
        return exp.Subquery(this=query, alias=alias, **rest)

    def catalog_of(self, release: Release) -> str:
        """Write the schema of a release's catalog, with the shortest name that is unambiguous."""
        here = release.database == self.kept.database
        return "priv" if here else f"{identifier(release.database)}.priv"

    def domain(self, release: Release, attribute: Attribute) -> str:
        """Write FROM and WHERE for an attribute's values and their numbers."""
        return (
            f"FROM {self.catalog_of(release)}.coefficient"
            f" WHERE release = {literal(release.name)} AND attribute = {literal(attribute.name)}"
        )

    def numbers(self, release: Release) -> frozenset[str]:
        """Return the names of the numbers that the catalog of a release may have for a value."""
        rows = self._known(f"DESCRIBE FROM {self.catalog_of(release)}.coefficient")
        return frozenset(row[0] for row in rows)

    def columns(self, table: exp.Table) -> list[str]:
        """Return the columns of a table that queries may name, in lower case; an empty list if they are unknown."""
        if (release := self.release(table)) is not None:
            return list(release.columns)
        table = table.copy()
        table.set("alias", None)
        table.set("joins", None)
        name = text(table)
        if name not in self._columns:
            try:
                rows = self._rows(f"DESCRIBE SELECT * FROM {name}")
            except duckdb.Error:
                rows = []
            self._columns[name] = [row[0].lower() for row in rows]
        return self._columns[name]

    def described(self, query: exp.Query) -> list[tuple[str, str]]:
        """Return names and types of a query's columns over the true tables. It changes the query.

        The query is described over empty columns with the true types. So errors have DuckDB's messages, and columns
        have DuckDB's names. Raises duckdb.Error for an invalid query.
        """
        for table in tables_in(query):
            release = self.release(table)
            if release is None or not release.attributes:
                continue
            alias = (table.args.get("alias") or table_alias(table.name)).copy()
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
            empty = raw(f"SELECT {', '.join([star, *added])} FROM {text(bare)}")
            table.replace(exp.Subquery(this=empty, alias=alias))
        try:
            rows = self._known if self.of_releases else self._rows
            return [(row[0], row[1]) for row in rows(f"DESCRIBE {written(query)}")]
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
        literals = list(map(text, values))
        listed = ", ".join(
            f"(SELECT coalesce(bool_or(value = {each}), false) FROM domain)" for each in literals
        )
        (found,) = self._known(f"WITH domain AS ({domain}) SELECT {listed}")
        return [value for value, known in zip(literals, found, strict=True) if not known]

    def partly_unknown(self, release: Release, attribute: Attribute) -> bool:
        """Whether the catalog has no weights for some value of an attribute."""
        tests = {"two_by_two": "own - other <= 1e-12", "singular": "retention = 0"}
        if attribute.form not in tests:
            return False
        test = f"SELECT bool_or({tests[attribute.form]}) {self.domain(release, attribute)}"
        return bool(self._known(test)[0][0])

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
            size = row["domain_size"]
            attributes[row["attribute"].lower()] = Attribute(
                row["attribute"], column, kind, row["form"], size, stated_blocks(blocks)
            )
    # Or the scale bounds how often a record is repeated, or is the strength of the perturbation.
    forms = [FORMS[each.form] for each in attributes.values() if each.form in FORMS]
    one_each = any(each.copied or each.varied for each in forms)
    classes = float(math.prod(row["domain_size"] or 1 for row in rows))
    return Release(
        database, name, attributes, public, scale,
        weighed=scale is not None and not one_each,
        sampled=any(row["form"] == SAMPLED for row in rows),
        constants={**constants, "classes": classes},
        rows=published,
    )  # fmt: skip
