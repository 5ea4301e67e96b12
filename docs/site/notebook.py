"""Runs the cells of the notebook like Jupyter, and writes their outputs into the notebook.

A Jupyter kernel would need twenty packages. The cells contain only plain Python, so this module suffices. The outputs
of a cell are its printed text, the value of its last line unless that ends with a semicolon, and its figures.

    python docs/site/notebook.py
"""

from __future__ import annotations

import ast
import io
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "notebook.ipynb"
PICTURE = "image/svg+xml"
PLAIN = {"svg.hashsalt": "notebook", "svg.fonttype": "none"}
"""Settings with which the same picture gives the same SVG text."""

Cell = dict[str, Any]


def executed(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """Run the cells of a notebook in a temporary folder; return the notebook with their outputs."""
    # Imported here because building the site does not need matplotlib.
    import matplotlib as mpl

    mpl.use("agg")
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder), mpl.rc_context(PLAIN):
        cells = [
            {**cell, "outputs": list(_outputs("".join(cell["source"]), names))}
            if cell["cell_type"] == "code"
            else cell
            for cell in notebook["cells"]
        ]
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, Any]) -> Iterator[Cell]:
    import matplotlib.pyplot as plt

    tree = ast.parse(source)
    shown = None
    if isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        shown = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
    with redirect_stdout(io.StringIO()) as stated:
        exec(compile(tree, "<cell>", "exec"), names)
        value = eval(compile(shown, "<cell>", "eval"), names) if shown else None
    if stated.getvalue():
        yield {"output_type": "stream", "name": "stdout", "text": _lines(stated.getvalue())}
    if value is not None:
        yield _data({"text/plain": _lines(repr(value).rstrip())})
    for number in plt.get_fignums():
        with io.StringIO() as picture:
            plt.figure(number).savefig(
                picture, format="svg", metadata={"Date": None, "Creator": None}
            )
            yield _data({PICTURE: _lines(picture.getvalue())})
        plt.close(number)


def _data(data: Mapping[str, list[str]]) -> Cell:
    return {"output_type": "display_data", "metadata": {}, "data": dict(data)}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def page(notebook: Mapping[str, Any], folder: Path) -> str:
    """Write a notebook as a Markdown page, and its pictures to the folder of the page."""
    parts = []
    for number, cell in enumerate(notebook["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text")})
            if PICTURE in data:
                name = f"notebook_{number}.svg"
                (folder / name).write_text("".join(data[PICTURE]), "utf-8")
                parts.append(f"```{{image}} {name}\n:alt: What this cell draws\n```")
            else:
                parts.append(f"```text\n{''.join(data['text/plain']).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def read() -> dict[str, Any]:
    """Read the project's notebook."""
    notebook: dict[str, Any] = json.loads(NOTEBOOK.read_text("utf-8"))
    return notebook


if __name__ == "__main__":
    text = json.dumps(executed(read()), ensure_ascii=False, indent=1)
    NOTEBOOK.write_text(f"{text}\n", "utf-8")
