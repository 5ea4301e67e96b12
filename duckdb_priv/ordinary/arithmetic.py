"""Classify a result as a linear function of estimates, a quotient of two, another smooth function, or none of these.

The kind determines the interval. A linear combination has a variance. A quotient has Fieller's interval. A smooth
function is approximated by a linear one with its derivatives as coefficients (the delta method).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from duckdb_priv.ordinary.aggregates import is_zero, only_branch
from duckdb_priv.ordinary.names import nodes, text

Summands = Mapping[str, str]
"""Coefficients as SQL, by estimate."""


@dataclass(frozen=True)
class Function:
    """A linear combination of estimates plus a constant, or another function with its derivatives."""

    terms: Summands
    """Coefficients, or derivatives."""
    constant: str | None = "0"
    """None if the function is not linear."""

    def plus(self, other: Function) -> Function:
        """Return the sum of two functions."""
        terms = dict(self.terms)
        for name, factor in other.terms.items():
            terms[name] = f"{terms[name]} + {factor}" if name in terms else factor
        if self.constant is None or other.constant is None:
            return Function(terms, None)
        parts = [each for each in (self.constant, other.constant) if each != "0"] or ["0"]
        return Function(terms, parts[0] if len(parts) == 1 else "({}) + ({})".format(*parts))

    def times(self, factor: str, operator: str = "*") -> Function:
        """Return the function times a constant, or divided by it."""
        terms = {name: _product(each, factor, operator) for name, each in self.terms.items()}
        constant = self.constant
        if constant not in (None, "0"):
            constant = _product(str(constant), factor, operator)
        return Function(terms, constant)


@dataclass(frozen=True)
class Ratio:
    """A quotient of linear functions, times a constant."""

    factor: str
    above: Function
    below: Function


def understand(value: exp.Expr, estimates: Collection[str]) -> Function | Ratio | None:
    """Classify a result as a function of the columns ``estimates``; None if it uses none or has no derivative.

    >>> import sqlglot
    >>> understand(sqlglot.parse_one("round(100 * (a + 3) / nullif(b, 0), 1)"), {"a", "b"})
    Ratio(factor='100', above=Function(terms={'a': '1'}, constant='3'), below=Function(terms={'b': '1'}, constant='0'))
    >>> understand(sqlglot.parse_one("a - 2 * b"), {"a", "b"})
    Function(terms={'a': '1', 'b': '-(2)'}, constant='0')
    >>> understand(sqlglot.parse_one("1 - a / c"), {"a"})
    Function(terms={'a': '-((1) / (c))'}, constant='1')
    >>> understand(sqlglot.parse_one("sqrt(a)"), {"a"})
    Function(terms={'a': '0.5 / (SQRT(a))'}, constant=None)
    >>> understand(sqlglot.parse_one("upper(a)"), {"a"})
    """
    found = _function(value, estimates)
    if found is None or not found.terms:
        return None
    return found if found.constant is not None else _ratio(value, estimates) or found


def _estimates_in(value: exp.Expr, estimates: Collection[str]) -> bool:
    return any(each.name in estimates and not each.table for each in nodes(value, exp.Column))


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
        if all(isinstance(each, exp.Null) or is_zero(each) for each in value.expressions):
            found = value.this
    else:
        guarded = only_branch(value)
        found = guarded[1] if guarded is not None else None
    return found


def _function(value: exp.Expr, estimates: Collection[str]) -> Function | None:
    """Return a result as a function of the estimates; None if a part of it has no derivative."""
    if not _estimates_in(value, estimates):
        return Function({}, text(value))
    if isinstance(value, exp.Column):
        return Function({value.name: "1"})
    inner = _within(value)
    if inner is not None:
        return _function(inner, estimates)
    if not isinstance(value.this, exp.Expression):
        return None
    left, right = value.this, value.args.get("expression") or exp.Null()
    one = _function(left, estimates)
    if one is None:
        return None
    if isinstance(value, exp.Neg):
        return one.times("-1")
    if isinstance(value, exp.Pow) and not _estimates_in(right, estimates):
        outer = "({y}) * power({x}, ({y}) - 1)"
    else:
        outer = next((each for kind, each in OUTER.items() if isinstance(value, kind)), "")
    if outer:
        slope = outer.format(x=text(left), y=text(right), f=text(value))
        return Function(one.times(slope).terms, None)
    computed = isinstance(value, exp.Add | exp.Sub | exp.Mul | exp.Div)
    two = _function(right, estimates) if computed else None
    if two is None or isinstance(value, exp.Add | exp.Sub):
        return two and one.plus(two if isinstance(value, exp.Add) else two.times("-1"))
    operator = "*" if isinstance(value, exp.Mul) else "/"
    if not two.terms:
        return one.times(text(right), operator)
    if operator == "*" and not one.terms:
        return two.times(text(left))
    if operator == "*":
        found = one.times(text(right)).plus(two.times(text(left)))
    else:
        found = one.plus(two.times(f"-1 * ({text(left)}) / ({text(right)})")).times(
            text(right), "/"
        )
    return Function(found.terms, None)


def _ratio(value: exp.Expr, estimates: Collection[str]) -> Ratio | None:
    factor, value = _without_factor(value, estimates, "1")
    if not isinstance(value, exp.Div):
        return None
    # 100 * a / b is read as 100 * (a / b), so that the count a is recognized.
    factor, top = _without_factor(value.this, estimates, factor)
    above, below = (_function(each, estimates) for each in (top, value.expression))
    if above is None or below is None or above.constant is None or below.constant is None:
        return None
    return Ratio(factor, above, below) if above.terms else None


def _without_factor(
    value: exp.Expr, estimates: Collection[str], factor: str
) -> tuple[str, exp.Expr]:
    """Take constant factors off an expression; return their product times ``factor``, and the rest."""
    while _estimates_in(value, estimates):
        inner = _within(value)
        if inner is not None:
            value = inner
        elif isinstance(value, exp.Neg):
            factor, value = _product("-1", factor), value.this
        elif isinstance(value, exp.Mul | exp.Div) and not _estimates_in(
            value.expression, estimates
        ):
            operator = "*" if isinstance(value, exp.Mul) else "/"
            factor, value = _product(factor, text(value.expression), operator), value.this
        elif isinstance(value, exp.Mul) and not _estimates_in(value.this, estimates):
            factor, value = _product(text(value.this), factor), value.expression
        else:
            break
    return factor, value


OUTER: Mapping[type[exp.Expr], str] = {
    exp.Sqrt: "0.5 / ({f})",
    exp.Ln: "1 / ({x})",
    exp.Exp: "{f}",
    exp.Abs: "sign({x})",
}
"""Derivatives of functions of x."""


def _product(one: str, two: str, operator: str = "*") -> str:
    if operator == "*" and one == "1":
        return two
    if operator == "*" and two == "1":
        return one
    if operator == "*" and two == "-1":
        return f"-({one})"
    return f"({one}) {operator} ({two})"
