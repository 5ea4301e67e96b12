"""One figure, table or example of a paper beside what we get, and how a page shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

PICTURES = "pictures"
"""The folder of the pictures, beside the page."""
EXHIBIT = re.compile(r"^### (.+)\n\n\*\*(.+?)\.\*\* ([^.]*\.)", re.MULTILINE)
"""Title, verdict and first sentence of an exhibit, as the page shows them."""


@dataclass(frozen=True)
class Exhibit:
    """What one figure, table or example of a paper says, and what we say."""

    title: str
    verdict: str
    """One of "agrees", "differs", "other data", "not drawn"."""
    sentence: str
    """Where we agree, where we differ, and why."""
    why: str = ""
    """Why it does not agree, or is not drawn, in a few words."""
    body: str = ""
    pictures: Mapping[str, Figure] = field(default_factory=dict)
    """By the name of the file, without its ending."""

    def markdown(self) -> str:
        """Write the exhibit as a section of the page."""
        shown = [f"![{self.title}]({PICTURES}/{name}.svg)" for name in self.pictures]
        why = f" {self.why[:1].upper()}{self.why[1:]}." if self.why else ""
        parts = [f"### {self.title}", f"**{self.verdict.capitalize()}.**{why} {self.sentence}"]
        return "\n\n".join(part for part in [*parts, *shown, self.body] if part)


@dataclass(frozen=True)
class Paper:
    """A paper with its exhibits."""

    title: str
    exhibits: Sequence[Exhibit]
    contradictions: Sequence[str] = ()
    """Where what we find contradicts what the paper mainly says."""


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """Write a Markdown table; numbers with as many digits as count."""
    lines = [head, ["--"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(shown, line)) + " |" for line in lines)


def shown(cell: Any) -> str:
    """Write a cell; of a number, the digits that count.

    >>> shown(0.123456), shown(None), shown(20)
    ('0.1235', '', '20')
    """
    if cell is None:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def section(paper: Paper) -> str:
    """Write the part of the page that shows a paper."""
    aloud = "\n".join(f"- {each}" for each in paper.contradictions)
    return "\n\n".join(
        [
            f"## {paper.title}",
            *([f"What contradicts the paper's own findings:\n\n{aloud}"] if aloud else []),
            *(each.markdown() for each in paper.exhibits),
        ]
    )


def page(sections: Mapping[str, str], preamble: str) -> str:
    """Write the whole page: what it is, a list of all exhibits, and each of them."""
    overview = table(
        ("paper", "figure or table", "what", "drawn", "agrees", "why not"),
        (
            (title.partition(":")[0], *_listed(*found))
            for title, text in sections.items()
            for found in EXHIBIT.findall(text)
        ),
    )
    return "\n\n".join([preamble, overview, *sections.values()]) + "\n"


def _listed(title: str, verdict: str, why: str) -> tuple[str, ...]:
    """Write what the list of all exhibits says of one."""
    number, _, what = title.partition(": ")
    agrees = {"Agrees": "yes", "Differs": "no", "Other data": "in shape", "Not drawn": ""}[verdict]
    drawn = "no" if verdict == "Not drawn" else "yes"
    return number, what, drawn, agrees, "" if verdict == "Agrees" else why.removesuffix(".")


def kept(path: Path) -> dict[str, str]:
    """Read the sections of a page that was kept, by the title of the paper."""
    if not path.exists():
        return {}
    _, *texts = path.read_text("utf-8").split("\n## ")
    return {text.partition("\n")[0]: f"## {text.strip()}" for text in texts}


def keep(papers: Sequence[Paper], preamble: str, folder: Path) -> Path:
    """Write the page and its pictures into a folder; return the path of the page.

    Papers that were not recomputed stay as they are.
    """
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    for paper in papers:
        for exhibit in paper.exhibits:
            for name, figure in exhibit.pictures.items():
                figure.savefig(folder / PICTURES / f"{name}.svg", metadata={"Date": None})
    path = folder / "RESULTS.md"
    sections = kept(path) | {paper.title: section(paper) for paper in papers}
    path.write_text(page(sections, preamble), encoding="utf-8")
    return path
