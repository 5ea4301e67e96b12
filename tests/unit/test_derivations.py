"""Derivations state no number that is not computed again here."""

from __future__ import annotations

import re

import pytest

from benchmarks.derivations import DERIVATIONS, FOLDER

NUMBER = re.compile(
    r"(?<![\w.])\d*\.\d{3,}|\d+(?:\.\d+)?e-\d+|\b\d{1,3}(?:,\d{3})+|(?<![\w])\d*\.?\d+ ?%"
)
"""What looks computed or measured: three decimals and more, powers of ten, thousands, per cent."""
GIVEN = {
    "block_design": ["3 %", ".3 %", "10,000", "1,383", "1e-6"],
    "composition": ["1e-7", "1e-6"],
    "conditional_poisson": ["1e-30", "4,096"],
    "decoy_groups": ["40,000", "65,536"],
    "determination": ["96%", "1e-6", "1%", "90%"],
    "exact_threshold": ["1,000"],
    "fine_grain": ["24 %", "31 %", ".4375", "95,946", "0.1"],
    "growing_sample": ["2,000"],
    "leaving": ["90%"],
    "operator": ["95%", "99%", "1 %"],
    "questions": ["3,000", "0.5%", "5%"],
    "ratio_attack": ["1202.3179"],
    "positive_part": ["1e-300", "1e-16", "1e-10", "1e-14", "2e-5"],
    "reconstruction_privacy": ["30%", "1202.3179"],
    "sampling": ["1e-12", "1e-300", "1e-5", "1e-6", "1e-7", "1e-8", ".160", ".155"],
    "scaled_count": ["1,000"],
    "score_interval": [".999", "95%", "94%", "80%", "1,000", "5,000"],
    "shuffle": ["1e-6"],
    "smoothing": ["10 %"],
    "splu": ["95%", "15%", "1,000", "10,000", "4,096", "1%"],
    "tails": ["30%", "1e-9", "1e-17"],
}
"""Parameters, limits and the numbers of others, which nothing computes."""
DOCUMENTS = sorted(FOLDER.glob("*.md"))


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.once
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_every_number_is_computed_again(document) -> None:
    text = words(document.read_text("utf-8"))
    for stated in DERIVATIONS.get(document.stem, lambda: iter(()))():
        assert words(stated) in text
        text = text.replace(words(stated), " ")
    given = GIVEN.get(document.stem, [])
    unknown = [found for found in NUMBER.findall(text) if found not in given]
    assert not unknown


def test_every_list_of_numbers_has_its_document() -> None:
    assert set(DERIVATIONS) <= {path.stem for path in DOCUMENTS}
