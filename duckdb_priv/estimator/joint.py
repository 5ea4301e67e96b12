"""Write the query of priv.reconstructed_joint, which estimates combinations of values of several attributes.

Each attribute has two probabilities that a record shows the requested value: if it has the value, and if it has another
one. If the second depends on which other value, it is averaged over the table. Source: Fu, Wang and others, "Small sum
privacy and large sum utility in data publishing", equation 13, with its background probability and its stopping rule
corrected (``mechanism/splu.md``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duckdb_priv.estimator.blocks import block_places
from duckdb_priv.estimator.distribution import QUANTILE, kept_list
from duckdb_priv.estimator.forms import ENDS, TEST, equals, form_of
from duckdb_priv.estimator.lets import let
from duckdb_priv.estimator.lookup import Lookup
from duckdb_priv.estimator.set_formulas import ordinary
from duckdb_priv.release.model import SCALE, SensitiveAttribute
from duckdb_priv.sqltext.aggregates import qualified
from duckdb_priv.sqltext.literals import doubles, position, texts
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import body, compact, computed, expand, fill, read, template

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
            "patterns",
            "weights",
            "sums",
            "product",
            "background",
            "scale",
        )
    },
}
"""SQL of the arguments of priv.reconstructed_joint in its queries, which read them as fields of a struct."""
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
    pattern = _joined(each.query(OF_EACH, "pattern"), " + ")
    return {
        "joint_attributes": ATTRIBUTES,
        "joint_values": VALUES,
        "joint_release": lookup.named("attributes"),
        "joint_known": each.fact("joined"),
        "joint_value": f"CASE WHEN {VALUE} IS NULL THEN {each.has_missing()} ELSE {each.is_value(VALUE)} END",
        "joint_query": let(
            "a",
            f"CASE method WHEN 'paper' THEN {_query('joint_paper', {})} ELSE {_query('joint', of_query)} END",
            **{f"_{name}": sql for name, sql in ARGUMENTS.items()},
        ),
        "joint_table": f"{OF_EACH['database']} || 'main.' || {lookup.named('table')}",
        "joint_name": lookup.named("table"),
        "joint_patterns": _of_states(
            "o",
            f"'coalesce(system.main.count_if(' || {pattern} || ' = ' || CAST(o AS VARCHAR) || '), 0)'",
        ),
        "joint_laws": _joined(each.query(OF_EACH, "law"), ", "),
        "joint_weights": _joined(
            f"{each.query(OF_EACH, 'weight')} || ' AS _priv_weight' || {NUMBER}", ", "
        ),
        "joint_sums": _of_states(
            "s",
            f"'coalesce(system.main.sum(' || {_joined(in_state.format(NUMBER), ' * ')} || '), 0)'",
        ),
        "joint_scale": f"'system.main.greatest(' || {_joined(each.query(OF_EACH, 'scale'), ', ')} || ')'",
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
    text = compact(qualified(fill(body(read(FRAGMENTS, name)), fillings)))
    return computed(text, {name: f"(a)._{name}" for name in ARGUMENTS})


def _of_states(letter: str, piece: str) -> str:
    """Write the concatenated texts of all states, which a letter numbers."""
    return (
        f"list_aggregate([{piece} FOR {letter} IN range(1 << CAST(least(len({ATTRIBUTES}), 8) AS INTEGER))],"
        " 'string_agg', ', ')"
    )


def _joined(piece: str, separator: str) -> str:
    """Write the joined texts of all requested attributes."""
    return f"list_aggregate([{piece} FOR i IN range(1, len({ATTRIBUTES}) + 1)], 'string_agg', '{separator}')"


# The parts of one attribute.


def parts_of(attribute: SensitiveAttribute) -> dict[str, str]:
    """Return the parts of the query that depend on one attribute, as text.

    They have placeholders for the requested value, its bit and the database.

    ``pattern`` is the attribute's bit in the number of a state, ``law`` its two probabilities. ``weight`` is the
    weight of a record for the value, and ``scale`` is how strongly the record is perturbed, if that differs between
    rows.
    """
    if not form_of(attribute).joined:
        return {}
    return {
        "pattern": f"{_is_value(attribute)}::INTEGER * " + template("{bit}"),
        "law": _here(attribute, _law(attribute)),
        "weight": _weight(attribute),
        "scale": identifier(SCALE) if form_of(attribute).varied else "0e0",
    }


def _here(of: SensitiveAttribute, law: str) -> str:
    """Write a law that exists only if the query reads the table of the release."""
    places = {"release": literal(of.release), "published": literal(of.published)}
    return f"(SELECT {law} FROM ({fill(body(read(FRAGMENTS, 'here')), places)}) WHERE found)"


def _is_value(of: SensitiveAttribute) -> str:
    """Write the condition that a record shows the value, compared as text."""
    column = identifier(of.column)
    places = {
        "equals": equals(has_missing=True),
        "compared": f"{column}::VARCHAR",
        "value": template("{value}"),
    }
    if of.blocks:
        places |= block_places(of.blocks) | {"block": f"{column}::INTEGER", "position": _place(of)}
    return form_of(of).matched(places)


def _place(of: SensitiveAttribute) -> str:
    return f"coalesce({position(template('{value}'), of.values)}, {of.size})"


def _law(of: SensitiveAttribute) -> str:
    """Write the struct of the two probabilities."""
    if form_of(of).varied:
        return fill(form_of(of).text("law"), {"size": str(of.size)})
    numbers = {**of.numbers, "own": _owns(of)}
    places = {
        "place": _place(of),
        "texts": texts(of.values),
        "size": str(of.size),
        "attribute": identifier(of.column),
        "table": template("{database}main.") + identifier(of.release),
        **{f"numbers.{name}": doubles(each) for name, each in numbers.items()},
        **{f"row.{name}": kept_list(of, name, _place(of)) for name in of.lists},
    }
    law = form_of(of).text("law")
    for name, each in numbers.items():
        written = template(f"list_extract(@numbers.{name}@, @place@)")
        law = law.replace(written, _number(of, each))
    return fill(law, places)


def _number(of: SensitiveAttribute, numbers: Sequence[float]) -> str:
    """Write the requested value's number, of those of all values."""
    if len(set(numbers)) == 1:
        return literal(float(numbers[0]))
    return f"list_extract({doubles(numbers)}, {_place(of)})"


def _weight(of: SensitiveAttribute) -> str:
    """Write the weight of a record for the value."""
    form = form_of(of)
    if form.varied:
        places = {"scale": identifier(SCALE), "size": str(of.size), "match": _is_value(of)}
        return fill(form.sections["row_weight"], places)
    if "row" not in form.sections or form.blocks:
        own, other = (_number(of, of.numbers[each]) for each in ("own", "other"))
        return f"(({_is_value(of)})::INTEGER - {other}) / ({own} - {other})"
    sections = {**form.sections, "position": _place(of)}
    places = {
        "texts": texts(of.values),
        "size": str(of.size),
        **{f"number.{name}": _number(of, each) for name, each in of.numbers.items()},
        **{f"numbers.{name}": doubles(each) for name, each in of.numbers.items()},
        **{f"row.{name}": kept_list(of, name, _place(of)) for name in of.lists},
        **{f"constant.{name}": repr(each) for name, each in of.constants.items()},
    }
    shown = f"coalesce({position(identifier(of.column), of.values)}, {of.size})"
    return f"list_extract({fill(expand(sections['row'], sections), places)}, {shown})"


def _owns(of: SensitiveAttribute) -> list[float]:
    """Return Pr[a record shows a value | it has it], for every value."""
    if "own" in of.numbers:
        return list(of.numbers["own"])
    if "retention" in of.numbers:
        return [kept + (1 - kept) / of.size for kept in of.numbers["retention"]]
    return [row[place] for place, row in enumerate(of.lists["operator"])]
