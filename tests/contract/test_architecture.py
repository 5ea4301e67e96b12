"""The page about the architecture names what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.once
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PATHS = sorted(set(re.findall(r"`([\w.]+(?:/[\w.]*)+)`", PAGE)))
NAMES = sorted({*re.findall(r"\b\w+\.py\b", PAGE)})
"""Modules, which the pictures name without their folders."""
ROOMS = sorted(set(re.findall(r"^ {3}(\w+)/|(?<= )(\w+)/ {4,}", PAGE, re.MULTILINE)))


@pytest.mark.parametrize("path", PATHS)
def test_every_path_exists(path: str) -> None:
    assert (ROOT / path).is_dir() if path.endswith("/") else (ROOT / path).is_file()


@pytest.mark.parametrize("name", NAMES)
def test_every_module_of_the_pictures_exists(name: str) -> None:
    assert list((ROOT / "duckdb_priv").rglob(name)) or list((ROOT / "tests").rglob(name))


def test_every_room_is_in_the_picture() -> None:
    rooms = {path.parent.name for path in (ROOT / "duckdb_priv").glob("*/__init__.py")}
    drawn = {name for pair in ROOMS for name in pair if name}
    assert drawn == rooms


def test_the_readme_links_to_it() -> None:
    assert "(docs/architecture.md)" in (ROOT / "README.md").read_text("utf-8")
