"""Texts use the words of the field, and one word for one thing: docs/glossary.md lists them. Sentences are short."""

from __future__ import annotations

import ast
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
    r"giv(?:es?|ing|en) (?:\w+ ){0,2}away": "reveals",
    "for certain": "with certainty",
    "shall": "must, will",
    "(?:was|were) said": "was stated, the arguments",
    "in the place of": "instead of",
    "laid (?:aside|out)": "materialized, expanded",
    "dealt": "assigned",
    "anew": "redrawn, again",
    "alike": "equal, the same",
    "alone with": "unique in",
    "somebody|anybody|everybody": "someone, anyone, everyone",
    "persons": "people",
    "stands?(?! for|-in)": "is",
    "rooms?(?! for)": "folder, memory",
}
"""What a text does not say, and what it says."""
ALLOWED = {
    # Coins are tossed there.
    "duckdb_priv/mechanism/conditional_poisson.py": {"coins"},
    "duckdb_priv/mechanism/discrete_laplace.py": {"coins"},
    "duckdb_priv/mechanism/conditional_poisson.md": {"coins"},
    "duckdb_priv/mechanism/decoy_groups.md": {"coins"},
    "duckdb_priv/mechanism/discrete_laplace.md": {"coins"},
    "duckdb_priv/mechanism/exponential_mechanism.md": {"coins"},
    "duckdb_priv/mechanism/sampling.md": {"coins"},
    # Names of columns, of tables and of keys.
    "duckdb_priv/methods/common/perturbation.py": {"coins"},
    "sql/catalog/mark.sql": {"coins"},
    "sql/publisher/ledger.sql": {"coins", "persons"},
    "sql/publisher/publish_reconstruction_private.sql": {"persons"},
    "sql/publisher/publish_splu.sql": {"persons"},
    "benchmarks/evidence/guessing.py": {"somebody|anybody|everybody"},
    "benchmarks/guards.py": {"persons"},
    "benchmarks/ordinary_sql.py": {"persons"},
    "benchmarks/results/SPARK_FAULTS.md": {"coins"},
    "tests/attacks/test_leaks.py": {"coins"},
    "tests/spark/inside/conftest.py": {"persons"},
    "tests/spark/inside/test_publishing.py": {"persons"},
    "tests/sql/test_advise.py": {"somebody|anybody|everybody"},
    "tests/sql/test_persons.py": {"persons"},
    # The method that is added there tosses coins.
    "tests/toy_method/__init__.py": {"coins"},
    "tests/toy_method/advise.py": {"coins"},
    "tests/toy_method/arguments.py": {"coins"},
    "tests/toy_method/audit.py": {"coins"},
    "tests/toy_method/plan.py": {"coins"},
    "tests/toy_method/test_toy_method.py": {"coins"},
}
LONGEST, USUAL = 38, 20
"""Words of one sentence, and of the sentences of a page on average. A letter of mathematics is no word."""
PAGES = sorted(
    path
    for folder in (
        ROOT,
        ROOT / "docs",
        ROOT / "benchmarks" / "papers",
        ROOT / "benchmarks" / "results",
        ROOT / "sql" / "analyst",
        *(ROOT / "duckdb_priv").rglob("*"),
    )
    for path in folder.glob("*.md")
)
PROGRAMS = sorted(
    path
    for folder in ("duckdb_priv", "sql", "tests", "benchmarks", "docs")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".sql") and path != Path(__file__)
)
QUERY = re.compile(
    r"SELECT |CREATE |UPDATE |WITH |FROM [a-z{_\"]|CASE WHEN| AS [a-z]+ |import [a-z]|[a-z_]\([a-z]"
)
"""What shows that a text of a program is SQL, or a program."""
PROMPT = r"^ *(?:>>>|\.\.\.).*$|``[^`]*``"


def texts(path: Path) -> Iterator[str]:
    """Give what a file says to people: its prose, or comments, docstrings and texts of three words or more."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        text = re.sub(r"^```.*?^```|^ {4,}.*?$", "", text, flags=re.MULTILINE | re.DOTALL)
        yield re.sub(r"`[^`]*`", "it", text)
    elif path.suffix == ".sql":
        for comment, quoted in re.findall(
            r"--(?! name:)(.*)$|'((?:[^']|'')*)'", text, re.MULTILINE
        ):
            if comment or (words(quoted) > 2 and not QUERY.search(quoted)):
                yield comment or quoted
    else:
        yield from re.findall(r"(?:^ *|  )# (.*)$", text, re.MULTILINE)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                quoted = re.sub(PROMPT, "it", node.value, flags=re.MULTILINE)
                if words(quoted) > 2 and not QUERY.search(quoted):
                    yield re.sub(r"\b[A-Z]{2,}\b", "it", quoted)


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


@pytest.mark.parametrize("paths", [PAGES, PROGRAMS], ids=["pages", "programs"])
def test_texts_use_plain_words_and_short_sentences(paths: list[Path]) -> None:
    found = []
    for path in paths:
        for text in texts(path):
            found += private_words(place(path), text)
            found += [
                each
                for each in sentences(text)
                if words(each) > LONGEST and re.search("[.,:]", each)
            ]
    assert not found


def test_what_is_allowed_is_needed() -> None:
    for where, patterns in ALLOWED.items():
        text = "\n".join(texts(ROOT / where))
        assert all(re.search(rf"\b(?:{each})\b", text, re.IGNORECASE) for each in patterns), where


def test_sentences_of_pages_are_short_on_average() -> None:
    for page in PAGES:
        lengths = [count for each in sentences(*texts(page)) if (count := words(each)) > 1]
        assert not lengths or mean(lengths) <= USUAL, place(page)


PRIVATE = {
    "told",
    "said",
    "dealt",
    "stands",
    "hangs",
    "laid",
    "anew",
    "alike",
    "whoever",
    "coins",
    "rooms",
}
"""Words that are in no name of a module, function, class or variable."""


def names(path: Path) -> Iterator[str]:
    """Give every name of a program, and its own."""
    yield path.stem
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            yield from (
                value
                for kind in ("id", "attr", "arg", "name")
                if isinstance(value := getattr(node, kind, None), str)
            )


def test_names_use_plain_words() -> None:
    found = {
        f"{place(path)}: {name}"
        for path in PROGRAMS
        for name in names(path)
        if PRIVATE.intersection(re.split(r"[\W_\d]+", name.lower()))
        # The method that is added there tosses coins.
        and "toy_method" not in path.parts
    }
    assert not found
