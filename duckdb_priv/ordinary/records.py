"""Compute each record's contribution to sums, and from it the estimates, their variances and covariances.

Two steps are between the cells and the estimates. ``outcomes`` has, for every cell and true value, the contribution of
such a record to each sum. ``records`` weights these contributions for each cell.

Let V(x) be the contribution of a row to a sum if its true value is x. Let h be its estimate, the sum over x of W[x, y]
V(x), and q_ab the same for the product V_a V_b. Then the sum of h_a h_b - q_ab over the rows estimates the covariance
of two sums without bias, if rows are perturbed independently. Rows that represent several records, sampled or copied
rows, and weights from the published histogram change this as for a single count (``mechanism/score_interval.md``,
``mechanism/splu.md``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.aggregates import Zero
from duckdb_priv.ordinary.frame import (
    Frame,
    Measure,
    Steps,
)
from duckdb_priv.ordinary.names import (
    Names,
    filtered,
    indented,
    nodes,
    parenthesized,
    select_sql,
    text,
)
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import fill, sections

FROM_HISTOGRAM = ("two_by_two", "conditional_poisson")
"""Forms whose weights are computed from the published histogram, and share its noise."""
TRUTH_IS_RANDOM = ("listed", "constant")
"""Forms in which the true values are random given the published ones, not the other way round."""


@dataclass
class StepColumns:
    """The columns of one step, by their SQL."""

    taken: Names
    found: dict[str, str] = field(default_factory=dict)

    def take(self, sql: str, stem: str) -> str:
        """Return the column of an expression; add it if it does not exist."""
        if sql not in self.found:
            self.found[sql] = self.taken.fresh(stem)
        return text(self.found[sql])

    def sql(self, name: str) -> str:
        """Return the expression of a column."""
        return next(sql for sql, each in self.found.items() if text(each) == name)

    @property
    def selected(self) -> list[str]:
        """The columns as items of a SELECT list."""
        return [f"{sql} AS {text(name)}" for sql, name in self.found.items()]


class Records:
    """The steps from the cells to the estimates, for sums whose variances are needed."""

    def __init__(self, frame: Frame) -> None:
        cells = frame.cells
        attributes = list(cells.attributes.values())
        forms = {each.form for each in attributes}
        self.form = next(iter(forms)) if len(forms) == 1 else ""
        """The form of the attributes; empty if they have several forms, or without attributes."""
        self.one_attribute = len(attributes) == 1
        mixed = frame.mixed if self.form in FROM_HISTOGRAM else ()
        if mixed:
            # Means are over all true values that a record may have.
            frame = replace(
                frame,
                where=[each for each in frame.where if each not in mixed],
                measures={
                    name: replace(each, conditions=(*each.conditions, *mixed), of_attribute=False)
                    for name, each in frame.measures.items()
                },
            )
        if self.form in FROM_HISTOGRAM and frame.uneven:
            raise QueryRefused(
                "the interval of counts from decoy groups is not known where a join, or a group, depends on public"
                " columns and an attribute together",
                hint="leave out intervals, or write the condition within the aggregate: count_if(…)",
            )
        self.frame, self.measures = frame, frame.measures
        self.taken = Names({
            *(name.lower() for name in frame.keys), *frame.measures, *frame.plain, cells.weight, cells.shown,
            *cells.attributes, *cells.columns,
        })  # fmt: skip
        self._outcomes, self._records = StepColumns(self.taken), StepColumns(self.taken)
        self.estimates = StepColumns(self.taken)
        self._cell_number, self._set = map(self.taken.fresh, ("cell", "grouping_set"))
        self._positions = [self.taken.fresh("position") for _ in frame.attribute_names]
        self._from_cells: dict[str, None] = {}
        self._shrinkage = ""
        self._kept = ""
        if mixed and frame.keys:
            found = " AND ".join(map(parenthesized, mixed))
            kept = self._outcomes.take(
                f"bool_or({found})" if frame.joined or frame.subtotals else found, "kept"
            )
            self._kept = self._records.take(f"bool_or({kept})", "kept")
        self._weight, self._shown = text(cells.weight), text(cells.shown)

    def constant(self, name: str) -> str:
        """Write a constant of the release."""
        return literal(float(self.frame.release.constants[name]))

    def cell(self, name: str) -> str:
        """Return the column of ``records`` with a sum over the rows of a cell."""
        self._from_cells[name] = None
        return text(name)

    def weighed(self, name: str) -> str:
        """Return the column of ``records`` with the weighted contribution to a sum."""
        return self._estimated(self._added(name))

    def rows(self, name: str) -> str:
        """Write the number of records that meet a count's public conditions, the maximum of the count."""
        rows = self.frame.cells.sum((), self.measures[name].before)
        return f"coalesce(sum({self.cell(rows)}), 0)"

    def summed(self, added: str, stem: str) -> str:
        """Return the column of ``estimates`` with a sum over the records."""
        return self.estimates.take(f"coalesce(sum({added}), 0)", stem)

    def least(self, name: str) -> str:
        """Return the column of ``estimates`` with the least amount of a record in a sum; 0 without records."""
        of, product = self.measures[name], " * ".join(self.measures[name].factors) or "1"
        if self.frame.joined:
            product = f"min({product}){filtered(of.conditions)}"
        elif of.conditions:
            product = (
                f"CASE WHEN {' AND '.join(map(parenthesized, of.conditions))} THEN {product} END"
            )
        if self.frame.subtotals and not self.frame.joined:
            product = f"any_value({product})"
        amount = self._outcomes.take(product, "amount")
        ends = [
            self._records.take(f"{each}({amount})", f"{each}_amount") for each in ("min", "max")
        ]
        if of.public:
            public = of.public[0]
            for other in of.public[1:]:
                public = exp.Mul(this=exp.paren(public.copy()), expression=exp.paren(other.copy()))
            cells = [
                self.cell(self.frame.cells.aggregate(each, public, of.before))
                for each in ("min", "max")
            ]
            ends = [f"{one} * {two}" for one in ends for two in cells]
        return self.estimates.take(f"coalesce(min(least({', '.join(ends)})), 0)::DOUBLE", "least")

    def covariance(self, one: str, two: str, *, raw: bool = False) -> str:
        """Return the column of ``estimates`` with the covariance of two sums; of one with itself, its variance.

        ``raw`` treats weights as constants, even if they are computed from the published histogram.
        """
        one, two = sorted((one, two))
        if self.form in FROM_HISTOGRAM and self.one_attribute and not raw:
            found = self._of_histogram(one, two)
        else:
            h, g = self.weighed(one), self.weighed(two)
            found = self._over_rows(one, two, h, g, self._square(one, two))
            if one == two and (sampled := self._sampling(one, two)):
                found += f" + {sampled}"
        if self.form == "constant":
            found = self._assigned(found, one, two)
        return self.estimates.take(
            f"coalesce({found}, 0)", "variance" if one == two else "covariance"
        )

    def noise(self, one: str, two: str) -> str:
        """Write a record's contribution to the covariance of two sums, without the factors of public values."""
        return self._noise(self._added(one), self._added(two))

    def across(
        self, one: str, two: str, partition: Sequence[str], order: exp.Expr | None = None
    ) -> str:
        """Return the column of ``estimates`` with the covariance of a group's sum and the sum of several groups.

        These are the groups with the same keys ``partition``; with ``order``, only those up to the group itself.
        Weights are treated as constants.
        """
        v, w = self._added(one), self._added(two)
        parts = [*map(text, partition), text(self._cell_number)]
        total = self._records.take(
            f"sum({self._records.sql(self._estimated(w))})"
            f" OVER (PARTITION BY {', '.join(parts)}{_ordered(order)})",
            "total",
        )
        if self.frame.joined:
            # With joins, a record may be in several groups.
            inner = [
                *(self.frame.keys[each] for each in partition),
                self.frame.column(self._cell_number),
                *map(self.frame.column, self._positions),
            ]
            by = _ordered(order, self.frame.keys)
            w = self._outcomes.take(
                f"sum({self._outcomes.sql(w)}) OVER (PARTITION BY {', '.join(inner)}{by})", "adds"
            )
        found = self._over_rows(one, two, self._estimated(v), total, self._product(v, w))
        return self.estimates.take(f"coalesce({found}, 0)", "covariance")

    def sampling(self, one: str, two: str) -> str:
        """Return the column of ``estimates`` with the largest term that sampling can add to a covariance, if any."""
        found = self._sampling(one, two)
        return found and self.estimates.take(f"coalesce({found}, 0)", "sampling")

    def _sampling(self, one: str, two: str) -> str:
        """Write the largest term that copying, and sampling within groups of equal public values, can add."""
        if self.form not in ("scaled", "duplicated"):
            return ""
        scale, copied = self.frame.cells.given_scale, self.form == "duplicated"
        count = f"CASE WHEN {scale} > 1 THEN {scale} ** {1 if copied else 2} ELSE 0 END"
        width, other = (
            self._records.take(f"greatest(max({each}), 0) - least(min({each}), 0)", "width")
            for each in map(self._added, (one, two))
        )
        size = literal(float(self.frame.release.constants.get("together", 1)))
        squared = self._squared(one, two, count)
        found = f"coalesce(sum({squared} * {width} * {other}), 0) / (4 * {size})"
        if copied:
            copies = self._squared(one, two, f"CASE WHEN {scale} > 1 THEN 1 / {scale} ELSE 0 END")
            found += f" + greatest(sum({copies} * {self._square(one, two)}), 0) / 4"
        return found

    def _over_rows(self, one: str, two: str, h: str, g: str, q: str) -> str:
        """Write the sum of h g - q over the records, scaled by the number of records that each row represents."""
        release = self.frame.release
        if self.form in TRUTH_IS_RANDOM:
            return f"sum({self._squared(one, two)} * ({q} - {h} * {g}))"
        if not (release.weighed or release.sampled or self.form == "duplicated"):
            return f"sum({self._squared(one, two)} * ({h} * {g} - {q}))"
        scale = self.frame.cells.given_scale
        count = inflation(scale) if self.form == "duplicated" else f"{scale} ** 2"
        squared = self._squared(one, two, count)
        if release.sampled:
            return f"sum({squared} * {h} * {g} - {self._squared(one, two)} * {q})"
        return f"sum({squared} * ({h} * {g} - {q}))"

    def _squared(self, one: str, two: str, count: str | None = None) -> str:
        """Return the column of the cells with the sum of products of two sums' public values."""
        of, other = self.measures[one], self.measures[two]
        before = tuple(dict.fromkeys((*of.before, *other.before)))
        public = (*of.public, *other.public)
        return self.cell(self.frame.cells.sum(public, of.before if one == two else before, count))

    def _estimated(self, v: str) -> str:
        """Return the column with the weighted contribution of a record, h."""
        return self._records.take(f"sum({self._weight} * {v})", "h")

    def _product(self, v: str, w: str) -> str:
        """Return the column with the weighted product of two contributions of a record, q."""
        return self._records.take(f"sum({self._weight} * {v} * {w})", "square")

    def _square(self, one: str, two: str) -> str:
        v, w = self._added(one), self._added(two)
        indicates = v == w and not self.measures[one].factors and not self.frame.joined
        return self._estimated(v) if indicates else self._product(v, w)

    def _noise(self, v: str, w: str) -> str:
        """Write h g - q of a record for its contributions to two sums."""
        return f"({self._estimated(v)} * {self._estimated(w)} - {self._product(v, w)})"

    def _of_histogram(self, one: str, two: str) -> str:
        """Write the covariance of two sums whose weights are computed from the published histogram.

        That histogram is noisy too, in part with the noise of the summed records. Through it, each record's
        contribution for a true value is reduced by the value's shrinkage times its mean contribution over all records
        of the table. So a summed record varies as v - mean, and a record outside the sum as -mean. The latter count
        twice, as they do for a count (``mechanism/splu.md``).
        """
        self._shrinkage = self._shrinkage or self.taken.fresh("shrinkage")
        v, w = map(self._added, (one, two))
        mean, other = (self._mean(each, self._shrinkage) for each in (one, two))
        cells = [self.cell(self.measures[each].cell) for each in (one, two)]
        rows = self.cell(self.frame.cells.sum((), ()))
        total = literal(float(self.frame.release.constants.get("rows", 1)))
        return (
            f"sum({self._squared(one, two)} * {self._noise(v, w)})"
            f" - sum({cells[0]} * {self._noise(v, other)})"
            f" - sum({cells[1]} * {self._noise(mean, w)})"
            f" + sum({rows} * {self._noise(mean, other)})"
            f" * (1 + 2 * greatest({total} - sum({rows}), 0) / greatest(sum({rows}), 1))"
        )

    def _assigned(self, drawn: str, one: str, two: str) -> str:
        """Write the covariance of two sums if the true values are permuted among all rows.

        ``drawn`` is the covariance for independent draws. For a permutation of N rows it is N / (N - 1) times the
        difference of ``drawn`` and N times the covariance of the means over all rows, by true value (Hoeffding 1951, "A
        combinatorial central limit theorem"). For a count by attributes alone, it is the variance of sampling without
        replacement.
        """
        of, other, rows = self.measures[one], self.measures[two], self.constant("rows")
        if one == two and of.of_attribute and of.counts and self.frame.separable:
            return f"({drawn}) * (greatest({rows} - {self.rows(one)}, 0) / greatest({rows} - 1, 1))"
        means = self._product(self._mean(one), self._added(two))
        totals = [
            f"sum({self.cell(self.measures[each].cell)} * {self.weighed(each)})"
            for each in (one, two)
        ]
        both = f"{' * '.join(totals)} / {rows}"
        left = f"{drawn} - sum({self.cell(other.cell)} * {means}) + {both}"
        return f"({left}) * ({rows} / greatest({rows} - 1, 1))"

    def _added(self, name: str) -> str:
        """Return the column of ``outcomes`` with a record's contribution to a sum."""
        of = self.measures[name]
        product = " * ".join(of.factors) or "1"
        if self.frame.joined:
            return self._outcomes.take(
                f"coalesce(sum({product}){filtered(of.conditions)}, 0)", "adds"
            )
        if of.conditions:
            when = " AND ".join(map(parenthesized, of.conditions))
            product = f"CASE WHEN {when} THEN {product} ELSE 0 END"
        if of.factors:
            product = f"coalesce({product}, 0)"
        return self._outcomes.take(
            f"any_value({product})" if self.frame.subtotals else product, "adds"
        )

    @property
    def of_histogram(self) -> bool:
        """Whether the shrinkage of values is used."""
        return bool(self._shrinkage)

    def _mean(self, name: str, factor: str = "") -> str:
        """Return the column of ``outcomes`` with the mean contribution over all records of the table, by true value.

        ``factor`` names a column of the classes by which it is multiplied.
        """
        cell = self.measures[name].cell
        self.cell(cell)
        parts = [*self.frame.keys.values(), *([self._set_sql] if self.frame.subtotals else [])]
        parts.append(self.frame.column(self._positions[0]))
        added = self._outcomes.sql(self._added(name))
        times = f" * {self.frame.column(factor)}" if factor else ""
        return self._outcomes.take(
            f"coalesce(sum({self.frame.column(cell)} * {added}) OVER (PARTITION BY {', '.join(parts)}), 0)"
            f" / {self.constant('rows')}{times}",
            "mean",
        )

    def _estimate(self, name: str) -> str:
        of, v = self.measures[name], self._added(name)
        cell, summed, exact, total = self.cell(of.cell), "", "", ""
        if of.zero is Zero.NEVER and (of.conditions or of.factors):
            summed = f" FILTER (WHERE {self._summed(of)})"
        if of.exact or self.public(name):
            found = self._records.take(f"sum(CASE WHEN {self._shown} THEN {v} ELSE 0 END)", "exact")
            exact = f"sum({cell} * {found}){summed}"
        if of.counts and not of.exact:
            steps = self.frame.in_steps(of, f"{cell} * {self._weight}")
            found = self._records.take(f"sum({steps} * {v})", "steps")
            total = f"sum({found}){summed}"
        elif not of.exact:
            found = self._estimated(v)
            total = f"sum({cell} * {found}){summed}"
        return self.frame.written(of, exact, total, f"max({found}) IS NOT NULL", text(self._set))

    def public(self, name: str) -> bool:
        """Whether a sum is exact in some groups among subtotals."""
        return self.frame.subtotals and self.measures[name].exact_in_sets

    def in_public_sets(self, name: str, exact: str, found: str) -> str:
        """Write a value that is exact in groups by public columns alone."""
        return self.frame.in_public_sets(self.measures[name], exact, found, text(self._set))

    def _summed(self, of: Measure) -> str:
        """Return the column of ``records`` that says whether any of them is summed."""
        known = [f"{' * '.join(of.factors)} IS NOT NULL"] if of.factors else []
        known += self.frame.summed(of)
        summed = " AND ".join([*map(parenthesized, of.conditions), *known])
        if self.frame.joined or self.frame.subtotals:
            summed = f"bool_or({summed})"
        return self._records.take(f"bool_or({self._outcomes.take(summed, 'summed')})", "summed")

    def _plain_columns(self) -> list[str]:
        found = []
        for name, (kind, argument, when, distinct) in self.frame.plain.items():
            if kind == "grouping":
                level = self._outcomes.take(f"grouping({argument})", "level")
                level = self._records.take(f"any_value({level})", "level")
                found.append(f"coalesce(any_value({level}), {when}) AS {text(name)}")
                continue
            if self.frame.joined or self.frame.subtotals or when:
                raise QueryRefused(
                    f"{kind}() is not answered beside intervals here",
                    hint="leave out intervals, or ask for it in a query of its own",
                )
            column = self._records.take(
                f"any_value({self._outcomes.take(argument, 'plain')})", "plain"
            )
            found.append(f"{kind}({'DISTINCT ' * distinct}{column}) AS {text(name)}")
        return found

    @property
    def _set_sql(self) -> str:
        return f"grouping({', '.join(map(text, self.frame.keys))})"

    def steps(self, laws: Mapping[str, str], table: str) -> Steps:
        """Return the steps; the last, ``table``, has the estimates. ``laws`` names the queries of numbers."""
        written = [f"{self._estimate(name)} AS {text(name)}" for name in self.measures]
        written += self._plain_columns()
        steps = ("cells", "outcomes", "records")
        cells, outcomes, records = map(self.frame.names.fresh, steps)
        grouped = [*map(text, self.frame.keys)] + [text(self._set)] * self.frame.subtotals
        numbered = [f"row_number() OVER () AS {text(self._cell_number)}", "*"]
        carried = [f"any_value({text(each)}) AS {text(each)}" for each in self._from_cells]
        weighted = select_sql(
            [*grouped, *carried, *self._records.selected],
            text(outcomes),
            groups=[*grouped, text(self._cell_number)],
        )
        estimated = select_sql(
            [*grouped, *written, *self.estimates.selected],
            self._or_nothing(text(records)),
            groups=grouped,
            having=f"bool_or({self._kept})" if self._kept else "",
        )
        return [
            (cells, select_sql(numbered, indented(self.frame.cells.sql()))),
            (outcomes, self._outcomes_sql(cells, laws)),
            (records, weighted),
            (table, estimated),
        ]

    def _or_nothing(self, records: str) -> str:
        """Write the records; if there are none, one empty row keeps the group of all records."""
        if not self.frame.subtotals or not self.frame.of_all:
            return records
        total = f"{2 ** len(self.frame.keys) - 1} AS {text(self._set)}"
        return (
            f"(FROM {records} UNION ALL BY NAME SELECT {total} WHERE NOT EXISTS (FROM {records}))"
        )

    def _outcomes_sql(self, cells: str, laws: Mapping[str, str]) -> str:
        frame, of = self.frame, self.frame.cells
        names = (self._cell_number, of.weight, of.shown, *self._from_cells)
        carried = [frame.column(each) for each in names]
        sets = [f"{self._set_sql} AS {text(self._set)}"] * frame.subtotals
        groups: list[str] = []
        if frame.joined or frame.subtotals:
            groups = [*carried, *map(frame.column, self._positions), *frame.groups]
            if self._shrinkage:
                groups.append(frame.column(self._shrinkage))
        return frame.select(
            [*frame.selected_keys, *carried, *sets, *self._outcomes.selected],
            frame.classes(
                text(cells),
                laws,
                [*of.columns, self._cell_number],
                self._positions,
                self._shrinkage,
            ),
            groups,
        )


def _ordered(order: exp.Expr | None, keys: Mapping[str, str] | None = None) -> str:
    """Write an ORDER BY; ``keys`` replaces columns by their expressions."""
    if order is None:
        return ""
    order = order.copy()
    for column in list(nodes(order, exp.Column)):
        if keys is not None:
            column.replace(exp.maybe_parse(keys[column.name], dialect="duckdb"))
    return f" {text(order)}"


@cache
def _formulas() -> Mapping[str, str]:
    return sections("analyst/ordinary", "intervals")


def formula(name: str, struct: str = "m", /, **values: str) -> str:
    """Write a formula of ``sql/analyst/ordinary/intervals.sql`` over a struct of values.

    >>> formula("kept", share="0.5", k="0.8")
    '[((1 - m.share * m.k) ** 2 + 2 * m.share * (1 - m.share) * m.k ** 2) FOR m IN [{share: 0.5, k: 0.8}]][1]'
    """
    fields = ", ".join(f"{each}: {value}" for each, value in values.items())
    return f"[{_formulas()[name]} FOR {struct} IN [{{{fields}}}]][1]"


def inflation(scale: str) -> str:
    """Write the factor by which copying increases a record's part of the variance, by its scale."""
    return fill(_formulas()["inflation"], {"scale": scale})
