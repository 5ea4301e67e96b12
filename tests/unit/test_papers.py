"""The page that sets the papers' figures and tables beside ours, over made-up tables."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="pictures need matplotlib")

ROOT = Path(__file__).parents[2]
NAMED = (
    "Example 1: retention",
    "Example 5.15",
    "Figures 2 to 5",
    "Tables 4 and 5",
    "Examples 1 and 2, figure 2(b)",
    "Figure 5: record and aggregate utility",
    "Theorem 3 and lemma 1",
    "Figures 7 and 9, census",
    "Figures 8 and 10, vaccine register",
    "Figure 11, census",
    "Figure 12, vaccine register",
    "Table 1: amplification",
    "Table 2: delta",
    "Figures 2 and 3",
    "Figure 4",
    "Figure 5: delta",
    "Figure 6",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("papers")
    command = [sys.executable, "-m", "benchmarks.papers", "--quick", "--write", "--into", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return path


def test_the_page_has_every_figure_and_table(folder: Path) -> None:
    text = (folder / "RESULTS.md").read_text("utf-8")
    for name in NAMED:
        assert len(re.findall(rf"^### {re.escape(name)}", text, re.MULTILINE)) == 1, name
    verdicts = re.findall(r"^\*\*(Agrees|Differs|Other data)\.\*\* \S", text, re.MULTILINE)
    assert len(verdicts) == text.count("\n### ")


def test_the_page_shows_the_pictures_that_it_keeps(folder: Path) -> None:
    text = (folder / "RESULTS.md").read_text("utf-8")
    shown = set(re.findall(r"\]\((pictures/\w+\.svg)\)", text))
    kept = {f"pictures/{path.name}" for path in (folder / "pictures").iterdir()}
    assert shown == kept
    assert len(kept) == 7
    for name in kept:
        assert (folder / name).read_text("utf-8").rstrip().endswith("</svg>")


def test_what_the_papers_printed_stands_beside_what_we_get(folder: Path) -> None:
    text = (folder / "RESULTS.md").read_text("utf-8")
    assert "18 of 18 cells agree" in text
    assert "| gain | about 24% | 31.25% |" in text
    assert "| 10 | 0.1 | 0.1 | 10 | 900 | 251 | 0.8681 |" in text
    assert "| example 1: it is misjudged | .48 | 0.4801 |" in text
