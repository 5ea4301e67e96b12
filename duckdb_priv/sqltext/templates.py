"""The SQL of the project is in files; this module finds, orders and fills them.

A file holds one object, or one fragment that several objects share, or several sections, each under a line ``--
name: estimate``. A file names what is filled in between two at-signs, as in ``@estimate@``; the filling is text
that is SQL already, and may name further fillings. In the text of a query that a macro runs, the
arguments of the macro are in braces, as in ``{condition}``. When a file is read, both are marked with NULs, which no
SQL text can hold: so a value or a name of the user's that looks like ``@estimate@`` does not change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from duckdb_priv.sqltext.quoting import literal

PLACE = re.compile(r"@([a-z_]+(?:\.[a-z_]+)?)@")
MARKED = re.compile("\0([a-z_]+[0-9]*(?:\\.[a-z_]+)?)\0")
SECTION = re.compile(r"^-- name: ([a-z_.]+)\n", re.MULTILINE)
ARGUMENT = re.compile(r"\{([a-z_]+)\}")
MARKED_ARGUMENT = re.compile("\0{([a-z_]+)}\0")


@cache
def root() -> Path:
    """Return the folder sql/: inside the package in a wheel, beside it in a source tree."""
    package = Path(__file__).resolve().parent.parent
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


def everything(folder: str) -> list[str]:
    """Return the text of every file in a folder of sql/ and in the folders below it.

    >>> read("analyst", "weight") in everything("analyst")
    True
    """
    return [path.read_text(encoding="utf-8") for path in sorted((root() / folder).rglob("*.sql"))]


def body(text: str) -> str:
    """Drop the comment lines of a file, so that it can be used inside an expression, and mark its places.

    >>> body("-- why\\n1 + 1\\n")
    '1 + 1'
    """
    lines = (line for line in text.splitlines() if not line.startswith("--"))
    return template("\n".join(lines).strip())


@cache
def sections(folder: str, name: str) -> Mapping[str, str]:
    """Return the sections of a file by their names, each as ``body`` gives it.

    >>> sections("analyst/estimators", "sample")["half_step"]
    '0.5e0 / s.own'
    """
    _head, *pieces = SECTION.split(read(folder, name))
    return dict(zip(pieces[::2], map(body, pieces[1::2]), strict=True))


def template(text: str) -> str:
    """Mark every ``@name@`` and ``{name}`` in a text of our own as a place to fill.

    >>> template("SELECT @sum@;")
    'SELECT \\x00sum\\x00;'
    """
    return PLACE.sub("\0\\1\0", ARGUMENT.sub("\0{\\1}\0", text))


def place(name: str) -> str:
    """Mark one place by its name, which may end in a number.

    >>> fill(f"FROM {place('records')}", {"records": "t"})
    'FROM t'
    """
    return f"\0{name}\0"


def fill(text: str, fillings: Mapping[str, str]) -> str:
    """Fill every marked place, also those that a filling brings along.

    >>> fill(template("SELECT @sum@;"), {"sum": template("@one@ + @one@"), "one": "'@sum@'"})
    "SELECT '@sum@' + '@sum@';"
    """
    return MARKED.sub(lambda match: fill(fillings[match[1]], fillings), text)


def expand(text: str, fillings: Mapping[str, str]) -> str:
    """Fill the marked places that there is a filling for, and leave the others marked.

    >>> expand(template("@one@ + @two@"), {"one": "1"})
    '1 + \\x00two\\x00'
    """
    return MARKED.sub(
        lambda match: expand(fillings[match[1]], fillings) if match[1] in fillings else match[0],
        text,
    )


def computed(text: str, arguments: Mapping[str, str]) -> str:
    """Write a text as an SQL expression, in which every marked ``{name}`` is an argument of a macro.

    >>> computed(template("FROM t WHERE {condition}"), {"condition": "_condition"})
    "'FROM t WHERE ' || _condition || ''"
    """
    pieces = MARKED_ARGUMENT.split(text)
    return " || ".join(
        arguments[piece] if number % 2 else literal(piece) for number, piece in enumerate(pieces)
    )
