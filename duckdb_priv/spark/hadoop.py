"""Folders of object stores, and of other file systems of Hadoop: what Spark's own writers reach, and DuckDB does not.

Spark loads their libraries and holds their credentials, so files are moved by the same objects of Java, through py4j.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from duckdb_priv.errors import InvalidParameter, PublicationFailed, echoed

UNKNOWN = re.compile(r"UnsupportedFileSystemException|ClassNotFoundException|No FileSystem for")
"""What Java says where a library is missing."""
LIBRARIES = {"s3a": "hadoop-aws", "abfss": "hadoop-azure", "gs": "gcs-connector"}


@dataclass(frozen=True)
class Store:
    """A folder of a file system of Hadoop."""

    session: SparkSession
    uri: str

    @property
    def name(self) -> str:
        """The last part of its path."""
        return str(self._path("").getName())

    @property
    def parent(self) -> Store:
        """The folder that it is in; raises InvalidParameter for the root of a store."""
        above = self._path("").getParent()
        if above is None or not self.name:
            raise InvalidParameter(
                f"{echoed(self.uri)} is a whole store, and no folder in it", hint="add a name"
            )
        return Store(self.session, str(above))

    def inside(self, name: str) -> Store:
        """Return a folder in it."""
        return Store(self.session, self.uri_of(name))

    def uri_of(self, name: str) -> str:
        """Write the path of something in it."""
        return f"{self.uri.rstrip('/')}/{name}"

    def exists(self, name: str = "") -> bool:
        """Return whether something is there."""
        with self._explained():
            return bool(self._files().exists(self._path(name)))

    def make(self) -> None:
        """Make the folder, which shows whether that is allowed."""
        with self._explained():
            self._files().mkdirs(self._path(""))

    def claim(self, name: str) -> bool:
        """Write an empty file; return False where one is there."""
        with self._explained():
            try:
                self._files().create(self._path(name), False).close()
            except Py4JJavaError as error:
                if "FileAlreadyExistsException" in _class_of(error) or self.exists(name):
                    return False
                raise
            return True

    def list(self) -> list[str]:
        """Name what is in the folder."""
        with self._explained():
            found = self._files().listStatus(self._path(""))
            return [str(each.getPath().getName()) for each in found]

    def fetch(self, name: str, here: Path) -> None:
        """Copy a file, or a folder, to this machine, where nothing of its name is."""
        with self._explained():
            self._files().copyToLocalFile(False, self._path(name), _local(self.session, here), True)

    def send(self, here: Path, name: str) -> None:
        """Copy a file of this machine, or a folder, into the folder."""
        with self._explained():
            self._files().copyFromLocalFile(
                False, True, _local(self.session, here), self._path(name)
            )

    def remove(self, name: str = "") -> None:
        """Remove something with all that is in it."""
        with self._explained():
            self._files().delete(self._path(name), True)

    def _path(self, name: str) -> Any:
        java: Any = self.session._jvm
        return java.org.apache.hadoop.fs.Path(self.uri_of(name) if name else self.uri)

    def _files(self) -> Any:
        inside: Any = self.session._jsparkSession
        return self._path("").getFileSystem(inside.sessionState().newHadoopConf())

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say why Java's file system did not do something, which quotes no value of a record."""
        try:
            yield
        except Py4JJavaError as error:
            scheme = self.uri.split(":")[0]
            stated = f"{_class_of(error)}: {error.java_exception.getMessage()}"
            if UNKNOWN.search(stated):
                library = LIBRARIES.get(scheme)
                raise InvalidParameter(
                    f"this session of Spark has no file system for {scheme}:",
                    hint=f"add {library or 'its library'} to spark.jars.packages, in the version of Spark's Hadoop",
                ) from None
            raise PublicationFailed(
                f"Spark's file system cannot use {echoed(self.uri)}: {echoed(stated.splitlines()[0])}",
                hint="look whether the folder may be written, and at the settings of the store",
            ) from None


def _class_of(error: Py4JJavaError) -> str:
    return str(error.java_exception.getClass().getSimpleName())


def _local(session: SparkSession, path: Path) -> Any:
    java: Any = session._jvm
    return java.org.apache.hadoop.fs.Path(f"file://{path}")
