"""Collects the pages of the site in one folder: the project's pages, and a reference made from SQL files and catalog.

Pages are kept beside the code that they explain, with links that work there. This program copies them to the site's
layout and adjusts their links.

    python docs/site/gather.py FOLDER
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import notebook

import duckdb_priv
from duckdb_priv.methods.register import METHODS
from duckdb_priv.sqltext import templates

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")
IMAGE = re.compile(r"!\[.*?\]\(([^)\s]+)\)")
OUTSIDE = ("http://", "https://", "mailto:")


def gather(target: Path) -> None:
    """Write all input of Sphinx to an empty folder.

    Raises FileNotFoundError for a link to a missing file.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    shutil.copy(HERE / "conf.py", target)
    (target / "static").mkdir()
    shutil.copy(HERE / "site.css", target / "static")
    pages = {ROOT / source: target / place for source, place in places()}
    for source, place in pages.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        text = (
            notebook.page(notebook.read(), place.parent)
            if source == notebook.NOTEBOOK
            else source.read_text("utf-8")
        )
        place.write_text(moved(text, source, place, pages), "utf-8")
    (target / "reference").mkdir()
    for name, text in reference().items():
        (target / "reference" / f"{name}.md").write_text(text, "utf-8")


def places() -> Iterator[tuple[str, str]]:
    """Yield the path of each page in the project, and its path in the site."""
    yield "docs/site/index.md", "index.md"
    yield "docs/site/derivations.md", "derivations.md"
    yield "docs/site/measurements.md", "measurements.md"
    yield "README.md", "start.md"
    yield "docs/notebook.ipynb", "notebook.md"
    for path in sorted((ROOT / "docs").glob("*.md")):
        yield f"docs/{path.name}", path.name
    for name in METHODS:
        yield f"duckdb_priv/methods/{name}/README.md", f"methods/{name}.md"
    for path in sorted((ROOT / "duckdb_priv" / "mechanism").glob("*.md")):
        yield f"duckdb_priv/mechanism/{path.name}", f"derivations/{path.name}"
    yield "benchmarks/papers/RESULTS.md", "papers.md"
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        yield f"benchmarks/results/{path.name}", f"measurements/{path.name}"


def moved(text: str, source: Path, place: Path, pages: dict[Path, Path]) -> str:
    """Adjust the links and pictures of a page to its path in the site."""

    def link(match: re.Match[str]) -> str:
        label, goal, anchor = match[1], match[2], match[3] or ""
        if goal.startswith(OUTSIDE):
            return match[0]
        path = (source.parent / goal).resolve()
        if path in pages:
            return f"[{label}]({os.path.relpath(pages[path], place.parent)}{anchor})"
        if not path.exists():
            raise FileNotFoundError(f"{source.relative_to(ROOT)} links to {goal}")
        # Code has no page, so the link becomes its path.
        name = f"`{path.relative_to(ROOT)}`"
        return name if label.strip("`") in name else f"{label} ({name})"

    def image(match: re.Match[str]) -> str:
        path = (source.parent / match[1]).resolve()
        copy = place.parent / "pictures" / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
        return match[0].replace(f"({match[1]})", f"(pictures/{path.name})")

    return IMAGE.sub(image, LINK.sub(link, text))


def reference() -> dict[str, str]:
    """Write the reference: one page for each side, one for the catalog, one for Python."""
    return {
        "publisher": page("SQL of the publisher", "publisher"),
        "analyst": page("SQL of the analyst", "analyst"),
        "catalog": catalog(),
        "python": PYTHON,
    }


def page(title: str, folder: str) -> str:
    """Write a page with the headers of a folder's SQL files, sorted by name."""
    entries = [entry(name, templates.read(folder, name)) for name in templates.names(folder)]
    return "\n".join([f"# {title}\n", *entries])


def entry(name: str, text: str) -> str:
    """Write the header of one SQL file as Markdown: its signature, description and example.

    >>> print(entry("one", "-- priv.one() -> INTEGER\\n--\\n-- Gives one.\\n--\\n--   SELECT priv.one();\\n\\nCREATE"))
    ## priv.one
    <BLANKLINE>
    ```text
    priv.one() -> INTEGER
    ```
    <BLANKLINE>
    Gives one.
    <BLANKLINE>
    ```sql
    SELECT priv.one();
    ```
    <BLANKLINE>
    """
    head = takewhile(lambda line: line.startswith("--"), text.splitlines())
    lines = [line[2:].removeprefix(" ") for line in head]
    blank = lines.index("") if "" in lines else len(lines)
    parts = ["\n".join(["```text", *lines[:blank], "```"])]
    block: list[str] = []
    for line in [*lines[blank + 1 :], ""]:
        if line:
            block.append(line)
        elif block:
            parts.append(code(block) if block[0].startswith("  ") else "\n".join(block))
            block = []
    return f"## priv.{name}\n\n" + "\n\n".join(parts) + "\n"


def code(lines: list[str]) -> str:
    """Write a block of SQL without the common indentation of its lines."""
    shared = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(["```sql", *(line[shared:] for line in lines), "```"])


def catalog() -> str:
    """Write a page with the tables and columns of the catalog and their comments."""
    with duckdb_priv.connect() as connection:
        tables = connection.execute(
            "SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = 'priv' AND comment IS NOT NULL"
            " ORDER BY table_name"
        ).fetchall()
        parts = [
            "# Catalog\n\nThese are the tables of the schema `priv`. Some are copied into release files and are public;"
            " the others stay with the publisher.\n"
        ]
        for table, comment in tables:
            columns = connection.execute(
                "SELECT column_name, data_type, comment FROM duckdb_columns()"
                " WHERE schema_name = 'priv' AND table_name = ? ORDER BY column_index",
                [table],
            ).fetchall()
            listed = [
                f"| `{name}` | {kind} | {(stated or '').replace('|', chr(92) + '|')} |"
                for name, kind, stated in columns
            ]
            parts.append(
                f"## priv.{table}\n\n{comment}\n\n| column | type | |\n|---|---|---|\n"
                + "\n".join(listed)
                + "\n"
            )
    return "\n".join(parts)


PYTHON = (
    "# Python\n\n"
    + "\n\n".join(
        f"```{{eval-rst}}\n.. autofunction:: duckdb_priv.{name}\n```"
        for name in ("connect", "install", "open_release", "reconstruct", "rewrite_sql")
    )
    + "\n\n```{eval-rst}\n.. automodule:: duckdb_priv.errors\n   :members:\n   :show-inheritance:\n```\n"
)


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
