"""Installs the project in .venv and runs a task: ``python3 dev.py demo``, ``docs`` or ``test``.

Needs only Python 3.11 or newer, with pip.
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent
OLDEST_DUCKDB = "1.5.6"
"""All tests run on the newest DuckDB. The tests marked `surface` run on this version, too."""
REPORTED = ("-q", "--durations", "10")
"""Options of pytest: the slowest tests are listed at the end."""
IN_PARALLEL = (
    "-n", "auto", "--maxprocesses", "4", "--dist", "loadfile", "--no-loadscope-reorder",
)  # fmt: skip
"""Options of pytest: tests of one file run in one process, since they share fixtures. Files start in the order of
tests/conftest.py, the longest first. The surface is short, and runs in one process, which prepares everything once."""
SIGN_OF_LIFE = 5
"""Seconds between two progress lines of an installation."""


def environment(name: str, *packages: str) -> Path:
    """Make a virtual environment with these packages, unless it exists; return its folder of programs."""
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
    """Install packages with pip, and print every few seconds how many are installed."""
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
    """Install the oldest DuckDB in a folder of its own; return the folder, which goes first on Python's path."""
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
    """Run a command in the project's folder. If the command fails, exit with its code."""
    settings = [f"{name}={value}" for name, value in (environ or {}).items()]
    print("+", *settings, *(Path(command[0]).name, *command[1:]), flush=True)
    code = subprocess.run(
        list(map(str, command)), cwd=ROOT, env={**os.environ, **(environ or {})}, check=False
    ).returncode
    if code:
        sys.exit(code)


@contextmanager
def beside(*command: str | Path, environ: Mapping[str, str]) -> Iterator[None]:
    """Run a command while the block runs; its output is printed at the end. If it fails, exit with its code."""
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            list(map(str, command)),
            cwd=ROOT,
            env={**os.environ, **environ},
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as other,
    ):
        try:
            yield
        finally:
            code = other.wait()
            settings = [f"{name}={value}" for name, value in environ.items()]
            output.seek(0)
            print("+", *settings, *command)
            print(output.read().decode(errors="replace"), flush=True)
    if code:
        sys.exit(code)


def demo(*options: str) -> None:
    """Publish and query generated data with ``duckdb-priv demo``."""
    run(environment(".venv", ".") / "duckdb-priv", "demo", *options)


def docs() -> None:
    """Build the documentation site in build/site. A broken link is an error."""
    python = environment(".venv", ".[docs]") / "python"
    run(python, "docs/site/gather.py", "build/pages")
    run(python, "-m", "sphinx", "--fail-on-warning", "--keep-going", "build/pages", "build/site")


def faster_memory() -> dict[str, str]:
    """Return the environment variable that loads jemalloc, if installed: it speeds up the planning of queries."""
    found = ctypes.util.find_library("jemalloc") if sys.platform == "linux" else None
    return {"LD_PRELOAD": found} if found else {}


def test(*options: str) -> None:
    """Run ruff, mypy, lint-imports and pytest. With options, run only pytest with these options."""
    programs = environment(".venv", ".[test]")
    # Every process would compile all modules and tests anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if options:
        run(programs / "python", "-m", "pytest", *options)
        return
    os.environ |= faster_memory()
    tests = (programs / "python", "-m", "pytest", *REPORTED)
    surface = (*tests, "-m", "surface", "tests/contract", "tests/sql")
    run(programs / "ruff", "check", ".")
    run(programs / "ruff", "format", "--check", ".")
    with beside(*surface, environ={"PYTHONPATH": str(oldest_duckdb(programs))}):
        run(programs / "lint-imports")
        run(programs / "mypy")
        run(*tests, *IN_PARALLEL)


if __name__ == "__main__":
    tasks = {"demo": demo, "docs": docs, "test": test}
    if len(sys.argv) < 2 or sys.argv[1] not in tasks:
        sys.exit("usage: python3 dev.py demo | docs | test [options]")
    tasks[sys.argv[1]](*sys.argv[2:])
