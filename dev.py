"""Sets everything up in .venv and runs it: ``python3 dev.py demo`` or ``python3 dev.py test``.

Needs nothing but Python 3.11 or newer with pip.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
OLDEST_DUCKDB = "1.5.6"
"""The tests run on the newest DuckDB, and those of the SQL surface on this one, too."""
IN_PARALLEL = ("-q", "-n", "auto", "--maxprocesses", "4", "--dist", "loadfile")
"""The tests of a file share what they set up, so they stay together."""


def environment(name: str, *extra: str) -> Path:
    """Return the folder of programs of a virtual environment, made or brought up to date if need be."""
    folder = ROOT / name
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    wanted = hashlib.sha256(
        (ROOT / "pyproject.toml").read_bytes() + repr((sys.version, extra)).encode()
    ).hexdigest()
    stamp = folder / "installed"
    if not stamp.is_file() or stamp.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        run(
            programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
            "--editable", ".[test]", *extra,
        )  # fmt: skip
        stamp.write_text(wanted)
    return programs


def run(*command: str | Path) -> None:
    """Run a command in the project's folder, and stop with its exit code if it fails."""
    print("+", *(Path(command[0]).name, *command[1:]), flush=True)
    code = subprocess.run(list(map(str, command)), cwd=ROOT, check=False).returncode
    if code:
        sys.exit(code)


def demo(*options: str) -> None:
    """Show the main job on data that it makes itself."""
    run(environment(".venv") / "duckdb-priv", "demo", *options)


def test(*options: str) -> None:
    """Check style, types, layers and behaviour; options go to pytest, and then only pytest runs."""
    programs = environment(".venv")
    if options:
        run(programs / "python", "-m", "pytest", *options)
        return
    run(programs / "ruff", "check", ".")
    run(programs / "ruff", "format", "--check", ".")
    run(programs / "mypy")
    run(programs / "lint-imports")
    older = environment(".venv-oldest", f"duckdb=={OLDEST_DUCKDB}")
    run(older / "python", "-m", "pytest", *IN_PARALLEL, "tests/sql", "tests/contract")
    run(programs / "python", "-m", "pytest", *IN_PARALLEL)


if __name__ == "__main__":
    tasks = {"demo": demo, "test": test}
    if len(sys.argv) < 2 or sys.argv[1] not in tasks:
        sys.exit("usage: python3 dev.py demo | test [options]")
    tasks[sys.argv[1]](*sys.argv[2:])
