"""Writes the analyst's macros: pure SQL in which the numbers of the releases stand as literals.

A macro is bound when it is called, on the caller's search path. So the macros read no table and call no other
macro: they stay right where a release file is attached and not in use, and where several are. What they
look up is folded when the query is planned: a domain of 1,400 values costs 2 ms.

An aggregate raises its errors inside a list: DuckDB takes error() for a side effect, and refuses to have the
alias of such an expression in HAVING or elsewhere in the SELECT. DuckDB 2 sees through the list.

The estimates of a release take one of a few forms, and each form is a folder of SQL fragments: the estimate, its
variance, and so on. A macro takes the fragment of the one form that its database has, or chooses by release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import duckdb

from duckdb_priv import catalog, joint, sqlfiles
from duckdb_priv.literals import doubles, enum, is_among, matrix, texts
from duckdb_priv.parameters import LISTS, NUMBERS, SensitiveAttribute
from duckdb_priv.sqlfiles import body, computed, fill, identifier, literal, read, template

FRAGMENTS = "analyst/fragments"
FORMS: dict[str, tuple[str, ...]] = {
    "two_weights": ("two_weights",),
    "rank_one": ("rank_one", "operator"),
    "operator": ("operator",),
    "singular": ("singular", "rank_one", "operator"),
    "sample": ("sample", "two_weights"),
    "two_by_two": ("two_by_two", "two_weights"),
    "conditional_poisson": ("conditional_poisson", "operator"),
    "scaled": ("scaled", "two_weights"),
    "duplicated": ("duplicated", "two_weights"),
    "listed": ("listed",),
    "constant": ("constant", "two_weights"),
}
"""Where the fragments of a form are looked up. A weight W[x, y] of the form

- two_weights is one of two numbers, according to whether y is x;
- rank_one comes from two numbers per value;
- operator is a number of its own;
- sample is 1 or 0, of records that stand for as many as the sampling rate says;
- singular is that of rank_one, but does not exist for several values that are published alike;
- two_by_two is one of two numbers per value, which are the same for a value that says nothing of itself;
- conditional_poisson comes from five numbers per value;
- scaled is that of two_weights, of records that stand for as many as their scale says;
- duplicated is that of two_weights, of records that appear as often as their scale says at most;
- listed is one part in n, of a record that shows a list of n values with its own among them;
- constant is the share of x in the whole table, whatever y is.
"""
OTHERWISE = {"centre": "estimate", "spread": "variance"}
"""What an interval is made around, for forms whose every value has an estimate."""
BY_RECORD = frozenset({"rank_one", "operator", "conditional_poisson"})
"""Forms that can also look up the weight of each record, where its text is an ENUM.

They do where a macro must choose among forms: DuckDB 2 makes a histogram a plan of its own, which stays when another
form is chosen. Otherwise a histogram gives the same digits in every version and with any number of threads.
"""
SCALED = frozenset({"sample", "scaled", "duplicated"})
"""Forms whose records stand for several, and are summed with a weight."""
VALUE_LISTS = frozenset({"listed"})
"""Forms whose records show a list of values."""
NOT_JOINED = SCALED | VALUE_LISTS | {"constant"}
"""Forms whose records do not show one value each, drawn by what they truly have."""
SUMS = {
    **dict.fromkeys(("scaled", "duplicated"), ("sums", "squared")),
    "listed": ("squared", "holders"),
}
"""What a form that counts in a way of its own finds of each value and group besides."""
NOTHING = ("excess", "slack", "certain")
"""What only intervals of scaled records add to the variance and to the standard error, or know to be there; else 0."""
KEPT = ("kept_variance", "kept_slope")
"""What forms whose weights come from the published histogram multiply by."""
LISTED = 20
"""How many names an error message lists."""
ARGUMENTS = {
    "group_columns": "coalesce(CAST(group_columns AS VARCHAR) || ',', '')",
    "condition": "coalesce(CAST(condition AS VARCHAR), 'true')",
    "confidence": "CAST(confidence AS VARCHAR)",
    "weight": "coalesce(CAST(weight AS VARCHAR), 'NULL')",
    "database": "coalesce('\"' || replace(database, '\"', '\"\"') || '\".', '')",
}
"""How the arguments of priv.reconstructed_distribution stand in its query."""

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
    fillings |= joint.fillings(attributes, fragment, NOT_JOINED)
    return [fill(body(read("analyst", name)), fillings) for name in sqlfiles.names("analyst")]


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


def fragment(form: str, name: str) -> str:
    """Return the SQL of a fragment, from the first folder of the form that has it."""
    if not _has(form, name):
        if name in NOTHING:
            return "0e0"
        name = OTHERWISE[name]
    folder = next(
        folder for folder in FORMS[form] if name in sqlfiles.names(f"{FRAGMENTS}/{folder}")
    )
    return f"({body(read(f'{FRAGMENTS}/{folder}', name))})"


def _by_record(form: str, name: str, named: Attributes) -> str:
    """Return how a fragment is computed record by record, if it can be; else the fragment."""
    record = f"{OTHERWISE.get(name, name)}_by_record"
    able = form in BY_RECORD and all(attribute.type == "ENUM" for attribute in named.values())
    return fragment(form, record if able and _has(form, record) else name)


def _has(form: str, name: str) -> bool:
    return any(name in sqlfiles.names(f"{FRAGMENTS}/{folder}") for folder in FORMS[form])


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
                if form in SCALED
                else ("(count(weight) = 0)" if _has_scaled(named) else "(weight IS NULL)")
            ),
        ),
        "weight_right": by_form(
            named,
            lambda form, _: "(weight IS NOT NULL)" if form in SCALED else "(weight IS NULL)",
        ),
    }


def _has_scaled(named: Attributes) -> bool:
    return any(attribute.form in SCALED for attribute in named.values())


def _estimates(named: Attributes) -> dict[str, str]:
    """Write everything that differs between forms, and the query of the distribution."""
    forms = _of_forms(named)
    numbers = {form: _numbers(form, of, forms.keys()) for form, of in forms.items()}
    return {
        name: by_form(
            named,
            lambda form, of, name=name: fill(  # type: ignore[misc]
                _by_record(form, name, of) if len(forms) > 1 else fragment(form, name),
                numbers[form],
            ),
        )
        for name in (
            *("estimate", "variance", "centre", "spread", "slope", "half_step", "total"),
            *NOTHING,
            *("row_weight", "mle"),
        )
    } | {
        "confidence": "confidence",
        "normal_quantile": body(read(FRAGMENTS, "normal_quantile")),
        "interval": body(read(FRAGMENTS, "interval")),
        "distribution_query": by_release(named, _distribution_query),
    }


def _numbers(form: str, named: Attributes, forms: AbstractSet[str]) -> dict[str, str]:
    """Write what the fragments of one form look up, in macros for several ``forms``."""

    def chosen(write: Callable[[SensitiveAttribute], str]) -> str:
        return by_release(named, write)

    def number(column: str) -> str:
        return chosen(
            lambda attribute: (
                literal(float(attribute.numbers[column][0]))
                if len(set(attribute.numbers[column])) == 1
                else template(f"list_extract({doubles(attribute.numbers[column])}, @position@)")
            )
        )

    some = next(iter(named.values()))
    several = len(forms) > 1
    # A macro is bound for the forms of all releases, whichever is asked: a list and a value that it is compared
    # with, or a value that is taken for a list, have nothing in common but their texts.
    column, value = (
        (f"CAST({name} AS VARCHAR)" if several and forms & VALUE_LISTS else name)
        for name in ("_column", "_value")
    )
    has_missing = any(attribute.has_missing for attribute in named.values())
    fillings = {
        "match": "(CASE WHEN "
        + chosen(lambda attribute: literal(attribute.has_missing))
        + f" THEN {column} IS NOT DISTINCT FROM {value} ELSE {column} = {value} END)",
        "column": f"(CASE WHEN {_is_among(named)} THEN _column END)" if several else "_column",
        "list": f"CAST((CASE WHEN {_is_among(named)} THEN {column} END) AS VARCHAR[])"
        if several
        else "CAST(_column AS VARCHAR[])",
        "missing": "coalesce(count_if(_column IS NULL), 0)" if has_missing else "0",
        **{name: body(read(FRAGMENTS, name)) for name in KEPT},
        "missing_share": "CASE WHEN "
        + chosen(lambda attribute: literal(attribute.has_missing))
        + " THEN [t.missing / greatest(t.total, 1)] ELSE []::DOUBLE[] END",
        "size": chosen(lambda attribute: literal(attribute.size)),
        "texts": chosen(lambda attribute: texts(attribute.values)),
        "position": template(
            "(CASE WHEN _value IS NULL THEN @size@"
            " ELSE list_position(@texts@, CAST(_value AS VARCHAR)) END)"
        ),
    }
    if form in BY_RECORD:
        fillings["shown_position"] = "coalesce({} + 1, {})".format(
            chosen(lambda of: f"enum_code(CAST(_column AS {enum(of.values)}))::INTEGER"),
            fillings["size"],
        )
    for column in NUMBERS:
        if column in some.numbers:
            fillings[column] = number(column)
            fillings[f"{column}_number"] = fillings[column]
            fillings[f"{column}s"] = chosen(lambda of, name=column: doubles(of.numbers[name]))  # type: ignore[misc]
    for column in LISTS:
        if column in some.lists:
            name = column if column.endswith("s") else f"{column}s"
            fillings[name] = chosen(
                lambda of, name=column: doubles([each for row in of.lists[name] for each in row])  # type: ignore[misc]
            )
    if "own" in some.numbers and "other" in some.numbers:
        fillings["gap"] = template("(@own@ - @other@)")
    for constant in some.constants:
        fillings[constant] = chosen(
            lambda of, name=constant: literal(of.constants.get(name))  # type: ignore[misc]
        )
    for name in ("row", "em_start", "em_ratio", "em_step", "inflation", "holds", "sizes"):
        if _has(form, name):
            fillings[name] = fragment(form, name)
    return fillings


def _certain(attribute: SensitiveAttribute) -> str:
    """Write how many records of a group are certain to have a value: those of a sample that show it."""
    return "_priv_observed" if attribute.form == "sample" else "0e0"


def _distribution_query(attribute: SensitiveAttribute) -> str:
    """Write the text of the query behind priv.reconstructed_distribution, as a literal, for each method."""
    counted = attribute.form in SUMS
    moments = fragment(attribute.form, "moments")
    lists = dict(attribute.lists)
    if "operator" in lists:
        lists["likelihood"] = list(zip(*lists["operator"], strict=True))
    fillings = {
        "table": identifier(attribute.release),
        "attribute": identifier(attribute.name),
        "type": "VARCHAR" if attribute.type == "ENUM" else attribute.type,
        "size": str(attribute.size),
        "values": texts(attribute.values) + (" || [NULL]" if attribute.has_missing else ""),
        "numbers": ", ".join(
            [f"unnest({doubles(of)}) AS _priv_{name}" for name, of in attribute.numbers.items()]
            + [
                f"unnest({matrix(of, attribute.size)}) AS _priv_{name}"
                for name, of in lists.items()
            ]
        ),
        "number_names": ", ".join(
            f"_priv_{name}" for name in (*attribute.numbers, *lists, *SUMS.get(attribute.form, ()))
        ),
        "number_lists": ", ".join(
            [
                f"list(_priv_{name} ORDER BY _priv_position) AS _priv_{name}s"
                for name in (*attribute.numbers, *lists)
            ]
            + [
                f"{fragment(attribute.form, name)} AS _priv_{name}"
                for name in ("operators", "likelihoods", "weightss")
                if _has(attribute.form, name)
            ]
        ),
        "confidence": template("{confidence}"),
        "normal_quantile": body(read(FRAGMENTS, "normal_quantile")),
        "interval": body(read(FRAGMENTS, "interval")),
        **{name: body(read(FRAGMENTS, name)) for name in KEPT},
        "observed": body(
            read(f"{FRAGMENTS}/{attribute.form}" if counted else FRAGMENTS, "observed")
        ),
        "moments": f"struct_insert({moments}, certain := {_certain(attribute)}"
        + (")" if counted else ", excess := 0e0, slack := 0e0)"),
        "em_start": fragment(attribute.form, "em_start")
        if _has(attribute.form, "em_start")
        else body(read(FRAGMENTS, "em_start")),
        "em_next": "[{} FOR ratio IN [{}]][1]".format(
            *(fragment(attribute.form, name) for name in ("em_step", "em_ratio"))
        ),
        "em_leap": body(read(FRAGMENTS, "em_leap")),
    }
    fillings |= {name: literal(float(value)) for name, value in attribute.constants.items()}
    inverse, bayesian = (
        computed(fill(body(read(FRAGMENTS, name)), fillings), ARGUMENTS)
        for name in ("distribution", "bayesian")
    )
    return f"CASE method WHEN 'inverse' THEN {inverse} ELSE {bayesian} END"


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
                if form in SCALED
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
