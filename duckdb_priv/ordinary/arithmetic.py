"""Classify a result as a linear combination of estimates, a quotient of two, a smooth function, or none of these.

The kind determines the interval. A linear combination has a variance. A quotient has Fieller's interval. A smooth
function is approximated by a linear one with its derivatives as coefficients (the delta method).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from duckdb_priv.ordinary.names import text

Summands = Mapping[str, str]
"""Coefficients as SQL, by estimate."""


@dataclass(frozen=True)
class Linear:
    """A linear combination of estimates plus a constant."""

    terms: Summands
    constant: str = "0"


@dataclass(frozen=True)
class Ratio:
    """A quotient of linear combinations, times a constant."""

    factor: str
    numerator: str
    """Its value, as SQL."""
    denominator: str
    above: Summands
    below: Summands


@dataclass(frozen=True)
class Smooth:
    """A function of estimates with its derivatives."""

    terms: Summands


def understand(value: exp.Expr, estimates: Collection[str]) -> Linear | Ratio | Smooth | None:
    """Classify a result as a function of the columns ``estimates``; None if it uses none or has no derivative.

    >>> import sqlglot
    >>> understand(sqlglot.parse_one("round(100 * a / nullif(b, 0), 1)"), {"a", "b"})
    Ratio(factor='100', numerator='a', denominator='b', above={'a': '1'}, below={'b': '1'})
    >>> understand(sqlglot.parse_one("a - 2 * b"), {"a", "b"})
    Linear(terms={'a': '1', 'b': '-(2)'}, constant='0')
    >>> understand(sqlglot.parse_one("1 - a / c"), {"a"})
    Linear(terms={'a': '-((1) / (c))'}, constant='1')
    >>> understand(sqlglot.parse_one("upper(a)"), {"a"})
    """
    if not _estimates_in(value, estimates):
        return None
    terms = _linear(value, estimates)
    if terms is not None:
        return Linear(terms, _constant(value, estimates)) if terms else None
    ratio = _ratio(value, estimates, "1")
    if ratio is not None:
        return ratio
    derivatives = _derivatives(value, estimates)
    return Smooth(derivatives) if derivatives is not None else None


def _estimates_in(value: exp.Expr, estimates: Collection[str]) -> bool:
    return any(each.name in estimates and not each.table for each in value.find_all(exp.Column))


def _within(value: exp.Expr) -> exp.Expr | None:
    """Return the number inside a cast, a rounding or a guard against zero or NULL."""
    found: exp.Expr | None = None
    if isinstance(value, exp.Paren | exp.Round | exp.Nullif) or (
        isinstance(value, exp.Cast | exp.TryCast) and value.to.is_type(*exp.DataType.NUMERIC_TYPES)
    ):
        found = value.this
    elif isinstance(value, exp.Coalesce):
        if all(isinstance(each, exp.Null | exp.Literal) for each in value.expressions):
            found = value.this
    elif isinstance(value, exp.Greatest):
        if all(_is_zero(each) for each in value.expressions):
            found = value.this
    else:
        guarded = within_case(value)
        found = guarded[1] if guarded is not None else None
    return found


def within_case(value: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """Return the condition and the number of a CASE that returns a number, or else 0 or NULL.

    >>> import sqlglot
    >>> [each.sql() for each in within_case(sqlglot.parse_one("CASE WHEN b > 0 THEN a / b ELSE 0 END"))]
    ['b > 0', 'a / b']
    >>> within_case(sqlglot.parse_one("CASE WHEN b > 0 THEN a ELSE 7 END"))
    """
    if not isinstance(value, exp.Case) or value.this is not None or len(value.args["ifs"]) != 1:
        return None
    (when,), default = value.args["ifs"], value.args.get("default")
    return (when.this, when.args["true"]) if default is None or _is_zero(default) else None


def _is_zero(value: exp.Expr) -> bool:
    return isinstance(value, exp.Null) or (
        isinstance(value, exp.Literal) and not value.is_string and float(value.name) == 0
    )


def _linear(value: exp.Expr, estimates: Collection[str]) -> dict[str, str] | None:
    if not _estimates_in(value, estimates):
        return {}
    inner = _within(value)
    if inner is not None:
        return _linear(inner, estimates)
    if isinstance(value, exp.Column):
        return {value.name: "1"}
    if isinstance(value, exp.Neg):
        return _times(_linear(value.this, estimates), "-1")
    if isinstance(value, exp.Add | exp.Sub):
        left, right = (_linear(each, estimates) for each in (value.this, value.expression))
        sign = "1" if isinstance(value, exp.Add) else "-1"
        return _plus(left, _times(right, sign))
    if isinstance(value, exp.Mul | exp.Div):
        left, right = value.this, value.expression
        if not _estimates_in(right, estimates):
            operator = "*" if isinstance(value, exp.Mul) else "/"
            return _times(_linear(left, estimates), text(right), operator)
        if isinstance(value, exp.Mul) and not _estimates_in(left, estimates):
            return _times(_linear(right, estimates), text(left))
    return None


def _constant(value: exp.Expr, estimates: Collection[str]) -> str:
    """Write the value of a linear combination if all its estimates are 0."""
    if not _estimates_in(value, estimates):
        return text(value)
    inner = _within(value)
    if inner is not None:
        return _constant(inner, estimates)
    if isinstance(value, exp.Neg):
        return _product(_constant(value.this, estimates), "-1")
    if isinstance(value, exp.Add | exp.Sub | exp.Mul | exp.Div):
        left, right = (_constant(each, estimates) for each in (value.this, value.expression))
        if isinstance(value, exp.Mul | exp.Div):
            operator = "*" if isinstance(value, exp.Mul) else "/"
            return "0" if "0" in (left, right) else _product(left, right, operator)
        if right == "0":
            return left
        sign = "+" if isinstance(value, exp.Add) else "-"
        return f"({left}) {sign} ({right})" if left != "0" or sign == "-" else right
    return "0"


def _ratio(value: exp.Expr, estimates: Collection[str], factor: str) -> Ratio | None:
    inner = _within(value)
    if inner is not None:
        return _ratio(inner, estimates, factor)
    if isinstance(value, exp.Neg):
        return _ratio(value.this, estimates, _product("-1", factor))
    if isinstance(value, exp.Mul):
        for one, other in ((value.this, value.expression), (value.expression, value.this)):
            if not _estimates_in(other, estimates):
                return _ratio(one, estimates, _product(text(other), factor))
        return None
    if not isinstance(value, exp.Div):
        return None
    if not _estimates_in(value.expression, estimates):
        return _ratio(value.this, estimates, f"{factor} / ({text(value.expression)})")
    above, below = (_linear(each, estimates) for each in (value.this, value.expression))
    if above is None or below is None:
        return None
    top, bottom = value.this, value.expression
    while isinstance(top, exp.Neg | exp.Paren):
        factor = _product("-1", factor) if isinstance(top, exp.Neg) else factor
        top = top.this
        above = _linear(top, estimates)
    # 100 * a / b is read as 100 * (a / b), so that the count a is recognized.
    if isinstance(top, exp.Mul):
        for one, other in ((top.this, top.expression), (top.expression, top.this)):
            if not _estimates_in(other, estimates):
                factor, top = _product(text(other), factor), one
                above = _linear(one, estimates)
                break
    if above is None:
        return None
    return Ratio(factor, text(_stripped(top)), text(_stripped(bottom)), above, below)


def _stripped(value: exp.Expr) -> exp.Expr:
    inner = _within(value)
    return value if inner is None else _stripped(inner)


def _derivatives(value: exp.Expr, estimates: Collection[str]) -> dict[str, str] | None:
    linear = _linear(value, estimates)
    if linear is not None:
        return linear
    inner = _within(value)
    if inner is not None:
        return _derivatives(inner, estimates)
    if isinstance(value, exp.Add | exp.Sub):
        left, right = (_derivatives(each, estimates) for each in (value.this, value.expression))
        return _plus(left, _times(right, "1" if isinstance(value, exp.Add) else "-1"))
    if isinstance(value, exp.Neg):
        return _times(_derivatives(value.this, estimates), "-1")
    if isinstance(value, exp.Mul | exp.Div):
        left, right = value.this, value.expression
        one, two = _derivatives(left, estimates), _derivatives(right, estimates)
        if isinstance(value, exp.Mul):
            return _plus(_times(one, text(right)), _times(two, text(left)))
        return _times(
            _plus(one, _times(two, f"-1 * ({text(left)}) / ({text(right)})")), text(right), "/"
        )
    for kind, outer in OUTER.items():
        if isinstance(value, kind):
            return _times(
                _derivatives(value.this, estimates), outer.format(x=text(value.this), f=text(value))
            )
    if isinstance(value, exp.Pow) and not _estimates_in(value.expression, estimates):
        base, power = text(value.this), text(value.expression)
        return _times(
            _derivatives(value.this, estimates), f"({power}) * power({base}, ({power}) - 1)"
        )
    return None


OUTER: Mapping[type[exp.Expr], str] = {
    exp.Sqrt: "0.5 / ({f})",
    exp.Ln: "1 / ({x})",
    exp.Exp: "{f}",
    exp.Abs: "sign({x})",
}
"""Derivatives of functions of x."""


def _plus(one: dict[str, str] | None, two: dict[str, str] | None) -> dict[str, str] | None:
    if one is None or two is None:
        return None
    return {
        name: f"{one[name]} + {two[name]}" if name in one and name in two else {**one, **two}[name]
        for name in {**one, **two}
    }


def _times(terms: dict[str, str] | None, factor: str, operator: str = "*") -> dict[str, str] | None:
    if terms is None or factor == "1":
        return terms
    return {name: _product(term, factor, operator) for name, term in terms.items()}


def _product(one: str, two: str, operator: str = "*") -> str:
    if operator == "*" and one == "1":
        return two
    if operator == "*" and two == "1":
        return one
    if operator == "*" and two == "-1":
        return f"-({one})"
    return f"({one}) {operator} ({two})"
