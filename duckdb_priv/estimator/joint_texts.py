"""The parts of the query of priv.reconstructed_joint that depend on one attribute, as text.

Each attribute has two probabilities that a record shows the requested value: if it has the value, and if it has another
one. If the second depends on which other value, it is averaged over the table. Source: Fu, Wang and others, "Small sum
privacy and large sum utility in data publishing", equation 13, with its background probability and its stopping rule
corrected (``mechanism/splu.md``).
"""

from __future__ import annotations

from duckdb_priv.estimator.blocks import block_places
from duckdb_priv.estimator.distribution import kept_list
from duckdb_priv.estimator.forms import equals, form_of
from duckdb_priv.release.model import SCALE, SensitiveAttribute
from duckdb_priv.sqltext.literals import doubles, position, texts
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import body, expand, fill, read, template

FRAGMENTS = "analyst/fragments"


def texts_of(attribute: SensitiveAttribute) -> dict[str, str]:
    """Return the parts, with placeholders for the requested value, its bit and the database.

    ``pattern`` is the attribute's bit in the number of a state, ``law`` its two probabilities, ``own`` the first of
    them. ``weight`` is the weight of a record for the value, and ``scale`` is how strongly the record is perturbed, if
    that differs between rows.
    """
    if not form_of(attribute).joined:
        return {}
    return {
        "pattern": f"{_is_value(attribute)}::INTEGER * " + template("{bit}"),
        "law": _here(attribute, _law(attribute)),
        "own": _here(attribute, _own(attribute)),
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
    places = {
        "place": _place(of),
        "texts": texts(of.values),
        "size": str(of.size),
        "attribute": identifier(of.column),
        "table": template("{database}main.") + identifier(of.release),
        **{f"numbers.{name}": doubles(each) for name, each in of.numbers.items()},
        **{f"row.{name}": kept_list(of, name, _place(of)) for name in of.lists},
        "numbers.own": doubles(_owns(of)),
    }
    return fill(form_of(of).text("law"), places)


def _own(of: SensitiveAttribute) -> str:
    """Write the first probability alone."""
    if form_of(of).varied:
        return f"({_law(of)}).own"
    return f"list_extract({doubles(_owns(of))}, {_place(of)})"


def _weight(of: SensitiveAttribute) -> str:
    """Write the weight of a record for the value."""
    form = form_of(of)
    if form.varied:
        places = {"scale": identifier(SCALE), "size": str(of.size), "match": _is_value(of)}
        return fill(form.sections["row_weight"], places)
    if "row" not in form.sections or form.blocks:
        own, other = (
            f"list_extract({doubles(of.numbers[each])}, {_place(of)})" for each in ("own", "other")
        )
        return f"(({_is_value(of)})::INTEGER - {other}) / ({own} - {other})"
    sections = {**form.sections, "position": _place(of)}
    places = {
        "texts": texts(of.values),
        "size": str(of.size),
        **{
            f"number.{name}": f"list_extract({doubles(each)}, {_place(of)})"
            for name, each in of.numbers.items()
        },
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
