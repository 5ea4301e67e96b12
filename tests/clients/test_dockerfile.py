"""The image is described without what its linter warns of, and holds what the package is built from."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from clients.installation import Missing, packages

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]


def linted(text: str) -> str:
    try:
        hadolint = packages() / "bin" / "hadolint"
    except Missing as reason:
        pytest.skip(str(reason))
    done = subprocess.run(
        [str(hadolint), "--no-color", "-"], input=text, capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) == (not done.stdout), done.stderr
    return done.stdout


def test_the_linter_has_nothing_to_say_and_says_something_where_it_should():
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert linted(text) == ""
    assert "DL3042" in linted(text.replace("--no-cache-dir ", ""))
    assert "DL3006" in linted(text.replace("python:3.13-slim", "python"))


def test_what_it_copies_is_there():
    copied = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert copied
    for name in " ".join(copied).split():
        assert (ROOT / name).exists()
