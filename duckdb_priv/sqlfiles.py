"""The SQL of the project stands in files; this module finds, orders, quotes and fills them.

A file holds one object, or one fragment that several objects share. A file names what is filled in
between two at-signs, as in ``@estimate@``; the filling is text that is SQL already, and may
name further fillings. In the text of a query that a macro runs, what the macro is called with stands in
braces, as in ``{condition}``. When a file is read, both are marked with NULs, which no SQL text can hold: so
a value or a name of the user's that looks like ``@estimate@`` is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from duckdb_priv.errors import InvalidParameter

PLACE = re.compile(r"@([a-z_]+)@")
MARKED = re.compile("\0([a-z_]+)\0")
ARGUMENT = re.compile(r"\{([a-z_]+)\}")
MARKED_ARGUMENT = re.compile("\0{([a-z_]+)}\0")


@cache
def root() -> Path:
    """Return the folder sql/: inside the package in a wheel, beside it in a source tree."""
    package = Path(__file__).resolve().parent
    return next(folder for folder in (package / "sql", package.parent / "sql") if folder.is_dir())


def names(folder: str) -> list[str]:
    """List the files of one folder of sql/, in the order in which they are applied.

    >>> names("migrations")[0]
    '0001_catalog'
    """
    return list(_names(folder))


@cache
def _names(folder: str) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (root() / folder).glob("*.sql")))


@cache
def read(folder: str, name: str) -> str:
    """Return the text of one file of sql/.

    >>> read("migrations", "0001_catalog").startswith("--")
    True
    """
    return (root() / folder / f"{name}.sql").read_text(encoding="utf-8")


def body(text: str) -> str:
    """Drop the comment lines of a file, so that it can stand inside an expression, and mark its places.

    >>> body("-- why\\n1 + 1\\n")
    '1 + 1'
    """
    lines = (line for line in text.splitlines() if not line.startswith("--"))
    return template("\n".join(lines).strip())


def template(text: str) -> str:
    """Mark every ``@name@`` and ``{name}`` in a text of our own as a place to fill.

    >>> template("SELECT @sum@;")
    'SELECT \\x00sum\\x00;'
    """
    return PLACE.sub("\0\\1\0", ARGUMENT.sub("\0{\\1}\0", text))


def fill(text: str, fillings: Mapping[str, str]) -> str:
    """Fill every marked place, also those that a filling brings along.

    >>> fill(template("SELECT @sum@;"), {"sum": template("@one@ + @one@"), "one": "'@sum@'"})
    "SELECT '@sum@' + '@sum@';"
    """
    return MARKED.sub(lambda match: fill(fillings[match[1]], fillings), text)


def computed(text: str, arguments: Mapping[str, str]) -> str:
    """Write a text as an SQL expression, in which every marked ``{name}`` is an argument of a macro.

    >>> computed(template("FROM t WHERE {condition}"), {"condition": "_condition"})
    "'FROM t WHERE ' || _condition || ''"
    """
    pieces = MARKED_ARGUMENT.split(text)
    return " || ".join(
        arguments[piece] if number % 2 else literal(piece) for number, piece in enumerate(pieces)
    )


def identifier(name: str) -> str:
    """Quote a name of a table, column or schema.

    >>> print(identifier('we"ird'))
    "we""ird"
    """
    return '"' + name.replace('"', '""') + '"'


def identifiers(names: Iterable[str]) -> str:
    """Quote names and join them with commas.

    >>> identifiers(["a", "b"])
    '"a", "b"'
    """
    return ", ".join(map(identifier, names))


def literal(value: str | float | bool | None) -> str:
    """Write a value as an SQL literal.

    A number is written so that it is read back as the same DOUBLE.

    >>> print(literal("it's"), literal(0.1), literal(None), literal(True))
    'it''s' 0.1e0 NULL true
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if "e" in text else f"{text}e0"
    if "\0" in value:
        raise InvalidParameter(
            "a text contains the character NUL, which SQL cannot write",
            hint="replace() it in a view, and publish the view",
        )
    return "'" + value.replace("'", "''") + "'"
