"""Add standard errors and intervals to the estimates of a SELECT.

A result that is a linear combination of sums over records, or a quotient of two, has the test of the functions of
``priv`` (``sums.py``); that of a quotient is Fieller's. Any other smooth function, such as a standard deviation, is
approximated by a linear one, with its derivatives as coefficients (the delta method).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import NormalDist

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.estimator.lets import Chain, let, struct
from duckdb_priv.estimator.set_formulas import combination, interval, ordinary, other, quotient
from duckdb_priv.ordinary.aggregates import is_zero, only_branch
from duckdb_priv.ordinary.frame import Frame, Steps
from duckdb_priv.ordinary.names import StepColumns, column, nodes, same_keys, select_sql, text
from duckdb_priv.ordinary.records import Records
from duckdb_priv.ordinary.scope import ESTIMATED, called
from duckdb_priv.ordinary.sums import TABLE, Sums
from duckdb_priv.ordinary.windows import TABLE as LAW
from duckdb_priv.ordinary.windows import Windows
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import body, fill, read

ENDS = ("stderr", "low", "high")
"""The parts of an interval: fields of a struct, and suffixes of column names."""
OUTER: Mapping[type[exp.Expr], str] = {
    exp.Sqrt: "0.5 / ({f})",
    exp.Ln: "1 / ({x})",
    exp.Exp: "{f}",
    exp.Abs: "sign({x})",
}
"""Derivatives of functions f of x."""
Multiples = Mapping[str, str]
"""Coefficients as SQL, by estimate."""


class Together(float):
    """The confidence of simultaneous intervals: all intervals of a result hold at once."""


@dataclass(frozen=True)
class Function:
    """A function of estimates: linear, a quotient of linear ones, or any other one with its derivatives."""

    terms: Multiples
    """Coefficients, or derivatives."""
    constant: str | None = "0"
    """None if the function is not linear."""
    quotient: tuple[str, Function, Function] | None = None
    """A factor, and what is divided by what."""

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
        constant, quotient = self.constant, self.quotient
        if constant not in (None, "0"):
            constant = _product(str(constant), factor, operator)
        if quotient is not None:
            quotient = (_product(quotient[0], factor, operator), *quotient[1:])
        return Function(terms, constant, quotient)


def understand(value: exp.Expr, estimates: Collection[str]) -> Function | None:
    """Understand a result as a function of the columns ``estimates``; None if it uses none or has no derivative.

    >>> import sqlglot
    >>> factor, above, below = understand(sqlglot.parse_one("round(100 * (a + 3) / b, 1)"), {"a", "b"}).quotient
    >>> factor, above.terms, above.constant, below.terms
    ('1', {'a': '100'}, '(3) * (100)', {'b': '1'})
    >>> understand(sqlglot.parse_one("a - 2 * b"), {"a", "b"})
    Function(terms={'a': '1', 'b': '-(2)'}, constant='0', quotient=None)
    >>> understand(sqlglot.parse_one("1 - a / c"), {"a"})
    Function(terms={'a': '-((1) / (c))'}, constant='1', quotient=None)
    >>> understand(sqlglot.parse_one("sqrt(a)"), {"a"})
    Function(terms={'a': '0.5 / (SQRT(a))'}, constant=None, quotient=None)
    >>> understand(sqlglot.parse_one("upper(a)"), {"a"})
    """
    found = _function(value, estimates)
    return found if found is not None and found.terms else None


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
    if one is None or isinstance(value, exp.Neg):
        return one and one.times("-1")
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
    if operator == "/":
        return _quotient(one, two, text(left), text(right))
    if not one.terms:
        return two.times(text(left))
    return Function(one.times(text(right)).plus(two.times(text(left))).terms, None)


def _quotient(one: Function, two: Function, above: str, below: str) -> Function:
    """Return a quotient of two functions, which are ``above`` and ``below`` as SQL."""
    derived = one.plus(two.times(f"-1 * ({above}) / ({below})")).times(below, "/")
    if not one.terms or one.constant is None or two.constant is None:
        return Function(derived.terms, None)
    factor = "1"
    if len(one.terms) == 1 and one.constant == "0":
        # 100 * a / b is read as 100 * (a / b), so that the count a is recognized.
        ((name, factor),) = one.terms.items()
        one = Function({name: "1"})
    return Function(derived.terms, None, (factor, one, two))


def _estimates_in(value: exp.Expr, estimates: Collection[str]) -> bool:
    return any(each.name in estimates and not each.table for each in nodes(value, exp.Column))


def _within(value: exp.Expr) -> exp.Expr | None:
    """Return the number inside a cast, a rounding or a guard against zero or NULL."""
    found: exp.Expr | None = value.this
    if isinstance(value, exp.Cast | exp.TryCast):
        return found if value.to.is_type(*exp.DataType.NUMERIC_TYPES) else None
    if isinstance(value, exp.Paren | exp.Round | exp.Nullif):
        return found
    if isinstance(value, exp.Coalesce):
        nothing = all(isinstance(each, exp.Null | exp.Literal) for each in value.expressions)
        return found if nothing else None
    if isinstance(value, exp.Greatest):
        nothing = all(isinstance(each, exp.Null) or is_zero(each) for each in value.expressions)
        return found if nothing else None
    guarded = only_branch(value)
    return guarded and guarded[1]


def _product(one: str, two: str, operator: str = "*") -> str:
    if operator == "*" and one == "1":
        return two
    if operator == "*" and two == "1":
        return one
    if operator == "*" and two == "-1":
        return f"-({one})"
    return f"({one}) {operator} ({two})"


@dataclass
class Intervals:
    """Writes the steps of a SELECT whose results have intervals."""

    frame: Frame
    confidence: float
    chosen: bool = False
    """Whether HAVING selects groups by their estimates."""
    other_ends: Mapping[str, str] = field(default_factory=dict)
    """Columns with intervals that are computed elsewhere, by the column of the estimate."""

    def __post_init__(self) -> None:
        self.with_ends: list[int] = []
        """Positions of the results that have intervals."""
        self._records = Records(self.frame)
        self.taken = self._records.taken
        """Names of columns of the steps."""
        self._ends = StepColumns(self._records.taken)
        self._uncertain = {name for name, each in self.frame.measures.items() if not each.exact}
        self.windows = Windows(self._records, self._uncertain, self.chosen)
        self._together = isinstance(self.confidence, Together)
        self.z = literal(NormalDist().inv_cdf((1 + self.confidence) / 2))
        if self._together:
            self.z = text(self.taken.fresh("z"))
        self.sums = Sums(self._records, self.z)

    def items(self, items: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Return the SELECT list with the ends of each interval after its result."""
        found = []
        for number, item in enumerate(items):
            found.append(item)
            ends = self._ends_of(item.unalias())
            if ends is not None:
                self.with_ends.append(number)
                for end in ENDS:
                    value = exp.Dot(this=column(ends), expression=exp.to_identifier(end))
                    found.append(called(value, f"{item.alias_or_name}_{end}"))
        return found

    def steps(self, table: str) -> Steps:
        """Return the steps that compute the estimates and their intervals; the last one is called ``table``."""
        names = self.frame.names
        estimates = names.fresh("estimates")
        found = [
            *self.frame.law_steps(self._numbers()),
            *self._records.steps(estimates),
        ]
        if self.windows.columns.found:
            inner, estimates = estimates, names.fresh("windows")
            found += self._window_steps(inner, estimates)
        if self._together:
            inner, estimates = estimates, names.fresh("together")
            found.append(
                (estimates, select_sql(["*", f"{self._quantile()} AS {self.z}"], text(inner)))
            )
        tables, of_sets = text(estimates), ""
        if self.sums.laws.columns:
            of_sets = text(names.fresh("laws"))
            found.append((of_sets, self.sums.laws.sql()))
            keys = self.sums.laws.keys
            tables += f" JOIN {of_sets} ON {same_keys(of_sets, keys, tables, keys)}"
        ends = [each.replace(TABLE, of_sets) for each in self._ends.selected]
        found.append((table, select_sql([f"{text(estimates)}.*", *ends], tables)))
        return found

    def _quantile(self) -> str:
        """Write the normal quantile for simultaneous intervals of all groups (Bonferroni)."""
        cells = f"(count(*) OVER () * {max(len(self._ends.found), 1)})"
        confidence = f"(1 - {literal(1 - self.confidence)} / {cells})"
        formula = body(read("analyst/fragments", "normal_quantile"))
        return " ".join(fill(formula, {"confidence": confidence}).split())

    def _ends_of(self, value: exp.Expr) -> str | None:
        """Return the column with a result's interval, if it has one."""
        if any(each.meta.get(ESTIMATED) for each in nodes(value, exp.Select)):
            # The covariance of these with other counts is unknown.
            return None
        known = self._known_ends(value)
        if known is not None:
            return known
        guarded = only_branch(value)
        if guarded is not None:
            condition, inner = guarded
            ends = self._ends_of(inner)
            when = f"CASE WHEN {text(condition)} THEN"
            return ends and self._ends.take(f"{when} {self._ends.sql(ends)} END", "ends")
        ends = self._ends_sql(self.windows.replaced(value))
        used = [each.name for each in nodes(value, exp.Column) if each.name in self._uncertain]
        public = (self.frame.is_public(self.frame.measures[each]) for each in used)
        if ends and used and all(public):
            exact = struct(
                stderr="0e0", low=f"({text(value)})::DOUBLE", high=f"({text(value)})::DOUBLE"
            )
            ends = self._records.in_public_sets(used[0], exact, ends)
        return ends and self._ends.take(ends, "ends")

    def _ends_sql(self, value: exp.Expr) -> str | None:
        """Write the interval of a result, if it has one."""
        meaning = understand(value, {*self._uncertain, *self.windows.found})
        if meaning is None:
            return None
        if meaning.quotient is not None:
            return self._ratio(*meaning.quotient)
        if meaning.constant is not None:
            return str(interval(self._combination(meaning)))
        # Any other function is approximated by a linear one (the delta method). The interval is unknown if the value or
        # slope is not finite, or if the estimated variance is not positive.
        nearby = let("s", other("sum"), estimate="(w).x", of_other="{variance: (w).v}", z=self.z)
        known = f"CASE WHEN isfinite((w).x) AND isfinite((w).v) AND (w).v > 0 THEN {interval(Chain(nearby))} END"
        variance = self._variance(meaning.terms)
        return let("w", known, x=f"({text(value)})::DOUBLE", v=f"({variance})::DOUBLE")

    def _known_ends(self, value: exp.Expr) -> str | None:
        if isinstance(value, exp.Column) and not value.table:
            return self.other_ends.get(value.name)
        if any(each.name in self.other_ends for each in nodes(value, exp.Column)):
            raise QueryRefused(
                "the interval of a quantile that is computed with is not known",
                hint="ask for the quantile itself, or leave out intervals",
            )
        return None

    def _numbers(self) -> list[str]:
        """Return the names of numbers that are needed besides those of the weights."""
        found = self.sums.laws.numbers
        reads = self.windows.reads_law or self._records.of_histogram
        return [*found, "own", "other"] if reads else found

    def _window_steps(self, estimates: str, table: str) -> Steps:
        """Return the steps of windows over estimates; a column that depends on other columns is one step later."""
        law = text(next(iter(self.frame.laws.values()), ""))
        layers: list[dict[str, str]] = [{}]
        for sql, name in self.windows.columns.found.items():
            if any(re.search(rf"\b{each}\b", sql) for each in layers[-1]):
                layers.append({})
            layers[-1][name] = f"{sql.replace(LAW, law)} AS {text(name)}"
        found = []
        for number, layer in enumerate(layers):
            last = number == len(layers) - 1
            after = table if last else self.frame.names.fresh("windows")
            found.append((after, select_sql(["*", *layer.values()], text(estimates))))
            estimates = after
        return found

    def _combination(self, of: Function) -> Chain:
        """Return the test input of a linear combination."""
        terms, constant = of.terms, of.constant
        if list(terms.values()) == ["1"] and constant == "0":
            return Chain(self._functional(next(iter(terms))))
        parts = [(f"({factor})::DOUBLE", self._functional(name)) for name, factor in terms.items()]
        together = [
            (
                self._covariance(one, two, f"sign(({terms[one]}) * ({terms[two]}))", terms),
                self._overlap(one, two),
            )
            for one, two in combinations(terms, 2)
        ]
        return combination(parts, together, f"({constant})::DOUBLE")

    def _functional(self, name: str) -> str:
        """Write the test input of a sum, or of a window: that of its summands, with the window's own variance."""
        window = self.windows.found.get(name)
        if window is None:
            return self.sums.functional(name)
        variance = self.windows.covariance(name, name)
        summand = self.sums.functional(window.of)
        return let("w", ordinary("windowed"), estimate=text(name), variance=variance, u=summand)

    def _ratio(self, factor: str, one: Function, two: Function) -> str:
        """Write the interval of a quotient."""
        above, below = one.terms, two.terms
        plain = one.constant == two.constant == "0"
        if plain and list(above.values()) == list(below.values()) == ["1"]:
            mean = self.sums.mean(*above, *below)
            if mean is not None:
                return let("v", ordinary("moved"), r=mean, f=factor) if factor != "1" else mean
        least = "0e0" if plain and self._counts(above) and self._counts(below) else "'-inf'::DOUBLE"
        covariance = self._variance(above, below, "-1")
        top, bottom = (str(self._combination(each)) for each in (one, two))
        overlap = " OR ".join(self._overlap(a, b) for a in above for b in below) or "true"
        return str(
            quotient(
                top, bottom, covariance, least=least, factor=f"({factor})::DOUBLE", overlap=overlap
            )
        )

    def _counts(self, terms: Multiples) -> bool:
        """Whether a part of a quotient is a count times a factor. Sums and differences of counts may be negative."""
        found = self.windows.found
        names = [found[each].of if each in found else each for each in terms]
        measures = [self._records.measures.get(each) for each in names]
        return len(measures) == 1 and measures[0] is not None and measures[0].counts

    def _covariance(self, one: str, two: str, sign: str, among: Collection[str]) -> str:
        """Write the covariance of two of the columns ``among``; ``sign`` is that of the product of their factors."""
        windows = self.windows.found.keys()
        if not windows.isdisjoint((one, two)):
            return self.windows.covariance(one, two)
        if not windows.isdisjoint(among):
            return self.windows.of_group(one, two)
        return self.sums.covariance(one, two, sign)

    def _overlap(self, one: str, two: str) -> str:
        """Write whether a record may count in two of the columns."""
        in_windows = not self.windows.found.keys().isdisjoint((one, two))
        return "true" if in_windows else self._records.overlap(one, two)

    def _variance(self, terms: Multiples, others: Multiples | None = None, sign: str = "") -> str:
        """Write the variance of a linear combination, or the covariance of two. ``sign`` is that of all products."""
        others, parts = terms if others is None else others, []
        for one, factor in terms.items():
            for two, times in others.items():
                product = " * ".join(f"({each})" for each in (factor, times) if each != "1")
                of_both = sign or f"sign(({factor}) * ({times}))"
                covariance = self._covariance(one, two, of_both, [*terms, *others])
                parts.append(f"{product} * {covariance}" if product else covariance)
        return " + ".join(parts) or "0"
