"""Sets everything up in .venv and runs it: ``python3 dev.py demo``, ``docs`` or ``test``.

Needs nothing but Python 3.11 or newer with pip.
"""

from __future__ import annotations

import ctypes.util
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
OLDEST_DUCKDB = "1.5.6"
"""The tests run on the newest DuckDB, and those that are marked `surface` on this one, too."""
IN_PARALLEL = (
    "-q", "-n", "auto", "--maxprocesses", "4", "--dist", "loadfile", "--no-loadscope-reorder",
    "--durations", "10",
)  # fmt: skip
"""The tests of a file share what they set up, so they stay together, and the long files come early; the slowest tests
are named."""
SIGN_OF_LIFE = 5
"""Seconds between two lines that say how far an installation is."""


def environment(name: str, *packages: str) -> Path:
    """Return the folder of programs of a virtual environment that has some packages, installed if need be."""
    folder = ROOT / name
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    made_for = hashlib.sha256(
        (ROOT / "pyproject.toml").read_bytes() + sys.version.encode()
    ).hexdigest()
    stamp, wanted = folder / "installed", " ".join(packages)
    done = stamp.read_text().splitlines() if stamp.is_file() else []
    if done[:1] != [made_for]:
        print(f"Setting up {name}: once, and again when pyproject.toml changes.", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        done = [made_for]
    if wanted not in done:
        install(folder, programs / "python", "--editable", *packages)
        stamp.write_text("\n".join([*done, wanted]))
    return programs


def install(folder: Path, python: Path, *packages: str) -> None:
    """Install packages: pip says which it fetches, and a line every few seconds how many are there."""
    command = [
        str(python), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off",
        *packages,
    ]  # fmt: skip
    print("+", *(python.name, *command[1:]), flush=True)
    began = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT) as pip:
        while True:
            try:
                code = pip.wait(timeout=SIGN_OF_LIFE)
                break
            except subprocess.TimeoutExpired:
                installed = len(list(folder.rglob("site-packages/*.dist-info")))
                passed = time.monotonic() - began
                print(f"  {passed:.0f} s: packages in {folder.name}: {installed}", flush=True)
    if code:
        sys.exit(code)


def oldest_duckdb(programs: Path) -> Path:
    """Return a folder that holds the oldest DuckDB, and goes before the newest one on Python's path."""
    folder = programs.parent / f"duckdb-{OLDEST_DUCKDB}"
    if not folder.is_dir():
        made = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(made, ignore_errors=True)
        install(
            programs.parent, programs / "python", "--no-deps", "--target", str(made),
            f"duckdb=={OLDEST_DUCKDB}",
        )  # fmt: skip
        made.rename(folder)
    return folder


def run(*command: str | Path, environ: Mapping[str, str] | None = None) -> None:
    """Run a command in the project's folder, and stop with its exit code if it fails."""
    settings = [f"{name}={value}" for name, value in (environ or {}).items()]
    print("+", *settings, *(Path(command[0]).name, *command[1:]), flush=True)
    code = subprocess.run(
        list(map(str, command)), cwd=ROOT, env={**os.environ, **(environ or {})}, check=False
    ).returncode
    if code:
        sys.exit(code)


def run_together(
    aside: Sequence[str | Path], environ: Mapping[str, str], *command: str | Path
) -> None:
    """Run a command, and one aside whose output follows: neither waits for the last tests of the other."""
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            list(map(str, aside)),
            cwd=ROOT,
            env={**os.environ, **environ},
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as other,
    ):
        print("+", *command, flush=True)
        code = subprocess.run(list(map(str, command)), cwd=ROOT, check=False).returncode
        code = other.wait() or code
        settings = [f"{name}={value}" for name, value in environ.items()]
        output.seek(0)
        print("+", *settings, *aside)
        print(output.read().decode(errors="replace"), flush=True)
    if code:
        sys.exit(code)


def demo(*options: str) -> None:
    """Show the main job on data that it makes itself."""
    run(environment(".venv", ".") / "duckdb-priv", "demo", *options)


def docs() -> None:
    """Make the pages of the site in build/site; a link to nowhere is an error."""
    python = environment(".venv", ".[docs]") / "python"
    run(python, "docs/site/gather.py", "build/pages")
    run(python, "-m", "sphinx", "--fail-on-warning", "--keep-going", "build/pages", "build/site")


def faster_memory() -> dict[str, str]:
    """Name jemalloc to the loader, where it is installed: planning a query takes many small pieces of memory."""
    found = ctypes.util.find_library("jemalloc") if sys.platform == "linux" else None
    return {"LD_PRELOAD": found} if found else {}


def test(*options: str) -> None:
    """Check style, types, layers and behaviour; options go to pytest, and then only pytest runs."""
    programs = environment(".venv", ".[test]")
    if options:
        run(programs / "python", "-m", "pytest", *options)
        return
    run(programs / "ruff", "check", ".")
    run(programs / "ruff", "format", "--check", ".")
    run(programs / "mypy")
    run(programs / "lint-imports")
    tests = (programs / "python", "-m", "pytest", *IN_PARALLEL)
    os.environ |= faster_memory()
    surface = (*tests, "-m", "surface", "tests/contract", "tests/sql")
    run_together(surface, {"PYTHONPATH": str(oldest_duckdb(programs))}, *tests)


if __name__ == "__main__":
    tasks = {"demo": demo, "docs": docs, "test": test}
    if len(sys.argv) < 2 or sys.argv[1] not in tasks:
        sys.exit("usage: python3 dev.py demo | docs | test [options]")
    tasks[sys.argv[1]](*sys.argv[2:])
