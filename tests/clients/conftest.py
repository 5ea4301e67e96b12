"""Releases for all tests of clients."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import pytest
from shared import folder_of_run, once

from clients.releases import Connect, Release, publish_all, publish_years

collect_ignore = ["programs"]


@pytest.fixture(scope="session")
def releases(
    tmp_path_factory: pytest.TempPathFactory,
    prepared: Connect,
    for_files: Callable[..., AbstractContextManager[None]],
) -> dict[str, Release]:
    """Publish by every mechanism, and export each release to a file of its own."""
    with for_files():
        return answered(tmp_path_factory, publish_all, prepared)


@pytest.fixture(scope="session")
def years(
    tmp_path_factory: pytest.TempPathFactory,
    prepared: Connect,
    for_files: Callable[..., AbstractContextManager[None]],
) -> dict[str, Release]:
    """Publish two releases of one name, from different years."""
    with for_files():
        return answered(tmp_path_factory, publish_years, prepared)


@pytest.fixture(scope="session")
def wrong(
    releases: dict[str, Release], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Files that are no releases, and one that only the newest DuckDB can open."""
    folder = tmp_path_factory.mktemp("wrong")
    whole = releases["uniform"].path.read_bytes()
    files = {
        name: folder / f"{name}.duckdb"
        for name in ("missing", "text", "truncated", "damaged", "other", "newer")
    }
    files["text"].write_text("patient,disease\n" * 9999)
    files["truncated"].write_bytes(whole[: len(whole) // 10])
    # The bit is in a block that is read: that of the macros' text.
    place = whole.index(b"records of release")
    files["damaged"].write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    with duckdb.connect() as writer:
        writer.execute(f"ATTACH '{files['other']}' AS other (STORAGE_VERSION 'v1.0.0')")
        writer.execute("CREATE TABLE other.uniform AS SELECT 'north' AS ward, 'flu' AS disease")
        writer.execute(f"ATTACH '{releases['uniform'].path}' AS release (READ_ONLY)")
        writer.execute(f"ATTACH '{files['newer']}' AS newer")
        writer.execute("COPY FROM DATABASE release TO newer")
    return files


def answered(
    temporary: pytest.TempPathFactory, publish: Callable[..., dict[str, Release]], connect: Connect
) -> dict[str, Release]:
    """Publish and ask in one process of the run, for all."""

    def make(folder: Path) -> dict[str, Release]:
        found = publish(folder, connect=connect)
        for release in found.values():
            assert release.answers
        return found

    of_run = folder_of_run(temporary) / publish.__name__
    found = once(of_run, make)
    # Who opens a file as people do may write to it, which nobody else can while it is read.
    own = temporary.mktemp(publish.__name__)
    shutil.copytree(of_run, own, dirs_exist_ok=True)
    for release in found.values():
        object.__setattr__(release, "path", own / release.path.relative_to(of_run))
    return found
