"""Write the queries of priv.reconstructed_distribution, which estimate all values of an attribute in all groups."""

from __future__ import annotations

import re
from collections.abc import Mapping

from duckdb_priv.estimator.blocks import block_places, first_blocks
from duckdb_priv.estimator.forms import ENDS, TEST, Form, form_of
from duckdb_priv.estimator.lets import Chain
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext.aggregates import qualified
from duckdb_priv.sqltext.folding import folded
from duckdb_priv.sqltext.literals import doubles, texts
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import body, compact, computed, fill, read, template

FRAGMENTS = "analyst/fragments"
MOST_PAIRS = 500_000
"""Maximum number of pairs (value, block that holds it) in a step of the iterative Bayesian method."""
NO_CHANGE = (
    "the noise that two versions share is known where every record is drawn for itself, and this release is made"
    " otherwise"
    "\nHint: count both versions, and add the squares of their errors"
)
MOST_COMPARED = 1_500
"""Maximum domain size, with an operator of its own, for the noise of a change: inverting a larger one takes seconds."""
TOO_MANY_COMPARED = (
    "the noise of a change would take too long to compute for this many values"
    "\nHint: count both versions, and add the squares of their errors"
)
TOO_MANY = (
    "the iterative Bayesian method would take hours over this many values in blocks"
    "\nHint: leave method out, for unbiased estimates with intervals"
)
CONFIDENCE = "CAST(confidence AS VARCHAR)"
USUAL = {"0.95": 1.959963984540054}
"""Normal quantiles of usual confidences. Planning the formula can cost more than the estimate."""


def _quantile(together: str = "") -> str:
    """Write the text of the normal quantile for the requested confidence.

    Intervals of all cells of a query hold simultaneously if the condition ``together`` is true (Bonferroni).
    """
    usual, confidence = CONFIDENCE, CONFIDENCE
    if together:
        usual = f"CASE WHEN NOT ({together}) THEN {CONFIDENCE} END"
        of_each = f"concat('(1 - (1 - ', {CONFIDENCE}, ') / _priv_cells)')"
        confidence = f"CASE WHEN {together} THEN {of_each} ELSE {CONFIDENCE} END"
    formula = fill(
        body(read(FRAGMENTS, "normal_quantile")), {"confidence": template("{confidence}")}
    )
    known = " ".join(f"WHEN '{text}' THEN '{literal(z)}'" for text, z in USUAL.items())
    return (
        f"CASE {usual} {known} ELSE {computed(qualified(formula), {'confidence': confidence})} END"
    )


QUANTILE = _quantile()
ARGUMENTS = {
    "group_columns": "coalesce(CAST(group_columns AS VARCHAR) || ',', '')",
    "condition": "coalesce(CAST(condition AS VARCHAR), 'true')",
    "quantile": QUANTILE,
    "weight": "coalesce(CAST(weight AS VARCHAR), 'NULL')",
    "database": "coalesce('\"' || replace(database, '\"', '\"\"') || '\".', '')",
    "unseen": "'_priv_moments, _priv_value,'",
    "counted": "', _priv_observed::BIGINT AS noisy_count'",
    "ranks": "''",
}
"""SQL of the macro's arguments in its query."""
TOGETHER = ARGUMENTS | {
    "quantile": _quantile("simultaneous OR ranks"),
    "ranks": f"CASE WHEN ranks THEN {literal(qualified(body(read(FRAGMENTS, 'ranks'))))} ELSE '' END",
}
"""The arguments of a distribution, whose intervals may be simultaneous, and bound ranks."""
VERSIONS = ARGUMENTS | {
    "older": "'\"' || replace(older, '\"', '\"\"') || '\".'",
    "parts": ARGUMENTS["group_columns"],
    "group_columns": f"{ARGUMENTS['group_columns']} || '_priv_newer,'",
    "weight": "'NULL'",
    "whole": "CASE WHEN group_columns IS NULL AND condition IS NULL THEN 'true' ELSE 'false' END",
}
"""The arguments of the change since the previous version. The query reads both versions and groups by version too."""
BOTH = template(
    "(SELECT *, true AS _priv_newer FROM {database}main.@table@"
    " UNION ALL BY NAME SELECT *, false AS _priv_newer FROM {older}main.@table@) WHERE ({condition}\n)"
)
"""The rows of the current and the previous version."""
CELLS = ARGUMENTS | {
    "group_columns": "CAST(group_columns AS VARCHAR) || ', coalesce((' || coalesce(CAST(condition AS VARCHAR), 'true')"
    " || chr(10) || '), false) AS _priv_chosen,'",
    "condition": "'true'",
    "unseen": "''",
    "counted": "''",
}
"""The arguments of smoothed counts: they count all rows and the chosen rows, and keep the columns of intervals.

Groups may have the names of the answer's columns, so smoothed counts are computed from columns that begin with _priv_.
"""


def smoothed(every: str) -> str:
    """Write the query of priv.smoothed_count over ``every``, a distribution query with the arguments CELLS."""
    value = "coalesce('''' || replace(CAST(_value AS VARCHAR), '''', '''''') || '''', 'NULL')"
    text = compact(qualified(body(read(FRAGMENTS, "smoothed"))))
    return computed(text, {"every": every, "value": value})


def queries(attribute: SensitiveAttribute) -> dict[str, str]:
    """Return the query text of each method, after that of its counts, with placeholders for the macro's arguments."""
    form = form_of(attribute)
    extra = form.sections["query.numbers"]
    numbers = {"position": f"unnest(range(1, {attribute.size} + 1))"} | {
        name: literal(of[0]) if len({*of}) == 1 else f"unnest({doubles(of)})"
        for name, of in attribute.numbers.items()
    }
    places = dict(form.sections) | {
        "table": identifier(attribute.release),
        "attribute": identifier(attribute.column),
        "release": literal(attribute.release),
        "published": literal(attribute.published),
        "scale": template("({weight})"),
        "type": "VARCHAR" if attribute.type == "ENUM" else attribute.type,
        "size": str(attribute.size),
        "values": texts(attribute.values) + (" || [NULL]" if attribute.has_missing else ""),
        "numbers": ", ".join(
            [f"{name}: {sql}" for name, sql in numbers.items()] + ([extra] if extra else [])
        ),
        "em_lists": em_lists(form),
        "em_next": template("[@em_step@ FOR ratio IN [@em_ratio@]][1]"),
        "normal_quantile": template("{quantile}"),
        **{f"constant.{name}": literal(float(of)) for name, of in attribute.constants.items()},
        **{f"numbers.{name}": doubles(of) for name, of in attribute.numbers.items()},
        **{f"matrix.{name}": kept_lists(attribute, name) for name in attribute.lists},
        **{name: body(read(FRAGMENTS, name)) for name in ("here", "observed", "squarem")},
    }
    if attribute.blocks:
        places |= block_places(attribute.blocks)
        places |= {
            f"number.{name}": literal(float(of[0])) for name, of in attribute.numbers.items()
        }
        places["first"] = first_blocks(attribute.blocks)
    places |= {name: _of_cell(attribute, name, places) for name in ("moments", "centre")}
    steps = Chain(places["moments"], ("i", TEST), ("u", ENDS))
    places["interval"] = steps.written("_priv_moments")
    found = {"counted": fill(template("WITH RECURSIVE @observed@, "), places)} | {
        method: fill(body(read(FRAGMENTS, name)), places)
        for method, name in (("inverse", "distribution"), ("bayesian", "bayesian"))
    }
    found["change"] = _change(attribute, places)
    if attribute.blocks and attribute.size * len(attribute.blocks.first) > MOST_PAIRS:
        found["bayesian"] = f"refused AS (SELECT 0) SELECT error({literal(TOO_MANY)})"
    return found


def _of_cell(attribute: SensitiveAttribute, name: str, places: Mapping[str, str]) -> str:
    """Write a formula over a cell of the distribution. Numbers that are equal for all values are literals."""
    text = form_of(attribute).estimator(name, places, "cell")
    for number, of in attribute.numbers.items():
        if len({*of}) == 1:
            text = re.sub(rf"\b_priv_numbers\.{number}\b", literal(float(of[0])), text)
    return folded(text)


def em_lists(form: Form) -> str:
    """Write the row of lists that the iterative Bayesian method reads."""
    row = template("SELECT @size@ AS _priv_size")
    for name in form.domain_lists():
        row = f"SELECT *, {form.domain_list(name)} AS _priv_{name} FROM ({row})"
    return row


def kept_lists(attribute: SensitiveAttribute, name: str) -> str:
    """Write a list for each value of the domain, read from the catalog."""
    return _kept(attribute, f"list({name} ORDER BY position ASC)", "")


def kept_list(attribute: SensitiveAttribute, name: str, position: str) -> str:
    """Write the list of the value at a position of the domain, from 1."""
    return _kept(attribute, name, f" AND position = {position} - 1")


def _kept(attribute: SensitiveAttribute, read: str, condition: str) -> str:
    of = f"release = {literal(attribute.release)} AND attribute = {literal(attribute.name)}"
    return f"(SELECT {read} FROM {template('{database}')}priv.coefficient WHERE {of}{condition})"


def _change(attribute: SensitiveAttribute, places: Mapping[str, str]) -> str:
    """Write the query of the change since the previous version, or of the error that prevents it."""
    if not form_of(attribute).followed:
        return f"SELECT error({literal(NO_CHANGE)})"
    noise = _noise_of_one(attribute)
    if noise is None:
        return f"SELECT error({literal(TOO_MANY_COMPARED)})"
    largest, step, least, hidden = (
        literal(of[0]) if len({*of}) == 1 else f"unnest({doubles(of)})" for of in noise
    )
    return fill(
        body(read(FRAGMENTS, "change")),
        {
            **places,
            "query.rows": BOTH,
            "largest": largest,
            "step": step,
            "least": least,
            "hidden": hidden,
        },
    )


def _noise_of_one(
    attribute: SensitiveAttribute,
) -> tuple[list[float], list[float], list[float], list[float]] | None:
    """Return the noise of one record whose value changed, by value; None if computing it takes too long.

    Each value has four numbers: the largest variance; the weight of a row that shows the value; the variance of a
    record without the value (the largest one if rows do not show single values); the weight of a row that another row
    may hide.
    """
    if "own" in attribute.numbers:
        pairs = list(zip(attribute.numbers["own"], attribute.numbers["other"], strict=True))
        largest = [max(a * (1 - a), q * (1 - q)) / (a - q) ** 2 for a, q in pairs]
        without = [q * (1 - q) / (a - q) ** 2 for a, q in pairs]
        steps, hidden = (
            [1 / (a - q) for a, q in pairs],
            [v / a for v, (a, _) in zip(largest, pairs, strict=True)],
        )
        return largest, steps, largest if attribute.blocks else without, hidden
    if attribute.size > MOST_COMPARED:
        return None
    import numpy as np

    from duckdb_priv.mechanism.fine_grain import FineGrain
    from duckdb_priv.mechanism.moved_noise import noise_of_one

    if "operator" in attribute.lists:
        operator = np.array(attribute.lists["operator"], dtype=np.float64).T
    else:
        operator = FineGrain(np.array(attribute.numbers["retention"])).matrix()
    weights = np.linalg.inv(operator).astype(np.float64)
    most, step = noise_of_one(operator, weights)
    return most.tolist(), step.tolist(), most.tolist(), most.tolist()
