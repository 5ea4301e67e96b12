"""What is handed out as a package is whole: it is built, installed where nothing else of the project is, and used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from configparser import ConfigParser
from email.parser import Parser
from pathlib import Path

import duckdb
import pytest

import duckdb_priv
from clients.asking import VERSIONS
from clients.installation import Missing, with_packages

ROOT = Path(__file__).parents[2]
CODE = ("duckdb_priv", "sql")
CACHES = "__pycache__"
BUILD = (sys.executable, "-m", "hatchling", "build", "-d")


@pytest.fixture(scope="module")
def builder() -> dict[str, str]:
    """The environment of a Python that can build packages."""
    try:
        return with_packages()
    except Missing as reason:
        pytest.skip(str(reason))


def run(*command: str | Path, cwd: Path, environ: Mapping[str, str] | None = None) -> str:
    """Run a program that does not see the project's own folder."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environ or known,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(builder: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel, the archive of the sources, and the folder that it unpacks to."""
    folder = tmp_path_factory.mktemp("built")
    run(*BUILD, folder, cwd=ROOT, environ=builder)
    (wheel,), (sources,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with tarfile.open(sources) as archive:
        archive.extractall(folder, filter="data")
    return {"wheel": wheel, "sources": folder / sources.name.removesuffix(".tar.gz")}


def test_the_readme_says_which_duckdb_is_for_whom() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    section = readme.split("### Which DuckDB for whom\n")[1].split("\n#")[0]
    opens, publishes = re.findall(r"^\| (?:opens|publishes).*\| (.*) \|$", section, re.MULTILINE)
    assert opens.startswith(f"{'.'.join(VERSIONS[0].split('.')[:2])} or newer")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert "duckdb>=1.5,<3" in project["dependencies"]
    assert publishes.startswith("1.5 to 2.x")


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_the_code_the_sql_and_the_pages(built: dict[str, Path]) -> None:
    expected = {
        (path if path.parts[0] == "duckdb_priv" else Path("duckdb_priv") / path).as_posix()
        for folder in CODE
        for path in (each.relative_to(ROOT) for each in (ROOT / folder).rglob("*"))
        if (ROOT / path).is_file() and CACHES not in path.parts
    }
    found = contents(built["wheel"])
    assert {name for name in found if ".dist-info/" not in name} == expected
    assert {"duckdb_priv/py.typed", "duckdb_priv/sql/publisher/publish_uniform.sql"} <= expected


def test_the_wheel_says_what_it_is(built: dict[str, Path]) -> None:
    found = contents(built["wheel"])
    (name,) = (name for name in found if name.endswith(".dist-info/METADATA"))
    reported = Parser().parsestr(found[name].decode())
    assert (reported["Name"], reported["Version"]) == ("duckdb_priv", duckdb_priv.__version__)
    assert (reported["License-Expression"], reported["Requires-Python"]) == ("Apache-2.0", ">=3.11")
    assert found[name.replace("METADATA", "licenses/LICENSE")] == (ROOT / "LICENSE").read_bytes()
    commands = ConfigParser(delimiters=["="])
    commands.read_string(found[name.replace("METADATA", "entry_points.txt")].decode())
    assert dict(commands["console_scripts"]) == {"duckdb-priv": "duckdb_priv.__main__:main"}
    dialect = "duckdb_priv.ordinary.dialect:Dialect"
    assert dict(commands["sqlalchemy.dialects"]) == {"duckdb_priv": dialect, "duckdb.priv": dialect}


def test_the_sources_make_the_same_wheel(
    built: dict[str, Path], builder: dict[str, str], tmp_path: Path
) -> None:
    sources = built["sources"]
    assert {"CHANGELOG.md", "LICENSE", "README.md", "dev.py", "docs", "tests"} <= {
        path.name for path in sources.iterdir()
    }
    run(*BUILD, tmp_path, "-t", "wheel", cwd=sources, environ=builder)
    (wheel,) = tmp_path.glob("*.whl")
    assert contents(wheel) == contents(built["wheel"])


def test_the_wheel_is_installed_and_used_where_nothing_else_is(
    built: dict[str, Path], tmp_path: Path
) -> None:
    """In an environment of its own, which borrows the packages that it depends on."""
    run(sys.executable, "-m", "venv", "--without-pip", "fresh", cwd=tmp_path)
    programs = tmp_path / "fresh" / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(python, "-c", ask, cwd=tmp_path).strip())
    run(
        sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps",
        "--no-index", "--disable-pip-version-check", built["wheel"], cwd=tmp_path,
    )  # fmt: skip
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    where = run(
        python, "-c", "import duckdb_priv; print(duckdb_priv.__file__)", cwd=tmp_path
    ).strip()
    assert Path(where).is_relative_to(packages)
    command = programs / "duckdb-priv"
    assert run(command, "--version", cwd=tmp_path).strip() == duckdb_priv.__version__
    run(command, "demo", "--rows", "1000", "--keep", "kept", cwd=tmp_path)
    with duckdb.connect(str(tmp_path / "kept" / "census.duckdb"), read_only=True) as release:
        assert release.execute("SELECT count(*) FROM census").fetchall() == [(1000,)]
