"""Writes the query of priv.reconstructed_joint, which asks for values of several sensitive attributes at once.

For each attribute two probabilities say how a record shows the value that is asked for: if it has the
value, and if it has another. Where the second depends on which other, it is taken on average over the table.
Source: Fu, Wang and others, "Small sum privacy and large sum utility in data publishing", equation 13, with
its background probability and its stopping rule corrected (``mechanism/splu.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from duckdb_priv.analyst.forms import form_of
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext.literals import doubles, texts
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import body, computed, fill, read, template

FRAGMENTS = "analyst/fragments"
EACH, VALUE = "list_extract(_attributes, i)", "CAST(list_extract(_values, i) AS VARCHAR)"
QUOTED = f"'''' || replace({VALUE}, '''', '''''') || ''''"
ARGUMENTS = {
    "group_columns": "coalesce(CAST(group_columns AS VARCHAR) || ',', '')",
    "condition": "coalesce(CAST(condition AS VARCHAR), 'true')",
    "database": "coalesce('\"' || replace(database, '\"', '\"\"') || '\".', '')",
    "attributes": "CAST(len(_attributes) AS VARCHAR)",
    "states": "CAST(1 << len(_attributes) AS VARCHAR)",
    "bit": "CAST(1 << (i - 1) AS VARCHAR)",
    "value": f"coalesce({QUOTED}, 'NULL')",
    **{
        name: template(f"@joint_{name}@")
        for name in ("table", "laws", "patterns", "start", "settled", "further", "or_not")
    },
}
"""How the arguments of priv.reconstructed_joint stand in its query; ``i`` numbers the attributes."""
STARTS = {
    "bayesian": "[greatest(list_dot_product(list_extract(inverse, s), _priv_shown), 1e-6 * _priv_total)"
    " FOR s IN range(1, len(_priv_shown) + 1)]",
    "paper": "_priv_shown",
}
"""By method: what the steps begin with. Unbiased counts that are not negative are where they come to rest."""
SETTLED = {
    "bayesian": "list_max([CASE WHEN e[1] > 0 THEN e[2] / e[1] ELSE 0 END FOR e IN list_zip(f, next)]) <= 1 + 1e-8",
    "paper": "list_max([abs(e[2] - e[1]) - 0.01 * e[1] FOR e IN list_zip(f, next)]) <= 0",
}
"""By method: when the steps have come to rest."""


def fillings(attributes: Sequence[SensitiveAttribute]) -> dict[str, str]:
    """Write what the macro is filled with."""
    listed: dict[str, list[str]] = {}
    for attribute in attributes:
        listed.setdefault(attribute.release, []).append(attribute.name)
    countable = [attribute for attribute in attributes if form_of(attribute).joined]
    step = fill(body(read(FRAGMENTS, "joint_step")), {})
    query = fill(body(read(FRAGMENTS, "joint")), {"joint_step": step})
    extrapolated = fill(body(read(FRAGMENTS, "squarem")), {})
    second = f"[{step} FOR f IN [next]][1]"
    # From where the steps rest there is nothing to extrapolate: the ratio of two roundings would lead anywhere.
    further = f"CASE WHEN settled THEN next ELSE [{extrapolated} FOR second IN [{second}]][1] END"
    pattern = _joined(_by_attribute(countable, _shown), " + ")
    return {
        "joint_release": _by_release(
            {release: literal(", ".join(names)) for release, names in listed.items()}
        ),
        "joint_known": _by_attribute(attributes, lambda of: literal(form_of(of).joined)),
        "joint_value": _by_attribute(countable, _has_value),
        "joint_query": computed(query, ARGUMENTS),
        "joint_table": f"{ARGUMENTS['database']} || "
        + _by_release({release: literal(identifier(release)) for release in listed}),
        "joint_patterns": "array_to_string(['coalesce(count_if(' || "
        f"{pattern} || ' = ' || CAST(o AS VARCHAR) || '), 0)'"
        " FOR o IN range(1 << len(_attributes))], ', ')",
        "joint_laws": _by_method(
            _joined(_by_attribute(countable, _law), ", "),
            _joined(_by_attribute(countable, _law_of_paper), ", "),
        ),
        "joint_start": _by_method(literal(STARTS["bayesian"]), literal(STARTS["paper"])),
        "joint_settled": _by_method(literal(SETTLED["bayesian"]), literal(SETTLED["paper"])),
        # By the paper's rule a count that tends to 0 never comes to rest.
        "joint_or_not": _by_method("''", "' OR true'"),
        "joint_further": _by_method(literal(further), literal("next")),
    }


def _by_method(bayesian: str, paper: str) -> str:
    return f"(CASE method WHEN 'paper' THEN {paper} ELSE {bayesian} END)"


def _joined(piece: str, separator: str) -> str:
    """Write the texts of all attributes that are asked for, one after the other."""
    return f"array_to_string([{piece} FOR i IN range(1, len(_attributes) + 1)], '{separator}')"


def _by_release(written: Mapping[str, str]) -> str:
    cases = " ".join(f"WHEN lower({literal(name)}) THEN {sql}" for name, sql in written.items())
    return f"(CASE lower(_release) {cases} END)" if cases else "NULL"


def _by_attribute(
    attributes: Sequence[SensitiveAttribute], write: Callable[[SensitiveAttribute], str]
) -> str:
    """Choose by the release and the i-th attribute that is asked for; NULL for what is not there."""
    cases = " ".join(
        f"WHEN lower({literal(f'{of.release}.{of.name}')}) THEN {write(of)}" for of in attributes
    )
    return f"(CASE lower(_release || '.' || {EACH}) {cases} END)" if cases else "NULL"


def _has_value(of: SensitiveAttribute) -> str:
    return (
        f"CASE WHEN {VALUE} IS NULL THEN {literal(of.has_missing)}"
        f" ELSE list_contains({texts(of.values)}, {VALUE}) END"
    )


def _is_value(of: SensitiveAttribute) -> str:
    """Write whether a record shows the value. Every text of a type is read back as its value."""
    places = {
        "has_missing": "true",
        "compared": identifier(of.column),
        "value": template("{value}"),
    }
    return fill(form_of(of).text("match"), places)


def _shown(of: SensitiveAttribute) -> str:
    """Write the bit of an attribute in the number of a state."""
    return computed(f"{_is_value(of)}::INTEGER * " + template("{bit}"), ARGUMENTS)


def _place(of: SensitiveAttribute) -> str:
    return f"coalesce(list_position({texts(of.values)}, " + template("{value}") + f"), {of.size})"


def _law(of: SensitiveAttribute) -> str:
    """Write the two probabilities."""
    places = {
        "place": _place(of),
        "texts": texts(of.values),
        "size": str(of.size),
        "attribute": identifier(of.column),
        "table": template("{database}") + identifier(of.release),
        **{f"numbers.{name}": doubles(of.flat(name)) for name in (*of.numbers, *of.lists)},
        "numbers.own": doubles(_owns(of)),
    }
    return computed(fill(form_of(of).text("law"), places), ARGUMENTS)


def _law_of_paper(of: SensitiveAttribute) -> str:
    """Write the two probabilities as the paper has them: a decoy as often as the value is shown at all."""
    return computed(
        f"(SELECT {{own: list_extract({doubles(_owns(of))}, {_place(of)}),"
        f" other: count_if({_is_value(of)}) / count(*)}} FROM "
        + template("{database}")
        + f"{identifier(of.release)})",
        ARGUMENTS,
    )


def _owns(of: SensitiveAttribute) -> list[float]:
    """Return Pr[a record shows a value | it has it], for every value."""
    if "own" in of.numbers:
        return list(of.numbers["own"])
    if "retention" in of.numbers:
        return [kept + (1 - kept) / of.size for kept in of.numbers["retention"]]
    return [row[place] for place, row in enumerate(of.lists["operator"])]
