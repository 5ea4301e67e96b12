"""Writes the query of priv.reconstructed_joint, which asks for values of several sensitive attributes at once."""

from __future__ import annotations

from duckdb_priv.analyst.written import Lookup
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import body, computed, fill, read, template

FRAGMENTS = "analyst/fragments"
EACH, VALUE = "list_extract(_attributes, i)", "CAST(list_extract(_values, i) AS VARCHAR)"
QUOTED = f"'''' || replace({VALUE}, '''', '''''') || ''''"
OF_EACH = {
    "database": "coalesce('\"' || replace(database, '\"', '\"\"') || '\".', '')",
    "bit": "CAST(1 << (i - 1) AS VARCHAR)",
    "value": f"coalesce({QUOTED}, 'NULL')",
}
"""How they stand in the parts of the query that are those of one attribute; ``i`` numbers the attributes."""
ARGUMENTS = {
    "group_columns": "coalesce(CAST(group_columns AS VARCHAR) || ',', '')",
    "condition": "coalesce(CAST(condition AS VARCHAR), 'true')",
    "database": OF_EACH["database"],
    "attributes": "CAST(len(_attributes) AS VARCHAR)",
    "states": "CAST(1 << len(_attributes) AS VARCHAR)",
    **{
        name: template(f"@joint_{name}@")
        for name in ("table", "laws", "patterns", "start", "settled", "further", "or_not")
    },
}
"""How the arguments of priv.reconstructed_joint stand in its query."""
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


def fillings(lookup: Lookup) -> dict[str, str]:
    """Write what the macro is filled with."""
    each = lookup.by_key(f"_release || '.' || {EACH}")
    step = fill(body(read(FRAGMENTS, "joint_step")), {})
    query = fill(body(read(FRAGMENTS, "joint")), {"joint_step": step})
    extrapolated = fill(body(read(FRAGMENTS, "squarem")), {})
    second = f"[{step} FOR f IN [next]][1]"
    # From where the steps rest there is nothing to extrapolate: the ratio of two roundings would lead anywhere.
    further = f"CASE WHEN settled THEN next ELSE [{extrapolated} FOR second IN [{second}]][1] END"
    pattern = _joined(each.query("pattern", OF_EACH), " + ")
    return {
        "joint_release": lookup.named("attributes"),
        "joint_known": each.joined(),
        "joint_value": f"CASE WHEN {VALUE} IS NULL THEN {each.has_missing()} ELSE {each.is_value(VALUE)} END",
        "joint_query": computed(query, ARGUMENTS),
        "joint_table": f"{ARGUMENTS['database']} || {lookup.named('table')}",
        "joint_patterns": "array_to_string(['coalesce(count_if(' || "
        f"{pattern} || ' = ' || CAST(o AS VARCHAR) || '), 0)'"
        " FOR o IN range(1 << len(_attributes))], ', ')",
        "joint_laws": _by_method(
            _joined(each.query("law", OF_EACH), ", "),
            _joined(each.query("paper", OF_EACH), ", "),
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
