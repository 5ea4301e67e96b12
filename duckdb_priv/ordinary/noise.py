"""Write variances and covariances of sums over records in each form, as SQL.

Let V(x) be the contribution of a row to a sum if its true value is x. Let h be its estimate, the sum over x of W[x, y]
V(x), and q_ab the same for the product V_a V_b. Then the sum of h_a h_b - q_ab over the rows estimates the covariance
of two sums without bias, if rows are perturbed independently. Rows that represent several records, sampled or copied
rows, and weights from the published histogram change this as for a single count (``mechanism/score_interval.md``,
``mechanism/splu.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from duckdb_priv.ordinary.cells import Cells
from duckdb_priv.ordinary.frame import Measure
from duckdb_priv.ordinary.names import text
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import fill, sections

FROM_HISTOGRAM = ("two_by_two", "conditional_poisson")
"""Forms whose weights are computed from the published histogram, and share its noise."""
TRUTH_IS_RANDOM = ("listed", "constant")
"""Forms in which the true values are random given the published ones, not the other way round."""


@dataclass(frozen=True)
class Noise:
    """The columns of records and cells from which variances are computed.

    ``column(text, stem)`` returns a column of the records for an expression over the outcomes of one record;
    ``cell(name)`` returns one for a column of the cells.
    """

    cells: Cells
    form: str
    """The form of the attributes; empty for a sample that is not perturbed."""
    column: Callable[[str, str], str]
    cell: Callable[[str], str]
    joined: bool
    """Whether a record may contribute several times because of a join."""

    def covariance(self, one: Measure, two: Measure, v: str, w: str) -> str:
        """Write the covariance of two sums with contributions ``v`` and ``w``; for a sum with itself, its variance."""
        weight = text(self.cells.weight)
        h, g = self.estimate(v), self.estimate(w)
        indicates = v == w and not one.factors and not self.joined
        q = h if indicates else self.column(f"sum({weight} * {v} * {w})", "square")
        found = self.weighed(one, two, h, g, q)
        if one is two and self.form in ("scaled", "duplicated"):
            found += self.of_sampling(one, v, q)
        return found

    def weighed(self, one: Measure, two: Measure, h: str, g: str, q: str) -> str:
        """Write the sum of h g - q over the records, scaled by the number of records that each row represents."""

        def squared(count: str | None = None) -> str:
            return self._squared(one, two, count)

        scale = self.cells.given_scale if self.cells.release.scale else ""
        if self.cells.release.sampled:
            return f"sum({squared(f'{scale} ** 2')} * {h} * {g} - {squared()} * {q})"
        if self.form == "duplicated":
            return f"sum({squared(inflation(scale))} * ({h} * {g} - {q}))"
        if self.cells.release.weighed:
            return f"sum({squared(f'{scale} ** 2')} * ({h} * {g} - {q}))"
        if self.form in TRUTH_IS_RANDOM:
            return f"sum({squared()} * ({q} - {h} * {g}))"
        return f"sum({squared()} * ({h} * {g} - {q}))"

    def _squared(self, one: Measure, two: Measure, count: str | None) -> str:
        """Return the column of the cells with the sum of products of two sums' public values."""
        public = (*one.public, *two.public)
        before = tuple(dict.fromkeys((*one.before, *two.before)))
        if one is two:
            public, before = (*one.public, *one.public), one.before
        return self.cell(self.cells.sum(public, before, count))

    def of_one(self, v: str, w: str) -> str:
        """Write h g - q of a record for its contributions to two sums."""
        q = self.column(f"sum({text(self.cells.weight)} * {v} * {w})", "square")
        return f"({self.estimate(v)} * {self.estimate(w)} - {q})"

    def of_histogram(
        self, one: Measure, two: Measure, v: str, w: str, mean: str, other_mean: str
    ) -> str:
        """Write the covariance of two sums whose weights are computed from the published histogram.

        That histogram is noisy too, in part with the noise of the summed records. Through it, each record's
        contribution is reduced by k times the mean contribution. ``mean`` and ``other_mean`` are the means over all
        records of the table. So a summed record varies as v - k mean, and a record outside the sum as -k mean. The
        latter count twice, as they do for a count (``mechanism/splu.md``).
        """
        shown = text(self.cells.shown)

        def k(average: str) -> str:
            reported = self.column(f"max(CASE WHEN {shown} THEN {average} ELSE 0 END)", "reported")
            h = self.estimate(average)
            return f"(1 - coalesce((max({reported}) - min({reported})) / nullif(max({h}) - min({h}), 0), 1))"

        both = one if one is two else None
        before = both.before if both else tuple(dict.fromkeys((*one.before, *two.before)))
        products = self.cell(self.cells.sum((*one.public, *two.public), before))
        rows = self.cell(self.cells.sum((), ()))
        total = literal(float(self.cells.release.constants.get("rows", 1)))
        return (
            f"sum({products} * {self.of_one(v, w)})"
            f" - {k(other_mean)} * sum({self.cell(one.cell)} * {self.of_one(v, other_mean)})"
            f" - {k(mean)} * sum({self.cell(two.cell)} * {self.of_one(mean, w)})"
            f" + {k(mean)} * {k(other_mean)} * sum({rows} * {self.of_one(mean, other_mean)})"
            f" * (1 + 2 * greatest({total} - sum({rows}), 0) / greatest(sum({rows}), 1))"
        )

    def estimate(self, v: str) -> str:
        """Return the column with the weighted contribution of a record."""
        return self.column(f"sum({text(self.cells.weight)} * {v})", "h")

    def of_both(self, one: Measure, two: Measure, v: str, w: str, power: int = 2) -> str:
        """Write the largest term that sampling within groups can add to a covariance of sums of scaled records."""
        scale = self.cells.given_scale
        count = f"CASE WHEN {scale} > 1 THEN {scale} ** {power} ELSE 0 END"
        width, other = (
            self.column(f"greatest(max({each}), 0) - least(min({each}), 0)", "width")
            for each in (v, w)
        )
        size = literal(float(self.cells.release.constants.get("together", 1)))
        return (
            f"coalesce(sum({self._squared(one, two, count)} * {width} * {other}), 0) / (4 * {size})"
        )

    def of_sampling(self, of: Measure, v: str, q: str) -> str:
        """Write the largest term that copying, and sampling within groups of equal public values, can add."""
        if self.form == "scaled":
            return f" + {self.of_both(of, of, v, v)}"
        scale = self.cells.given_scale
        copied = self._squared(of, of, f"CASE WHEN {scale} > 1 THEN 1 / {scale} ELSE 0 END")
        return f" + greatest(sum({copied} * {q}), 0) / 4 + {self.of_both(of, of, v, v, 1)}"


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
