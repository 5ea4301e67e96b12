"""Write the query of priv.reconstructed_joint, which estimates combinations of values of several attributes."""

from __future__ import annotations

from collections.abc import Mapping

from duckdb_priv.estimator.distribution import QUANTILE
from duckdb_priv.estimator.forms import ENDS, TEST
from duckdb_priv.estimator.set_formulas import ordinary
from duckdb_priv.estimator.written import Lookup
from duckdb_priv.sqltext.aggregates import qualified
from duckdb_priv.sqltext.templates import body, computed, fill, read, template

FRAGMENTS = "analyst/fragments"
ATTRIBUTES, VALUES = (f"TRY_CAST({name} AS VARCHAR[])" for name in ("_attributes", "_values"))
"""The arguments as lists. A value that is not a list becomes NULL, which is reported before it is used."""
EACH, VALUE = (f"CAST(list_extract({of}, i) AS VARCHAR)" for of in (ATTRIBUTES, VALUES))
QUOTED = f"'''' || replace({VALUE}, '''', '''''') || ''''"
OF_EACH = {
    "database": "coalesce('\"' || replace(database, '\"', '\"\"') || '\".', '')",
    "bit": "CAST(1 << (i - 1) AS VARCHAR)",
    "value": f"coalesce({QUOTED}, 'NULL')",
}
"""SQL of the arguments in the parts of the query for one attribute; ``i`` numbers the attributes."""
ARGUMENTS = {
    "group_columns": "coalesce(CAST(group_columns AS VARCHAR) || ',', '')",
    "condition": "coalesce(CAST(condition AS VARCHAR), 'true')",
    "quantile": QUANTILE,
    "tolerance": "CAST(CAST(coalesce(tolerance, 0.01) AS DOUBLE) AS VARCHAR)",
    "attributes": f"CAST(len({ATTRIBUTES}) AS VARCHAR)",
    "states": f"CAST(1 << CAST(least(len({ATTRIBUTES}), 8) AS INTEGER) AS VARCHAR)",
    **{
        name: template(f"@joint_{name}@")
        for name in (
            "table",
            "name",
            "laws",
            "owns",
            "patterns",
            "weights",
            "sums",
            "product",
            "background",
            "scale",
        )
    },
}
"""SQL of the arguments of priv.reconstructed_joint in its queries."""
NUMBER = "CAST(i AS VARCHAR)"


def fillings(lookup: Lookup) -> dict[str, str]:
    """Return the values of the macro's placeholders."""
    each = lookup.by_key(f"_release || '.' || {EACH}")
    of_query = {name: body(read(FRAGMENTS, name)) for name in ("joint_step", "squarem")} | {
        "test": TEST,
        "ends": ENDS,
        "law_of_product": ordinary("law_of_product"),
        "normal_quantile": template("{quantile}"),
    }
    # A record counts for the value with its weight, and for all other values with 1 minus this weight.
    in_state = "CASE WHEN (s >> (i - 1)) & 1 = 1 THEN '_priv_weight' || {0} ELSE '(1 - _priv_weight' || {0} || ')' END"
    pattern = _joined(each.query("pattern", OF_EACH), " + ")
    return {
        "joint_attributes": ATTRIBUTES,
        "joint_values": VALUES,
        "joint_release": lookup.named("attributes"),
        "joint_known": each.joined(),
        "joint_value": f"CASE WHEN {VALUE} IS NULL THEN {each.has_missing()} ELSE {each.is_value(VALUE)} END",
        "joint_query": _query("joint", of_query),
        "joint_paper": _query("joint_paper", {}),
        "joint_table": f"{OF_EACH['database']} || 'main.' || {lookup.named('table')}",
        "joint_name": lookup.named("table"),
        "joint_patterns": _of_states(
            "o",
            f"'coalesce(system.main.count_if(' || {pattern} || ' = ' || CAST(o AS VARCHAR) || '), 0)'",
        ),
        "joint_laws": _joined(each.query("law", OF_EACH), ", "),
        "joint_owns": _joined(each.query("own", OF_EACH), ", "),
        "joint_weights": _joined(
            f"{each.query('weight', OF_EACH)} || ' AS _priv_weight' || {NUMBER}", ", "
        ),
        "joint_sums": _of_states(
            "s",
            f"'coalesce(system.main.sum(' || {_joined(in_state.format(NUMBER), ' * ')} || '), 0)'",
        ),
        "joint_scale": f"'system.main.greatest(' || {_joined(each.query('scale', OF_EACH), ', ')} || ')'",
        "joint_background": _joined(BACKGROUND, ", "),
        "joint_product": _joined(f"'_priv_weight' || {NUMBER}", " * "),
    }


BACKGROUND = (
    "'{most: system.main.max(_priv_weight' || {0} || '), least: system.main.min(_priv_weight' || {0} ||"
    " '), mean: system.main.avg(_priv_weight' || {0} || '), square: system.main.avg(_priv_weight' || {0} || ' ** 2)}'"
).replace("{0}", NUMBER)
"""The text of the query of all rows' weights for one attribute's value."""


def _query(name: str, fillings: Mapping[str, str]) -> str:
    """Write the text of a query."""
    return computed(qualified(fill(body(read(FRAGMENTS, name)), fillings)), ARGUMENTS)


def _of_states(letter: str, piece: str) -> str:
    """Write the concatenated texts of all states, which a letter numbers."""
    return (
        f"list_aggregate([{piece} FOR {letter} IN range(1 << CAST(least(len({ATTRIBUTES}), 8) AS INTEGER))],"
        " 'string_agg', ', ')"
    )


def _joined(piece: str, separator: str) -> str:
    """Write the joined texts of all requested attributes."""
    return f"list_aggregate([{piece} FOR i IN range(1, len({ATTRIBUTES}) + 1)], 'string_agg', '{separator}')"
