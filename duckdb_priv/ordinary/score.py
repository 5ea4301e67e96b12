"""Score intervals of counts, for single values as in priv.reconstructed_interval, and for sets of values.

They use how the variance changes with the true count, and how much one report changes the estimate. For a set of values
of one attribute, both follow from two probabilities: that a record reports one of the set if it has one of them, and if
it has none (``laws``). Source: Wilson (1927); ``mechanism/score_interval.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from duckdb_priv.estimator.forms import FORMS, Form
from duckdb_priv.estimator.lets import Chain, let, struct
from duckdb_priv.estimator.set_formulas import formula as sets_formula
from duckdb_priv.estimator.set_formulas import functional, law_of_scales, mean_of
from duckdb_priv.ordinary.frame import Measure
from duckdb_priv.ordinary.laws import Laws
from duckdb_priv.ordinary.names import text
from duckdb_priv.ordinary.records import FROM_HISTOGRAM, TRUTH_IS_RANDOM, Records, inflation

LEAST, MOST = "'-inf'::DOUBLE", "'inf'::DOUBLE"


class Score:
    """The score intervals of one SELECT."""

    def __init__(self, records: Records) -> None:
        self._records, self._frame = records, records.frame
        self.laws = Laws(records)
        self._product = self.laws.of_product

    def functional(self, name: str, z: str) -> str | None:
        """Write the test input of a count or a sum; None if only its variance is known."""
        records, of = self._records, self._records.measures[name]
        if self._frame.joined or not self._is_known(of):
            return None
        if FORMS[records.form or "sample"].baseline:
            return self._of_groups(name, z) if of.counts else None
        form = self._form
        given = struct(**self._sums(name, form, z))
        tested = functional(form, self._kind(of, form), of_product=self._product)
        return f"[{tested} FOR s IN [{given}]][1]"

    @property
    def _form(self) -> Form:
        """The form by which sums are tested; for several attributes, only what a row represents matters."""
        if self._product:
            return FORMS["scaled" if self._frame.release.weighed else "operator"]
        return FORMS[self._records.form or "sample"]

    def mean(self, total: str, count: str, z: str) -> str | None:
        """Write the interval of a quotient that is the mean of an amount; None if it is no such mean."""
        records = self._records
        of, counted = records.measures.get(total), records.measures.get(count)
        if of is None or counted is None or self._frame.joined or not counted.counts:
            return None
        known = {text(each) for each in of.before}
        more = [each for each in counted.before if text(each) not in known]
        if (
            not (of.public and self._is_known(of) and self._is_known(counted))
            or of.conditions != counted.conditions
            or not all(_is_there(each, of.public) for each in more)
            or records.form in TRUTH_IS_RANDOM
        ):
            return None
        form, cells = self._form, self._frame.cells
        amount = _parsed(" * ".join(map(_double, of.public)))

        def extreme(which: str) -> str:
            found = records.cell(cells.aggregate(which, amount.copy(), counted.before))
            return records.estimates.take(f"{which}({found})", which)

        products = self._products(total, of.public, counted.before, form)
        given = struct(
            amounts=struct(**self._sums(total, form, z, once=False)),
            count=struct(**self._sums(count, form, z, once=False)),
            products=struct(product=products.pop("doubled"), **products),
            covariance=self.covariance(total, count),
            published=records.constant("rows") if form.from_histogram else "NULL",
            least=extreme("min"),
            most=extreme("max"),
        )
        return str(mean_of(form, of_product=self._product).over(Chain(given), "q"))

    def covariance(self, one: str, two: str, sign: str = "1") -> str:
        """Write the covariance of two sums; of one with itself, its variance.

        The term that sampling can add is the same for two sums over the same values. Otherwise it may have the other
        sign, so it gets the ``sign`` of the product of the factors.
        """
        records, cells = self._records, self._frame.cells
        of, other = records.measures[one], records.measures[two]
        if records.form == "scaled" and one != two:
            same = (of.conditions, of.factors) == (other.conditions, other.factors)
            sampled = records.sampling(one, two)
            if not same:
                sampled = f"({sign}) * {sampled}"
            return f"({records.covariance(one, two)} + {sampled})"
        if (
            self._product
            or records.form not in FROM_HISTOGRAM
            or not (self._is_known(of) and self._is_known(other))
        ):
            return records.covariance(one, two)
        published = records.constant("rows")
        both = tuple(dict.fromkeys((*of.before, *other.before)))

        def noise(public: tuple[exp.Expr, ...] = (), before: tuple[exp.Expr, ...] = ()) -> str:
            cell = records.cell(cells.sum(public, before))
            return records.summed(f"{cell} * {records.noise(one, two)}", "noise")

        return let(
            "b",
            sets_formula("from_histogram"),
            noise=noise((*of.public, *other.public), both),
            c_noise=noise(of.public, of.before),
            d_noise=noise(other.public, other.before),
            every_noise=noise(),
            c_mean=f"{self._total(of)} / {published}",
            d_mean=f"{self._total(other)} / {published}",
            c_shrinkage=f"{self.laws.of(one)}.shrinkage",
            d_shrinkage=f"{self.laws.of(two)}.shrinkage",
            rows=self._summed(cells.sum((), ()), "rows"),
            published=published,
        )

    def _is_known(self, of: Measure) -> bool:
        """Whether a sum adds public values over records with one of a set of values of one attribute."""
        if of.factors:
            return False
        return self._frame.release.sampled or (
            (self._records.one_attribute or self._product)
            and self._frame.separable
            and not self._frame.subtotals
            and of.of_attribute
        )

    @staticmethod
    def _kind(of: Measure, form: Form) -> str:
        """Return the ``kind`` argument of ``functional`` for a sum."""
        if of.public:
            return "amount"
        return "copied" if form.copied else "" if form.weighed else "once"

    def _sums(self, name: str, form: Form, z: str, *, once: bool | None = None) -> dict[str, str]:
        """Return the fields from which a sum and its interval are computed, as in sql/analyst/fragments/sets.sql."""
        of = self._records.measures[name]
        given = {
            "estimate": text(name),
            "variance": self.covariance(name, name),
            "total": f"{self._total(of)}::DOUBLE",
            "opposite": "0e0",
            "law": self._law(name, form),
            "share": self._share(of, form),
            "z": z,
            **self._sampled(form),
        }
        if of.public:
            product = " * ".join(_double(each) for each in of.public)
            above, below = (_parsed(f"{product} {sign} 0") for sign in "><")
            given["total"] = self._total(of, above)
            given["opposite"] = f"-{self._total(of, below)}"
        if once is None:
            once = self._kind(of, form) == "once"
        if once:
            return given
        return given | {
            **self._products(name, (*of.public, *of.public), of.before, form),
            "largest": self._largest(of, form),
            "copied": self._copied(of, form),
        }

    def _total(self, of: Measure, *also: exp.Expr) -> str:
        """Return the column with the sum of public values over all records that meet public conditions."""
        return self._summed(self._frame.cells.sum(of.public, (*of.before, *also)), "rows")

    def _summed(self, cell: str, stem: str) -> str:
        """Return the column with the sum of a cells' column."""
        return self._records.summed(self._records.cell(cell), stem)

    def _products(
        self, name: str, factors: Sequence[exp.Expr], before: Sequence[exp.Expr], form: Form
    ) -> dict[str, str]:
        """Return the sums of products of the coefficients, times a factor for copies, weight or perturbation."""
        cells, records = self._frame.cells, self._records
        count = plain = "1"
        if form.copied:
            count = plain = inflation(cells.given_scale)
        elif form.scaled:
            count = plain = f"{cells.given_scale} ** 2"
        elif form.varied:
            count = cells.given_scale
        squares = cells.sum(factors, before, count)
        doubled = f"{records.cell(squares)} * {records.weighed(name)}"
        return {
            "doubled": records.summed(doubled, "doubled"),
            "squares": self._summed(squares, "squares"),
            "plain_squares": self._summed(cells.sum(factors, before, plain), "squares"),
        }

    def _largest(self, of: Measure, form: Form) -> str:
        cells = self._frame.cells
        scale = cells.given_scale if form.scaled else ""
        factors = [*map(_double, of.public), inflation(scale) if form.copied else scale]
        product = " * ".join(each for each in factors if each)
        if not product:
            return "1e0"
        size = _parsed(f"abs({product})")
        cell = self._records.cell(cells.aggregate("max", size, of.before))
        least = "0" if of.public else "1"
        return self._records.estimates.take(f"coalesce(max({cell}), {least})", "largest")

    def _copied(self, of: Measure, form: Form) -> str:
        """Return the column with the number of rows that are copies in a sample; 0 if the form has no copies."""
        if not form.copied:
            return "0e0"
        cells = self._frame.cells
        more = cells.sum((), of.before, f"CASE WHEN {cells.given_scale} > 1 THEN 1 ELSE 0 END")
        return self._summed(more, "copied")

    def _share(self, of: Measure, form: Form) -> str:
        if not form.from_histogram:
            return "0e0"
        total = self._total(of)
        squares = self._frame.cells.sum((*of.public, *of.public), of.before)
        squares = self._summed(squares, "squares")
        share = f"{total} ** 2 / nullif({squares}, 0) / {self._records.constant('rows')}"
        return f"coalesce(least({share}, 1), 0)"

    def _sampled(self, form: Form) -> dict[str, str]:
        if form.perturbed:
            return {"beta": "1e0", "k": "0e0", "classes": "0e0"}
        # The classes that meet a condition are not computed: every possible class may hide records.
        return {each: self._records.constant(each) for each in ("beta", "k", "classes")}

    def _law(self, name: str, form: Form) -> str:
        """Write the law of a set of values."""
        if not form.perturbed:
            own = self._records.constant("beta")
            return struct(
                slope=f"1 - {own}", half_step="0.5e0", upward=f"1 - 2 * {own}",
                downward=f"2 * {own} - 1", shrinkage="0e0",
            )  # fmt: skip
        law = self.laws.of(name)
        if not form.varied:
            return law
        # Rows are perturbed by their scale u. The law is for u = 1, with the slope m - 2 k.
        of, cells = self._records.measures[name], self._frame.cells
        (attribute,), scale = cells.attributes.values(), cells.given_scale
        both = (*of.public, *of.public)
        once, twice = (
            self._summed(cells.sum(both, of.before, count), "scales")
            for count in (scale, f"{scale} ** 2")
        )
        noisy = f"coalesce({twice} / nullif({once}, 0), 0)"
        # All rows count the same for a set of all values, and for one of none.
        return law_of_scales(f"{law}.slope", str(attribute.size), noisy, f"{law}.half_step = 0")

    def _of_groups(self, name: str, z: str) -> str:
        """Write the test input if true values are random given the published ones: groups determine the variance."""
        records = self._records
        total = self._total(records.measures[name])
        if records.form == "listed":
            cell = records.cell(records.measures[name].cell)
            holders = f"coalesce(sum({cell}) FILTER (WHERE {records.weighed(name)} > 0), 0)"
            total = records.estimates.take(holders, "holders")
        variance = records.covariance(name, name)
        most = f"{total}::DOUBLE"
        return of_variance(text(name), variance, z, least="0e0", most=most, step="0.5e0")


def of_variance(
    estimate: str,
    variance: str,
    z: str,
    *,
    least: str = LEAST,
    most: str = MOST,
    slope: str = "0e0",
    step: str = "0e0",
) -> str:
    """Write the test input of a sum of which only the estimate and the variance are known.

    One more record changes the sum by at most 2 ``step``, and its variance by ``slope``.
    """
    fall = slope if slope == "0e0" else f"-{slope}"
    return struct(
        estimate=estimate, variance=variance, there=variance, rise=slope, fall=fall, above=step, below=step,
        least=least, most=most, more="0e0", less="0e0", z=z,
    )  # fmt: skip


def _double(value: exp.Expr) -> str:
    # Sums of what is no number raise their own error (Cells.sum).
    return f"TRY_CAST({text(value)} AS DOUBLE)"


def _parsed(sql: str) -> exp.Expr:
    found: exp.Expr = exp.maybe_parse(sql, dialect="duckdb")
    return found


def _is_there(condition: exp.Expr, amounts: Sequence[exp.Expr]) -> bool:
    """Whether a condition says that a part of the amounts is not NULL."""
    inner = condition.this if isinstance(condition, exp.Not) else None
    if not isinstance(inner, exp.Is) or not isinstance(inner.expression, exp.Null):
        return False
    part = inner.this.unnest()
    return any(each == part for amount in amounts for each in amount.walk())
