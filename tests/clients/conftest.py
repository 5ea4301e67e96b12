"""Releases for all tests of clients."""

from __future__ import annotations

import pytest

from clients.releases import Release, publish_all, publish_years

collect_ignore = ["programs"]


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Release]:
    """Publish by every mechanism, and export each release to a file of its own."""
    return publish_all(tmp_path_factory.mktemp("releases"))


@pytest.fixture(scope="session")
def years(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Release]:
    """Publish two releases of one name, from different years."""
    return publish_years(tmp_path_factory.mktemp("years"))
