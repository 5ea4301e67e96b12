"""Parse aggregates into sums over records.

Only sums over records stay unbiased when every record counts with its weight. So an aggregate is split into such sums,
and computed from their estimates: an average is a sum divided by a count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.names import first, nodes, parsed
from duckdb_priv.ordinary.published import functions
from duckdb_priv.sqltext.moments import MOMENTS, OF_PAIRS, centred

ONE = "1"
NAMES = {
    exp.CountIf: "count_if",
    exp.LogicalOr: "bool_or",
    exp.LogicalAnd: "bool_and",
    exp.ArrayAgg: "list",
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
}
"""Names of functions that sqlglot renders differently, and of frequent ones, because rendering takes time."""
AVERAGE = "CASE WHEN n > 0 THEN x / n END"
FORMULAS = {"count": "n", "count_if": "n", "sum": "x", "avg": AVERAGE, "mean": AVERAGE} | MOMENTS
"""Aggregates as formulas of sums: n counts records, x and y are sums of arguments, xy of products (``MOMENTS``)."""
DECOMPOSED = ("min", "max", "any_value", "bool_or", "bool_and")
"""Aggregates that give the same result over the results of parts."""
CONTINUOUS = (exp.Median, exp.PercentileCont, exp.ApproxQuantile)
QUANTILES = (*CONTINUOUS, exp.PercentileDisc, exp.Quantile)
"""Functions that interpolate between two values; and all functions that return a quantile."""
WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)


class Zero(Enum):
    """When a sum over no records is 0 and not NULL."""

    NEVER = auto()
    """As sum(x)."""
    OF_RECORDS = auto()
    """If the group has records, which add 0, as in sum(CASE WHEN … THEN x ELSE 0 END)."""
    ALWAYS = auto()
    """As count(x)."""


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum of the product of factors, over the records that meet the conditions."""

    factors: tuple[exp.Expr, ...] = ()
    conditions: tuple[exp.Expr, ...] = ()
    zero: Zero = Zero.NEVER
    """When the sum is 0 and not NULL if no record meets its conditions."""

    @property
    def is_count(self) -> bool:
        """Whether the sum counts records."""
        return not self.factors

    def times(self, *factors: exp.Expr) -> Sum:
        """Return the sum with more factors."""
        return replace(self, factors=(*self.factors, *factors))

    def where(self, *conditions: exp.Expr) -> Sum:
        """Return the sum with more conditions."""
        return replace(self, conditions=(*self.conditions, *conditions))


@dataclass(frozen=True, eq=False)
class Estimate:
    """An aggregate computed from sums over records."""

    sums: Sequence[Sum]
    combine: Callable[..., exp.Expr]
    """Builds the aggregate from the estimates of its sums."""


@dataclass(frozen=True, eq=False)
class Plain:
    """An aggregate that is not a sum, but exact for public columns: it can be computed from the results of parts."""

    name: str
    argument: exp.Expr
    conditions: tuple[exp.Expr, ...] = ()
    distinct: bool = False


@dataclass(frozen=True, eq=False)
class Quantile:
    """A quantile: the value below which a given share of the records is."""

    value: exp.Expr
    share: exp.Expr
    continuous: bool
    """Whether the result is interpolated between two values."""
    descending: bool = False
    """Whether records are counted from the largest value. Of two valid quantiles, the result is then the upper one."""
    conditions: tuple[exp.Expr, ...] = ()
    of_list: tuple[Quantile, ...] = ()
    """One quantile for each of a list of shares, if there is a list."""

    def at(self, share: exp.Expr) -> Quantile:
        """Return the quantile at another share, which counts from the largest value if it is negative."""
        if first(share, exp.Column, exp.Array):
            raise QueryRefused(
                "the shares of quantiles are numbers, such as 0.5, or a list of numbers",
                hint="write quantile_cont(x, 0.25), or quantile_cont(x, [0.25, 0.75])",
            )
        descending = self.descending
        if isinstance(share, exp.Neg):
            descending, share = not descending, share.this
        if descending:
            share = exp.paren(exp.Sub(this=exp.Literal.number(1), expression=exp.paren(share)))
        return replace(self, share=share, descending=descending)


def name_of(function: exp.Expr) -> str:
    """Return the SQL name of a function."""
    if isinstance(function, exp.Anonymous):
        return str(function.name).lower()
    known = next((name for kind, name in NAMES.items() if isinstance(function, kind)), None)
    if known is not None:
        return known
    if isinstance(function, exp.Func):
        return str(function.sql("duckdb").partition("(")[0]).lower()
    return ""


def aggregates_in(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the outermost aggregates of an expression, including FILTER and other wrappers, but no window functions."""
    if isinstance(node, exp.Query):
        return
    if isinstance(node, exp.Window):
        children = window_parts(node)
    elif is_aggregate(unwrapped(node)):
        yield node
        return
    else:
        children = list(node.iter_expressions())
    for child in children:
        yield from aggregates_in(child)


def window_parts(window: exp.Window) -> list[exp.Expr]:
    """Return the arguments of a window function, and the parts of its OVER and its wrappers."""
    function, holders = unwrapped(window.this), [window, *wrappers(window.this)]
    parts = [part for holder in (*holders, function) for part in holder.iter_expressions()]
    return [part for part in parts if part is not function and part not in holders]


def has_aggregates(node: exp.Expr) -> bool:
    """Whether there is an aggregate in an expression."""
    return next(aggregates_in(node), None) is not None


def wrappers(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the wrappers of a function, such as FILTER."""
    while isinstance(node, WRAPPERS):
        yield node
        node = node.this


def unwrapped(node: exp.Expr) -> exp.Expr:
    """Return a function without its wrappers."""
    while isinstance(node, WRAPPERS):
        node = node.this
    return node


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is a call of an aggregate function."""
    if isinstance(node, exp.AggFunc):
        return True
    # A name with several kinds, one of which is aggregate, counts as an aggregate. sqlglot 28 and 29 parse list(x) as a
    # list of values.
    return (
        isinstance(node, exp.Anonymous | exp.List) and functions().get(name_of(node)) == "aggregate"
    )


def parse(node: exp.Expr) -> Estimate | Plain | Quantile:
    """Parse an aggregate into its parts.

    Raises QueryRefused if the aggregate cannot be computed from sums over records.

    >>> import sqlglot
    >>> parse(sqlglot.parse_one("avg(x)", dialect="duckdb")).combine(exp.column("n"), exp.column("s")).sql("duckdb")
    'CASE WHEN n > 0 THEN s / n END'
    """
    quantile = _quantile(node)
    if quantile is not None:
        return quantile
    function, (_, given) = unwrapped(node), without_filter(node)
    name, arguments, conditions = name_of(function), _arguments(function), tuple(given)
    if any(isinstance(each, exp.WithinGroup) for each in wrappers(node)):
        raise refusal(name)
    if arguments and isinstance(arguments[0], exp.Order):
        arguments[0] = arguments[0].this
    if arguments and isinstance(arguments[0], exp.Distinct):
        values = arguments[0].expressions
        if name != "count" or len(values) != 1:
            raise refusal(f"{name}(DISTINCT …)")
        return Plain("count", values[0], conditions, distinct=True)
    if name in DECOMPOSED and len(arguments) == 1:
        return Plain(name, arguments[0], conditions)
    return _of_sums(name, arguments, Sum(conditions=conditions, zero=Zero.ALWAYS))


def _of_sums(name: str, arguments: Sequence[exp.Expr], whole: Sum) -> Estimate:
    """Return an aggregate as a function of sums, by its formula; ``whole`` counts the records."""
    if name == "count_star" or (name == "count" and _is_every_row(arguments)):
        return Estimate([whole], lambda estimate: estimate)
    paired = name in OF_PAIRS
    if name not in FORMULAS or (len(arguments) != 1 + paired and name != "count"):
        raise refusal(name)
    formula, value = FORMULAS[name], arguments[0]
    if name == "sum":
        value, negated = _without_sign(value)
        formula = "-x" if negated else formula
    given = {"x": arguments[1], "y": value} if paired else {"x": value}
    of_all = (conjuncts if name == "count_if" else _not_null)(value)
    counted = whole.where(*of_all, *(_not_null(given["x"]) if paired else ()))
    summed = counted if paired else replace(whole, zero=Zero.NEVER)
    names = {each.name for each in nodes(_formula(formula), exp.Column)}
    if any(len(each) == 2 for each in names):
        # Distances from a mean need the sum of the weights as the other sums have it, and not in the steps of a count.
        counted = counted.times(exp.Literal.number("1e0"))
    sums = {}
    for each in sorted({*names, *"".join(names)}):
        sums[each] = counted if each == "n" else summed
        for letter in each if each != "n" else "":
            sums[each] = _summed(sums[each], given[letter].copy())

    def combine(*estimates: exp.Expr) -> exp.Expr:
        known = dict(zip(sums, estimates, strict=True))

        def written(part: exp.Expr) -> exp.Expr:
            found: exp.Expr = part
            if isinstance(part, exp.Column) and len(part.name) == 1:
                found = known[part.name].copy()
            elif isinstance(part, exp.Column):
                products = (known[each].sql("duckdb") for each in (part.name, *part.name, "n"))
                found = parsed(centred(*products))
            return found

        return _formula(formula).transform(written)

    return Estimate(list(sums.values()), combine)


_formula = cache(parsed)


def _quantile(node: exp.Expr) -> Quantile | None:
    """Parse a quantile; None for any other node.

    >>> import sqlglot
    >>> found = _quantile(sqlglot.parse_one("percentile_disc(0.9) WITHIN GROUP (ORDER BY a DESC)", dialect="duckdb"))
    >>> found.value.sql(), found.share.sql(), found.continuous
    ('a', '(1 - (0.9))', False)
    >>> found = _quantile(sqlglot.parse_one("quantile_cont(a, [0.1, 0.9])", dialect="duckdb"))
    >>> [each.share.sql() for each in found.of_list]
    ['0.1', '0.9']
    """
    function = unwrapped(node)
    if not isinstance(function, QUANTILES):
        return None
    groups = [each for each in wrappers(node) if isinstance(each, exp.WithinGroup)]
    ordered = groups[0].expression.expressions[0] if groups else None
    value, share = function.this, function.args.get("quantile") or function.args.get("expression")
    if isinstance(function, exp.Median):
        share = exp.Literal.number("0.5")
    if ordered is not None:
        value, share = ordered.this, function.this
    if isinstance(value, exp.Distinct) or share is None:
        raise refusal(f"{name_of(function)}(DISTINCT …)")
    descending = ordered is not None and bool(ordered.args.get("desc"))
    whole = Quantile(
        value, share, isinstance(function, CONTINUOUS), descending, tuple(without_filter(node)[1])
    )
    if isinstance(share.unnest(), exp.Array) and share.unnest().expressions:
        return replace(whole, of_list=tuple(map(whole.at, share.unnest().expressions)))
    return whole.at(share)


def refusal(name: str) -> QueryRefused:
    """Return the error for an aggregate that is not a sum over records."""
    hints = {
        "min": "the smallest value that is likely to occur: GROUP BY it, and look at the counts",
        "max": "the largest value that is likely to occur: GROUP BY it, and look at the counts",
        "count(DISTINCT …)": "GROUP BY it, and look at which counts are clearly above zero",
    }
    return QueryRefused(
        f"{name} is no sum over records, and would be wrong on perturbed ones",
        hint=hints.get(
            name, "use count, count_if, sum, avg, variance, or stddev, with FILTER or CASE"
        ),
    )


def conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    """Split a condition at its ANDs.

    >>> import sqlglot
    >>> [each.sql() for each in conjuncts(sqlglot.condition("a AND (b AND c OR d)"))]
    ['a', 'b AND c OR d']
    """
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        return [*conjuncts(condition.this), *conjuncts(condition.expression)]
    return [condition]


def conditions_of(select: exp.Expr) -> list[exp.Expr]:
    """Return the conditions in WHERE, which all have to hold."""
    where = select.args.get("where")
    return conjuncts(where.this) if where is not None else []


def without_filter(node: exp.Expr) -> tuple[exp.Expr, list[exp.Expr]]:
    """Return an aggregate without its FILTER, and the conditions in it."""
    if not isinstance(node, exp.Filter):
        return node, []
    return node.this, conjuncts(node.expression.this)


def restricted(node: exp.Expr, conditions: Sequence[exp.Expr]) -> exp.Expr:
    """Return a copy of an aggregate, restricted to records that also meet the conditions."""
    if not conditions:
        return node.copy()
    call, within = without_filter(node.copy())
    where = exp.Where(this=exp.and_(*within, *(each.copy() for each in conditions)))
    return exp.Filter(this=call, expression=where)


def is_count_or_sum(node: exp.Expr) -> bool:
    """Whether an aggregate, which may have a FILTER, counts or sums records."""
    call = unwrapped(node)
    return isinstance(call, exp.Count | exp.CountIf | exp.Sum) and not first(call, exp.Distinct)


def _arguments(function: exp.Expr) -> list[exp.Expr]:
    """Return the arguments of a call."""
    if isinstance(function, exp.Anonymous):
        return list(function.expressions)
    given = [function.args.get(name) for name in ("this", "expression")]
    return [each for each in (*given, *function.expressions) if isinstance(each, exp.Expression)]


def _is_every_row(arguments: Sequence[exp.Expr]) -> bool:
    return not arguments or isinstance(arguments[0], exp.Star | exp.Boolean | exp.Literal)


def _summed(of: Sum, value: exp.Expr) -> Sum:
    """Multiply a sum by a value. CASE WHEN … THEN x ELSE 0 becomes a condition and the factor x."""
    value = value.unnest()
    if isinstance(value, exp.Mul):
        return _summed(_summed(of, value.this), value.expression)
    if isinstance(value, exp.Neg):
        return _summed(of, value.this).times(exp.Literal.number(-1))
    when = only_branch(value)
    if when is not None:
        of = of if only_branch(value, zero=False) is not None else replace(of, zero=Zero.OF_RECORDS)
        return _summed(of.where(*conjuncts(when[0])), when[1])
    if isinstance(value, exp.Literal) and value.name == ONE:
        return of
    return of.times(value)


def only_branch(value: exp.Expr, *, zero: bool = True) -> tuple[exp.Expr, exp.Expr] | None:
    """Return condition and value of a CASE or IF with one branch whose ELSE is NULL or, if ``zero``, 0.

    >>> import sqlglot
    >>> [each.sql() for each in only_branch(sqlglot.parse_one("CASE WHEN b > 0 THEN a / b ELSE 0 END"))]
    ['b > 0', 'a / b']
    >>> only_branch(sqlglot.parse_one("CASE WHEN b > 0 THEN a ELSE 7 END"))
    """
    if isinstance(value, exp.If):
        branches, default = [value], value.args.get("false")
    elif isinstance(value, exp.Case) and value.this is None:
        branches, default = value.args["ifs"], value.args.get("default")
    else:
        return None
    nothing = default is None or isinstance(default, exp.Null) or (zero and is_zero(default))
    if len(branches) != 1 or not nothing:
        return None
    return branches[0].this, branches[0].args["true"]


def is_zero(value: exp.Expr) -> bool:
    """Whether an expression is the number 0."""
    return isinstance(value, exp.Literal) and not value.is_string and float(value.name) == 0


def _not_null(value: exp.Expr) -> list[exp.Expr]:
    """Return the conditions that a value is not NULL."""
    value = value.unnest()
    if isinstance(value, exp.Literal | exp.Boolean):
        return []
    if isinstance(value, exp.Mul | exp.Add | exp.Sub):
        return [*_not_null(value.this), *_not_null(value.expression)]
    if isinstance(value, exp.Neg):
        return _not_null(value.this)
    when = only_branch(value, zero=False)
    if when is not None:
        return [*conjuncts(when[0]), *_not_null(when[1])]
    return [is_known(value)]


def is_known(value: exp.Expr) -> exp.Expr:
    """Return the condition that a value is not NULL."""
    return exp.Not(this=exp.Is(this=exp.paren(value.copy()), expression=exp.Null()))


def _without_sign(value: exp.Expr) -> tuple[exp.Expr, bool]:
    """Return a value without its leading signs, and whether they negate it."""
    negated = False
    while isinstance(value, exp.Paren | exp.Neg):
        negated ^= isinstance(value, exp.Neg)
        value = value.this
    return value, negated
