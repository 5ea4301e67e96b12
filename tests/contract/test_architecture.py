"""The page about the architecture names what there is."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from duckdb_priv.procedures import PROCEDURES

pytestmark = pytest.mark.once
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PATHS = sorted(set(re.findall(r"`([\w.]+(?:/[\w.]*)+)`", PAGE)))
NAMES = sorted({*re.findall(r"\b\w+\.py\b", PAGE)})
"""Modules, which the pictures name without their folders."""
FOLDERS = sorted(set(re.findall(r"^ {3}(\w+)/|(?<= )(\w+)/ {4,}", PAGE, re.MULTILINE)))


@pytest.mark.parametrize("path", PATHS)
def test_every_path_exists(path: str) -> None:
    assert (ROOT / path).is_dir() if path.endswith("/") else (ROOT / path).is_file()


@pytest.mark.parametrize("name", NAMES)
def test_every_module_of_the_pictures_exists(name: str) -> None:
    assert list((ROOT / "duckdb_priv").rglob(name)) or list((ROOT / "tests").rglob(name))


def test_every_folder_is_in_the_picture() -> None:
    folders = {path.parent.name for path in (ROOT / "duckdb_priv").glob("*/__init__.py")}
    drawn = {name for pair in FOLDERS for name in pair if name}
    assert drawn == folders


def test_the_readme_links_to_it() -> None:
    assert "(docs/architecture.md)" in (ROOT / "README.md").read_text("utf-8")


SQL = re.compile(
    r"\b(SELECT|FROM|WHERE|JOIN|INSERT INTO|CREATE|DROP|ALTER|ATTACH|COPY|UPDATE|DELETE|GROUP BY|ORDER BY|UNION)\b"
)
PASTED = {
    "card": (1, "counts of a release whose columns are those that it has"),
    "engine": (7, "a source is any table or query, and is read in the types that it has"),
    "evaluation": (2, "workloads ask any columns"),
    "methods": (7, "kernels are written from the columns and the domains of a source"),
    "publisher": (5, "releases and their columns have any names"),
    "shell": (3, "attaches files, and describes tables of any name"),
    "spark": (4, "reads files, in the types of a frame"),
}
"""By folder: how many of its modules may write SQL around names and expressions themselves, and why. ``sqltext`` quotes
what they write; a text that needs neither is in a file of ``sql/``."""
WRITERS = {"sqltext", "estimator", "ordinary"}
"""Folders whose work is to write SQL: macros, and the statement that answers another one."""


def pasted(path: Path) -> bool:
    """Say whether a module has a text of SQL with places in it."""
    return any(
        SQL.search("".join(each.value for each in node.values if isinstance(each, ast.Constant)))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.JoinedStr)
        and any(isinstance(each, ast.FormattedValue) for each in node.values)
    )


def test_no_further_module_writes_sql_itself() -> None:
    package = ROOT / "duckdb_priv"
    found = Counter(
        path.relative_to(package).parts[0]
        for path in package.rglob("*.py")
        if path.parent.name not in WRITERS and pasted(path)
    )
    assert {folder: n for folder, n in found.items() if n > PASTED.get(folder, (0, ""))[0]} == {}


def test_sql_written_by_a_module_is_noticed(tmp_path: Path) -> None:
    written = tmp_path / "written.py"
    written.write_text('def f(table):\n    return f"SELECT count(*)" f" FROM {table}"\n')
    plain = tmp_path / "plain.py"
    plain.write_text('def f(table):\n    return "SELECT 1 FROM t", f"the table {table}"\n')
    assert (pasted(written), pasted(plain)) == (True, False)


ALONE = {
    "card": 2,
    "engine": 1,
    "estimator": 3,
    "evaluation": 1,
    "ordinary": 5,
    "publisher": 2,
    "shell": 5,
    "spark": 6,
}
"""By folder: how many of its modules only one module imports, which is in the same folder. Such a module has to be an
idea of its own; otherwise it belongs into the one that imports it. A method finds its own modules by their names."""
FOUND_BY_NAME = {"plan", "audit", "advise", "follow"}


def importers(package: Path) -> dict[Path, set[Path]]:
    """Find by which modules each module is imported; procedures are imported by their names."""
    modules = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts): path
        for path in package.rglob("*.py")
    }
    found: dict[Path, set[Path]] = {path: set() for path in modules.values()}
    for path in modules.values():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{each.name}" for each in node.names] + [node.module]
                for name in names:
                    if name in modules:
                        found[modules[name]].add(path)
    for name in PROCEDURES.values():
        found[modules[name]].add(package / "procedures.py")
    return found


def test_few_modules_have_one_importer() -> None:
    package = ROOT / "duckdb_priv"
    found = Counter(
        path.relative_to(package).parts[0]
        for path, by in importers(package).items()
        if len(by) == 1
        and {each.parent for each in by} == {path.parent}
        and not (path.stem in FOUND_BY_NAME and "methods" in path.parts)
    )
    assert {folder: n for folder, n in found.items() if n > ALONE.get(folder, 0)} == {}
