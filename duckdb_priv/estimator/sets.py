"""Write the functions for sets of values: counts, shares, differences, ratios, sums and means.

Each function combines one or two sums over the rows with formulas of ``fragments/sets.sql``, which are the same for all
forms. A sum is that of c * h: the coefficient c comes from public columns (1, whether the row is in a group, its scale,
an amount), h is the weight of the row for the set, the sum of W[x, y] over the values x of the set. Its variance, and
its covariance with another, are sums over the rows as well. Derivation: ``mechanism/comparison.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from duckdb_priv.estimator.coefficients import SCALES, Coefficient, Part
from duckdb_priv.estimator.forms import FORMS, last_shown
from duckdb_priv.estimator.lets import Chain, each, let, struct
from duckdb_priv.estimator.lookup import Lookup, by_text
from duckdb_priv.estimator.set_formulas import (
    NOTHING_HIDDEN,
    chosen,
    covariance_from_histogram,
    dense,
    difference,
    formula,
    functional,
    interval,
    law_of_scales,
    listed,
    mean_of,
    plausible,
    quotient,
    share_of_table,
    shared,
    times,
)
from duckdb_priv.estimator.set_laws import SetLaws
from duckdb_priv.sqltext.literals import exact
from duckdb_priv.sqltext.quoting import literal

COUNTS = (
    "compare counts, with priv.reconstructed_group_difference or priv.reconstructed_group_ratio"
)
SINGLE = "ask for one value, with priv.reconstructed_interval"
"""The function to use instead if a form has no such estimate."""


class Sets(SetLaws):
    """Sums over the aggregated rows, for the attributes of one form.

    If a row's weight depends on the shown value, a histogram counts rows by this value and by ``groups``. If
    coefficients differ between rows, the weight of each row is looked up.
    """

    def __init__(self, form: str, of: Lookup, groups: Sequence[str] = ()) -> None:
        super().__init__(form, of)
        self._groups = tuple(groups)
        self.every = SCALES if self.form.scaled else Coefficient()
        """All aggregated rows, each counted as the number of records that it represents."""
        self._plausible: dict[str, None] = {}
        self._estimable: dict[str, None] = {}

    def quantile(self) -> str:
        """Return the field of t with the normal quantile that belongs to ``confidence``."""
        return self.take(self._of.quantile())

    def written(self, answer: Chain) -> str:
        """Write an expression over t. It raises if rows were selected by their reported values, or if a value has no
        estimate.
        """
        if self._plausible:
            mistake = chosen("'one of the values'")
            refused = f"[error(_priv_text) FOR _priv_text IN [{mistake}]][1]"
            answer = answer.where(" AND ".join(self._plausible), refused)
        if self._estimable:
            answer = answer.where(" AND ".join(self._estimable), self.form.text("silent"))
        return super().written(answer)

    def total(self, rows: Coefficient) -> str:
        """Write the sum of the coefficients."""
        return self.take(rows.total())

    def covariance(self, one: Part, two: Part) -> str:
        """Write the covariance of two sums; for a sum with itself, its variance."""
        both = one.rows.times(two.rows)
        noise = self._noise(both, one.values, two.values)
        if self.form.scaled and self.form.perturbed:
            # The largest term that sampling within groups of equal public values can add; for two sets it may be
            # negative.
            sign = "+" if one.values == two.values else "-"
            sampled = f"{self.take(both.total('weight > 1'))} / (4 * {self.constant('together')})"
            return f"({noise} {sign} {sampled})"
        if not self.form.from_histogram:
            return noise
        published, rows = self.constant("rows"), (one.rows, two.rows, self.every)
        noises = [noise, *(self._noise(each, one.values, two.values) for each in rows)]
        totals = [self.total(each) for each in rows]
        shrinkages = [f"({self._law(each.values)}).shrinkage" for each in (one, two)]
        return covariance_from_histogram(noises, totals[:2], shrinkages, totals[2], published)

    def overlap(self, one: Part, two: Part) -> str:
        """Write whether a record may count in two sums: in the same rows by their values, else by their rows."""
        if one.values != two.values:
            return f"{self._size(one.values, two.values)} > 0"
        return f"{self.total(one.rows.times(two.rows))} > 0"

    def functional(self, part: Part) -> Chain:
        """Return the test input of one sum."""
        once = self.once(part)
        kind = "once" if once else "amount" if part.amount else ""
        return Chain(self.sums(part, once=once), ("s", functional(self.form, kind)))

    def tests(self, *parts: Part, factors: Sequence[str] = (), stepped: bool = True) -> str:
        """Write the list of the test inputs of several sums of one kind: each times its factor, or without steps."""
        once = self.once(parts[0])
        sums = [self.sums(part, once=once) for part in parts]
        tested = functional(self.form, "once" if once else "")
        if not stepped:
            tested = dense(tested)
        if not any(factors):
            return each("s", tested, *sums)
        given = [f"{{f: {f}, {of[1:]}" for f, of in zip(factors, sums, strict=True)]
        scaled = each("s", struct(f="(s).f", u=tested), *given)
        return f"[{formula('times')} FOR x IN {scaled}]"

    def sums(self, part: Part, *, once: bool = False) -> str:
        """Write the struct from which a sum and its interval are computed.

        It has fewer fields if every record counts ``once``.
        """
        rows, squared = part.rows, part.rows.times(part.rows)
        self._require_plausible(part)
        if "estimable" in self.form.sections:
            places = self.take(self._positions(part.values))
            self._estimable[self.make(self._filled("estimable", places, "_priv_x"))] = None
        given = {
            "estimate": self._sum(rows, part.values),
            "variance": self.covariance(part, part),
            "total": f"{self.total(part.signed('>'))}::DOUBLE",
            "opposite": f"{self.total(part.signed('<'))}::DOUBLE" if part.amount else "0e0",
            "law": self._law_by_row(part) if self.form.varied else self._law(part.values),
            "share": self._share(part),
            "z": self.quantile(),
        }
        if not once or not self.form.perturbed:
            given |= self._sampled(part)
        if once:
            return struct(**given)
        unit = SCALES if self.form.varied else Coefficient()
        by_row = squared.times(unit)
        given |= {
            "doubled": self._sum(by_row, part.values),
            "squares": f"{self.total(by_row)}::DOUBLE",
            "plain_squares": f"{self.total(squared)}::DOUBLE",
            "largest": self._largest(part),
        }
        return struct(**given)

    def products(self, amounts: Part, count: Part) -> dict[str, str]:
        """Return sums over products of the coefficients of an amount and a count."""
        both = amounts.rows.times(count.rows)
        by_row = both.times(SCALES) if self.form.varied else both
        return {
            "product": self._sum(by_row, amounts.values),
            "squares": f"{self.total(by_row)}::DOUBLE",
            "plain_squares": f"{self.total(both)}::DOUBLE",
        }

    def _largest(self, part: Part) -> str:
        largest = f"{part.rows.extreme('max')}::DOUBLE"
        if part.amount:
            largest = f"greatest({largest}, -{part.rows.extreme('min')}::DOUBLE)"
        return self.take(largest)

    def _share(self, part: Part) -> str:
        if not self.form.from_histogram:
            return "0e0"
        squares = f"{self.total(part.rows.times(part.rows))}::DOUBLE"
        return share_of_table(f"{self.total(part.rows)}::DOUBLE", squares, self.constant("rows"))

    def _sampled(self, part: Part) -> dict[str, str]:
        """Return the fields for a sample, in which small classes may be hidden."""
        if self.form.perturbed:
            return NOTHING_HIDDEN
        classes = (
            f"{self.constant('classes')} * {self._size(part.values)} / {self.take(self._of.size())}"
        )
        seen = f"CASE WHEN {self._shown(Coefficient(part.rows.conditions), part.values)} > 0 THEN 1 ELSE 0 END"
        return {
            "beta": self._number("own"),
            "k": self.constant("k"),
            "classes": f"greatest({classes} - {seen}, 0)",
        }

    def once(self, part: Part) -> bool:
        """Whether every record counts once in the sum."""
        return not (part.rows.factors or self.form.varied)

    def _law_by_row(self, part: Part) -> str:
        """Write the law of a set if rows differ in their scale; slope is for scale 1."""
        both = part.rows.times(part.rows).times(SCALES)
        noisy = f"coalesce({self.total(both.times(SCALES))} / nullif({self.total(both)}, 0), 0)"
        size, values = self.take(self._of.size()), self._size(part.values)
        return law_of_scales(f"({size} - 2 * {values})", size, noisy, f"{values} = {size}")

    def _require_plausible(self, part: Part) -> None:
        """Require that the number of rows showing one of the values is plausible by chance."""
        if not self.form.independent or part.values is None:
            return
        rows = Coefficient(part.rows.conditions)
        if self.form.blocks:
            # The share of the set's values that the row's block holds: a number from 0 to 1, whose variance is at most
            # that of a 0/1 variable with the same mean (Bernstein).
            own, other = self._number("own"), self._number("other")
            size = self._size(part.values)
            held = f"({self._sum(rows, part.values)} * ({own} - {other}) / {size}"
            seen = f"{held} + {self.total(rows)} * {other})"
            bounds = {"rarely": other, "often": f"{other} + ({own} - {other}) / {size}"}
        elif self.form.varied:
            seen = self._shown(rows, part.values)
            bounds = self._chances_by_row(rows, part.values)
        elif self.form.symmetric:
            seen, rarely = self._shown(rows, part.values), self._often(part.values)
            often = self.keep(f"({rarely} + {self._gap})")
            bounds = {"rarely": self.keep(rarely), "often": often}
        else:
            places = self.take(self._positions(part.values))
            counted = [f"list_contains({places}, (e).place)", *self._met(rows)]
            chosen = f"list_filter({self._histogram(rows)}, lambda e: {' AND '.join(counted)})"
            seen = f"coalesce(list_sum([(e).n FOR e IN {chosen}]), 0)"
            chances = self.keep(self._filled("chances", places))
            bounds = {"rarely": f"list_min({chances})", "often": f"list_max({chances})"}
        values = dict(rows=self.total(rows), seen=seen, **bounds, **self._values(rows))
        required = let("s", plausible(self.form), **values)
        self._plausible[required if self.form.blocks else self.make(required)] = None

    def _values(self, rows: Coefficient) -> dict[str, str]:
        """Return two of the shown values, and the largest probability of one value, if the form is grouped."""
        met = f" FILTER ({' AND '.join(rows.conditions)})" if rows.conditions else ""
        if not self.form.grouped:
            return {}
        agreement = self.take(self._filled("agreement", "[1]", inline=True))
        last = self.take(last_shown("_column", met, has_missing=self._shape.has_missing))
        return {"first": self.take(f"min(_column){met}"), "last": last, "agreement": agreement}

    def _chances_by_row(self, rows: Coefficient, values: str) -> dict[str, str]:
        """Return bounds of these probabilities if rows differ in scale, by chords from smallest to largest scale."""
        size, count = self.take(self._of.size()), self._size(values)
        scales = rows.times(SCALES)
        least, most = (self.take(f"{scales.extreme(which)}::DOUBLE") for which in ("min", "max"))
        above = f"({self.total(scales)} / greatest({self.total(rows)}, 1) - {least}) / (1 + {size} * {most})"
        return {
            "rarely": f"{count} * ({least} + {above}) / (1 + {size} * {least})",
            "often": f"(1 + {count} * {least} - ({size} - {count}) * {above}) / (1 + {size} * {least})",
        }

    # The weights of rows for a set.

    def _sum(self, rows: Coefficient, values: str | None) -> str:
        if self.form.varied:
            scaled, size = rows.times(SCALES), self.take(self._of.size())
            return (
                f"({self._shown(rows, values)} + {size} * {self._shown(scaled, values)}"
                f" - {self._size(values)} * {self.total(scaled)})"
            )
        if self.form.symmetric:
            outside = self._outside(values)
            return f"({self._step} * {self._shown(rows, values)} + {outside} * {self.total(rows)})"
        return self._weighed(rows, "{a}", values, values)

    def _noise(self, rows: Coefficient, one: str | None, two: str | None) -> str:
        """Write the sum of h * g - q: the product of weights for two sets, minus the weight for their intersection."""
        if not self.form.perturbed:
            return f"(1 - {self._number('own')}) * {self._shown(rows, one, two)}"
        if self.form.varied:
            return self._noise_by_row(rows, one, two)
        if self.form.symmetric:
            first, second, step = self._outside(one), self._outside(two), self._step
            if one == two:
                return (
                    f"({first} * ({first} - 1) * {self.total(rows)}"
                    f" + {step} * (2 * {first} + ({step} - 1)) * {self._shown(rows, one)})"
                )
            return (
                f"(({first} * {second} - {self._outside(one, two)}) * {self.total(rows)}"
                f" + {step} * ({second} * {self._shown(rows, one)} + {first} * {self._shown(rows, two)}"
                f" + ({step} - 1) * {self._shown(rows, one, two)}))"
            )
        return self._weighed(rows, "({a} * {b} - {both})", one, two)

    def _noise_by_row(self, rows: Coefficient, one: str | None, two: str | None) -> str:
        """Write that sum for h = (1 + m u) 1{shows one of the set} - k u, with a set of k values."""
        scaled, size = rows.times(SCALES), self.take(self._of.size())
        squared = scaled.times(SCALES)

        def reported(*sets: str | None) -> str:
            return f"({self._shown(scaled, *sets)} + {size} * {self._shown(squared, *sets)})"

        first, second = self._size(one), self._size(two)
        shared = first if one == two else self._size(one, two)
        return (
            f"({size} * {reported(one, two)} - {second} * {reported(one)} - {first} * {reported(two)}"
            f" + {first} * {second} * {self.total(squared)} + {shared} * {self.total(scaled)})"
        )

    def _shown(self, rows: Coefficient, *sets: str | None) -> str:
        """Write the sum of the coefficients of rows that show one of every set."""
        return self.take(
            rows.total(*(self._shows(each) for each in dict.fromkeys(sets) if each is not None))
        )

    def _shows(self, values: str) -> str:
        if not self._shape.has_missing:
            return f"list_contains({listed(values)}, {exact('_column')})"
        # Of these two, this function alone finds the missing value.
        return f"list_position({listed(values)}, {exact('_column')}) > 0"

    def _weighed(self, rows: Coefficient, function: str, one: str | None, two: str | None) -> str:
        """Write the sum of a function of a, b and both: a row's weights for two sets and for their intersection."""
        first, second = self._positions(one), self._positions(two)
        both = first if one == two else shared(first, second)
        sets = {"a": first, "b": second, "both": both}
        used = {name: places for name, places in sets.items() if f"{{{name}}}" in function}
        if rows.factors:
            # Only one set is used, so the function is applied to each weight in the set's row of weights.
            row = f"[{function.format(**dict.fromkeys(used, 'w'))} FOR w IN {self._row(first, inline=True)}]"
            return self.take(rows.of(f"list_extract({row}, {self._place('_column')})"))
        of = {
            name: f"list_extract({self._kept_weights(self.take(places))}, (e).place)"
            for name, places in used.items()
        }
        cells = self._histogram(rows)
        if met := " AND ".join(self._met(rows)):
            cells = f"list_filter({cells}, lambda e: {met})"
        product = f"(e).n * {function.format(**of)}"
        return self.make(f"coalesce(list_sum([{product} FOR e IN {cells}]), 0)")

    def _met(self, rows: Coefficient) -> list[str]:
        """Return the conditions on rows of the histogram that select the groups of the coefficients."""
        if not self._groups:
            return []
        chosen = ["list_contains([1, 3], (e).code)", "(e).code >= 2"]
        return [chosen[self._groups.index(each)] for each in rows.conditions]

    def _histogram(self, rows: Coefficient) -> str:
        """Write the histogram of rows by position of the shown value: by group, or only rows meeting the conditions."""
        size = self.take(f"{self._of.size()}")
        if self._groups:
            size = self.take(f"{self._outcomes}")
            code = f"{self._groups[0]}::INTEGER + 2 * {self._groups[1]}::INTEGER"
            counts = self.take(
                f"map_entries(histogram({self._place('_column')} - 1 + {self._outcomes} * ({code})))"
            )
            entry = f"{{place: (e).key % {size} + 1, code: (e).key // {size}, n: (e).value}}"
            return self.keep(f"[{entry} FOR e IN {counts}]")
        met = " AND ".join(rows.conditions)
        chosen = f" FILTER ({met})" if met else ""
        counts = self.take(f"map_entries(histogram(_column){chosen})")
        entries = f"[{{place: {self._place('(e).key')}, n: (e).value}} FOR e IN {counts}]"
        if not self._shape.has_missing or self.form.blocks:
            return self.keep(entries)
        missing = self.take(f"coalesce(count_if(_column IS NULL){chosen}, 0)")
        return self.keep(f"list_concat({entries}, [{{place: {size}, n: {missing}::UBIGINT}}])")


def fillings(lookup: Lookup) -> dict[str, str]:
    """Write the expressions of all these functions."""
    return {name: _by_form(lookup, write) for name, write in ANSWERS.items()}


def _by_form(lookup: Lookup, write: Answer) -> str:
    of_forms = by_text(lookup, partial(_answer, write))
    if len(of_forms) == 1:
        return of_forms[0][1]
    cases = [f"WHEN {is_here} THEN {text}" for is_here, text in of_forms]
    return f"(CASE {' '.join(cases)} END)" if cases else "NULL::DOUBLE"


def _answer(write: Answer, form: str, of: Lookup) -> str:
    if FORMS[form].copied:
        return refusal("are copies of a sample, and how many of each is not known", SINGLE)
    if FORMS[form].baseline:
        return refusal("are a baseline to compare with", SINGLE)
    return write(form, of)


def refusal(why: str, instead: str) -> str:
    """Write the error for a form without such an estimate."""
    text = f"""'the records of release "' || _release || '" {why}: {instead}'"""
    return f"[error(_priv_text) FOR _priv_text IN [{text}]][1]"


# Functions of one sum, or of two.


def of_values(form: str, of: Lookup) -> str:
    """Write the interval of the number of records that have one of the values."""
    sets = Sets(form, of)
    return sets.written(interval(sets.functional(Part(sets.every, "_values"))))


def share(form: str, of: Lookup) -> str:
    """Write the interval of the share of the records that have one of the values."""
    sets = Sets(form, of)
    one = Part(sets.every, "_values")
    if not sets.form.perturbed:
        return sets.written(_ratio(sets, one, Part(sets.every, None), most="1e0"))
    return sets.written(interval(times(_per_record(sets, one), sets.functional(one))))


def two_values(made: Made) -> Answer:
    """Compare the number of records with one of some values and with one of others."""

    def write(form: str, of: Lookup) -> str:
        sets = Sets(form, of)
        return sets.written(
            made(sets, Part(sets.every, "_values"), Part(sets.every, "_other_values"))
        )

    return write


def two_groups(made: Made, *, shares: bool = False) -> Answer:
    """Compare the number, or the share, of records with one of the values between two groups."""

    def write(form: str, of: Lookup) -> str:
        if shares and not FORMS[form].perturbed:
            return refusal("are a sample, and how many there are in a group is not known", COUNTS)
        groups = [f"coalesce({name}, false)" for name in ("_group", "_other_group")]
        sets = Sets(form, of, groups)
        one, two = (Part(Coefficient((each,)).times(sets.every), "_values") for each in groups)
        if not shares:
            return sets.written(made(sets, one, two))
        return sets.written(made(sets, one, two, _per_record(sets, one), _per_record(sets, two)))

    return write


def total(form: str, of: Lookup) -> str:
    """Write the interval of the sum of an amount."""
    sets = Sets(form, of)
    amounts = Part(Coefficient((), (AMOUNT,)).times(sets.every), "_values", AMOUNT)
    known = sets.total(amounts.rows.times(amounts.rows))
    return sets.written(_finite(known, interval(sets.functional(amounts))))


def mean(form: str, of: Lookup) -> str:
    """Write the interval of the mean of an amount: the minimum plus the mean of the excess above it."""
    sets = Sets(form, of)
    count = Part(Coefficient(("_amount IS NOT NULL",)).times(sets.every), "_values")
    amounts = Part(count.rows.times(Coefficient((), (AMOUNT,))), "_values", AMOUNT)
    least, most = (sets.take(f"{bound}({AMOUNT})") for bound in ("min", "max"))
    covariance = sets.covariance(amounts, count)
    given = struct(
        amounts=sets.sums(amounts),
        count=sets.sums(count),
        products=struct(**sets.products(amounts, count)),
        covariance=covariance,
        published=sets.constant("rows") if sets.form.from_histogram else "NULL",
        least=least,
        most=most,
    )
    known = sets.total(amounts.rows.times(amounts.rows))
    return sets.written(_finite(known, mean_of(sets.form).over(Chain(given), "q")))


AMOUNT = "TRY_CAST(_amount AS DOUBLE)"
Answer = Callable[[str, Lookup], str]
"""Writes the expression of a function for attributes of one form."""
Made = Callable[..., Chain]
"""Writes the combination of two sums with their factors."""


def _finite(sum_of_squares: str, answer: Chain) -> Chain:
    refused = "a sum or mean is of finite numbers, and one of these is not: leave such rows out"
    error = f"[error(_priv_text) FOR _priv_text IN [{literal(refused)}]][1]"
    return answer.where(f"isfinite({sum_of_squares})", error)


def _per_record(sets: Sets, part: Part) -> str:
    return f"(1 / nullif({sets.total(part.rows)}::DOUBLE, 0))"


def _difference(sets: Sets, one: Part, two: Part, f: str = "", g: str = "") -> Chain:
    covariance = sets.covariance(one, two)
    if f:
        covariance = f"{f} * {g} * {covariance}"
    tests = sets.tests(one, two, factors=(f, g))
    return interval(difference(tests, covariance, sets.overlap(one, two)))


def _ratio(
    sets: Sets, one: Part, two: Part, f: str = "", g: str = "", most: str = "'inf'::DOUBLE"
) -> Chain:
    given = {"tests": sets.tests(one, two, stepped=False), "covariance": sets.covariance(one, two)}
    given["overlap"] = sets.overlap(one, two)
    factor = "1e0"
    if f:
        given["factor"], factor = f"{f} / {g}", "(q).factor"
    made = quotient(
        "(q).tests[1]", "(q).tests[2]", "(q).covariance", most=most, factor=factor, overlap="(q).overlap"
    )  # fmt: skip
    return made.over(Chain(struct(**given)), "q")


ANSWERS: Mapping[str, Answer] = {
    "interval_of_set": of_values,
    "share_of_set": share,
    "difference_of_sets": two_values(_difference),
    "ratio_of_sets": two_values(_ratio),
    "difference_of_groups": two_groups(_difference),
    "ratio_of_groups": two_groups(_ratio),
    "difference_of_shares": two_groups(_difference, shares=True),
    "ratio_of_shares": two_groups(_ratio, shares=True),
    "sum_of_set": total,
    "mean_of_set": mean,
}
"""The writer of each template placeholder."""
