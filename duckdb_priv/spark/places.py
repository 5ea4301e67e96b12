"""Where a release is put: a folder or file that this machine sees, or a folder of an object store.

Either is written beside its place, under a name of its own, and what another driver writes or has written there stays.
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from duckdb_priv.errors import InvalidParameter, PrivError, PublicationFailed, echoed
from duckdb_priv.publisher import placing
from duckdb_priv.publisher.export import SCRIPT
from duckdb_priv.spark.hadoop import Store
from duckdb_priv.spark.transfer import Transfer

FILE = ".duckdb"
"""The ending of a path to one release file."""
ELSEWHERE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:/")
"""How a path begins that is of a file system of Hadoop; a single letter is a drive."""
ONE_SLASH = re.compile(r"^((?:s3a?|abfss?|gs):)/(?!/)")
VOLUMES = re.compile(r"/(Volumes|dbfs)/")
"""What Databricks shows as folders, which take no file that is changed after it was written."""
CLAIM = "_publishing"
"""A file that says that a driver is filling a folder of a store."""


class Place(Protocol):
    """Where a release is put."""

    @property
    def one_file(self) -> bool:
        """Whether it is one file, which DuckDB assembles."""

    @property
    def stays(self) -> bool:
        """Whether DuckDB can read the rows where they are put."""

    def begin(self) -> Transfer:
        """Return where Spark and the driver hand each other files, what the release is made of among them."""

    def refuse_taken(self) -> None:
        """Raise InvalidParameter where something is there."""

    def fill(self, part: Path) -> None:
        """Put a folder there that is complete."""

    def give_up(self, transfer: Transfer) -> None:
        """Remove what is not there yet."""


@dataclass(frozen=True)
class Here:
    """A path that the driver and all executors share."""

    path: Path
    session: Any
    one_file: bool
    stays: bool = True

    def __str__(self) -> str:
        """Write the path."""
        return str(self.path)

    def begin(self) -> Transfer:
        """Work beside the place."""
        return Transfer(self.session, placing.begin(self.path))

    def refuse_taken(self) -> None:
        """Look for the page beside a file, too."""
        for each in (self.path, *([placing.beside(self.path, "html")] if self.one_file else [])):
            if each.exists() or each.is_symlink():
                raise _taken(str(each))

    def fill(self, part: Path) -> None:
        """Move the folder."""
        placing.move_new_folder(part, self.path)

    def give_up(self, transfer: Transfer) -> None:
        """Remove the folder."""
        placing.give_up(transfer.here)


@dataclass(frozen=True)
class Elsewhere:
    """A folder of a store, of which this machine works on a copy."""

    store: Store
    one_file: bool = False
    stays: bool = False

    def __str__(self) -> str:
        """Write the path."""
        return self.store.uri

    def begin(self) -> Transfer:
        """Work in a folder of this user on this machine, and in a hidden one beside the place."""
        here = Path(tempfile.mkdtemp(prefix="duckdb_priv-")) / self.store.name
        hidden = placing.hidden_name(self.store.name, "partial")
        return Transfer(self.store.session, here, self.store.parent.inside(hidden))

    def refuse_taken(self) -> None:
        """Look whether anything is there."""
        if self.store.exists():
            raise _taken(self.store.uri)

    def fill(self, part: Path) -> None:
        """Copy the folder, at last the file by which it is opened: nothing there is moved in one step."""
        if not self.store.claim(CLAIM):
            raise _taken(self.store.uri)
        if self.store.list() != [CLAIM]:
            self.store.remove(CLAIM)
            raise _taken(self.store.uri)
        try:
            for each in sorted(part.iterdir(), key=lambda each: each.name == SCRIPT):
                self.store.send(each, each.name)
        except BaseException as error:
            with suppress(PrivError):
                self.store.remove()
            if isinstance(error, PrivError):
                raise PublicationFailed(
                    error.message,
                    hint="the release was recorded, and is a table of the publisher's database; publish it once more"
                    " with replace=True, which adds nothing",
                ) from None
            raise
        self.store.remove(CLAIM)

    def give_up(self, transfer: Transfer) -> None:
        """Remove both folders."""
        placing.remove(transfer.here.parent)
        with suppress(PrivError):
            if transfer.store is not None:
                transfer.store.remove()


def place_of(path: str | Path, session: Any) -> Place:
    """Return the place of a path, where nothing may be.

    Raises InvalidParameter where something is there, for an ending of another format, and where Spark gives no access.
    """
    text = str(path)
    # A path of pathlib has lost one of two slashes.
    text = ONE_SLASH.sub(r"\1//", text)
    on_databricks = "DATABRICKS_RUNTIME_VERSION" in os.environ and VOLUMES.match(text)
    if on_databricks:
        text = f"dbfs:{text.removeprefix('/dbfs')}"
    if ELSEWHERE.match(text):
        found: Place = _elsewhere(text.rstrip("/"), session)
    else:
        text = re.sub(r"^file:(//)?(?=/)", "", text)
        one_file = text.endswith(FILE)
        place = placing.place_for(text, "duckdb" if one_file else "parquet")
        found = Here(place, session, one_file)
    found.refuse_taken()
    return found


def _elsewhere(uri: str, session: Any) -> Elsewhere:
    if not hasattr(session, "_jsparkSession"):
        raise InvalidParameter(
            f"a remote session gives no access to the file system of {echoed(uri)}",
            hint="give a path in a folder that this program and all executors share, or publish inside of the cluster",
        )
    store = Store(session, uri)
    if uri.endswith(FILE):
        raise InvalidParameter(
            "one release file is not written into an object store",
            hint="publish a folder there; FROM priv.export_release(…) writes the file to this machine",
        )
    placing.refuse_ending(Path(store.name), "parquet")
    # It must be in something.
    store.parent.exists()
    return Elsewhere(store)


def _taken(path: str) -> InvalidParameter:
    return InvalidParameter(
        f"{echoed(path)} exists", hint="choose another path, or remove it first"
    )
