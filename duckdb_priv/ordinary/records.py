"""Compute each record's contribution to sums, and from it the estimates, their variances and covariances.

``outcomes`` has, for every cell and true value, the contribution of such a record to each sum, and ``records`` weights
these contributions for each cell. Let V(x) be the contribution of a row to a sum if its true value is x, h its
estimate, the sum over x of W[x, y] V(x), and q_ab the same for the product V_a V_b. Then the sum of h_a h_b - q_ab over
the rows estimates the covariance of two sums without bias, if rows are perturbed independently. Rows that represent
several records, sampled or copied rows, and weights from the published histogram change this as for a single count
(``mechanism/score_interval.md``, ``mechanism/splu.md``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.estimator.forms import FORMS
from duckdb_priv.estimator.set_formulas import ordinary
from duckdb_priv.ordinary.frame import Frame, Steps
from duckdb_priv.ordinary.names import (
    Names,
    StepColumns,
    all_of,
    filtered,
    indented,
    nodes,
    parsed,
    select_sql,
    text,
)
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import fill


class Records:
    """The steps from the cells to the estimates, for sums whose variances are needed."""

    def __init__(self, frame: Frame) -> None:
        cells = frame.cells
        forms = {each.form for each in cells.attributes.values()}
        self.form = next(iter(forms)) if len(forms) == 1 else ""
        """The form of the attributes; empty if they have several forms, or without attributes."""
        self.traits = FORMS[self.form or "sample"]
        self.one_attribute = len(cells.attributes) == 1
        mixed = frame.mixed if self.traits.from_histogram else ()
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
        if self.traits.from_histogram and frame.uneven:
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
        self._positions = [self.taken.fresh("position") for _ in cells.attributes]
        self._from_cells: dict[str, None] = {}
        self._shrinkage = self._kept = ""
        self._several = frame.joined or frame.subtotals
        """Whether a class may be in several groups, or several times in a group."""
        if mixed and frame.keys:
            kept = self._outcomes.take(self._of_class(all_of(mixed), (), "bool_or"), "kept")
            self._kept = self._records.take(f"bool_or({kept})", "kept")
        self._weight = text(cells.weight)

    def constant(self, name: str) -> str:
        """Write a constant of the release."""
        return literal(float(self.frame.cells.release.constants[name]))

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
        of, which = self.measures[name], ("min", "max")
        amount = " * ".join(of.factors) or "1"
        amount = self._outcomes.take(self._of_class(amount, of.conditions, "min"), "amount")
        ends = [self._records.take(f"{each}({amount})", f"{each}_amount") for each in which]
        if of.public:
            public = reduce(_times, of.public)
            cells = self.frame.cells
            others = [self.cell(cells.aggregate(each, public, of.before)) for each in which]
            ends = [f"{one} * {two}" for one in ends for two in others]
        return self.estimates.take(f"coalesce(min(least({', '.join(ends)})), 0)::DOUBLE", "least")

    def covariance(self, one: str, two: str, *, raw: bool = False) -> str:
        """Return the column of ``estimates`` with the covariance of two sums; of one with itself, its variance.

        ``raw`` treats weights as constants, even if they are computed from the published histogram.
        """
        one, two = sorted((one, two))
        if self.traits.from_histogram and self.one_attribute and not raw:
            found = self._of_histogram(one, two)
        else:
            h, g = self.weighed(one), self.weighed(two)
            found = self._over_rows(one, two, h, g, self._square(one, two))
            if one == two and (sampled := self._sampling(one, two)):
                found += f" + {sampled}"
        if self.form == "constant":
            found = self._assigned(found, one, two)
        stem = "variance" if one == two else "covariance"
        return self.estimates.take(f"coalesce({found}, 0)", stem)

    def overlap(self, one: str, two: str) -> str:
        """Return the column of ``estimates`` that is true if a record may count in two sums."""
        one, two = sorted((one, two))
        before = (*self.measures[one].before, *self.measures[two].before)
        rows = self.cell(self.frame.cells.sum((), tuple(dict.fromkeys(before))))
        both = f"bool_or({self._added(one)} <> 0 AND {self._added(two)} <> 0)"
        both = f"bool_or({rows} > 0 AND {self._records.take(both, 'both')})"
        return self.estimates.take(f"coalesce({both}, false)", "overlap")

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
        total = self._total(self._records, self._estimated(w), parts, _ordered(order))
        if self.frame.joined:
            # With joins, a record may be in several groups.
            parts = [self.frame.keys[each] for each in partition]
            parts += map(self.frame.cells.column, (self._cell_number, *self._positions))
            w = self._total(self._outcomes, w, parts, _ordered(order, self.frame.keys))
        found = self._over_rows(one, two, self._estimated(v), total, self._product(v, w))
        return self.estimates.take(f"coalesce({found}, 0)", "covariance")

    @staticmethod
    def _total(columns: StepColumns, of: str, partition: Sequence[str], order: str) -> str:
        """Return the column with the total of another column over several groups."""
        over = f"PARTITION BY {', '.join(partition)}{order}"
        return columns.take(f"sum({columns.sql(of)}) OVER ({over})", "total")

    def sampling(self, one: str, two: str) -> str:
        """Return the column of ``estimates`` with the largest term that sampling can add to a covariance, if any."""
        found = self._sampling(one, two)
        return found and self.estimates.take(f"coalesce({found}, 0)", "sampling")

    def _sampling(self, one: str, two: str) -> str:
        """Write the largest term that copying, and sampling within groups of equal public values, can add."""
        if not (self.traits.scaled and self.traits.perturbed):
            return ""
        scale, copied = self.frame.cells.given_scale, self.traits.copied
        count = f"CASE WHEN {scale} > 1 THEN {scale} ** {1 if copied else 2} ELSE 0 END"
        width, other = (
            self._records.take(f"greatest(max({each}), 0) - least(min({each}), 0)", "width")
            for each in map(self._added, (one, two))
        )
        size = literal(float(self.frame.cells.release.constants.get("together", 1)))
        squared = self._squared(one, two, count)
        found = f"coalesce(sum({squared} * {width} * {other}), 0) / (4 * {size})"
        if copied:
            copies = self._squared(one, two, f"CASE WHEN {scale} > 1 THEN 1 / {scale} ELSE 0 END")
            found += f" + greatest(sum({copies} * {self._square(one, two)}), 0) / 4"
        return found

    def _over_rows(self, one: str, two: str, h: str, g: str, q: str) -> str:
        """Write the sum of h g - q over the records, scaled by the number of records that each row represents."""
        release, cells, copied = self.frame.cells.release, self.frame.cells, self.traits.copied
        if self.traits.baseline:
            # The true values are random given the published ones, not the other way round.
            return f"sum({self._squared(one, two)} * ({q} - {h} * {g}))"
        count = None
        if copied or release.weighed or release.sampled:
            count = inflation(cells.given_scale) if copied else f"{cells.given_scale} ** 2"
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
        return self._weighted(v, v, "h")

    def _product(self, v: str, w: str) -> str:
        """Return the column with the weighted product of two contributions of a record, q."""
        return self._weighted(f"{v} * {w}", v, "square")

    def _weighted(self, value: str, v: str, stem: str) -> str:
        """Return the column with a record's weighted sum of a value that is 0 where ``v`` is."""
        added = f"{self._weight} * {value}"
        if self.frame.partly_unknown:
            # An unknown weight is NaN, and does not matter for a true value that adds nothing.
            added = f"CASE WHEN {v} = 0 THEN 0 ELSE {added} END"
        return self._records.take(f"sum({added})", stem)

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
        total = self.constant("rows")
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

    def _of_class(self, value: str, conditions: Sequence[str], function: str) -> str:
        """Write a value of a class if it meets conditions, else NULL; of several, by an aggregate function."""
        if self._several:
            return f"{function}({value}){filtered(conditions)}"
        return f"CASE WHEN {all_of(conditions)} THEN {value} END" if conditions else value

    def _added(self, name: str) -> str:
        """Return the column of ``outcomes`` with a record's contribution to a sum."""
        of = self.measures[name]
        found = self._of_class(" * ".join(of.factors) or "1", of.conditions, "sum")
        return self._outcomes.take(found if found == "1" else f"coalesce({found}, 0)", "adds")

    @property
    def of_histogram(self) -> bool:
        """Whether the shrinkage of values is used."""
        return bool(self._shrinkage)

    def _mean(self, name: str, factor: str = "") -> str:
        """Return the column of ``outcomes`` with the mean contribution over all records of the table, by true value.

        ``factor`` names a column of the classes by which it is multiplied.
        """
        frame, cell = self.frame, self.measures[name].cell
        self.cell(cell)
        parts = [*frame.keys.values(), *[frame.level] * frame.subtotals]
        parts.append(frame.cells.column(self._positions[0]))
        added = self._outcomes.sql(self._added(name))
        times = f" * {frame.cells.column(factor)}" if factor else ""
        return self._outcomes.take(
            f"coalesce(sum({frame.cells.column(cell)} * {added}) OVER (PARTITION BY {', '.join(parts)}), 0)"
            f" / {self.constant('rows')}{times}",
            "mean",
        )

    def _estimate(self, name: str) -> str:
        def total(value: str, conditions: Sequence[str]) -> str:
            part = self._outcomes.take(self._of_class(value, conditions, "sum"), "part")
            return f"sum({self._records.take(f'sum({part})', 'part')})"

        return self.frame.estimate(self.measures[name], total, text(self._set))

    def in_public_sets(self, name: str, exact: str, found: str) -> str:
        """Write a value that is exact in groups by public columns alone."""
        return self.frame.in_public_sets(self.measures[name], exact, found, text(self._set))

    def _plain_columns(self) -> list[str]:
        found = []
        for name, (kind, argument, when, distinct) in self.frame.plain.items():
            if kind != "grouping" and (self._several or when):
                raise QueryRefused(
                    f"{kind}() is not answered beside intervals here",
                    hint="leave out intervals, or ask for it in a query of its own",
                )
            argument = f"grouping({argument})" if kind == "grouping" else argument
            column = self._records.take(
                f"any_value({self._outcomes.take(argument, 'plain')})", "plain"
            )
            value = f"{kind}({'DISTINCT ' * distinct}{column})"
            if kind == "grouping":
                value = f"coalesce(any_value({column}), {when})"
            found.append(f"{value} AS {text(name)}")
        return found

    def steps(self, table: str) -> Steps:
        """Return the steps; the last, ``table``, has the estimates."""
        frame, of = self.frame, self.frame.cells
        written = [f"{self._estimate(name)} AS {text(name)}" for name in self.measures]
        written += self._plain_columns()
        cells, outcomes, records = map(frame.names.fresh, ("cells", "outcomes", "records"))
        carried = [
            frame.cells.column(each) for each in (self._cell_number, of.weight, *self._from_cells)
        ]
        groups: list[str] = []
        if self._several:
            apart = [*self._positions, *[self._shrinkage] * self.of_histogram]
            groups = [*carried, *map(frame.cells.column, apart), *frame.groups]
        sets = [f"{frame.level} AS {text(self._set)}"] * frame.subtotals
        columns = [*of.columns, self._cell_number]
        classes = frame.classes(text(cells), columns, self._positions, self._shrinkage)
        selected = [*frame.selected_keys_of(frame.keys), *carried, *sets, *self._outcomes.selected]
        keys = [*map(text, frame.keys), *[text(self._set)] * frame.subtotals]
        numbered = [f"row_number() OVER () AS {text(self._cell_number)}", "*"]
        from_cells = [f"any_value({text(each)}) AS {text(each)}" for each in self._from_cells]
        weighted = [*keys, *from_cells, *self._records.selected]
        estimated = [*keys, *written, *self.estimates.selected]
        having = f"bool_or({self._kept})" if self._kept else ""
        rows = text(records)
        if frame.subtotals and frame.of_all:
            # Without records, one empty row keeps the group of all records.
            total = f"{2 ** len(frame.keys) - 1} AS {text(self._set)}"
            rows = f"(FROM {rows} UNION ALL BY NAME SELECT {total} WHERE NOT EXISTS (FROM {rows}))"
        by_cell = [*keys, text(self._cell_number)]
        return [
            (cells, select_sql(numbered, indented(of.sql()))),
            (outcomes, frame.select(selected, classes, groups)),
            (records, select_sql(weighted, text(outcomes), groups=by_cell)),
            (table, select_sql(estimated, rows, groups=keys, having=having)),
        ]


def _times(one: exp.Expr, two: exp.Expr) -> exp.Expr:
    return exp.Mul(this=exp.paren(one.copy()), expression=exp.paren(two.copy()))


def _ordered(order: exp.Expr | None, keys: Mapping[str, str] | None = None) -> str:
    """Write an ORDER BY; ``keys`` replaces columns by their expressions."""
    if order is None:
        return ""
    if keys is not None:
        order = order.copy()
        for column in list(nodes(order, exp.Column)):
            column.replace(parsed(keys[column.name]))
    return f" {text(order)}"


def inflation(scale: str) -> str:
    """Write the factor by which copying increases a record's part of the variance, by its scale."""
    return fill(ordinary("inflation"), {"scale": scale})
