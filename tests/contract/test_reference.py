"""The mathematics that publishing runs on, and that which only tests and the papers' figures use, are apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once
PACKAGE = Path(__file__).parents[2] / "duckdb_priv"
MATHEMATICS = PACKAGE / "mechanism"
FOR_OTHERS = {
    "operator_pairs": "the guarantee of any operator in a shuffle, beside the codes that are published",
    "smoothed_counts": "counts of many small groups, drawn together from the estimates of a release",
}
"""What is offered to those who import the mathematics, and why it is not in the reference, which nobody imports."""


def defined(tree: ast.Module) -> Iterator[str]:
    """Yield the functions and classes of a module."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def named(tree: ast.Module) -> Iterator[str]:
    """Yield every name that a module reads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name


def test_all_mathematics_outside_the_reference_is_used_by_the_package():
    modules = {path: ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
    used = {name for tree in modules.values() for name in named(tree)}
    unused = {
        f"{path.name}: {name}"
        for path, tree in modules.items()
        if path.parent == MATHEMATICS
        for name in defined(tree)
        if name not in used and name not in FOR_OTHERS
    }
    assert not unused, "only tests use these: they belong into tests/reference"
