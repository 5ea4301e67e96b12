"""Finds, orders and fills the SQL templates in the folder sql/.

A file holds one object, one fragment that several objects share, or several sections. A section begins with a line
like ``-- name: estimate``. A placeholder is a name between at-signs, as in ``@estimate@``. It is replaced by SQL text,
which may contain further placeholders. If a macro runs a query as a text, the macro's arguments are in braces there,
as in ``{condition}``. When a file is read, placeholders and arguments are marked with NUL characters, which no SQL
text contains. So a user's value or name that looks like ``@estimate@`` is never replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from duckdb_priv.sqltext.quoting import TOKEN, literal

PLACE = re.compile(r"@([a-z_]+(?:\.[a-z_]+)?)@")
MARKED = re.compile("\0([a-z_]+[0-9]*(?:\\.[a-z_]+)?)\0")
SECTION = re.compile(r"^-- name: ([a-z_.]+)\n", re.MULTILINE)
ARGUMENT = re.compile(r"\{([a-z_]+)\}")
MARKED_ARGUMENT = re.compile("\0{([a-z_]+)}\0")
KEPT = re.compile(f"({TOKEN.pattern})")
INDENTATION = re.compile(r"[ \n]*\n[ \n]*")


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
    """Drop the comment lines of a file and mark its placeholders, so that it can be used inside an expression.

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


def section(file: str, part: str, **fillings: str) -> str:
    """Return a section of a file with its placeholders filled; a file without a folder is in publisher/fragments.

    Placeholders without a filling, and those inside a filling, stay marked: a kernel fills them.

    >>> section("audits", "smallest_group", table="t", columns="a")
    'SELECT min(size) FROM (SELECT count(*) AS size FROM t GROUP BY a)'
    """
    folder, _, name = file.rpartition("/")
    text = sections(folder or "publisher/fragments", name)[part]
    return MARKED.sub(lambda match: fillings.get(match[1], match[0]), text)


def fragment(name: str, /, **fillings: str) -> str:
    """Return a file of publisher/fragments with its placeholders filled, also those inside the fillings.

    Placeholders without a filling stay marked.

    >>> fragment("sorted_rows") == body(read("publisher/fragments", "sorted_rows"))
    True
    """
    return expand(body(read("publisher/fragments", name)), fillings)


def template(text: str) -> str:
    """Mark every ``@name@`` and ``{name}`` in a text of the library as a placeholder.

    >>> template("SELECT @sum@;")
    'SELECT \\x00sum\\x00;'
    """
    return PLACE.sub("\0\\1\0", ARGUMENT.sub("\0{\\1}\0", text))


def place(name: str) -> str:
    """Write a marked placeholder of this name, which may end in a number.

    >>> fill(f"FROM {place('records')}", {"records": "t"})
    'FROM t'
    """
    return f"\0{name}\0"


def fill(text: str, fillings: Mapping[str, str]) -> str:
    """Fill every marked placeholder, also those inside the fillings.

    >>> fill(template("SELECT @sum@;"), {"sum": template("@one@ + @one@"), "one": "'@sum@'"})
    "SELECT '@sum@' + '@sum@';"
    """
    return MARKED.sub(lambda match: fill(fillings[match[1]], fillings), text)


def expand(text: str, fillings: Mapping[str, str]) -> str:
    """Fill the marked placeholders that have a filling, and leave the others marked.

    >>> expand(template("@one@ + @two@"), {"one": "1"})
    '1 + \\x00two\\x00'
    """
    return MARKED.sub(
        lambda match: expand(fillings[match[1]], fillings) if match[1] in fillings else match[0],
        text,
    )


def compact(text: str) -> str:
    """Drop the comments and the indentation of a query. Literals and quoted names keep their spaces.

    >>> compact("SELECT 1 -- one\\n    FROM t WHERE x = '  '")
    "SELECT 1\\nFROM t WHERE x = '  '"
    """
    pieces = KEPT.split(text)
    kept = "".join(
        piece if number % 2 == 0 or not piece.startswith("--") else ""
        for number, piece in enumerate(pieces)
    )
    return "".join(
        INDENTATION.sub("\n", piece) if number % 2 == 0 else piece
        for number, piece in enumerate(KEPT.split(kept))
    )


def computed(text: str, arguments: Mapping[str, str]) -> str:
    """Write a text as an SQL expression that concatenates it, where every marked ``{name}`` is a macro's argument.

    >>> computed(template("FROM t WHERE {condition}"), {"condition": "_condition"})
    "concat('FROM t WHERE ', _condition)"
    """
    pieces = [
        arguments[piece] if number % 2 else literal(piece)
        for number, piece in enumerate(MARKED_ARGUMENT.split(text))
        if piece
    ]
    return pieces[0] if len(pieces) == 1 else f"concat({', '.join(pieces)})"
