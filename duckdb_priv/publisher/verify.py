"""Verifies that this library would write the same release for its catalog, and that its publisher signed it.

No code of the release is run. The release is attached read-only in a DuckDB that cannot reach other files. Its rows and
catalog are copied from plain tables into a second database. There this library creates the macros and views again. Then
the definitions in both databases are compared as texts.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import duckdb

from duckdb_priv.errors import InvalidReleaseFile, NotVerified, echoed
from duckdb_priv.estimator.written import ENUM_IS_READ
from duckdb_priv.publisher import page
from duckdb_priv.publisher.export import (
    CATALOG,
    DATA,
    PAGE,
    SCRIPT,
    STORAGE_VERSION,
    create_objects,
    script_text,
    selected,
    signature_text,
)
from duckdb_priv.publisher.signing import VIEW, Signature, public_key, signed_text
from duckdb_priv.release import catalog
from duckdb_priv.release.contents import comments, definitions
from duckdb_priv.release.given import check_path
from duckdb_priv.release.opening import open_release
from duckdb_priv.sqltext.quoting import identifier, in_types, literal
from duckdb_priv.sqltext.reading import count_of, types_of
from duckdb_priv.version import __version__

TEXT = re.compile(r"(E?)'((?:[^']|'')*)'")
TYPE = re.compile(r"[A-Z][A-Z0-9_ ]*(\(\d+(, ?\d+)?\))?|ENUM\('(?:[^']|'')*'(, '(?:[^']|'')*')*\)")
"""Types that columns of a folder may have: names with numbers, or an ENUM of texts."""
OBJECT = re.compile("CREATE (SCHEMA|TABLE|VIEW|MACRO) ")
"""The kinds of objects in a release; it has no index, sequence or named type."""
MACRO = re.compile("CREATE MACRO ")
PARTS = {
    "release": "another release",
    "library": "another version of duckdb_priv",
    "rows": "other rows",
    "catalog": "another catalog",
    "objects": "other macros, views or comments",
    "card": "another card",
}
"""Digests in the signature, by name: the words for the part that differs."""
GIVEN, WRITTEN = "given", "written"
"""The two databases: the given release, and the one that this library writes for its catalog."""


@dataclass(frozen=True)
class Verified:
    """The result of a successful verification."""

    release: str
    signed_by: str | None
    """The public key that signed it, in base64; None if the signature was not checked."""
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]
    """The checks that were impossible, each with the reason."""

    @property
    def sentences(self) -> list[str]:
        """One sentence about all checks that passed, and one for each impossible check."""
        return [
            f"release {self.release} is verified: {'; '.join(self.checked)}",
            *(f"not checked: {each}" for each in self.unchecked),
        ]


def verify(path: str | Path, key: str | Path | bytes | None = None) -> Verified:
    """Verify a release file, or a folder of Parquet files, without running any of its code.

    The public ``key`` of the publisher is a file or its content. With a key, the rows, catalog, macros, views and card
    must match the signature. With or without a key, every macro and view must equal what this library writes for the
    catalog. There must be no other object, and the rows must agree with the catalog.

    Raises NotVerified if a check fails, and InvalidReleaseFile if it is not a release, or is from a newer library.

    >>> verify("nowhere.duckdb")
    Traceback (most recent call last):
    ...
    duckdb_priv.errors.InvalidReleaseFile: there is no file 'nowhere.duckdb'
    Hint: check the path; a release is one .duckdb file
    """
    check_path(path)
    place, name = Path(path), echoed(str(path))
    wanted = None if key is None else public_key(key)
    if not place.is_dir():
        # Raises an error with a clear message for a damaged file, or one from a newer library.
        open_release(place).close()
    try:
        with _opened(place) as (connection, folder):
            subject = _Folder if place.is_dir() else _File
            return subject(connection, folder, place, name).verified(wanted)
    except (duckdb.Error, ValueError, OSError, RecursionError, KeyError) as error:
        if isinstance(error, InvalidReleaseFile):
            raise
        raise _not(name, f"it cannot be read as a release ({type(error).__name__})") from None


def _not(name: str, why: str, hint: str | None = None) -> NotVerified:
    return NotVerified(
        f"{name} is not verified: {why}",
        hint=hint or "do not use it; get it again from its publisher",
    )


@contextmanager
def _opened(place: Path) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """Open a DuckDB that can read the given release, write to a temporary folder, and reach nothing else."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "python_enable_replacements": "false",
    }
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(config=config) as connection:
        reached = [folder]
        if place.is_dir():
            reached.append(str(place.resolve()))
        else:
            connection.execute(f"ATTACH {literal(str(place))} AS {GIVEN} (READ_ONLY)")
        connection.execute(f"SET allowed_directories = [{', '.join(map(literal, reached))}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection, Path(folder)


def _writers() -> Iterator[None]:
    """Yield once for each macro dialect, DuckDB 1 and DuckDB 2, the usual one first."""
    usual = ENUM_IS_READ.get()
    for reads in (usual, not usual):
        token = ENUM_IS_READ.set(reads)
        try:
            yield
        finally:
            ENUM_IS_READ.reset(token)


def _unescaped(escaped: str, text: str) -> str:
    """Return the text of a literal, which begins with E if its carriage returns are escaped."""
    if escaped:
        text = re.sub(r"\\([r\\])", lambda at: {"r": "\r", "\\": "\\"}[at[1]], text)
    return text.replace("''", "'")


@dataclass
class _Subject:
    """A release under verification."""

    connection: duckdb.DuckDBPyConnection
    folder: Path
    """A temporary folder, for the second database."""
    place: Path
    name: str
    """The place in messages."""
    writings: int = 0
    """How often the second database was created."""
    database: ClassVar[str]
    """The database with the contents of the release."""

    def verified(self, wanted: str | None) -> Verified:
        """Return the result after all checks passed."""
        release, signature, same = self.compared(wanted)
        ((version,),) = self.connection.execute(
            f"SELECT library_version FROM {self.database}.priv.release"
        ).fetchall()
        checked = ["its rows agree with its catalog"]
        signed_by = wanted
        if same:
            checked.append("every macro and view is what this library writes for its catalog")
        elif version == __version__ or signed_by is None:
            raise _not(
                self.name,
                "a macro, view, table or comment is not what this library writes for its catalog",
                None
                if version == __version__
                else f"duckdb_priv {version} wrote it, this is {__version__}: install that version, or give the key"
                " that signed it",
            )
        unchecked = []
        if signed_by is not None:
            checked.append("rows, catalog, macros, views and card are those that were signed")
        else:
            why = (
                "it is not signed"
                if signature is None
                else f"it says that {signature.public_key} signed it; give the key that its publisher gave you"
            )
            unchecked.append(f"who made it, and whether rows, numbers and card were changed: {why}")
        return Verified(release, signed_by, tuple(checked), tuple(unchecked))

    def compared(self, wanted: str | None) -> tuple[str, Signature | None, bool]:
        """Return the release, its checked signature, and whether all objects equal those that this library writes."""
        raise NotImplementedError

    def _rewritten(self) -> None:
        """Create and use a second database, with the catalog of the release."""
        self.connection.execute(f"USE memory; DETACH DATABASE IF EXISTS {WRITTEN}")
        self.writings += 1
        # A crash makes this database useless, so it needs no write-ahead log.
        self._attach(", RECOVERY_MODE no_wal_writes")
        self.connection.execute(f"USE {WRITTEN}; BEGIN TRANSACTION; CREATE SCHEMA priv")
        for table in catalog.PUBLIC:
            self.connection.execute(catalog.table_definitions()[table])
            self.connection.execute(f"INSERT INTO priv.{table} FROM {self._catalog(table)}")

    def _attach(self, options: str) -> None:
        place = self.folder / f"{self.writings}.duckdb"
        self.connection.execute(
            f"ATTACH {literal(str(place))} AS {WRITTEN} (STORAGE_VERSION {literal(STORAGE_VERSION)}{options})"
        )

    def _stored(self) -> None:
        """Store and reopen the second database, so that its definitions have the stored form, too."""
        self.connection.execute(f"COMMIT; CHECKPOINT {WRITTEN}; USE memory; DETACH {WRITTEN}")
        self._attach(", READ_ONLY")

    def _catalog(self, table: str) -> str:
        raise NotImplementedError

    def _shown(self, views: Mapping[str, str]) -> tuple[str, Signature | None]:
        """Return the card and the signature, from the SQL of their views.

        The comparison of definitions finds any other content.
        """
        found = {
            view: [_unescaped(*each) for each in TEXT.findall(views.get(view, ""))[:number]]
            for view, number in ((page.VIEW, 1), (VIEW, 3))
        }
        if len(found[page.VIEW]) < 1 or (VIEW in views and len(found[VIEW]) < 3):
            raise _not(self.name, "its card or its signature is missing or damaged")
        return found[page.VIEW][0], Signature(*found[VIEW]) if VIEW in views else None

    def _release(self) -> str:
        """Return the name of the only release."""
        names = self.connection.execute("SELECT release FROM priv.release").fetchall()
        if len(names) != 1:
            raise _not(self.name, f"its catalog is of {len(names)} releases, not of one")
        ((release,),) = names
        for table in catalog.PUBLIC[1:]:
            of = self.connection.execute(f"SELECT DISTINCT release FROM priv.{table}").fetchall()
            if of not in ([], [(release,)]):
                raise _not(self.name, "its catalog is of several releases, not of one")
        return str(release)

    def _check_signature(
        self,
        release: str,
        html: str,
        defined: Sequence[str],
        signature: Signature | None,
        wanted: str | None,
    ) -> None:
        """Require that the signature matches the contents of the release and, if given, the ``wanted`` key."""
        if signature is None:
            if wanted is not None:
                raise _not(self.name, "it is not signed")
            return
        try:
            signed = dict(json.loads(signature.signed))
        except (ValueError, TypeError):
            signed = {}
        found = json.loads(signed_text(self.connection, self.database, release, html, defined))
        if set(signed) != set(found) or not signature.is_by(signature.public_key):
            raise _not(self.name, "its signature is damaged")
        differing = [PARTS[part] for part in PARTS if signed[part] != found[part]]
        if differing:
            raise _not(self.name, f"its signature is of {' and of '.join(differing)}")
        if wanted is not None and not signature.is_by(wanted):
            raise _not(
                self.name,
                "it is signed with another key",
                "ask its publisher which key is theirs, by another way than the file came",
            )

    def _agree(self, release: str) -> None:
        """Check that the rows agree with the catalog in the second database."""
        connection, table = self.connection, f"{WRITTEN}.main.{identifier(release)}"
        rows = count_of(connection, table)
        ((stated,),) = connection.execute("SELECT rows_published FROM priv.release").fetchall()
        if rows != stated:
            raise _not(self.name, f"it has {rows:,} rows, and its catalog says {stated:,}")
        types = types_of(connection, table)
        attributes = catalog.sensitive_attributes(connection)
        of_sensitive = {each.column: each for each in attributes}
        columns = catalog.published_columns(connection, release)
        if sorted(types) != sorted(each.name for each in columns):
            raise _not(self.name, "it has other columns than its catalog says")
        stated_types = dict(
            connection.execute("SELECT column_name, type FROM priv.attribute").fetchall()
        )
        for column, kind in types.items():
            attribute = of_sensitive.get(column)
            expected = stated_types[column] if attribute is None else attribute.column_type
            if kind != expected and not (kind.startswith("ENUM(") and expected.startswith("ENUM")):
                raise _not(
                    self.name, f"column {echoed(column)} has another type than its catalog says"
                )
            if attribute is None or attribute.blocks or kind.endswith("]"):
                continue
            if kind.startswith("ENUM("):
                ((values,),) = connection.execute(
                    f"SELECT enum_range(CAST(NULL AS {attribute.column_type}))::VARCHAR[]"
                ).fetchall()
                kept = connection.table(f"{WRITTEN}.main.{identifier(release)}").select(
                    f"enum_range({identifier(column)})::VARCHAR[]"
                )
                if rows and kept.limit(1).fetchall() != [(values,)]:
                    raise _not(
                        self.name, f"column {echoed(column)} has another domain than its catalog"
                    )
            ((outside,),) = connection.execute(
                f"SELECT count(*) FROM {table} AS t WHERE NOT EXISTS (FROM priv.coefficient AS c WHERE c.attribute = ?"
                f" AND c.value IS NOT DISTINCT FROM t.{identifier(column)}::VARCHAR)",
                [attribute.name],
            ).fetchall()
            if outside:
                raise _not(
                    self.name,
                    f"{outside:,} rows show values of {echoed(column)} that are not in its domain",
                )


class _File(_Subject):
    """A release file."""

    database = GIVEN

    def compared(self, wanted: str | None) -> tuple[str, Signature | None, bool]:
        """Compare the definitions and comments of the file with those that this library writes for its catalog."""
        tables = self.connection.execute(
            "SELECT schema_name, table_name, sql FROM system.main.duckdb_tables() WHERE database_name = ?",
            [GIVEN],
        ).fetchall()
        names = {(schema, table) for schema, table, _ in tables}
        if not names >= {("priv", table) for table in catalog.PUBLIC}:
            raise _not(self.name, "its catalog is no plain tables")
        if any("GENERATED ALWAYS AS" in sql for *_, sql in tables):
            raise _not(self.name, "a column in it is computed when it is read")
        self._rewritten()
        release = self._release()
        if names != {*(("priv", table) for table in catalog.PUBLIC), ("main", release)}:
            raise _not(self.name, "it holds another table, or the release is no plain table")
        found = definitions(self.connection, GIVEN, self.folder)
        views = dict(
            self.connection.execute(
                "SELECT schema_name || '.' || view_name, sql FROM system.main.duckdb_views() WHERE database_name = ?",
                [GIVEN],
            ).fetchall()
        )
        html, signature = self._shown(views)
        self._check_signature(release, html, found, signature, wanted)
        if not all(map(OBJECT.match, found)):
            return release, signature, False
        self._copy_rows(release)
        self._agree(release)
        for number, _ in enumerate(_writers()):
            if number:
                self._rewritten()
                self._copy_rows(release)
            self._write(release, html, signature)
            written = definitions(self.connection, WRITTEN, self.folder)
            given, mine = comments(self.connection, (GIVEN, WRITTEN))
            same = given == mine
            if same and written == found:
                return release, signature, True
            # The dialects differ in macros only.
            if not same or not all(map(MACRO.match, {*written} ^ {*found})):
                break
        return release, signature, False

    def _copy_rows(self, release: str) -> None:
        name = identifier(release)
        self.connection.execute(f"CREATE TABLE main.{name} AS FROM {GIVEN}.main.{name}")

    def _write(self, release: str, html: str, signature: Signature | None) -> None:
        create_objects(self.connection, release, html)
        for statement in [] if signature is None else signature.statements:
            self.connection.execute(statement)
        self._stored()

    def _catalog(self, table: str) -> str:
        return f"{GIVEN}.priv.{table}"


class _Folder(_Subject):
    """A folder of Parquet files with a script."""

    database = WRITTEN

    def compared(self, wanted: str | None) -> tuple[str, Signature | None, bool]:
        """Compare the script of the folder with the one that this library writes for its catalog."""
        files = {
            each.relative_to(self.place).as_posix()
            for each in self.place.rglob("*")
            if not each.is_dir() or each.is_symlink()
        }
        needed = {SCRIPT, DATA, *(f"{CATALOG}/{table}.parquet" for table in catalog.PUBLIC)}
        if files - {PAGE} != needed:
            raise _not(self.name, "it is no folder of a release, or holds other files")
        script = (self.place / SCRIPT).read_bytes().decode("utf-8")
        views = {
            view: script.partition(f"CREATE VIEW {view} AS FROM (VALUES (")[2]
            for view in (page.VIEW, VIEW)
            if f"CREATE VIEW {view} " in script
        }
        html, signature = self._shown(views)
        if PAGE in files and (self.place / PAGE).read_bytes() != html.encode():
            raise _not(self.name, f"{PAGE} is not the card in {SCRIPT}")
        self._rewritten()
        release = self._release()
        self._read_rows(release, script)
        self._agree(release)
        types = types_of(self.connection, f"main.{identifier(release)}")
        for _ in _writers():
            expected = script_text(self.connection, release, "TABLE", selected(types), html)
            if signature is not None:
                expected += signature_text(signature)
            if expected == script:
                create_objects(self.connection, release, html)
                self._stored()
                defined = definitions(self.connection, WRITTEN, self.folder)
                self._check_signature(release, html, defined, signature, wanted)
                return release, signature, True
        raise _not(self.name, f"{SCRIPT} is not what this library writes for its catalog")

    def _read_rows(self, release: str, script: str) -> None:
        """Read the rows with the types of the catalog. Only the script has the values of a public ENUM."""
        rows = f"read_parquet({literal(str(self.place.resolve() / DATA))})"
        stated = dict(
            self.connection.execute("SELECT column_name, type FROM priv.attribute").fetchall()
        )
        stated |= {
            each.column: each.column_type
            for each in catalog.sensitive_attributes(self.connection, release)
        }
        types = {}
        for name, kind in types_of(self.connection, rows).items():
            types[name] = kind if stated.get(name) in (None, kind) else stated[name]
            if types[name] == "ENUM":
                _, _, after = script.partition(f"{identifier(name)}::")
                types[name] = after.partition(f" AS {identifier(name)}")[0]
            if types[name] != kind and not TYPE.fullmatch(types[name]):
                raise _not(self.name, f"column {echoed(name)} has a type that is not read here")
        self.connection.execute(
            f"CREATE TABLE main.{identifier(release)} AS SELECT {in_types(types)} FROM {rows}"
        )

    def _catalog(self, table: str) -> str:
        place = self.place.resolve() / CATALOG / f"{table}.parquet"
        return f"read_parquet({literal(str(place))})"
