"""Folds constants in SQL text when the text is written, so that DuckDB need not bind them at every query."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping

from duckdb_priv.sqltext.quoting import TOKEN, literal

NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"
OPERAND = rf"(?:{NUMBER}|\(-{NUMBER}\))"
INNER = re.compile(rf"\((?<![\w\])]\()(?<!\bIN \()-?{OPERAND}(?:\s*(?:\*\*|[-+*/])\s*{OPERAND})*\)")
"""Parentheses that contain only arithmetic with numbers, and are not the arguments of a function or of IN."""
LOGARITHM = re.compile(rf"ln\((?<!\wln\()({NUMBER})\)")
LARGEST = re.compile(rf"list_max\(\(?\[({NUMBER}) FOR \w+ IN range\([1-9][0-9]*\)\]\)?\)")
"""The largest of equal numbers."""
BETWEEN = re.compile(f"({TOKEN.pattern})")
OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def folded(text: str) -> str:
    """Replace arithmetic between literals in parentheses by its result, the same DOUBLE that DuckDB computes.

    Arithmetic without a DOUBLE literal is left unchanged.

    >>> print(folded("(x - (0.5e0) * 2) / ((1 - 0.5e0) / 2) + f(1 - 0.5e0) || '(1 - 0.5e0)'"))
    (x - 0.5e0 * 2) / 0.25e0 + f(1 - 0.5e0) || '(1 - 0.5e0)'
    >>> print(folded("x * (-(0.5e0 / 2)) + ((1 - 3e0) * 2)"))
    x * (-0.25e0) + (-4.0e0)
    >>> print(folded("x < (3 / ln((1 / 0.5e0)))"))
    x < 4.328085122666891e0
    >>> print(folded("1 / list_max([0.5e0 FOR i IN range(3)])"))
    1 / 0.5e0
    """
    pieces = BETWEEN.split(text)
    pieces[::2] = map(_folded, pieces[::2])
    return "".join(pieces)


def _folded(text: str) -> str:
    # A search for a fixed text is much faster than one of an expression.
    if "(" not in text:
        return text
    if "list_max(" in text:
        text = LARGEST.sub(r"(\1)", text)
    while (shorter := _shorter(text)) != text:
        text = shorter
    return text


def _shorter(text: str) -> str:
    text = INNER.sub(_result, text)
    return LOGARITHM.sub(_logarithm, text) if "ln(" in text else text


def _logarithm(found: re.Match[str]) -> str:
    return found[0] if float(found[1]) <= 1 else f"({literal(math.log(float(found[1])))})"


def _result(found: re.Match[str]) -> str:
    body = found[0]
    # Python and DuckDB associate repeated powers differently, and the power of a negative number.
    powers = body.count("**")
    if "e" not in body or powers > 1 or (powers and body.startswith("(-")):
        return body
    try:
        value = _value(ast.parse(body, mode="eval").body) + 0.0
    except (ArithmeticError, TypeError):
        return body
    if not math.isfinite(value):
        return body
    # A minus sign without parentheses may bind differently.
    return literal(value) if value >= 0 else f"({literal(value)})"


def _value(tree: ast.AST) -> float:
    match tree:
        case ast.BinOp(left, sign, right):
            return float(OPERATIONS[type(sign)](_value(left), _value(right)))
        case ast.UnaryOp(operand=operand):
            return -_value(operand)
        case ast.Constant(value) if isinstance(value, (int, float)):
            return float(value)
    raise AssertionError(ast.dump(tree))
