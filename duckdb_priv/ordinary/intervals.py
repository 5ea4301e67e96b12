"""Add standard errors and intervals to the estimates of a SELECT.

A result that is a sum over records, or a quotient of two, gets its interval from the test of the functions of ``priv``
(``sql/analyst/fragments/sets.sql``). For sums over records with one of a set of values, ``score.py`` writes the test
input. For other sums it is the estimate with its variance (``records.py``). Any other function, such as a standard
deviation, is approximated by a linear one (the delta method).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import NormalDist

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.estimator.lets import Chain, let, struct
from duckdb_priv.estimator.set_formulas import combination, interval, quotient
from duckdb_priv.ordinary.aggregates import only_branch
from duckdb_priv.ordinary.arithmetic import (
    Function,
    Ratio,
    Summands,
    understand,
)
from duckdb_priv.ordinary.frame import Frame, Steps
from duckdb_priv.ordinary.laws import TABLE
from duckdb_priv.ordinary.names import column, named, nodes, select_sql, text
from duckdb_priv.ordinary.records import Records, StepColumns
from duckdb_priv.ordinary.scope import ESTIMATED
from duckdb_priv.ordinary.score import LEAST, MOST, Score, of_variance
from duckdb_priv.ordinary.windows import TABLE as LAW
from duckdb_priv.ordinary.windows import Windows
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import body, fill, read

ENDS = ("stderr", "low", "high")
"""The parts of an interval: fields of a struct, and suffixes of column names."""
MOVED = (
    "{stderr: abs((v).f) * (v).r.stderr, low: least((v).f * (v).r.low, (v).f * (v).r.high),"
    " high: greatest((v).f * (v).r.low, (v).f * (v).r.high)}"
)
"""An interval times a factor."""


class Together(float):
    """The confidence of simultaneous intervals: all intervals of a result hold at once."""


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
        self._score = Score(self._records)
        self._ends = StepColumns(self._records.taken)
        self._uncertain = {name for name, each in self.frame.measures.items() if not each.exact}
        self.windows = Windows(self._records, self._uncertain, self.chosen)
        self._together = isinstance(self.confidence, Together)
        self.z = literal(NormalDist().inv_cdf((1 + self.confidence) / 2))
        if self._together:
            self.z = text(self.taken.fresh("z"))

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
                    name = named(f"{item.alias_or_name}_{end}").copy()
                    found.append(exp.Alias(this=value, alias=name))
        return found

    def steps(self, table: str) -> Steps:
        """Return the steps that compute the estimates and their intervals; the last one is called ``table``."""
        names, laws = self.frame.names, self.frame.laws()
        estimates = names.fresh("estimates")
        found = [
            *self.frame.law_steps(laws, self._numbers()),
            *self._records.steps(laws, estimates),
        ]
        if self.windows.columns.found:
            inner, estimates = estimates, names.fresh("windows")
            found += self._window_steps(inner, estimates, laws)
        if self._together:
            inner, estimates = estimates, names.fresh("together")
            found.append(
                (estimates, select_sql(["*", f"{self._quantile()} AS {self.z}"], text(inner)))
            )
        tables, of_sets = text(estimates), ""
        if self._score.laws.columns:
            of_sets = text(names.fresh("laws"))
            found.append((of_sets, self._score.laws.sql(laws)))
            same = " AND ".join(
                f"{of_sets}.{text(key)} IS NOT DISTINCT FROM {tables}.{text(key)}"
                for key in self._score.laws.keys
            )
            tables += f" JOIN {of_sets} ON {same}" if same else f" CROSS JOIN {of_sets}"
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
        if ends and used and all(map(self._records.public, used)):
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
        if isinstance(meaning, Ratio):
            return self._ratio(meaning)
        if meaning.constant is not None:
            return str(interval(self._combination(meaning)))
        # Any other function is approximated by a linear one (the delta method). The interval is unknown if the value or
        # slope is not finite, or if the estimated variance is not positive.
        nearby = of_variance("(w).x", "(w).v", self.z)
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
        found = self._score.laws.numbers
        reads = self.windows.reads_law or self._records.of_histogram
        return [*found, "own", "other"] if reads else found

    def _window_steps(self, estimates: str, table: str, laws: Mapping[str, str]) -> Steps:
        """Return the steps of windows over estimates; a column that depends on other columns is one step later."""
        law = text(next(iter(laws.values()), ""))
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
        together = not self.windows.found.keys().isdisjoint(terms)
        covariances = [
            self._covariance(one, two, f"sign(({terms[one]}) * ({terms[two]}))", together=together)
            for one, two in combinations(terms, 2)
        ]
        return combination(parts, covariances, f"({constant})::DOUBLE")

    def _functional(self, name: str) -> str:
        """Write the test input of a count or a sum."""
        if name in self.windows.found:
            return self._of_window(name)
        known = self._score.functional(name, self.z)
        if known is not None:
            return known
        if self._records.measures[name].counts:
            return self._of_variance(name)
        return of_variance(text(name), self._records.covariance(name, name), self.z)

    def _of_variance(self, name: str) -> str:
        """Write the test input of a count of which only the variance is known."""
        variance = self._records.covariance(name, name)
        most = MOST
        if not self.frame.joined:
            cell = self._records.cell(self._records.measures[name].cell)
            most = self._records.summed(cell, "rows")
        slope, step = self._slope(name), f"{self.step(name)} / 2"
        return of_variance(
            text(name), variance, self.z, least="0e0", most=most, slope=slope, step=step
        )

    def _of_window(self, name: str) -> str:
        """Write the test input of a window: that of its summands, with the window's own variance."""
        of = self.windows.found[name].of
        return let(
            "w",
            "{estimate: (w).estimate, variance: (w).variance, there: (w).variance, rise: (w).u.rise, fall: (w).u.fall,"
            " above: (w).u.above, below: (w).u.below, least: (w).u.least, most: 'inf'::DOUBLE, more: (w).u.more,"
            " less: (w).u.less, z: (w).u.z}",
            estimate=text(name),
            variance=self.windows.covariance(name, name),
            u=self._functional(of),
        )

    def _ratio(self, of: Ratio) -> str:
        """Write the interval of a quotient."""
        above, below = of.above.terms, of.below.terms
        plain = of.above.constant == of.below.constant == "0"
        if plain and list(above.values()) == list(below.values()) == ["1"]:
            (total,), (count,) = above, below
            mean = self._mean(total, count)
            if mean is not None:
                return let("v", MOVED, r=mean, f=of.factor) if of.factor != "1" else mean
        together = not self.windows.found.keys().isdisjoint([*above, *below])
        least = "0e0" if plain and self._counts(above) and self._counts(below) else LEAST
        covariance = self._variance(above, below, "-1", together=together)
        top, bottom = (str(self._combination(each)) for each in (of.above, of.below))
        factor = f"({of.factor})::DOUBLE"
        return str(quotient(top, bottom, covariance, least=least, factor=factor))

    def _mean(self, total: str, count: str) -> str | None:
        """Write the interval of a mean: the least amount plus the mean excess above it; None if it is no mean.

        The mean of amounts that all grow by one grows by one, with both ends.
        """
        if (
            not {total, count} <= self._records.measures.keys()
            or not self._records.measures[count].counts
        ):
            return None
        known = self._score.mean(total, count, self.z)
        if known is not None or self._records.measures[total].counts:
            return known
        least = self._records.least(total)
        covariance, of_total = (self._score.covariance(total, each) for each in (count, total))
        # As the covariance: by the histogram's noise in each value, not in the set of values.
        of_count = self._records.covariance(count, count)
        variance = f"{of_total} - 2 * {least} * {covariance} + {least} ** 2 * {of_count}"
        excess = of_variance(f"{text(total)} - {least} * {text(count)}", variance, self.z)
        moved = f"{covariance} - {least} * {of_count}"
        below = self._of_variance(count)
        return str(quotient(excess, below, moved, least=LEAST, constant=least))

    def _counts(self, terms: Summands) -> bool:
        """Whether a part of a quotient is a count times a factor. Sums and differences of counts may be negative."""
        names = [
            self.windows.found[each].of if each in self.windows.found else each for each in terms
        ]
        return (
            len(names) == 1
            and names[0] in self._records.measures
            and self._records.measures[names[0]].counts
        )

    def _covariance(self, one: str, two: str, sign: str, *, together: bool) -> str:
        if not self.windows.found.keys().isdisjoint((one, two)):
            return self.windows.covariance(one, two)
        return (
            self.windows.of_group(one, two) if together else self._score.covariance(one, two, sign)
        )

    def _variance(
        self,
        terms: Summands,
        others: Summands | None = None,
        sign: str = "",
        *,
        together: bool = False,
    ) -> str:
        """Write the variance of a linear combination, or the covariance of two. ``sign`` is that of all products."""
        parts = []
        together = together or not self.windows.found.keys().isdisjoint(terms)
        for one, factor in terms.items():
            for two, other in (terms if others is None else others).items():
                product = " * ".join(f"({each})" for each in (factor, other) if each != "1")
                of_both = sign or f"sign(({factor}) * ({other}))"
                covariance = self._covariance(one, two, of_both, together=together)
                parts.append(f"{product} * {covariance}" if product else covariance)
        return " + ".join(parts) or "0"

    def step(self, name: str) -> str:
        """Return the column with the most that one record can change a count or sum."""
        weighed = self._records.weighed(name)
        return self._records.estimates.take(f"coalesce(max({weighed}) - min({weighed}), 0)", "step")

    def _slope(self, name: str) -> str:
        """Return the column with the increase in a count's variance for one more counted record.

        Let reports add a or b to a count, on average 1 for counted records and 0 for others. Then the variances of the
        two kinds of records differ by a + b - 1. If a = b, all records are counted, without noise.
        """
        weighed = self._records.weighed(name)
        differ = f"max({weighed}) - min({weighed}) > 1e-9"
        slope = (
            f"CASE WHEN {differ} THEN greatest(max({weighed}) + min({weighed}) - 1, 0) ELSE 0 END"
        )
        return self._records.estimates.take(slope, "slope")
