"""Formulas of estimates for sets of values, and the SQL of the sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations

from duckdb_priv.estimator.forms import FIELD, FORMS, Form
from duckdb_priv.estimator.lets import Chain, let, struct, without
from duckdb_priv.sqltext.literals import concatenated
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import expand, sections

FRAGMENTS = "analyst/fragments"
NO_PAIRS = "[{i: 0, j: 0, covariance: 0e0, overlap: true}][:0]"
NOTHING_HIDDEN = {"beta": "1e0", "k": "0e0", "classes": "0e0"}
"""Fields of sums over perturbed records, of which every one is published."""
TERMS = ("slope", "half_step", "scatter", "most_scatter", "upward", "downward")
"""Terms of the score test. The catalog may hold them for single values; for sets they follow from two averages."""


def listed(values: str) -> str:
    """Write an argument as a list of texts; a single value becomes a list of one."""
    return (
        f"(CASE WHEN ends_with(typeof({values}), ']') THEN TRY_CAST({values} AS VARCHAR[])"
        f" ELSE [CAST({values} AS VARCHAR)] END)"
    )


def shared(one: str, two: str) -> str:
    """Write the list of distinct values that are in both lists."""
    return f"list_filter(list_distinct({one}), lambda v: list_contains({two}, v))"


@cache
def _formulas() -> Mapping[str, str]:
    own = {name: _fields(text) for name, text in sections(FRAGMENTS, "sets").items()}
    return {**FORMS["scaled"].sections, **own}


@cache
def formula(name: str) -> str:
    """Return a formula of sets, or the test of all estimates, with all referenced formulas inserted."""
    return expand(_formulas()[name], _formulas())


@cache
def combination_steps() -> tuple[tuple[str, str], ...]:
    """Return the steps from the parts of a linear combination to its test input."""
    steps = (("p", "parts"), ("c", "pairs"), ("d", "there"), ("e", "steps"), ("h", "tested"))
    return tuple((name, formula(f"combination.{step}")) for name, step in steps)


@cache
def quotient_steps(*, same_values: bool) -> tuple[tuple[str, str], ...]:
    """Return the steps from the test inputs of two sums to the interval of their quotient."""
    crossed = "correlated" if same_values else "crossed"
    steps = (
        ("p", "reaches"), ("g", crossed), ("w", "sides"), ("h", "roots"), ("i", "ends"), ("e", "interval"),
    )  # fmt: skip
    return tuple((name, formula(f"quotient.{step}")) for name, step in steps)


def interval(tested: Chain) -> Chain:
    """Return the chain from a test input to its interval."""
    return tested.then(("u", formula("ends")))


def combination(
    parts: Sequence[tuple[str, str]], together: Sequence[tuple[str, str]], constant: str = "0e0"
) -> Chain:
    """Return the test input of a linear combination. ``parts`` are pairs of a factor and a test input.

    ``together`` are the covariance of two parts, and whether a record may count in both, in this order: first part with
    second, first with third, ..., second with third, ...
    """
    pairs = [
        struct(i=str(i), j=str(j), covariance=covariance, overlap=overlap)
        for (i, j), (covariance, overlap) in zip(
            combinations(range(1, len(parts) + 1), 2), together, strict=True
        )
    ]
    given = struct(
        factors=f"[{', '.join(factor for factor, _ in parts)}]",
        parts=f"[{', '.join(tested for _, tested in parts)}]",
        pairs=f"[{', '.join(pairs)}]" if pairs else NO_PAIRS,
        constant=constant,
    )
    return Chain(given, *combination_steps())


def difference(tests: str, covariance: str, overlap: str) -> Chain:
    """Return the test input of the difference of two sums, from the list of their test inputs.

    ``overlap`` is whether a record may count in both. It is the linear combination with the factors 1 and -1, in fewer
    characters.
    """
    steps = (("p", "parts"), ("c", "pair"), ("w", "together"), ("e", "steps"), ("h", "tested"))
    return Chain(
        struct(tests=tests, covariance=covariance, overlap=overlap),
        *((name, formula(f"apart.{step}")) for name, step in steps),
    )


def times(factor: str, tested: Chain) -> Chain:
    """Return the test input of a sum times a positive factor."""
    return Chain(struct(f=factor, u=str(tested)), ("x", formula("times")))


def dense(tested: str) -> str:
    """Return a test input without its steps: the values of a quotient have none."""
    return without(tested, "above", "below")


def quotient(
    above: str,
    below: str,
    covariance: str,
    *,
    least: str = "0e0",
    most: str = "'inf'::DOUBLE",
    factor: str = "1e0",
    constant: str = "0e0",
    overlap: str = "true",
    same_values: bool = False,
) -> Chain:
    """Return the interval of ``constant + factor * above / below``; these two are test inputs.

    ``overlap`` is whether a record may count in both. With ``same_values``, both are sums over the records with the
    same values.
    """
    given = struct(
        a=dense(above), b=dense(below), covariance=covariance, least=least, most=most, factor=factor,
        constant=constant, overlap=overlap,
    )  # fmt: skip
    return Chain(given, *quotient_steps(same_values=same_values))


def mean_of(form: Form, *, of_product: bool = False) -> Chain:
    """Return the interval of a mean, over q: the minimum amount plus the mean excess above it.

    The fields ``amounts`` and ``count`` of q are the structs of both sums, ``products`` of their products.
    """
    amounts = dense(functional(form, "amount", of_product=of_product))
    count = functional(form, "" if form.weighed else "once", of_product=of_product)
    return quotient(
        str(Chain(formula("shifted"), ("s", amounts))),
        count.replace("(s).", "(q).count."),
        "(q).covariance - (q).least * (q).count.variance",
        most="(q).most - (q).least",
        constant="(q).least",
        same_values=True,
    )


@cache
def other(kind: str) -> str:
    """Return the test input of a ``count`` or a ``sum`` of which only the variance is known, over s."""
    return formula(f"other_{kind}")


@cache
def other_mean() -> Chain:
    """Return the interval of a mean, over q as in `mean_of`, if only variances and the covariance are known."""
    count = other("count").replace("(s).", "(q).count.")
    covariance = "(q).amounts.of_other.covariance - (q).least * (q).amounts.of_other.of_count"
    excess = formula("other_excess")
    return quotient(
        excess, count, covariance, least="'-inf'::DOUBLE", constant="(q).least", same_values=True
    )


def covariance_from_histogram(
    noises: Sequence[str],
    totals: Sequence[str],
    shrinkages: Sequence[str],
    rows: str,
    published: str,
) -> str:
    """Write the covariance of two sums whose weights are made from the published histogram.

    ``noises`` are sums of the noise times both coefficients, each of them, and neither.
    """
    c_mean, d_mean = (f"{each} / {published}" for each in totals)
    given = dict(zip(("noise", "c_noise", "d_noise", "every_noise"), noises, strict=True))
    given |= {"c_mean": c_mean, "d_mean": d_mean}
    given |= dict(zip(("c_shrinkage", "d_shrinkage"), shrinkages, strict=True))
    return let("b", formula("from_histogram"), **given, rows=rows, published=published)


def share_of_table(total: str, squares: str, published: str) -> str:
    """Write the share of the table's records that would give the same sum with equal coefficients."""
    return f"coalesce(least({total} ** 2 / nullif({squares}, 0) / {published}, 1), 0)"


def law_of_sample(own: str) -> str:
    """Write the law of a set of values of sampled records: each is there with the probability ``own``."""
    return struct(
        slope=f"1 - {own}", half_step="0.5e0", upward=f"1 - 2 * {own}", downward=f"2 * {own} - 1",
        shrinkage="0e0",
    )  # fmt: skip


def law_of_scales(slope: str, size: str, noisy: str, known: str) -> str:
    """Write the law of a set of values if rows differ in their scale, from its slope at the scale 1.

    ``noisy`` is the scale of the rows from which the noise comes. The condition ``known`` says that all rows count the
    same, as for the whole domain.
    """
    some = f"CASE WHEN {known} THEN 0 ELSE 1 END"
    return struct(
        slope=f"{some} * {slope}", half_step=f"{some} * (1 + {size} * {noisy}) / 2",
        upward=f"{some} * (1 + {slope} * {noisy})", downward=f"{some} * (1 - {slope} * {noisy})",
        shrinkage="0e0", noisy=noisy,
    )  # fmt: skip


def mistake(*conditions: tuple[str, str]) -> str:
    """Write the message of the first condition that does not hold; NULL if all hold.

    >>> print(mistake(("a > 0", "'a'"), ("true", "'no'"), ("b > 0", "'b'")))
    CASE WHEN a > 0 THEN CASE WHEN b > 0 THEN NULL ELSE 'b' END ELSE 'a' END
    """
    last = "NULL"
    for condition, words in reversed(conditions):
        if condition != "true":
            last = f"CASE WHEN {condition} THEN {last} ELSE {words} END"
    return last


def chosen(asked: str) -> str:
    """Write the error for rows selected by their reported values. ``asked`` is the SQL of the requested value."""
    return concatenated(
        literal('these rows were chosen or grouped by what they report of "'),
        "_release",
        literal('": more of them, or fewer, report '),
        asked,
        literal(
            " than a choice by public columns gives"
            "\nHint: choose and group by public columns only, each row once: this function looks at the values itself"
        ),
    )


def plausible(form: Form) -> str:
    """Return the condition, over s, that the number of rows showing one of a set is plausible."""
    return form.text("plausible")


@cache
def functional(form: Form, kind: str = "", *, of_product: bool = False) -> str:
    """Return the test input of a sum, over s. ``kind`` is ``once`` if every record counts once, or ``amount``.

    ``of_product``: the sum is over records with one of a set of combinations of values of several attributes.
    """
    every = dict(_formulas())
    if form.varied:
        every["slack"] = every["slack_by_row"]
    if kind == "amount" and form.scaled:
        # The amount of a record includes its scale.
        kind = ""
    if of_product or not form.from_histogram:
        every |= {"spread_of_one": "(s).law.slope", "left": "1"}
    for each in (kind, "" if form.perturbed else "sample"):
        every |= {
            name.removeprefix(f"{each}."): text
            for name, text in _formulas().items()
            if each and name.startswith(f"{each}.")
        }
    if of_product or not form.symmetric:
        every["line"] = every["drawn"]
    return expand(every["test"], every)


@cache
def ordinary(name: str) -> str:
    """Return a formula that ordinary SQL shares."""
    return _fields(sections("analyst/ordinary", "intervals")[name])


def _fields(text: str) -> str:
    return "(" + FIELD.sub(r"(\1).", text) + ")"
