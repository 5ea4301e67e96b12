"""The page of licences names every package that comes along, and every one that can be asked for."""

from __future__ import annotations

import importlib.metadata
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from duckdb_priv.explorer import parts

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
OURS = "duckdb-priv"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def listed(heading: str) -> Mapping[str, tuple[str, str]]:
    """Read a table of the page: by package, its licence, and what it is for."""
    page = (ROOT / "DEPENDENCIES.md").read_text("utf-8")
    section = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([\w@/-]+) \| (.+?) \| (.+?) \|$", section, re.MULTILINE)
    return {name: (licence, use) for name, licence, use in rows if name != "package"}


def named(requirements: Iterable[str]) -> set[str]:
    found = {re.split(r"[^\w.-]", each)[0].lower().replace("_", "-") for each in requirements}
    return found - {OURS}


def test_what_is_installed_with_it() -> None:
    """All the way down, as far as this machine needs it."""
    direct = named(PROJECT["dependencies"])
    known, next_ones = set(), direct
    while next_ones:
        known |= next_ones
        next_ones = {
            name
            for each in next_ones
            for name in named(
                text
                for text in importlib.metadata.requires(each) or ()
                if "extra ==" not in text and is_installed(*named([text]))
            )
        } - known
    found = listed("What is installed with it")
    assert known <= set(found)
    assert direct <= set(found)
    assert all(licence and use for licence, use in found.values())


def is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def test_what_is_installed_when_asked_for() -> None:
    """Beside what is installed with it, of which tests need one version."""
    core = named(PROJECT["dependencies"])
    extras = {
        extra: named(packages) - core
        for extra, packages in PROJECT["optional-dependencies"].items()
    }
    of_tests = PROJECT["optional-dependencies"]["test"]
    found = listed("What is installed when asked for")
    for name, (_, use) in found.items():
        wanted = {extra for extra, packages in extras.items() if name in packages}
        of_docs = (
            {"test"}
            if "docs" in wanted and f"{OURS.replace('-', '_')}[docs]" in of_tests
            else set()
        )
        assert set(re.findall(r"`(\w+)`", use)) == wanted | of_docs, name
    assert set(found) == set().union(*extras.values())


def test_what_the_explorer_fetches() -> None:
    """What its page loads, under the licences that its lock file states."""
    locked = json.loads((parts.HERE / "package-lock.json").read_text("utf-8"))["packages"]
    found = listed("What `duckdb-priv explore --install` fetches")
    stated = {name: locked[f"node_modules/{name}"].get("license") for name in parts.ENGINE}
    assert {name: licence for name, (licence, _) in found.items()} == stated
    assert "resolved" not in next(each for name, each in locked.items() if name)
