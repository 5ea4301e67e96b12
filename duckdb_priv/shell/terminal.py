"""The interactive shell: adds line editing, history, completion and colours to ``session.Shell``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.lexers import PygmentsLexer

from duckdb_priv.shell.completion import CatalogNames, propose, read_names
from duckdb_priv.shell.database_files import EXPECTED, explain
from duckdb_priv.shell.dotcommands import COMMANDS, Leave, meant
from duckdb_priv.shell.execution import Stopped
from duckdb_priv.shell.rendering import MODES
from duckdb_priv.shell.session import Shell
from duckdb_priv.shell.statements import is_complete
from duckdb_priv.version import __version__

PROMPT = "priv> "
CONTINUATION = " ...> "
TAKE_FILES = (".read ", ".open ", ".output ", ".once ", ".import ")


def interact(shell: Shell, *, keep_history: bool) -> None:
    """Read and run statements until the user quits. After an error, the shell reads the next statement."""
    shell.write(
        f"duckdb_priv {__version__} on DuckDB {duckdb.__version__}, database {shell.path}\n"
        "End statements with a semicolon; .help lists commands and functions; .quit exits\n"
    )
    completer = ShellCompleter(shell)
    session: PromptSession[str] = PromptSession(
        PROMPT,
        history=open_history() if keep_history else InMemoryHistory(),
        lexer=PygmentsLexer.from_filename("statement.sql"),
        completer=completer,
        complete_while_typing=False,
        auto_suggest=AutoSuggestFromHistory(),
        multiline=Condition(lambda: not is_finished(get_app().current_buffer.text)),
        prompt_continuation=lambda width, line, wrapped: "" if wrapped else CONTINUATION,
    )
    while True:
        try:
            text = session.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        try:
            shell.run(text.splitlines(keepends=True))
        except Leave:
            return
        except KeyboardInterrupt:
            pass
        except Stopped:
            shell.console.print("stopped", style="yellow")
        except EXPECTED as error:
            shell.console.print(explain(error), style="red", markup=False, highlight=False)
        completer.forget()


def is_finished(text: str) -> bool:
    """Return whether Enter runs the text; otherwise Enter begins a new line.

    >>> is_finished(".mode csv"), is_finished("SELECT 1"), is_finished("SELECT 1;")
    (True, False, True)
    """
    return meant(text) is not None or is_complete(text)


class ShellCompleter(Completer):
    """Completes dot commands and SQL. The catalog is read at most once per statement."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._names: CatalogNames | None = None
        self._files = PathCompleter(expanduser=True)

    def forget(self) -> None:
        """Read the catalog again before the next proposal."""
        self._names = None

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """Yield the completions of the text before the cursor."""
        text = document.text_before_cursor
        if text.startswith(TAKE_FILES):
            word = text.split(maxsplit=1)[1] if not text.endswith(" ") else ""
            yield from self._files.get_completions(Document(word), event)
        elif text.startswith(".") and "\n" not in text:
            yield from _dot_completions(text)
        else:
            if self._names is None:
                # DuckDB refuses every query in a failed transaction.
                with suppress(duckdb.Error):
                    self._names = read_names(self._shell.connection)
            for each in propose(text, self._names or CatalogNames()):
                yield Completion(each.text, -each.replaces, display_meta=each.what)


def _dot_completions(text: str) -> Iterator[Completion]:
    word = text.rsplit(" ", 1)[-1]
    if text == word:
        candidates = {f".{name}": each.meaning for name, each in COMMANDS.items()}
    elif text.startswith(".mode "):
        candidates = dict.fromkeys(MODES, "output mode")
    elif text.startswith((".headers ", ".timer ")):
        candidates = dict.fromkeys(("on", "off"), "")
    else:
        candidates = {}
    for candidate, what in candidates.items():
        if candidate.startswith(word):
            yield Completion(candidate, -len(word), display_meta=what)


def history_path() -> Path:
    """Return the history's file in the user's XDG state folder."""
    base = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state"
    return folder / "duckdb_priv" / "history"


def open_history() -> History:
    """Open the history file, which only its owner can read: statements may contain values of people.

    If the file cannot be written, the history is kept in memory.
    """
    path = history_path()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
