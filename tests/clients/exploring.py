"""The explorer in headless Chromium, one command after the other."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from clients.browser import CHROMIUM
from clients.installation import PROGRAMS, Missing, node_modules, on_path
from duckdb_priv.explorer import parts
from duckdb_priv.explorer.server import Explorer

Shown = dict[str, Any]
"""What a reader sees: texts of the page, the table's rows, headings of the panels."""


class Tab:
    """One tab of a browser."""

    def __init__(self) -> None:
        self._open, self._chosen = "", ""
        modules = node_modules() / "node_modules"
        self._program = subprocess.Popen(
            [on_path("node"), str(PROGRAMS / "explore.mjs"), str(modules), on_path(*CHROMIUM)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._program.communicate()

    def do(self, action: str, **options: Any) -> Shown:
        """Do one thing, and return what the page shows once it has settled."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(json.dumps({"do": action, **options}) + "\n")
        self._program.stdin.flush()
        reply: Shown = json.loads(self._program.stdout.readline())
        assert "error" not in reply, reply["error"]
        if action == "visit":
            self._open, self._chosen = options["address"], ""
        elif action in ("give", "drop"):
            self._chosen = options.get("file", action)
        return reply

    def at(self, address: str) -> None:
        """Visit an address, unless it was visited last: opening takes its time."""
        if self._open != address:
            self.do("visit", address=address)

    def ask(self, server: Explorer, question: str) -> Shown:
        """Ask a question as a link does."""
        if self._chosen:
            self.do("visit", address=server.address())
        self.at(server.address())
        return self.do("hash", text=question)

    def ask_file(self, address: str, file: Path, question: str) -> Shown:
        """Ask a file that is chosen on a page: DuckDB starts once for all files of the page."""
        self.at(address)
        if self._chosen != str(file):
            self.do("give", file=str(file))
        return self.do("hash", text=question)


def engine() -> None:
    """Install what the page counts with; raises Missing where it cannot be had."""
    try:
        parts.install()
    except parts.EngineMissing as reason:
        raise Missing(str(reason)) from None


@contextmanager
def served(release: Path | None) -> Iterator[Explorer]:
    """Give out the page with a release, as ``duckdb-priv explore`` does."""
    with Explorer(parts.parts(), release) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
