"""What is loaded when: nothing is that a session does not use."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import duckdb_priv
from duckdb_priv.procedures import find_procedure
from duckdb_priv.sqltext import templates

pytestmark = pytest.mark.once
CALLED = [
    name
    for name in templates.names("publisher")
    if {"@run@", "@ask@", "@publish@"}
    & set(re.findall("@[a-z]+@", templates.read("publisher", name)))
]
"""Macros that run a procedure."""


def loaded_by(program: str) -> set[str]:
    """Run a program in a process of its own, and list the modules that it has loaded."""
    listing = "\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", program + listing],
        cwd=Path(duckdb_priv.__file__).parents[1],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(json.loads(answer.stdout))


def folders_of(modules: set[str]) -> set[str]:
    return {name.split(".")[1] for name in modules if name.startswith("duckdb_priv.")}


def test_importing_the_package_loads_neither_scipy_nor_a_mechanism():
    modules = loaded_by("import duckdb_priv")
    assert folders_of(modules) == {"errors", "version"}
    assert not modules & {"scipy", "numpy", "pyarrow", "duckdb"}


def test_preparing_a_database_loads_neither_scipy_nor_a_method():
    modules = loaded_by("import duckdb_priv; duckdb_priv.connect().close()")
    assert "scipy" not in modules
    assert not folders_of(modules) & {"evaluation", "card", "shell"}
    # What methods take is written into their macros; what they do is loaded when it is done.
    loaded = {name for name in modules if name.startswith("duckdb_priv.methods.")}
    assert not {name for name in loaded if name.endswith((".plan", ".audit", ".advise"))}


def test_what_publishes_uniformly_loads_no_scipy():
    """Only tails of chance need it, and where no group agrees none is computed."""
    modules = loaded_by("import duckdb_priv.publisher.publish, duckdb_priv.methods.uniform.plan")
    assert "scipy" not in modules


def test_opening_a_release_loads_what_it_needs_to_read():
    modules = loaded_by("import duckdb_priv; duckdb_priv.open_release")
    assert not modules & {"scipy", "cryptography"}
    assert not folders_of(modules) & {"engine", "methods", "publisher", "evaluation", "mechanism"}


@pytest.mark.parametrize("name", CALLED)
def test_every_procedure_is_found(name):
    assert callable(find_procedure(name))


def test_a_name_that_the_package_does_not_have():
    with pytest.raises(AttributeError, match="module 'duckdb_priv' has no attribute 'conect'"):
        _ = duckdb_priv.conect
    assert {"connect", "install", "open_release"} <= set(dir(duckdb_priv))
