"""The notebook answers what it shows."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.once
SITE = Path(__file__).parents[2] / "docs" / "site"


def test_the_notebook_shows_what_its_cells_answer() -> None:
    """All texts to the last digit; a picture is drawn otherwise by every version of what draws it."""
    notebook = runpy.run_path(str(SITE / "notebook.py"))
    stored = notebook["read"]()
    answered = notebook["executed"](stored)
    pictures = 0
    for old, new in zip(stored["cells"], answered["cells"], strict=True):
        for each in (old, new):
            for output in each.get("outputs", ()):
                pictures += output.get("data", {}).pop(notebook["PICTURE"], None) is not None
        assert new == old
    assert pictures == 2
