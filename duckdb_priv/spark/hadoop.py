"""Folders in object stores and other Hadoop file systems, which Spark can read and write but DuckDB cannot.

Spark has the libraries and credentials of these file systems. So its Java objects copy the files, through py4j.
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
"""Java's messages if a library is missing."""
LIBRARIES = {"s3a": "hadoop-aws", "abfss": "hadoop-azure", "gs": "gcs-connector"}


@dataclass(frozen=True)
class Store:
    """A folder in a Hadoop file system."""

    session: SparkSession
    uri: str

    @property
    def name(self) -> str:
        """The last part of the folder's path."""
        return str(self._path("").getName())

    @property
    def parent(self) -> Store:
        """The parent folder; raises InvalidParameter for the root of a store."""
        above = self._path("").getParent()
        if above is None or not self.name:
            raise InvalidParameter(
                f"{echoed(self.uri)} is the root of a store", hint="add the name of a new folder"
            )
        return Store(self.session, str(above))

    def inside(self, name: str) -> Store:
        """Return the subfolder of this name."""
        return Store(self.session, self.uri_of(name))

    def uri_of(self, name: str) -> str:
        """Return the path of a file or folder in this folder."""
        return f"{self.uri.rstrip('/')}/{name}"

    def exists(self, name: str = "") -> bool:
        """Return whether the folder, or the file or folder ``name`` in it, exists."""
        with self._explained():
            return bool(self._files().exists(self._path(name)))

    def make(self) -> None:
        """Create the folder; fails if that is not allowed."""
        with self._explained():
            self._files().mkdirs(self._path(""))

    def claim(self, name: str) -> bool:
        """Create an empty file; return False if the file exists."""
        with self._explained():
            try:
                self._files().create(self._path(name), False).close()
            except Py4JJavaError as error:
                if "FileAlreadyExistsException" in _class_of(error) or self.exists(name):
                    return False
                raise
            return True

    def list(self) -> list[str]:
        """Return the names of the files and folders in this folder."""
        with self._explained():
            found = self._files().listStatus(self._path(""))
            return [str(each.getPath().getName()) for each in found]

    def fetch(self, name: str, here: Path) -> None:
        """Copy a file or folder to the new path ``here`` of this machine."""
        with self._explained():
            self._files().copyToLocalFile(False, self._path(name), _local(self.session, here), True)

    def send(self, here: Path, name: str) -> None:
        """Copy a file or folder of this machine into this folder."""
        with self._explained():
            self._files().copyFromLocalFile(
                False, True, _local(self.session, here), self._path(name)
            )

    def remove(self, name: str = "") -> None:
        """Remove a file or folder, or this folder without a name, with its content."""
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
        """Turn errors of Java's file system into errors of this package."""
        try:
            yield
        except Py4JJavaError as error:
            scheme = self.uri.split(":")[0]
            stated = f"{_class_of(error)}: {error.java_exception.getMessage()}"
            if UNKNOWN.search(stated):
                library = LIBRARIES.get(scheme)
                raise InvalidParameter(
                    f"this Spark session has no file system for {scheme}:",
                    hint=f"add {library or 'its library'} to spark.jars.packages, in the version of Spark's Hadoop",
                ) from None
            raise PublicationFailed(
                f"Spark's file system cannot use {echoed(self.uri)}: {echoed(stated.splitlines()[0])}",
                hint="check the write permission of the folder and the settings of the store",
            ) from None


def _class_of(error: Py4JJavaError) -> str:
    return str(error.java_exception.getClass().getSimpleName())


def _local(session: SparkSession, path: Path) -> Any:
    java: Any = session._jvm
    return java.org.apache.hadoop.fs.Path(f"file://{path}")
