"""The pages of the site are built without a warning, and every page of the project has its place there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx", reason="the site is built where sphinx is installed")
    pages, built = (tmp_path_factory.mktemp(name) for name in ("pages", "site"))
    subprocess.run([sys.executable, ROOT / "docs/site/gather.py", pages], check=True)
    strictly = ["-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-b", "html"]
    # The theme of the site takes a third of the time, and is asked about one page.
    for chosen in (["-D", "html_theme=basic", pages, built], [pages, built, pages / "start.md"]):
        done = subprocess.run(
            [sys.executable, *strictly, *chosen], check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    return built


def test_every_page_of_the_project_has_its_place(site: Path) -> None:
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / f"{page.stem}.html").is_file()
    for page in (ROOT / "duckdb_priv/methods").glob("*/README.md"):
        assert (site / f"methods/{page.parent.name}.html").is_file()
    for page in (ROOT / "duckdb_priv/mechanism").glob("*.md"):
        assert (site / f"derivations/{page.stem}.html").is_file()
    for page in (ROOT / "benchmarks/results").glob("*.md"):
        assert (site / f"measurements/{page.stem}.html").is_file()


def test_the_reference_has_every_function_and_table(site: Path) -> None:
    for side in ("publisher", "analyst"):
        text = (site / f"reference/{side}.html").read_text("utf-8")
        for path in (ROOT / "sql" / side).glob("*.sql"):
            assert f">priv.{path.stem}<" in text
    catalog = (site / "reference/catalog.html").read_text("utf-8")
    for table in ("release", "attribute", "coefficient", "guarantee", "ledger"):
        assert f">priv.{table}<" in catalog


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    page = (site / "start.html").read_text("utf-8")
    assert "furo" in page
    assert 'src="http' not in page
    assert '<link rel="stylesheet" type="text/css" href="http' not in page
