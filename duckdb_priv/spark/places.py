"""The target of a release: a folder or file that this machine can see, or a folder in an object store.

A release is first written beside its target under a unique name. Files that another driver writes there are kept.
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from duckdb_priv.errors import InvalidParameter, PrivError, PublicationFailed, echoed
from duckdb_priv.publisher import placing
from duckdb_priv.publisher.export import SCRIPT
from duckdb_priv.spark.files import Transfer
from duckdb_priv.spark.hadoop import Store

FILE = ".duckdb"
"""The suffix of a release file."""
ELSEWHERE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:/")
"""The beginning of a path in a Hadoop file system. A single letter before the colon is a drive."""
ONE_SLASH = re.compile(r"^((?:s3a?|abfss?|gs):)/(?!/)")
VOLUMES = re.compile(r"/(Volumes|dbfs)/")
"""Paths that Databricks mounts as folders, in which files cannot be changed after they are written."""
CLAIM = "_publishing"
"""The file that marks a folder of a store to which a driver is writing."""


@dataclass(frozen=True)
class Here:
    """A path that the driver and all executors share."""

    path: Path
    session: Any
    one_file: bool
    """Whether the release is one file, which DuckDB writes."""
    stays: ClassVar[bool] = True
    """Whether DuckDB can read the rows at the target."""

    def __str__(self) -> str:
        """Return the path."""
        return str(self.path)

    def begin(self) -> Transfer:
        """Return a new folder beside the target, for the release and for what Spark and the driver exchange."""
        return Transfer(self.session, placing.begin(self.path))

    def refuse_taken(self) -> None:
        """Raise InvalidParameter if the target, or the page beside a file, exists."""
        for each in (self.path, *([placing.beside(self.path, "html")] if self.one_file else [])):
            if each.exists() or each.is_symlink():
                raise _taken(str(each))

    def fill(self, part: Path) -> None:
        """Move the folder to the target."""
        placing.move_new_folder(part, self.path)

    def give_up(self, transfer: Transfer) -> None:
        """Remove the folder beside the target."""
        placing.give_up(transfer.here)


@dataclass(frozen=True)
class Elsewhere:
    """A folder in a store; this machine writes a local copy first."""

    store: Store
    one_file: ClassVar[bool] = False
    stays: ClassVar[bool] = False

    def __str__(self) -> str:
        """Return the path."""
        return self.store.uri

    def begin(self) -> Transfer:
        """Return a temporary folder of this machine, and a hidden folder beside the target in the store."""
        here = Path(tempfile.mkdtemp(prefix="duckdb_priv-")) / self.store.name
        hidden = placing.hidden_name(self.store.name, "partial")
        return Transfer(self.store.session, here, self.store.parent.inside(hidden))

    def refuse_taken(self) -> None:
        """Raise InvalidParameter if the folder exists."""
        if self.store.exists():
            raise _taken(self.store.uri)

    def fill(self, part: Path) -> None:
        """Copy the folder to the store, with setup.sql last, because a store cannot move a folder atomically."""
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
                    hint="the release was recorded, and its rows are in the publisher's database; publish it again"
                    " with replace=True, which costs no further epsilon",
                ) from None
            raise
        self.store.remove(CLAIM)

    def give_up(self, transfer: Transfer) -> None:
        """Remove both folders."""
        placing.remove(transfer.here.parent)
        with suppress(PrivError):
            if transfer.store is not None:
                transfer.store.remove()


Place = Here | Elsewhere
"""The target of a release."""


def place_of(path: str | Path, session: Any) -> Place:
    """Return the target for a path.

    Raises InvalidParameter if the path exists, has the suffix of another format, or cannot be reached from Spark.
    """
    text = str(path)
    # pathlib reduces the two slashes of a URI to one.
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
            hint="give a path in a folder that this program and all executors share, or publish inside the cluster",
        )
    store = Store(session, uri)
    if uri.endswith(FILE):
        raise InvalidParameter(
            "a single release file cannot be written to an object store",
            hint="publish a folder there; FROM priv.export_release(…) writes the file to this machine",
        )
    placing.refuse_ending(Path(store.name), "parquet")
    # Raises InvalidParameter for the root of a store.
    store.parent.exists()
    return Elsewhere(store)


def _taken(path: str) -> InvalidParameter:
    return InvalidParameter(
        f"{echoed(path)} exists", hint="choose another path, or remove it first"
    )
