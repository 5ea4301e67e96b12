"""One figure, table or example of a paper beside what we get, and how a page shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

PICTURES = "pictures"
"""The folder beside the page that the pictures stand in."""
EXHIBIT = re.compile(r"^### (.+)\n\n\*\*(.+?)\.\*\*", re.MULTILINE)
"""Title and verdict of an exhibit, as the page shows them."""


@dataclass(frozen=True)
class Exhibit:
    """What one figure, table or example of a paper says, and what we say."""

    title: str
    verdict: str
    """One of "agrees", "differs", "other data"."""
    sentence: str
    """Where we agree, where we differ, and why."""
    body: str = ""
    pictures: Mapping[str, Figure] = field(default_factory=dict)
    """By the name of the file, without its ending."""

    def markdown(self) -> str:
        """Write the exhibit as a section of the page."""
        shown = [f"![{self.title}]({PICTURES}/{name}.svg)" for name in self.pictures]
        parts = [f"### {self.title}", f"**{self.verdict.capitalize()}.** {self.sentence}"]
        return "\n\n".join(part for part in [*parts, *shown, self.body] if part)


@dataclass(frozen=True)
class Paper:
    """A paper with its exhibits."""

    title: str
    exhibits: Sequence[Exhibit]


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
    return "\n\n".join([f"## {paper.title}", *(each.markdown() for each in paper.exhibits)])


def page(sections: Mapping[str, str], preamble: str) -> str:
    """Write the whole page: what it is, a list of all exhibits, and each of them."""
    overview = table(
        ("paper", "what", "verdict"),
        (
            (title, what, verdict.lower())
            for title, text in sections.items()
            for what, verdict in EXHIBIT.findall(text)
        ),
    )
    return "\n\n".join([preamble, overview, *sections.values()]) + "\n"


def kept(path: Path) -> dict[str, str]:
    """Read the sections of a page that was kept, by the title of the paper."""
    if not path.exists():
        return {}
    _, *texts = path.read_text("utf-8").split("\n## ")
    return {text.partition("\n")[0]: f"## {text.strip()}" for text in texts}


def keep(papers: Sequence[Paper], preamble: str, folder: Path) -> Path:
    """Write the page and its pictures into a folder; return the path of the page.

    Papers that were not recomputed stay as they stand there.
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
