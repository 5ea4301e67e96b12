"""Write the functions for sets of values: counts, shares, differences, ratios, sums and means.

Each function combines one or two sums over the aggregated rows (``sets``) with formulas of ``fragments/sets.sql``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from duckdb_priv.estimator.coefficients import Coefficient, Part
from duckdb_priv.estimator.forms import FORMS
from duckdb_priv.estimator.lets import Chain, struct
from duckdb_priv.estimator.lookup import Lookup, by_text
from duckdb_priv.estimator.set_formulas import (
    difference,
    interval,
    mean_of,
    quotient,
    times,
)
from duckdb_priv.estimator.sets import Sets
from duckdb_priv.sqltext.quoting import literal

FRAGMENTS = "analyst/fragments"
COUNTS = (
    "compare counts, with priv.reconstructed_group_difference or priv.reconstructed_group_ratio"
)
SINGLE = "ask for one value, with priv.reconstructed_interval"
"""The function to use instead if a form has no such estimate."""


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
    above, below = sets.functional(one), sets.functional(two)
    covariance = sets.covariance(one, two)
    if f:
        above, below, covariance = times(f, above), times(g, below), f"{f} * {g} * {covariance}"
    return interval(difference(str(above), str(below), covariance))


def _ratio(
    sets: Sets, one: Part, two: Part, f: str = "", g: str = "", most: str = "'inf'::DOUBLE"
) -> Chain:
    return quotient(
        str(sets.functional(one)),
        str(sets.functional(two)),
        sets.covariance(one, two),
        most=most,
        factor=f"({f} / {g})" if f else "1e0",
    )


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
