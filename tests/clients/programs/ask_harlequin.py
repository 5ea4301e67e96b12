"""Asks releases in harlequin's own screen, which is driven as a person drives it.

Click into the editor, write, run; and look at the table of results when it is there.
Jobs and replies are those of ask_python.py. With an argument, the screen after the last question becomes a picture.
"""

from __future__ import annotations

import asyncio
import io
import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import harlequin
from harlequin.app import Harlequin
from harlequin.components import ErrorModal
from harlequin.components.results_viewer import ResultsTable, ResultsViewer
from harlequin_duckdb import DuckDbAdapter
from rich.console import Console
from textual.css.query import NoMatches
from textual.pilot import Pilot

PATIENCE = 60
"""Seconds until a screen that shows nothing is given up."""


class Application(Harlequin):
    """The whole application, which remembers what it says when it ends by itself."""

    CSS_PATH: ClassVar = [Path(harlequin.__file__).parent / path for path in Harlequin.CSS_PATH]
    last_words: Any = None

    def exit(self, *arguments: Any, message: Any = None, **named: Any) -> None:
        self.last_words = message
        super().exit(*arguments, message=message, **named)

    def refusal(self) -> str:
        """What it says instead of an answer: over the screen, or when it has ended."""
        # Someone who has ended has no screen any more.
        if self.last_words is not None:
            paper = Console(file=io.StringIO(), width=200)
            with paper.capture() as written:
                paper.print(self.last_words)
            return written.get()
        # A window that is left before it is whole ends in an error of its own.
        whole = isinstance(self.screen, ErrorModal) and hasattr(self.screen, "body")
        return str(self.screen.error) if whole else ""


async def until(pilot: Pilot[Any], seen: Callable[[], bool]) -> None:
    """Wait until something is seen, or refused."""
    async with asyncio.timeout(PATIENCE):
        while not seen():
            if refusal := pilot.app.refusal():
                raise LookupError(refusal)
            await pilot.pause(0.05)


def there_is_another(viewer: ResultsViewer, earlier: ResultsTable | None) -> bool:
    """Whether another table of results is there than before the question."""
    return not viewer.loading and viewer.get_visible_table() not in (None, earlier)


async def reply(job: dict[str, Any], picture: Path | None) -> dict[str, Any]:
    first = Path(tempfile.mkdtemp()) / "first.sql"
    first.write_text("".join(f"{statement};\n" for statement in job["setup"]), "utf-8")
    adapter = DuckDbAdapter([job["path"]], read_only=True, init_path=str(first))
    app = Application(adapter, no_download_tzdata=True, record_history=False)
    answers = []
    try:
        async with app.run_test(size=(130, 32)) as pilot:
            await until(pilot, lambda: None not in (app.editor, app.connection))
            viewer = app.results_viewer

            def in_editor() -> bool:
                # The table of the last question takes the focus, perhaps late.
                app.editor.focus()
                return bool(app.editor.has_focus_within)

            for question in job["questions"]:
                earlier = viewer.get_visible_table()
                await until(pilot, in_editor)
                app.editor.text = question
                start = time.perf_counter()
                await app.action_run_query()
                await until(pilot, partial(there_is_another, viewer, earlier))
                seconds = time.perf_counter() - start
                columns = viewer.get_visible_table().backend.source_data.columns
                rows = zip(*(column.to_pylist() for column in columns), strict=True)
                answers.append({"rows": [list(row) for row in rows], "seconds": seconds})
            if picture:
                app.title = "harlequin"
                # Notices go away by themselves; the catalog fills in the background.
                app.clear_notifications()
                await pilot.pause(1)
                app.save_screenshot(picture.name, path=str(picture.parent))
    except LookupError as error:
        return {"error": str(error)}
    return {"answers": answers}


def reply_at_last(job: dict[str, Any], picture: Path | None) -> dict[str, Any]:
    """Begin again where harlequin looked for a part of its own window before it was there, which ends it."""
    for _ in range(4):
        try:
            return asyncio.run(reply(job, picture))
        except NoMatches:
            continue
    return asyncio.run(reply(job, picture))


if __name__ == "__main__":
    shown = Path(sys.argv[1]) if sys.argv[1:] else None
    replies = [reply_at_last(job, shown) for job in json.load(sys.stdin)]
    print(json.dumps(replies))
