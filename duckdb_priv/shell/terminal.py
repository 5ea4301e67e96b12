"""The interactive shell: adds line editing, history, completion and colours to the shell."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
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

from duckdb_priv.shell.database_files import EXPECTED, explain
from duckdb_priv.shell.dotcommands import COMMANDS, Leave, Shell, meant
from duckdb_priv.shell.execution import Stopped
from duckdb_priv.shell.rendering import MODES
from duckdb_priv.shell.statements import in_text, is_blank, split, tokens
from duckdb_priv.shell.topics import BASELINES, topic_of
from duckdb_priv.sqltext.quoting import plain_identifier
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
    """Return whether Enter runs the text: a dot command, or SQL with at most comments after the last semicolon.

    >>> is_finished(".mode csv"), is_finished("SELECT 1"), is_finished("SELECT 'it;"), is_finished("SELECT 1; -- one")
    (True, False, False, True)
    """
    return meant(text) is not None or is_blank(split(text)[1])


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
            yield from propose(text, self._names or CatalogNames())


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


def open_history() -> History:
    """Open the history file, which only its owner can read: statements may contain values of people.

    It is in the user's XDG state folder. If it cannot be written, the history is kept in memory.
    """
    base = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state"
    path = folder / "duckdb_priv" / "history"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)


WORD = re.compile(r"[\w.]*$")


@dataclass(frozen=True)
class CatalogNames:
    """The names in the catalog of a database."""

    keywords: list[str] = field(default_factory=list)
    columns: dict[str, list[str]] = field(default_factory=dict)
    """Maps each table or view, with its schema unless that is main, to its columns."""
    functions: dict[str, list[str]] = field(default_factory=dict)
    """Maps each function to its named parameters, which only functions of the schema priv have."""


def read_names(connection: duckdb.DuckDBPyConnection) -> CatalogNames:
    """Read the catalog of the current database.

    >>> con = duckdb.connect()
    >>> _ = con.execute("CREATE TABLE visits (id INTEGER, disease VARCHAR)")
    >>> read_names(con).columns["visits"]
    ['id', 'disease']
    >>> con.close()
    """

    def rows(sql: str) -> list[tuple[str, ...]]:
        return connection.execute(sql).fetchall()

    columns: dict[str, list[str]] = {}
    for schema, table, column in rows(
        "SELECT schema_name, table_name, column_name FROM duckdb_columns()"
        " WHERE database_name = current_database() AND NOT internal ORDER BY schema_name, table_name, column_index"
    ):
        columns.setdefault(table if schema == "main" else f"{schema}.{table}", []).append(column)
    functions = {
        name if schema == "main" else f"{schema}.{name}": [
            each for each in parameters if schema == "priv" and not each.startswith("_")
        ]
        for schema, name, parameters in rows(
            "SELECT schema_name, function_name, any_value(parameters) FROM duckdb_functions()"
            " WHERE schema_name IN ('main', 'priv') AND regexp_matches(function_name, '^[a-z]')"
            " GROUP BY ALL ORDER BY ALL"
        )
    }
    keywords = rows("SELECT DISTINCT keyword_name FROM duckdb_keywords() ORDER BY ALL")
    return CatalogNames([word for (word,) in keywords], columns, functions)


def propose(text: str, names: CatalogNames) -> Iterator[Completion]:
    """Yield completions of a statement's last word, the likeliest first.

    >>> names = CatalogNames(["select"], {"visits": ["id"]}, {"priv.publish_splu": ["gamma"]})
    >>> [each.text for each in propose("sel", names)]
    ['select']
    >>> [each.text for each in propose("FROM priv.publish_splu('vi", names)]
    ['visits']
    >>> [each.text for each in propose("FROM priv.publish_splu('visits', ", names)][0]
    'gamma := '
    """
    if in_text(text):
        word = text[text.rindex("'") + 1 :]
        candidates = _texts(names)
    else:
        word = WORD.search(text)[0]  # type: ignore[index]
        candidates = _words(text, word, names)
    found = [
        Completion(candidate, -len(word), display_meta=what)
        for candidate, what in candidates
        if candidate.lower().startswith(word.lower()) and candidate != word
    ]
    # If the word begins a parameter's name, the many functions with the same beginning are not proposed.
    parameters = [each for each in found if word and each.text.endswith(" := ")]
    yield from parameters or found


def _texts(names: CatalogNames) -> Iterator[tuple[str, str]]:
    """Yield the names of tables and columns, which functions of the schema priv take as texts."""
    for table in names.columns:
        yield table, "table"
    for table, columns in names.columns.items():
        for column in columns:
            yield column, f"column of {table}"


def _words(text: str, word: str, names: CatalogNames) -> Iterator[tuple[str, str]]:
    call = open_call(text)
    for parameter in names.functions.get(call, []):
        yield f"{parameter} := ", f"parameter of {call}"
    for table, columns in names.columns.items():
        for column in columns:
            shown = plain_identifier(column)
            yield (f"{table}.{shown}" if "." in word else shown), f"column of {table}"
    for table in names.columns:
        yield ".".join(map(plain_identifier, table.split(".", 1))), "table"
    if not word:
        return
    for function in sorted(names.functions, key=_is_baseline):
        yield f"{function}(", "function"
    for keyword in names.keywords:
        yield keyword if word.islower() else keyword.upper(), "keyword"


def _is_baseline(function: str) -> bool:
    """Return whether a function is proposed last because it is only a baseline for comparisons."""
    return function.startswith("priv.") and topic_of(function.removeprefix("priv.")) == BASELINES


def open_call(text: str) -> str:
    """Return the function whose parenthesis is still open; an empty text if there is none.

    >>> open_call("SELECT max(priv.weight('r', f(x), ")
    'priv.weight'
    """
    data = text.encode()
    calls: list[str] = []
    for offset, token in tokens(text):
        if token == "(":
            calls.append(WORD.search(data[:offset].decode())[0].lower())  # type: ignore[index]
        elif token == ")" and calls:
            calls.pop()
    return calls[-1] if calls else ""
