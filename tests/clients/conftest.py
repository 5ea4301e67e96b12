"""Releases for all tests of clients."""

from __future__ import annotations

import os
import pickle
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clients.releases import Connect, Release, publish_all, publish_years

collect_ignore = ["programs"]


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory, prepared: Connect) -> dict[str, Release]:
    """Publish by every mechanism, and export each release to a file of its own."""
    return once(tmp_path_factory, publish_all, prepared)


@pytest.fixture(scope="session")
def years(tmp_path_factory: pytest.TempPathFactory, prepared: Connect) -> dict[str, Release]:
    """Publish two releases of one name, from different years."""
    return once(tmp_path_factory, publish_years, prepared)


def once(
    temporary: pytest.TempPathFactory, publish: Callable[..., dict[str, Release]], connect: Connect
) -> dict[str, Release]:
    """Publish in one process of a run, with all answers; the others wait, and read what it made."""
    run = temporary.getbasetemp()
    folder = (run.parent if "PYTEST_XDIST_WORKER" in os.environ else run) / publish.__name__
    made = folder / "made.pickle"
    while not made.exists():
        try:
            folder.mkdir()
        except FileExistsError:
            time.sleep(0.1)
            continue
        try:
            _publish(folder, made, publish, connect)
        except BaseException:
            shutil.rmtree(folder)
            raise
    found: dict[str, Release] = pickle.loads(made.read_bytes())
    return found


def _publish(
    folder: Path, made: Path, publish: Callable[..., dict[str, Release]], connect: Connect
) -> None:
    found = publish(folder, connect=connect)
    for release in found.values():
        assert release.answers
    written = made.with_suffix(".part")
    written.write_bytes(pickle.dumps(found))
    written.rename(made)
