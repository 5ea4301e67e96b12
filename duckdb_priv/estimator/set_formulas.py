"""Formulas for sets of values, and the SQL of the sets themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from duckdb_priv.estimator.forms import FIELD, FORMS, INTERVAL, Form
from duckdb_priv.sqltext.literals import concatenated
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import expand, sections, template

FRAGMENTS = "analyst/fragments"
FIELD_OF_STEP = re.compile(r"\(t\)\.([a-z]\w*)")
TERMS = ("slope", "half_step", "scatter", "most_scatter", "upward", "downward")
"""What the catalog may say of single values; of sets it follows from two averages."""

GIVEN = tuple(
    (template(f"@{right}@"), template(f"@{wrong}@"))
    for right, wrong in (
        ("weight_fits", "mistaken_weight"),
        ("sound", "shadowed"),
        ("column_fits", "mistaken_column"),
        ("are_records", "mistaken_join"),
    )
)
"""What must hold of what every aggregate is given, and the words where it does not."""


def listed(values: str) -> str:
    """Write the list of texts that an argument stands for: itself, or the one value that it is."""
    return (
        f"(CASE WHEN right(typeof({values}), 1) = ']' THEN TRY_CAST({values} AS VARCHAR[])"
        f" ELSE [CAST({values} AS VARCHAR)] END)"
    )


def lists_missing(values: str) -> str:
    """Write whether a list of texts has the missing value."""
    return f"len({values}) > list_aggregate({values}, 'count')"


def shared(one: str, two: str) -> str:
    """Write what two lists have in common, once each."""
    return f"list_filter(list_distinct({one}), lambda v: list_contains({two}, v))"


def struct(**values: str) -> str:
    """Write a struct."""
    return "{" + ", ".join(f"{name}: {sql}" for name, sql in values.items()) + "}"


def let(name: str, text: str, **values: str) -> str:
    """Write a formula over a struct of values."""
    return f"[{text} FOR {name} IN [{struct(**values)}]][1]"


def steps(answer: str, *steps: Mapping[str, str]) -> str:
    """Write an answer over a struct t, whose fields are computed in steps: each from those of the steps before it.

    One step stands beside the other, and not inside it: DuckDB 2 plans a list comprehension in another one twice, one
    in that four times, and so on.

    >>> print(steps("(t).a + (t).b", {"count(*)": "a", "sum(x)": "c"}, {"2 * (t).a": "b"}))
    [(t).a + (t).b FOR t IN [{a: (t).a, b: 2 * (t).a} FOR t IN [{a: count(*)}]]][1]
    """
    known = {name for fields in steps for name in fields.values()}
    texts, pieces = [answer], []
    for fields in reversed([each for each in steps if each]):
        needed = known.intersection(*[FIELD_OF_STEP.findall(" ".join(texts))])
        own = {name: sql for sql, name in fields.items() if name in needed}
        carried = {name: f"(t).{name}" for name in sorted(needed - own.keys())}
        texts = [*carried.values(), *own.values()]
        pieces.append(struct(**carried, **own))
    return f"[{answer} FOR t IN [{' FOR t IN ['.join(pieces)}{']' * len(pieces)}][1]"


@cache
def _formulas() -> Mapping[str, str]:
    own = {name: _fields(text) for name, text in sections(FRAGMENTS, "sets").items()}
    return {**FORMS["scaled"].sections, **own}


@cache
def formula(name: str) -> str:
    """Return a formula with all formulas that it mentions: those for sets, on top of those for scaled counts."""
    return expand(_formulas()[name], _formulas())


def reach() -> str:
    """Write how far a sum reaches to both sides of its estimate, over i."""
    return f"[{formula('reach')} FOR r IN [{INTERVAL}]][1]"


def mistake(*conditions: tuple[str, str], last: str = "NULL") -> str:
    """Write the words that belong to the first condition that does not hold; ``last`` where all do.

    >>> print(mistake(("a > 0", "'a'"), ("b > 0", "'b'")))
    CASE WHEN a > 0 THEN CASE WHEN b > 0 THEN NULL ELSE 'b' END ELSE 'a' END
    """
    for condition, words in reversed(conditions):
        last = f"CASE WHEN {condition} THEN {last} ELSE {words} END"
    return last


def chosen(asked: str) -> str:
    """Write the error of rows that were chosen by what they report of what is ``asked`` for, an SQL expression."""
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
    """Return whether so many rows may show one of a set, over s."""
    return form.text("plausible")


def moments(form: Form, *, once: bool) -> str:
    """Return what an interval is made of, over s; ``once`` where every record counts once."""
    every = dict(_formulas())
    if form.varied:
        every["slack"] = every["slack_by_row"]
    if not form.from_histogram:
        every["spread_of_one"] = "(s).law.slope"
    for kind in (["once"] if once else []) + ([] if form.perturbed else ["sample"]):
        every |= {
            name.removeprefix(f"{kind}."): text
            for name, text in _formulas().items()
            if name.startswith(f"{kind}.")
        }
    if not form.alike:
        every["zero"] = every["zero_of_drawn"]
    return expand(every["moments"], every)


@cache
def ordinary(name: str) -> str:
    """Return a formula that ordinary SQL uses too."""
    return _fields(sections("analyst/ordinary", "intervals")[name])


def _fields(text: str) -> str:
    return "(" + FIELD.sub(r"(\1).", text) + ")"
