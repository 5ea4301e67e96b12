"""What the processes of one run of the tests share: files that one of them makes."""

from __future__ import annotations

import os
import pickle
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

Made = TypeVar("Made")


def folder_of_run(temporary: pytest.TempPathFactory) -> Path:
    """Return a folder that all processes of this run know."""
    own = temporary.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def once(folder: Path, make: Callable[[Path], Made]) -> Made:
    """Let one process make files in a new folder, and return what it made; the others wait, and get the same."""
    made = folder / "made.pickle"
    while not made.exists():
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            time.sleep(0.1)
            continue
        try:
            written = made.with_suffix(".part")
            written.write_bytes(pickle.dumps(make(folder)))
            written.rename(made)
        except BaseException:
            shutil.rmtree(folder)
            raise
    found: Made = pickle.loads(made.read_bytes())
    return found
