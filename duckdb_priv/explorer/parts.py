"""Collects the files of the explorer page: its own, and those of its engine, which npm installs in the user's cache.

The engine (DuckDB in WebAssembly, and Observable Plot) takes 36 MB, many times the package, and most publishers never
need it. So it is not in the package but downloaded on request, with the versions and checksums of the lock file.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from html import escape
from pathlib import Path

from duckdb_priv.errors import InvalidParameter, PrivError

HERE = Path(__file__).resolve().parent
PAGE = HERE / "page"
INDEX = "index.html"
ORDERED = ("package.json", "package-lock.json")
ENGINE = {
    "@duckdb/duckdb-wasm": (
        "dist/duckdb-browser.mjs", "dist/duckdb-browser-eh.worker.js", "dist/duckdb-eh.wasm",
    ),
    "@observablehq/plot": ("dist/plot.umd.min.js",),
    "apache-arrow": ("**/*.mjs",),
    "d3": ("dist/d3.min.js",),
    "flatbuffers": ("mjs/**/*.js",),
    "tslib": ("tslib.es6.mjs",),
}  # fmt: skip
"""The files of each npm package that the page loads."""
LICENCES = ("LICENSE*", "NOTICE*")
"""Licences, which are copied, too. The package of DuckDB in WebAssembly has no licence file; it states MIT."""


class EngineMissing(PrivError):
    """The engine of the explorer is not installed, or cannot be installed."""


def cache() -> Path:
    """Return the folder of the engine, which need not exist yet. Each version of the engine has its own folder.

    The folder is in ``$XDG_CACHE_HOME``, or else in ``~/.cache``.
    """
    wanted = b"".join((HERE / name).read_bytes() for name in ORDERED)
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "duckdb_priv" / f"explorer-{hashlib.sha256(wanted).hexdigest()[:12]}"


def parts() -> Mapping[str, Path]:
    """Return the files of the page by their paths relative to the page.

    Raises EngineMissing.
    """
    engine = cache()
    if not engine.is_dir():
        raise EngineMissing(
            "the explorer's engine is not installed: DuckDB in WebAssembly and Observable Plot, 36 MB",
            hint="run duckdb-priv explore --install once; it needs npm of Node.js",
        )
    page = {path.name: path for path in PAGE.iterdir()}
    return page | {
        f"engine/{path.relative_to(engine).as_posix()}": path
        for path in sorted(engine.rglob("*"))
        if path.is_file()
    }


def install() -> Path:
    """Install the engine with npm, and keep the files that the page loads; return their folder.

    Raises EngineMissing if npm is missing or fails.
    """
    place = cache()
    if place.is_dir():
        return place
    npm = shutil.which("npm")
    if npm is None:
        raise EngineMissing(
            "the explorer's engine needs npm to be installed, and npm is not on the PATH",
            hint=f"install Node.js, or copy the folder {place} from another machine",
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    # The folder is made under another name and then renamed, so an interrupted installation is never used.
    with tempfile.TemporaryDirectory(dir=place.parent, ignore_cleanup_errors=True) as folder:
        workshop = Path(folder)
        for name in ORDERED:
            shutil.copy(HERE / name, workshop)
        done = subprocess.run(
            [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=workshop, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise EngineMissing(
                f"npm could not install the explorer's engine: {done.stderr.strip()[-300:]}",
                hint="check that npm can reach its registry, then try again",
            )
        made = workshop / "made"
        for package, patterns in ENGINE.items():
            keep(workshop / "node_modules" / package, made / package, (*patterns, *LICENCES))
        try:
            made.rename(place)
        except OSError:
            if not place.is_dir():
                raise
    return place


def keep(source: Path, target: Path, patterns: tuple[str, ...]) -> None:
    """Copy the files of a folder that match one of the patterns."""
    for path in (each for pattern in patterns for each in source.glob(pattern)):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def write(folder: Path, release: Path | None = None) -> None:
    """Write the page to a new folder for any web server. With ``release``, the page opens this file at once.

    Raises EngineMissing. Raises InvalidParameter if the folder exists, or if the release has the name of a page file.
    """
    files = parts()
    if folder.exists():
        raise InvalidParameter(f"{str(folder)!r} exists", hint="name a new folder")
    if release is not None and release.name in {Path(name).parts[0] for name in files}:
        raise InvalidParameter(
            f"{release.name!r} is the name of a file of the page", hint="rename the release file"
        )
    for name, path in files.items():
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    if release is not None:
        shutil.copyfile(release, folder / release.name)
        page = (PAGE / INDEX).read_text("utf-8")
        named = f'<meta name="release" content="{escape(release.name)}">\n<title>'
        (folder / INDEX).write_text(page.replace("<title>", named, 1), "utf-8", newline="\n")
