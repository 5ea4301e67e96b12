"""A name means one thing in the whole package."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import duckdb_priv

pytestmark = pytest.mark.once
PACKAGE = Path(duckdb_priv.__file__).parent
MODULES = {
    path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
}


def types_of(text: str) -> Iterator[str]:
    """Name the classes that a module defines at its top, and the aliases of types."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (
                target.id
                for target in node.targets
                if isinstance(target, ast.Name) and re.match("[A-Z][a-z]", target.id)
            )


def test_no_two_types_have_one_name():
    where = defaultdict(list)
    for module, text in MODULES.items():
        for name in types_of(text):
            where[name].append(module)
    assert {name: modules for name, modules in where.items() if len(modules) > 1} == {}
