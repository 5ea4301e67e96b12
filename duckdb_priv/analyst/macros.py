"""Writes the analyst's macros: pure SQL in which the numbers of the releases stand as literals.

A macro is bound when it is called, on the caller's search path. So the macros read no table and call no other
macro: they stay right where a release file is attached and not in use, and where several are. What they
look up is folded when the query is planned: a domain of 1,400 values costs 2 ms.

An aggregate raises its errors inside a list: DuckDB takes error() for a side effect, and refuses to have the
alias of such an expression in HAVING or elsewhere in the SELECT. DuckDB 2 sees through the list.

What is computed differs between the forms that estimates can take, which ``forms`` has. A macro takes what the one form
says that its database has, or chooses by release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

import duckdb

from duckdb_priv.analyst import distribution, joint
from duckdb_priv.analyst.forms import FORMS, INTERVAL, form_of
from duckdb_priv.release import catalog
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext import templates
from duckdb_priv.sqltext.literals import doubles, enum, is_among, texts
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import body, fill, read, template

FRAGMENTS = "analyst/fragments"
LISTED = 20
"""How many names an error message lists."""
Attributes = Mapping[str, SensitiveAttribute]
"""Sensitive attributes by the names that analysts may use for them."""


def create(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the macros for all releases of the connection's current database."""
    for statement in statements(catalog.sensitive_attributes(connection)):
        connection.execute(statement)


def statements(attributes: Sequence[SensitiveAttribute]) -> list[str]:
    """Return the SQL of every macro, for these attributes."""
    named = keys(attributes)
    fillings = _messages(attributes, named) | _estimates(named) | _guards(named)
    fillings |= joint.fillings(attributes)
    return [fill(body(read("analyst", name)), fillings) for name in templates.names("analyst")]


def keys(attributes: Sequence[SensitiveAttribute]) -> dict[str, SensitiveAttribute]:
    """Name every attribute as analysts may: 'release.attribute', and 'release' where it is the only one."""
    found: dict[str, SensitiveAttribute] = {}
    for attribute in attributes:
        found[f"{attribute.release}.{attribute.name}"] = attribute
        if sum(other.release == attribute.release for other in attributes) == 1:
            found[attribute.release] = attribute
    return found


def by_release(named: Attributes, write: Callable[[SensitiveAttribute], str]) -> str:
    """Choose by the first argument of a macro; NULL for a release that is not there."""
    of_attribute: dict[tuple[str, str], dict[str, SensitiveAttribute]] = {}
    for key, attribute in named.items():
        of_attribute.setdefault((attribute.release, attribute.name), {})[key] = attribute
    if not named:
        return "NULL"
    cases = " ".join(
        f"WHEN {_is_among(of)} THEN {write(next(iter(of.values())))}"
        for of in of_attribute.values()
    )
    return f"(CASE {cases} END)"


def by_form(named: Attributes, write: Callable[[str, Attributes], str]) -> str:
    """Take what the one form says, or choose among several by the first argument of a macro."""
    forms = _of_forms(named)
    if not forms:
        return "NULL::DOUBLE"
    if len(forms) == 1:
        return write(*forms.popitem())
    cases = " ".join(f"WHEN {_is_among(of)} THEN {write(form, of)}" for form, of in forms.items())
    return f"(CASE {cases} END)"


def _of_forms(named: Attributes) -> dict[str, dict[str, SensitiveAttribute]]:
    forms: dict[str, dict[str, SensitiveAttribute]] = {}
    for key, attribute in named.items():
        forms.setdefault(attribute.form, {})[key] = attribute
    return forms


def _is_among(named: Attributes) -> str:
    among = ", ".join(f"lower({literal(key)})" for key in named)
    return f"lower(_release) IN ({among})"


def _guards(named: Attributes) -> dict[str, str]:
    """Say what a call must satisfy."""
    return {
        "known": template("(coalesce(@known_value@, false) AND @weight_fits@)"),
        "known_row": template("coalesce(@known_value@, false)"),
        "known_release": by_release(named, lambda _: "true"),
        "known_value": "CASE WHEN _value IS NULL THEN "
        + by_release(named, lambda attribute: literal(attribute.has_missing))
        + " ELSE "
        + by_release(named, lambda of: is_among("CAST(_value AS VARCHAR)", of.values))
        + " END",
        # An aggregate over the weights where there may be some: a column cannot stand outside of one.
        "weight_fits": by_form(
            named,
            lambda form, _: (
                "(count(weight) = count(*))"
                if FORMS[form].scaled
                else ("(count(weight) = 0)" if _has_scaled(named) else "(weight IS NULL)")
            ),
        ),
        "weight_right": by_form(
            named,
            lambda form, _: "(weight IS NOT NULL)" if FORMS[form].scaled else "(weight IS NULL)",
        ),
    }


def _has_scaled(named: Attributes) -> bool:
    return any(form_of(attribute).scaled for attribute in named.values())


def _estimates(named: Attributes) -> dict[str, str]:
    """Write everything that differs between forms, and the query of the distribution."""
    forms = _of_forms(named)

    def write(name: str, form: str, of: Attributes) -> str:
        texts_only = all(attribute.type == "ENUM" for attribute in of.values())
        places = _places(form, of, forms.keys())
        kind = "records" if len(forms) > 1 and texts_only else "rows"
        return FORMS[form].estimator(name, places, kind)

    return {
        name: by_form(named, partial(write, name))
        for name in ("estimate", "variance", "moments", "row_weight", "mle")
    } | {
        "confidence": "confidence",
        "normal_quantile": body(read(FRAGMENTS, "normal_quantile")),
        "interval": INTERVAL,
        "distribution_query": by_release(named, distribution.query),
    }


def _places(form: str, named: Attributes, forms: AbstractSet[str]) -> dict[str, str]:
    """Write what the sections of one form look up, in macros for several ``forms``."""

    def chosen(write: Callable[[SensitiveAttribute], str]) -> str:
        return by_release(named, write)

    def number(column: str) -> str:
        return chosen(
            lambda attribute: (
                literal(float(attribute.numbers[column][0]))
                if len(set(attribute.numbers[column])) == 1
                else template(f"list_extract({doubles(attribute.numbers[column])}, ")
                + fill(FORMS[form].text("position"), places)
                + ")"
            )
        )

    some = next(iter(named.values()))
    several = len(forms) > 1
    # A macro is bound for the forms of all releases, whichever is asked: a list and a value that it is compared
    # with, or a value that is taken for a list, have nothing in common but their texts.
    as_text = several and any(FORMS[name].listed for name in forms)
    compared, value = (
        f"CAST({name} AS VARCHAR)" if as_text else name for name in ("_column", "_value")
    )
    has_missing = any(attribute.has_missing for attribute in named.values())
    places = {
        "has_missing": chosen(lambda attribute: literal(attribute.has_missing)),
        "compared": compared,
        "value": value,
        "column": f"(CASE WHEN {_is_among(named)} THEN _column END)" if several else "_column",
        "list": f"CAST((CASE WHEN {_is_among(named)} THEN {compared} END) AS VARCHAR[])"
        if several
        else "CAST(_column AS VARCHAR[])",
        "scale": "weight",
        "missing": "coalesce(count_if(_column IS NULL), 0)" if has_missing else "0",
        "missing_share": "CASE WHEN "
        + chosen(lambda attribute: literal(attribute.has_missing))
        + " THEN [(t).missing / greatest((t).total, 1)] ELSE []::DOUBLE[] END",
        "size": chosen(lambda attribute: literal(attribute.size)),
        "texts": chosen(lambda attribute: texts(attribute.values)),
        "shown_position": "coalesce({} + 1, {})".format(
            chosen(lambda of: f"enum_code(CAST(_column AS {enum(of.values)}))::INTEGER"),
            chosen(lambda attribute: literal(attribute.size)),
        ),
    }
    for name in some.numbers:
        places[f"number.{name}"] = number(name)
    for name in (*some.numbers, *some.lists):
        places[f"numbers.{name}"] = chosen(lambda of, name=name: doubles(of.flat(name)))  # type: ignore[misc]
    for name in some.constants:
        places[f"constant.{name}"] = chosen(
            lambda of, name=name: literal(of.constants.get(name))  # type: ignore[misc]
        )
    return places


def _messages(attributes: Sequence[SensitiveAttribute], named: Attributes) -> dict[str, str]:
    """Say what is wrong with a call, and what exists."""
    return {
        "unknown_release": _unknown_release(attributes),
        "mistake": template(
            "CASE WHEN @known_release@ IS NULL THEN @mistaken_release@"
            " WHEN coalesce(@known_value@, false) THEN @mistaken_weight@ ELSE '\"' || _release"
            " || '\" has no value ' || coalesce('''' || CAST(_value AS VARCHAR) || '''', 'NULL')"
            " || '; it has ' || "
        )
        + by_release(named, lambda attribute: literal(_listing(attribute.values)))
        + " END",
        "mistaken_weight": "'records of release \"' || _release || '\" stand for ' || "
        + by_form(
            named,
            lambda form, _: literal(
                "several source records each: write weight := scale"
                if FORMS[form].scaled
                else "one source record each: leave out weight"
            ),
        ),
        "mistaken_release": _mistaken_release(attributes, named),
    }


def _listing(values: Sequence[str | None]) -> str:
    shown = ", ".join("NULL" if value is None else f"'{value}'" for value in values[:LISTED])
    if len(values) <= LISTED:
        return shown
    return f"{shown}, ... ({len(values)} values; see FROM priv.coefficient)"


def _mistaken_release(attributes: Sequence[SensitiveAttribute], named: Attributes) -> str:
    several: dict[str, list[str]] = {}
    for attribute in attributes:
        if attribute.release not in named:
            several.setdefault(attribute.release, []).append(
                f"{attribute.release}.{attribute.name}"
            )
    unknown = _unknown_release(attributes)
    if not several:
        return unknown
    cases = " ".join(
        f"WHEN lower({literal(name)}) THEN "
        + literal(
            f'release "{name}" has several sensitive attributes: write '
            + " or ".join(map(repr, parts))
        )
        for name, parts in several.items()
    )
    return f"CASE lower(_release) {cases} ELSE {unknown} END"


def _unknown_release(attributes: Sequence[SensitiveAttribute]) -> str:
    shown = sorted({attribute.release for attribute in attributes})
    listed = ", ".join(f'"{name}"' for name in shown[:LISTED]) + (
        ", ..." if len(shown) > LISTED else ""
    )
    return "'no release is called \"' || coalesce(_release, 'NULL') || " + literal(
        f'"; there is {listed}' if shown else '"; nothing is published here yet'
    )
