"""Intervals beside estimates: for every result of a SELECT, how far it may be off.

A count of a set of values of one attribute has the score interval of priv.reconstructed_interval (``score.py``). Other
counts, sums and differences have an interval of z standard errors, quotients have Fieller's, and other functions that
of the delta method, with exact covariances (``records.py``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.arithmetic import (
    Linear,
    Ratio,
    Summands,
    understand,
    within_case,
)
from duckdb_priv.ordinary.frame import Frame, Measure, PlainColumn, Steps, select_sql
from duckdb_priv.ordinary.names import Names, column, named, text
from duckdb_priv.ordinary.noise import formula
from duckdb_priv.ordinary.records import Records, StepColumns
from duckdb_priv.ordinary.scope import ESTIMATED
from duckdb_priv.ordinary.score import TABLE, Score
from duckdb_priv.ordinary.windows import TABLE as LAW
from duckdb_priv.ordinary.windows import Windows
from duckdb_priv.sqltext.quoting import literal

ENDS = ("stderr", "low", "high")
"""What stands beside an estimate; the parts of a struct, and the endings of the columns."""
LEAST, MOST = "'-inf'::DOUBLE", "'inf'::DOUBLE"


@dataclass
class Intervals:
    """The steps of a SELECT whose results have intervals."""

    frame: Frame
    measures: Mapping[str, Measure]
    plain: Mapping[str, PlainColumn]
    names: Names
    table: str
    confidence: float
    chosen: bool = False
    """Whether HAVING chooses groups by their estimates."""
    other_ends: Mapping[str, str] = field(default_factory=dict)
    """Columns with ends of intervals that are made elsewhere, by those with the estimates."""

    def __post_init__(self) -> None:
        self.with_ends: list[int] = []
        """Which results have intervals, by their places."""
        self._records = Records(self.frame, self.measures, self.plain)
        self._score = Score(self._records)
        self._ends = StepColumns(self._records.taken)
        self._uncertain = {name for name, each in self.measures.items() if not each.exact}
        self.windows = Windows(self._records, self._uncertain, self.chosen)
        self._z = literal(NormalDist().inv_cdf((1 + self.confidence) / 2))

    @property
    def taken(self) -> set[str]:
        """Names of columns that the steps have."""
        return self._records.taken

    def items(self, items: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Put the ends of an interval beside every result that has one."""
        found = []
        for number, item in enumerate(items):
            found.append(item)
            ends = self._ends_of(item.unalias())
            if ends is not None:
                self.with_ends.append(number)
            if ends is not None:
                for end in ENDS:
                    value = exp.Dot(this=column(ends), expression=exp.to_identifier(end))
                    name = named(f"{item.alias_or_name}_{end}").copy()
                    found.append(exp.Alias(this=value, alias=name))
        return found

    def steps(self) -> Steps:
        """Write the steps that lead to the estimates and their intervals."""
        laws = {each: self.names.fresh(f"{each}_law") for each in self.frame.attribute_names}
        estimates = self.names.fresh("estimates")
        found = [
            *self.frame.law_steps(laws, self._numbers()),
            *self._records.steps(self.names, laws, estimates),
        ]
        if self.windows.columns.found:
            inner, estimates = estimates, self.names.fresh("windows")
            found += self._window_steps(inner, estimates, laws)
        tables, of_sets = text(estimates), ""
        if self._score.laws:
            of_sets = text(self.names.fresh("laws"))
            found.append((of_sets, self._score.sql(laws)))
            alike = " AND ".join(
                f"{of_sets}.{text(key)} IS NOT DISTINCT FROM {tables}.{text(key)}"
                for key in self._score.keys
            )
            tables += f" JOIN {of_sets} ON {alike}" if alike else f" CROSS JOIN {of_sets}"
        ends = [each.replace(TABLE, of_sets) for each in self._ends.selected]
        found.append((self.table, select_sql([f"{text(estimates)}.*", *ends], tables)))
        return found

    def _ends_of(self, value: exp.Expr) -> str | None:
        """Take the column with the ends of a result's interval, if it has one."""
        if any(each.meta.get(ESTIMATED) for each in value.find_all(exp.Select)):
            # How other counts vary together with these is not known.
            return None
        known = self._known_ends(value)
        if known is not None:
            return known
        guarded = within_case(value)
        if guarded is not None:
            condition, inner = guarded
            ends = self._ends_of(inner)
            return ends and self._take(
                f"CASE WHEN {text(condition)} THEN {self._ends.sql(ends)} END"
            )
        value = self.windows.replaced(value)
        meaning = understand(value, {*self._uncertain, *self.windows.found})
        if meaning is None:
            return None
        if isinstance(meaning, Ratio):
            return self._ratio(meaning)
        if isinstance(meaning, Linear) and len(meaning.terms) == 1:
            ((name, factor),) = meaning.terms.items()
            ends = self._single(name)
            if factor == "1" and meaning.constant == "0":
                return ends
            return self._take(
                formula(
                    "moved",
                    ends=self._ends.sql(ends),
                    factor=factor,
                    constant=meaning.constant,
                )
            )
        return self._wald(text(value), self._variance(meaning.terms))

    def _known_ends(self, value: exp.Expr) -> str | None:
        if isinstance(value, exp.Column) and not value.table:
            return self.other_ends.get(value.name)
        if any(each.name in self.other_ends for each in value.find_all(exp.Column)):
            raise QueryRefused(
                "the interval of a quantile that is computed with is not known",
                hint="ask for the quantile itself, or leave out intervals",
            )
        return None

    def step(self, name: str) -> str:
        """Take the column with how far one record may move a count or sum at most."""
        weighed = self._records.weighed(name)
        return self._records.estimates.take(f"coalesce(max({weighed}) - min({weighed}), 0)", "step")

    def _slope(self, name: str) -> str:
        """Take the column with what one record more that is counted adds to the variance of a count.

        For a count to which reports add a or b, and a on average 1 from records that are counted and 0 from others,
        the variances of the two kinds of records differ by a + b - 1.
        """
        weighed = self._records.weighed(name)
        slope = f"coalesce(greatest(max({weighed}) + min({weighed}) - 1, 0), 0)"
        return self._records.estimates.take(slope, "slope")

    def _numbers(self) -> list[str]:
        """List the numbers of attributes that are needed besides those of the weights."""
        found = [*self._score.numbers] if self._score.laws else []
        return [*found, "own", "other"] if self.windows.reads_law else found

    def _window_steps(self, estimates: str, table: str, laws: Mapping[str, str]) -> Steps:
        """Write the steps from the estimates to windows over them: what is made of others stands a step further."""
        law = text(next(iter(laws.values()), ""))
        layers: list[dict[str, str]] = [{}]
        for sql, name in self.windows.columns.found.items():
            if any(re.search(rf"\b{each}\b", sql) for each in layers[-1]):
                layers.append({})
            layers[-1][name] = f"{sql.replace(LAW, law)} AS {text(name)}"
        found = []
        for number, layer in enumerate(layers):
            last = number == len(layers) - 1
            after = table if last else self.names.fresh("windows")
            found.append((after, select_sql(["*", *layer.values()], text(estimates))))
            estimates = after
        return found

    def _single(self, name: str) -> str:
        """Take the column with the ends of a count or a sum."""
        if name in self.windows.found:
            counts = self.measures[self.windows.found[name].of].counts
            least = "0e0" if counts else LEAST
            return self._wald(text(name), self.windows.covariance(name, name), least=least)
        if not self.measures[name].counts:
            return self._wald(text(name), self._records.covariance(name, name))
        ends = self._score.ends(name, self._z)
        if ends is not None:
            return self._take(ends)
        step, most = self.step(name), MOST
        if not self.frame.joined:
            cell = self._records.cell(self.measures[name].cell)
            most = self._records.estimates.take(f"coalesce(sum({cell}), 0)", "rows")
        return self._wald(
            text(name),
            self._records.covariance(name, name),
            half_step=f"{step} / 2",
            slope=self._slope(name),
            least="0e0",
            most=most,
        )

    def _wald(
        self,
        estimate: str,
        variance: str,
        *,
        half_step: str = "0",
        slope: str = "0",
        least: str = LEAST,
        most: str = MOST,
    ) -> str:
        return self._take(
            formula(
                "wald",
                estimate=estimate,
                variance=variance,
                half_step=half_step,
                slope=slope,
                least=least,
                most=most,
                z=self._z,
            )
        )

    def _ratio(self, of: Ratio) -> str:
        counts = self._counts(of.numerator) and self._counts(of.denominator)
        together = not self.windows.found.keys().isdisjoint([*of.above, *of.below])
        return self._take(
            formula(
                "ratio",
                n=of.numerator,
                d=of.denominator,
                v=self._variance(of.above, together=together),
                w=self._variance(of.below, together=together),
                c=self._variance(of.above, of.below, together=together),
                factor=of.factor,
                least="0e0" if counts else LEAST,
                z=self._z,
            )
        )

    def _counts(self, name: str) -> bool:
        """Whether a part of a quotient is a count, and cannot be negative: a sum, or a difference of counts, may be."""
        name = self.windows.found[name].of if name in self.windows.found else name
        return name in self.measures and self.measures[name].counts

    def _variance(
        self, terms: Summands, others: Summands | None = None, *, together: bool = False
    ) -> str:
        """Write the variance of a linear combination, or the covariance of two."""
        parts = []
        windows = self.windows.found
        together = together or not windows.keys().isdisjoint(terms)
        for one, factor in terms.items():
            for two, other in (terms if others is None else others).items():
                product = " * ".join(f"({each})" for each in (factor, other) if each != "1")
                if one in windows or two in windows:
                    covariance = self.windows.covariance(one, two)
                elif together:
                    covariance = self.windows.of_group(one, two)
                else:
                    covariance = self._records.covariance(one, two)
                parts.append(f"{product} * {covariance}" if product else covariance)
        return " + ".join(parts) or "0"

    def _take(self, ends: str) -> str:
        return self._ends.take(ends, "ends")
