"""What the page is made of: its own files, and the engine, which npm installs once into a folder of the user's.

The engine (DuckDB in WebAssembly, and Observable Plot) is 36 MB, many times the package, and most who publish never
need it. So it is not in the package: it is fetched on request, in the versions and with the checksums of the
lock file.
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
"""By package: the files that the page loads."""
LICENCES = ("LICENSE*", "NOTICE*")
"""They go wherever the files go. DuckDB in WebAssembly has its own in none, and states MIT."""


class EngineMissing(PrivError):
    """What the page counts and draws with is not installed, or cannot be."""


def cache() -> Path:
    """Return the folder that holds the engine, whether it does or not; other versions have other folders.

    ``$XDG_CACHE_HOME``, or ``~/.cache``, is where it lies.
    """
    wanted = b"".join((HERE / name).read_bytes() for name in ORDERED)
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "duckdb_priv" / f"explorer-{hashlib.sha256(wanted).hexdigest()[:12]}"


def parts() -> Mapping[str, Path]:
    """Return the files of the page by their places, relative to the page.

    Raises EngineMissing.
    """
    engine = cache()
    if not engine.is_dir():
        raise EngineMissing(
            "the explorer's engine is not on this machine: DuckDB in WebAssembly and Observable Plot, 36 MB",
            hint="duckdb-priv explore --install fetches it, once, with npm of Node.js",
        )
    page = {path.name: path for path in PAGE.iterdir()}
    return page | {
        f"engine/{path.relative_to(engine).as_posix()}": path
        for path in sorted(engine.rglob("*"))
        if path.is_file()
    }


def install() -> Path:
    """Let npm install the engine, and keep what the page loads of it; return its folder.

    Raises EngineMissing where there is no npm, or it fails.
    """
    place = cache()
    if place.is_dir():
        return place
    npm = shutil.which("npm")
    if npm is None:
        raise EngineMissing(
            "the explorer's engine is installed with npm, and there is none on the PATH",
            hint=f"install Node.js, or copy {place} from a machine that has it",
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    # Made beside its place: what is interrupted, or runs twice, leaves nothing half made.
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
                hint="look whether npm reaches its registry, then try again",
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
    """Copy the files of a folder that match."""
    for path in (each for pattern in patterns for each in source.glob(pattern)):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def write(folder: Path, release: Path | None = None) -> None:
    """Write the page into a new folder, for any web server; with a release, which the page then opens by itself.

    Raises EngineMissing, and InvalidParameter where there is something of that name, or the release is called like a
    file of the page.
    """
    files = parts()
    if folder.exists():
        raise InvalidParameter(f"{str(folder)!r} is there already", hint="name a new folder")
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
