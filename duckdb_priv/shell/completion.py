"""Completes words of SQL: keywords, tables, columns, and functions of the schema priv with their parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import duckdb

from duckdb_priv.shell.statements import in_text, tokens
from duckdb_priv.shell.topics import BASELINES, topic_of
from duckdb_priv.sqltext.quoting import identifier

WORD = re.compile(r"[\w.]*$")
PLAIN = re.compile(r"[a-z_][a-z0-9_]*$")
"""Names that need no quotes, unless they are keywords."""


@dataclass(frozen=True)
class Proposal:
    """A completion: the text, the number of typed characters that it replaces, and its description."""

    text: str
    replaces: int
    what: str


@dataclass(frozen=True)
class CatalogNames:
    """The names in the catalog of a database."""

    keywords: dict[str, bool] = field(default_factory=dict)
    """Maps each keyword to whether it needs quotes as a name."""
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
    keywords = {
        word: category == "reserved"
        for word, category in rows(
            "SELECT keyword_name, min(keyword_category) FROM duckdb_keywords() GROUP BY ALL ORDER BY ALL"
        )
    }
    return CatalogNames(keywords, columns, functions)


def propose(text: str, names: CatalogNames) -> Iterator[Proposal]:
    """Yield completions of a statement's last word, the likeliest first.

    >>> names = CatalogNames({"select": True}, {"visits": ["id"]}, {"priv.publish_splu": ["gamma"]})
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
        Proposal(candidate, len(word), what)
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
            shown = _quoted(column, names)
            yield (f"{table}.{shown}" if "." in word else shown), f"column of {table}"
    for table in names.columns:
        yield ".".join(_quoted(part, names) for part in table.split(".", 1)), "table"
    if not word:
        return
    for function in sorted(names.functions, key=_is_baseline):
        yield f"{function}(", "function"
    for keyword in names.keywords:
        yield keyword if word.islower() else keyword.upper(), "keyword"


def _is_baseline(function: str) -> bool:
    """Return whether a function is proposed last because it is only a baseline for comparisons."""
    return function.startswith("priv.") and topic_of(function.removeprefix("priv.")) == BASELINES


def _quoted(name: str, names: CatalogNames) -> str:
    return name if PLAIN.match(name) and not names.keywords.get(name) else identifier(name)


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
