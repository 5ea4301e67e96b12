"""Writes the functions for sets of values: lists, shares, differences, ratios, sums, means; and their checks.

All of them are made of one or two sums over the rows at hand (``sets``), by formulas of ``fragments/sets.sql``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from duckdb_priv.estimator.forms import FORMS, INTERVAL
from duckdb_priv.estimator.set_formulas import GIVEN, formula, let, listed, mistake, moments, reach
from duckdb_priv.estimator.sets import Coefficient, Part, Sets
from duckdb_priv.estimator.written import Lookup, by_text
from duckdb_priv.sqltext.literals import concatenated
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import template

FRAGMENTS = "analyst/fragments"
COUNTS = (
    "compare counts, with priv.reconstructed_group_difference or priv.reconstructed_group_ratio"
)
SINGLE = "ask for one value, with priv.reconstructed_interval"
"""What to write instead, where a form does not know an answer."""


def fillings(lookup: Lookup) -> dict[str, str]:
    """Write the answers of all these functions, and what their calls must satisfy."""
    return {name: _by_form(lookup, write) for name, write in ANSWERS.items()} | _guards(lookup)


def _by_form(lookup: Lookup, write: Answer) -> str:
    of_forms = by_text(lookup, partial(_answer, write))
    cases = [f"WHEN {is_here} THEN {text}" for is_here, text in of_forms]
    return f"(CASE {' '.join(cases)} END)" if cases else "NULL::DOUBLE"


def _answer(write: Answer, form: str, of: Lookup) -> str:
    if FORMS[form].copied:
        return refusal("are copies of a sample, and how many of each is not known", SINGLE)
    if FORMS[form].baseline:
        return refusal("are a baseline to compare with", SINGLE)
    return write(form, of)


def refusal(why: str, instead: str) -> str:
    """Write the error that a form does not know an answer."""
    text = f"""'the records of release "' || _release || '" {why}: {instead}'"""
    return f"[error(_priv_text) FOR _priv_text IN [{text}]][1]"


def _guards(lookup: Lookup) -> dict[str, str]:
    known = f"CASE WHEN v IS NULL THEN {lookup.has_missing()} ELSE {lookup.is_value('v')} END"
    found = {}
    for name, arguments in (("set", ["_values"]), ("sets", ["_values", "_other_values"])):
        lists = list(map(listed, arguments))
        given = " AND ".join(f"len({each}) > 0" for each in lists)
        every = lists[0] if len(lists) == 1 else f"list_concat({', '.join(lists)})"
        # Values of the domain are among these texts: what looks like a place in them is none.
        no_value = concatenated(
            literal('"'),
            "_release",
            literal('" has no value '),
            "CASE WHEN list_extract(w, 1) IS NULL THEN 'NULL' ELSE concat('''', list_extract(w, 1), '''') END",
            literal("; it has "),
            lookup.listing(),
        )
        here = (template("@here@"), template("@mistaken_release@"))
        some = (given, "'give at least one value'")
        confidence = (template("@confident@"), template("@mistaken_confidence@"))
        found[f"mistaken_{name}"] = (
            f"coalesce({mistake(here, some)},"
            f" [CASE WHEN len(w) > 0 THEN {no_value} END"
            f" FOR w IN [list_filter({every}, lambda v: {known} IS NOT TRUE)]][1],"
            f" {mistake(confidence, *GIVEN)})"
        )
    return found


# What is made of one sum, or of two.


def interval(form: str, of: Lookup) -> str:
    """Write the interval of how many records have one of the values."""
    sets = Sets(form, of)
    return sets.written(_interval(sets, Part(sets.every, "_values")))


def share(form: str, of: Lookup) -> str:
    """Write the interval of the share of the records that have one of the values."""
    sets = Sets(form, of)
    one = Part(sets.every, "_values")
    if not sets.form.perturbed:
        return sets.written(_compared(sets, "ratio", one, Part(sets.every, None), most="1e0"))
    size = f"nullif({sets.total(one.rows)}, 0)"
    divided = let("v", formula("interval_per"), r=_interval(sets, one), n=size)
    return sets.written(divided)


def of_values(name: str) -> Answer:
    """Compare how many records have one of some values, and of others."""

    def write(form: str, of: Lookup) -> str:
        sets = Sets(form, of)
        one, two = Part(sets.every, "_values"), Part(sets.every, "_other_values")
        return sets.written(_counts(sets, name, one, two))

    return write


def of_groups(name: str, *, shares: bool = False) -> Answer:
    """Compare how many records of two groups have one of the values, or what shares."""

    def write(form: str, of: Lookup) -> str:
        if shares and not FORMS[form].perturbed:
            return refusal("are a sample, and how many there are in a group is not known", COUNTS)
        groups = [f"coalesce({name}, false)" for name in ("_group", "_other_group")]
        sets = Sets(form, of, groups)
        one, two = (Part(Coefficient((each,)).times(sets.every), "_values") for each in groups)
        if not shares:
            return sets.written(_counts(sets, name, one, two))
        return sets.written(_compared(sets, name, one, two, shares=True, **SHARES[name]))

    return write


def total(form: str, of: Lookup) -> str:
    """Write the interval of the sum of an amount: what is positive of it, less what is negative."""
    sets = Sets(form, of, by_row=True)
    above, below = (
        Part(Coefficient((f"_amount {sign} 0",), (amount,)).times(sets.every), "_values")
        for sign, amount in ((">", "_amount::DOUBLE"), ("<", "(-_amount::DOUBLE)"))
    )
    known = " + ".join(sets.total(each.rows.times(each.rows)) for each in (above, below))
    return sets.written(_finite(known, _counts(sets, "difference", above, below)))


def mean(form: str, of: Lookup) -> str:
    """Write the interval of the mean of an amount: the least one, and the mean of what is above it."""
    sets = Sets(form, of, by_row=True)
    count = Part(Coefficient(("_amount IS NOT NULL",)).times(sets.every), "_values")
    amounts = Part(count.rows.times(Coefficient((), ("_amount::DOUBLE",))), "_values")
    least, most = (sets.take(f"{bound}(_amount)::DOUBLE") for bound in ("min", "max"))
    compared = let(
        "p",
        formula("ratio"),
        a="list_extract(r, 1)",
        b="list_extract(r, 2)",
        covariance=f"(q).covariance - {least} * (q).count.variance",
        most=f"{most} - {least}",
    )
    shifted = formula("shifted_by_row" if sets.form.varied else "shifted")
    answer = let(
        "q",
        f"[{compared} FOR r IN [{_reaches(sets, [shifted, '(q).count'], once=False)}]][1]",
        amounts=sets.sums(amounts),
        count=sets.sums(count),
        covariance=sets.covariance(amounts, count),
        least=least,
    )
    known = sets.total(amounts.rows.times(amounts.rows))
    return sets.written(_finite(known, let("v", formula("moved"), r=answer, n=least)))


Answer = Callable[[str, Lookup], str]
"""Writes an answer for the attributes of one form."""
SHARES = {"difference": {"least": "-1e0", "most": "1e0"}, "ratio": {}}
"""By what is made of two shares: where it lies."""
ANSWERS: Mapping[str, Answer] = {
    "interval_of_set": interval,
    "share_of_set": share,
    "difference_of_sets": of_values("difference"),
    "ratio_of_sets": of_values("ratio"),
    "difference_of_groups": of_groups("difference"),
    "ratio_of_groups": of_groups("ratio"),
    "difference_of_shares": of_groups("difference", shares=True),
    "ratio_of_shares": of_groups("ratio", shares=True),
    "sum_of_set": total,
    "mean_of_set": mean,
}
"""By the place that is filled."""


def _finite(sum_of_squares: str, answer: str) -> str:
    refused = "a sum or mean is of finite numbers, and one of these is not: leave such rows out"
    error = f"[error(_priv_text) FOR _priv_text IN [{literal(refused)}]][1]"
    return f"CASE WHEN isfinite({sum_of_squares}) THEN {answer} ELSE {error} END"


def _counts(sets: Sets, name: str, one: Part, two: Part) -> str:
    if name == "ratio":
        return _compared(sets, name, one, two)
    if not sets.form.perturbed:
        return _compared(sets, name, one, two, least="'-inf'::DOUBLE")
    least, most = f"-{sets.total(two.rows)}", sets.total(one.rows)
    return _compared(sets, name, one, two, least=least, most=most)


def _compared(
    sets: Sets,
    name: str,
    one: Part,
    two: Part,
    *,
    shares: bool = False,
    least: str = "0e0",
    most: str = "'inf'::DOUBLE",
) -> str:
    sizes = [f"nullif({sets.total(each.rows)}, 0)" if shares else "1" for each in (one, two)]
    compared = let(
        "p",
        formula(name),
        a="list_extract(r, 1)",
        b="list_extract(r, 2)",
        covariance=f"{sets.covariance(one, two)} / ({sizes[0]} * {sizes[1]})::DOUBLE",
        least=least,
        most=most,
    )
    once = sets.once(one) and sets.once(two)
    sums = [sets.sums(each, size, once=once) for each, size in zip((one, two), sizes, strict=True)]
    return f"[{compared} FOR r IN [{_reaches(sets, sums, once=once)}]][1]"


def _interval(sets: Sets, part: Part) -> str:
    """Write the interval of one sum."""
    once = sets.once(part)
    made = moments(sets.form, once=once)
    return f"[{INTERVAL} FOR i IN [{made} FOR s IN [{sets.sums(part, once=once)}]]][1]"


def _reaches(sets: Sets, sums: Sequence[str], *, once: bool) -> str:
    """Write how far each sum reaches to both sides of its estimate."""
    made = moments(sets.form, once=once)
    return f"[{reach()} FOR i IN [{made} FOR s IN [{', '.join(sums)}]]]"
