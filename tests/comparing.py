"""Answers of two databases: sums of floats differ in their last digits from one order of rows to another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def nearly(rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return rows that are equal to others whose numbers are the same up to rounding."""
    return [tuple(map(_nearly, row)) for row in rows]


def _nearly(cell: Any) -> Any:
    return pytest.approx(cell, rel=1e-9, abs=1e-9) if isinstance(cell, float | dict) else cell
