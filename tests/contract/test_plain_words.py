"""Texts use the words of the field, and one word for one thing: docs/glossary.md lists them. Sentences are short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import pytest

pytestmark = pytest.mark.once
ROOT = Path(__file__).parents[2]
INSTEAD = {
    "coins": "random bits, or noise",
    "told|tells? of": "reported, shown, says",
    "tell(?:s|ing)? apart": "distinguish",
    "whoever": "someone who, you",
    "hangs? on": "depends on",
    "in the place of": "instead of",
    "laid (?:aside|out)": "materialized, expanded",
    "dealt": "assigned",
    "anew": "redrawn, again",
    "alike": "equal, the same",
    "alone with": "unique in",
    "somebody|anybody|everybody": "someone, anyone, everyone",
    "persons": "people",
    "stands?(?! for)": "is",
    "rooms?(?! for)": "folder, memory",
}
"""What a text does not say, and what it says."""
ALLOWED = {
    # Coins are tossed there.
    "duckdb_priv/mechanism/conditional_poisson.md": {"coins"},
    "duckdb_priv/mechanism/decoy_groups.md": {"coins"},
    "duckdb_priv/mechanism/discrete_laplace.md": {"coins"},
    "duckdb_priv/mechanism/exponential_mechanism.md": {"coins"},
    "duckdb_priv/mechanism/sampling.md": {"coins"},
}
LONGEST, USUAL = 38, 20
"""Words of one sentence, and of the sentences of a page on average. A letter of mathematics is no word."""
PAGES = sorted(
    path
    for folder in (
        ROOT,
        ROOT / "docs",
        ROOT / "benchmarks" / "papers",
        ROOT / "sql" / "analyst",
        *(ROOT / "duckdb_priv").rglob("*"),
    )
    for path in folder.glob("*.md")
)


def prose(path: Path) -> str:
    """Leave out code, in fences, between backticks or indented."""
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^ {4,}.*$", "", re.sub(r"`[^`]*`", "it", text), flags=re.MULTILINE)


def sentences(text: str) -> Iterator[str]:
    """Split paragraphs, but not tables."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for paragraph in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) |^[#|].*$", text, flags=re.MULTILINE):
        yield from re.split(r"(?<=[.:;?])\)? ", " ".join(paragraph.split()))


def words(sentence: str) -> int:
    return len(re.findall(r"[A-Za-z][A-Za-z'-]+", sentence))


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def private_words(where: str, text: str) -> list[str]:
    """List what a text says in words of our own."""
    return [
        f"{where}: {match[0]!r}; write {instead}"
        for pattern, instead in INSTEAD.items()
        if pattern not in ALLOWED.get(where, ())
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
    ]


def test_pages_use_plain_words() -> None:
    assert not [found for page in PAGES for found in private_words(place(page), prose(page))]


def test_what_is_allowed_is_needed() -> None:
    for where, patterns in ALLOWED.items():
        text = prose(ROOT / where)
        assert all(re.search(rf"\b(?:{each})\b", text, re.IGNORECASE) for each in patterns), where


def test_sentences_of_pages_are_short() -> None:
    for page in PAGES:
        lengths = {each: count for each in sentences(prose(page)) if (count := words(each)) > 1}
        assert [each for each, count in lengths.items() if count > LONGEST] == [], place(page)
        assert not lengths or mean(lengths.values()) <= USUAL, place(page)
