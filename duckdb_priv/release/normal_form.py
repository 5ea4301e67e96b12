"""The normal form of a macro or view definition, which does not depend on the DuckDB version that printed it.

DuckDB versions parse the same expression into slightly different trees, and print the same tree slightly differently.
The normal form removes differences without meaning. Everything else stays, including parentheses: texts with the same
normal form compute the same result.
"""

from __future__ import annotations

import re
from functools import lru_cache

TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[^\W\d]\w*|\s+|.""", re.DOTALL
)
STATEMENT = re.compile(r"""(?:'(?:[^']|'')*+'|"(?:[^"]|"")*+"|[^;'"]++)++""")
"""The text between two semicolons outside of string literals and quoted names."""
PLAIN = re.compile(r'"[A-Za-z_]\w*"')
NUMBER = re.compile(r"\d")
WORD = re.compile(r"\w")
TRUTHS = {"'t'": "true", "'f'": "false"}
OPERATORS_BEFORE = frozenset(
    {"AND", "OR", "NOT", "IN", "THEN", "ELSE", "WHEN", "AS", "BY", "BETWEEN"}
)
"""Keywords after which a parenthesis begins a term, not a call."""

Tree = list["str | Tree"]


@lru_cache(maxsize=1024)
def normal(text: str) -> str:
    """Return the normal form of a definition.

    Results are cached: verification compares a release with a rewritten one, and most definitions are equal.

    >>> normal('main.list_sort(list(x), "a") + CAST(0.5 AS DOUBLE)')
    'list_sort ( list ( x ) , a ) + 0.5'
    >>> normal("(NOT (x IN (1, 2)))") == normal("(x NOT IN (1, 2))")
    True
    >>> normal("f((lambda x, y: x))") == normal("f((row(x, y) -> x))")
    True
    >>> normal("a * (b + c)") == normal("(a * b) + c")
    False
    """
    return " ".join(_written(_simplified(_tree(text))))


def normal_statements(script: str) -> list[str]:
    """Return the statements of a script that DuckDB wrote, each in normal form.

    >>> normal_statements("SELECT ';' ; SELECT (1);")
    ["SELECT ';'", 'SELECT ( 1 )']
    """
    return [normal(each) for each in STATEMENT.findall(script) if not each.isspace()]


def _tree(text: str) -> Tree:
    """Parse tokens into nested lists, one for each pair of parentheses."""
    stack: list[Tree] = [[]]
    for token in TOKEN.findall(text):
        if token.isspace():
            continue
        if token == "(":
            inner: Tree = []
            stack[-1].append(inner)
            stack.append(inner)
        elif token == ")" and len(stack) > 1:
            stack.pop()
        else:
            stack[-1].append(_token(token))
    return stack[0]


def _token(token: str) -> str:
    """Return a token in canonical form: names without needless quotes, and each number in one spelling.

    >>> _token('"DOUBLE"'), _token("0.150e0"), _token("3.0"), _token("7")
    ('DOUBLE', '0.15', '3', '7')
    """
    if PLAIN.fullmatch(token):
        return token[1:-1]
    if NUMBER.match(token) and not token.isdigit() and "_" not in token:
        number = float(token)
        return str(int(number)) if number.is_integer() and number < 2**53 else repr(number)
    return token


def _simplified(tree: Tree) -> Tree:
    out: Tree = []
    for each in tree:
        if isinstance(each, str):
            out.append(each)
            # DuckDB prints its built-in functions with or without the schema name.
            if out[-2:] == ["main", "."]:
                del out[-2:]
                if out[-2:] == ["system", "."]:
                    del out[-2:]
            continue
        inner = _simplified(each)
        before = out[-1] if out else ""
        called = (
            isinstance(before, str) and bool(WORD.match(before)) and before not in OPERATORS_BEFORE
        )
        if called and (shorter := _call(str(before), inner)) is not None:
            out[-1:] = shorter
        elif not called and (term := _term(inner)) is not None:
            out += term
        else:
            out.append(inner)
    return out


def _call(name: str, inside: Tree) -> Tree | None:
    """Return the canonical form of a call; None if it is canonical."""
    if name == "CAST" and inside[-2:] == ["AS", "DOUBLE"] and _is_number(inside[:-2]):
        return inside[:-2]
    if name == "CAST" and inside[1:] == ["AS", "BOOLEAN"] and inside[0] in TRUTHS:
        return [TRUTHS[str(inside[0])]]
    if name == "list" and "ORDER" in inside:
        place = inside.index("ORDER")
        if inside[place + 2 :] == inside[:place]:
            return [
                "list_sort",
                ["list", inside[:place], ",", "'ORDER_DEFAULT'", ",", "'ORDER_DEFAULT'"],
            ]
    return None


def _is_number(tree: Tree) -> bool:
    digits = tree[1:] if tree[:1] == ["-"] else tree
    return len(digits) == 1 and isinstance(digits[0], str) and bool(NUMBER.match(digits[0]))


def _term(inside: Tree) -> Tree | None:
    """Return the canonical form of a term in parentheses; None if it is canonical."""
    if inside[:1] == ["lambda"] and ":" in inside:
        place = inside.index(":")
        names = inside[1:place]
        return [[*(names if len(names) == 1 else ["row", names]), "-", ">", *inside[place + 1 :]]]
    if len(inside) == 2 and inside[0] == "-" and isinstance(inside[1], list):
        return inside
    if len(inside) == 2 and inside[0] == "NOT" and isinstance(inside[1], list):
        among = inside[1]
        if len(among) > 2 and among[-2] == "IN" and among.count("IN") == 1:
            return [[*among[:-2], "NOT", *among[-2:]]]
    return None


def _written(tree: Tree) -> list[str]:
    """Return nested lists as tokens.

    >>> _written(["f", ["a", ["b"]], "c"])
    ['f', '(', 'a', '(', 'b', ')', ')', 'c']
    """
    out: list[str] = []
    _write(tree, out)
    return out


def _write(tree: Tree, out: list[str]) -> None:
    for each in tree:
        if isinstance(each, str):
            out.append(each)
        else:
            out.append("(")
            _write(each, out)
            out.append(")")
