"""The page that sets the papers' figures and tables beside ours, over made-up tables."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pictures need matplotlib")

from matplotlib.figure import Figure
from reference.mondrian import boxes, mondrian
from reference.splu_paper import paper_joint

import duckdb_priv
from benchmarks.papers import chaytor_wang, li_qardaji_su, wang_han_fu
from benchmarks.papers.decoys import Pair, patterns_of
from benchmarks.papers.exhibit import Exhibit, Paper, keep, table
from benchmarks.reconstruction_privacy import Setting, load
from duckdb_priv.errors import InvalidParameter

ROOT = Path(__file__).parents[2]
NAMED = (
    "Example 1: retention",
    "Example 5.15",
    "Table 3",
    "Figure 2: education, what violates",
    "Figure 3: education, mean relative error",
    "Figure 4: occupation, what violates",
    "Figure 5: occupation, mean relative error",
    "Table 4: education",
    "Table 5: occupation",
    "Examples 1 and 2, figure 2(b)",
    "Figure 5: record and aggregate utility",
    "Theorem 3, lemma 1",
    "Figure 4: T_E over the frequency",
    "Figure 5: how likely a small sum is within",
    "Figure 7: CENSUS",
    "Figure 8: CENSUS",
    "Figure 9: CENSUS",
    "Figure 10: CADRMP",
    "Figure 11: CADRMP",
    "Figure 12: CENSUS",
    "Iterations: rounds",
    "Table 1: amplification",
    "Table 2: delta",
    "Figure 2: delta by epsilon for several k",
    "Figure 3: delta by epsilon for several beta",
    "Figure 4: pairs",
    "Figure 5: delta",
    "Figure 6",
)


@pytest.fixture(scope="module")
def folder(
    prepared: Callable[..., duckdb.DuckDBPyConnection], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("papers")
    command = ["benchmarks.papers", "--quick", "--write", "--into", str(path)]
    with pytest.MonkeyPatch.context() as patch:
        # Nobody looks at these pictures: they are drawn, and their parts are not arranged.
        patch.setattr(Figure, "get_layout_engine", lambda _: None)
        patch.setattr(duckdb_priv, "connect", partial(prepared, secret=None))
        patch.setattr(sys, "argv", command)
        runpy.run_module("benchmarks.papers", run_name="__main__")
    return path


def test_the_page_has_every_figure_and_table(folder: Path) -> None:
    text = (folder / "RESULTS.md").read_text("utf-8")
    for name in NAMED:
        assert len(re.findall(rf"^### {re.escape(name)}", text, re.MULTILINE)) == 1, name
    verdicts = re.findall(
        r"^\*\*(Agrees|Differs|Other data|Not drawn)\.\*\* \S", text, re.MULTILINE
    )
    assert len(verdicts) == text.count("\n### ")


def test_the_page_shows_the_pictures_that_it_keeps(folder: Path) -> None:
    text = (folder / "RESULTS.md").read_text("utf-8")
    shown = set(re.findall(r"\]\((pictures/\w+\.svg)\)", text))
    kept = {f"pictures/{path.name}" for path in (folder / "pictures").iterdir()}
    assert shown == kept
    assert len(kept) == 18
    for name in kept:
        assert (folder / name).read_text("utf-8").rstrip().endswith("</svg>")


def test_what_the_papers_printed_is_beside_what_we_get(folder: Path) -> None:
    text = (folder / "RESULTS.md").read_text("utf-8")
    assert "18 of 18 cells agree" in text
    assert "| gain | about 24% | 31.25% |" in text
    assert "| 10 | 0.1 | 0.1 | 10 | 900 | 251 | 0.8681 |" in text
    assert "| example 1: it is misjudged | .48 | 0.4801 |" in text
    # Tables 4 and 5: 56 cells each, as printed, beside what is expected of the groups as printed.
    assert "(56 cells: chi-square 36.6," in text
    assert "(56 cells: chi-square 42.5," in text
    assert text.count("What contradicts the paper's own findings:") == 4


def test_what_violates_of_the_census_by_six_public_attributes(census: str) -> None:
    with duckdb_priv.connect() as con:
        setting = Setting("occupation")
        assert len(setting.public) == 6
        load(con, census, setting)
        groups, records = wang_han_fu.violations(con, setting)
    assert (round(groups, 3), round(records, 1)) == (0.104, 5.9)


def test_delta_is_swept_as_in_the_paper() -> None:
    assert wang_han_fu.SWEEPS["delta"] == (0.14, 0.22, 0.3, 0.38, 0.46)
    assert wang_han_fu.FIGURES == {"education": (2, 3), "occupation": (4, 5)}


def test_a_column_of_the_paper_holds_only_what_is_printed() -> None:
    body = {each.title: each.body for each in li_qardaji_su.paper(None, True).exhibits}
    lines = body["Table 1: amplification by sampling"].splitlines()
    assert [line.split(" | ")[1::2] for line in lines[2:5]] == [
        ["11", "2.3979", "1e-5"],
        ["2", "0.6931", "1e-6"],
        ["1.1", "0.09531", "1e-7"],
    ]
    assert [line.split(" | ")[3] for line in lines[5:]] == ["1", ".159", ".017"]


def test_aggregate_utility_is_that_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the Zipf table its distance from 1 is sqrt(2 / pi) of the expected error, where errors are normal."""
    (_, counts), *_ = chaytor_wang.tables(None)
    monkeypatch.setattr(chaytor_wang, "WAYS", {"uniform": chaytor_wang.WAYS["uniform"]})
    for tolerance, _, _, close, error in chaytor_wang.utilities(counts, 40)["uniform"]:
        assert (1 - close) / error == pytest.approx(np.sqrt(2 / np.pi), rel=0.1), tolerance


def test_papers_that_are_not_recomputed_stay_on_the_page(tmp_path: Path) -> None:
    def paper(title: str, says: str) -> Paper:
        return Paper(title, [Exhibit("Table 1", "agrees", says, table(("a",), [(1,)]))])

    keep([paper("One", "Old."), paper("Two", "Kept.")], "# Page", tmp_path)
    text = keep([paper("One", "New.")], "# Page", tmp_path).read_text("utf-8")
    assert re.findall("Old|New|Kept", text) == ["New", "Kept"]
    assert text.count("| Table 1 |  | yes | yes |") == 2


class TestMondrian:
    CODES = np.random.default_rng(1).integers(0, [90, 2, 16], size=(500, 3))

    @pytest.mark.parametrize("k", [1, 5, 40, 200, 500])
    def test_each_class_has_k_records_at_least(self, k: int) -> None:
        labels = mondrian(self.CODES, k)
        sizes = np.bincount(labels)
        assert sizes.min() >= k
        assert k == 500 or len(sizes) > 1
        low, high = boxes(self.CODES, labels)
        assert ((low <= self.CODES) & (high >= self.CODES)).all()
        assert len(np.unique(np.c_[low, high, labels], axis=0)) == len(sizes)

    def test_more_records_than_there_are_cannot_be_asked_for(self) -> None:
        with pytest.raises(InvalidParameter, match="k must lie in 1 … 500"):
            mondrian(self.CODES, 501)


def test_two_attributes_are_iterated_as_the_release_does() -> None:
    """The paper's iteration in numpy and in the release's own SQL, over what the release shows."""
    with duckdb_priv.connect(secret=bytes(range(32))) as con:
        con.execute("""
            CREATE TABLE survey AS SELECT id, (id * 7919 % 101 % 4)::VARCHAR AS a, (id * 4721 % 97 % 3)::VARCHAR AS b
            FROM range(3000) AS t(id)
        """)
        con.execute(
            "FROM priv.publish_splu('survey', 'release', sensitive := ['a', 'b'], gamma := 2, record_id := 'id')"
        ).fetchall()
        pair = Pair("", "a", "b", "b")
        patterns = patterns_of(con, pair, [("1", "2", 0), ("0", "0", 0)])
        estimates, rounds = paper_joint(patterns, 2)
        stated = [
            con.execute(
                f"SELECT estimate FROM priv.reconstructed_joint('release', ['a', 'b'], {values}, method := 'paper')"
            ).fetchall()[0][0]
            for values in (["1", "2"], ["0", "0"])
        ]
    assert estimates == pytest.approx(stated, rel=1e-9)
    assert (rounds >= 1).all()
