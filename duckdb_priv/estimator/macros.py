"""Write the analyst's macros: pure SQL in which the numbers of the releases are literals.

DuckDB binds a macro when it is called, on the caller's search path. So in a release file, macros read no table and call
no other macro. They stay correct if the file is attached but not in use, or if several files are attached. A
publisher's database is in use when someone works in it, so there they call the macros of ``facts``. DuckDB folds the
look-ups when it plans the query: a domain of 1,400 values costs 2 ms.

An aggregate raises its errors inside a list. DuckDB treats error() as a side effect, and does not accept the alias of
such an expression in HAVING or elsewhere in the SELECT. DuckDB 2 looks through the list. The mistake of a call is one
text, NULL for a correct call, so each query plans each condition once. For a correct call, the value of the list is
true and not NULL.

Each form of ``forms`` has its own formulas. A macro contains the formulas of the one form in its database, or chooses
among several forms by release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial

import duckdb

from duckdb_priv.estimator import distribution, facts, joint, sets
from duckdb_priv.estimator.facts import Facts, NamedAttribute, Stored
from duckdb_priv.estimator.forms import CONSTANTS, ENDS, FORMS, TEST, Form, equals, last_shown
from duckdb_priv.estimator.lets import Chain
from duckdb_priv.estimator.lookup import METHOD, Lookup, Shape, by_text, merged
from duckdb_priv.estimator.set_formulas import chosen as chosen_by_reported
from duckdb_priv.estimator.set_formulas import listed, mistake
from duckdb_priv.estimator.written import Written, shapes_of
from duckdb_priv.release import catalog
from duckdb_priv.release.model import (
    EXTREMES,
    MATRICES,
    NUMBERS,
    SCALE,
    SensitiveAttribute,
)
from duckdb_priv.sqltext import templates
from duckdb_priv.sqltext.aggregates import qualified
from duckdb_priv.sqltext.folding import folded
from duckdb_priv.sqltext.literals import concatenated
from duckdb_priv.sqltext.numbers import NO_NUMBERS
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import body, fill, read, template

FRAGMENTS = "analyst/fragments"
INTERVAL = (("i", TEST), ("u", ENDS))
"""The steps from the moments of a count to its interval."""


def create(connection: duckdb.DuckDBPyConnection, attributes: Sequence[SensitiveAttribute]) -> None:
    """Create the macros of a release file."""
    run(connection, statements(Written(attributes)))


def add(
    connection: duckdb.DuckDBPyConnection, release: str, attributes: Sequence[SensitiveAttribute]
) -> None:
    """Create the macros of a new release in the publisher's database, and update those that find facts.

    The functions are written again only if the release has a new shape.
    """
    kept, shapes = Facts.kept(connection)
    known = facts.known_attributes(connection)
    others = any(each.release != release for each in known)
    _write(connection, kept, attributes, known)
    _find(connection, kept, known, shapes, merged(shapes if others else {}, shapes_of(attributes)))


def drop_own(connection: duckdb.DuckDBPyConnection, release: str) -> None:
    """Drop the macros of a release before its catalog rows are deleted."""
    kept, _ = Facts.kept(connection)
    known = facts.known_attributes(connection)
    own, others = (
        kept.own_names([each for each in known if (each.release == release) == is_own])
        for is_own in (True, False)
    )
    for name in sorted(own - others):
        connection.execute(f"DROP MACRO IF EXISTS priv.{identifier(name)}")


def remove(connection: duckdb.DuckDBPyConnection) -> None:
    """Update the macros that find facts, and the functions, after a release was dropped."""
    kept, shapes = Facts.kept(connection)
    known = facts.known_attributes(connection)
    left = {of.form for of in known}
    needed = {form: shape for form, shape in shapes.items() if form in left}
    _find(connection, kept, known, shapes, needed)


def create_all(connection: duckdb.DuckDBPyConnection) -> None:
    """Create all macros of a publisher's database."""
    attributes = catalog.sensitive_attributes(connection)
    made, known = Facts.none(), facts.known_attributes(connection)
    _write(connection, made, attributes, known)
    _find(connection, made, known, {}, shapes_of(attributes))


def needed(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the names of the macros that a publisher's database needs besides the functions."""
    try:
        kept, _ = Facts.kept(connection)
    except duckdb.CatalogException:
        return facts.shared_names()
    return facts.shared_names() | kept.own_names(facts.known_attributes(connection))


def _write(
    connection: duckdb.DuckDBPyConnection,
    kept: Facts,
    attributes: Iterable[SensitiveAttribute],
    known: Iterable[NamedAttribute],
) -> None:
    """Create the attributes' own macros, and add their short facts."""
    named = {(of.release, of.name): of for of in known}
    for attribute in attributes:
        run(connection, kept.add(connection, attribute, named[attribute.release, attribute.name]))


def _find(
    connection: duckdb.DuckDBPyConnection,
    kept: Facts,
    known: Sequence[NamedAttribute],
    written: Mapping[str, Shape],
    shapes: Mapping[str, Shape],
) -> None:
    """Create the macros that find facts, and the functions unless they exist for these shapes already."""
    shapes = facts.USUAL if merged(facts.USUAL, shapes) == facts.USUAL else shapes
    run(connection, kept.statements(known, shapes))
    if shapes != written:
        run(connection, [*facts.fixed_statements(), *_functions(tuple(shapes.values()))])


@cache
def _functions(shapes: tuple[Shape, ...]) -> tuple[str, ...]:
    """Return the functions of a publisher's database. They are cached: several databases may have the same shapes."""
    return tuple(statements(Stored({shape.form: shape for shape in shapes})))


def statements(lookup: Lookup) -> list[str]:
    """Return the SQL of every function, for the attributes of a lookup."""
    fillings = _estimates(lookup) | _guards(lookup)
    fillings |= _messages(lookup, fillings) | joint.fillings(lookup) | sets.fillings(lookup)
    found = []
    for name in templates.names("analyst"):
        found.append(qualified(folded(fill(body(read("analyst", name)), fillings))))
    return found


def run(connection: duckdb.DuckDBPyConnection, texts: Iterable[str]) -> None:
    """Execute statements one after another."""
    for text in texts:
        connection.execute(text)


def by_form(lookup: Lookup, write: Callable[[str, Lookup], str]) -> str:
    """Return the SQL of the only form, or an expression that chooses a form by the macro's first argument."""
    of_forms = by_text(lookup, write)
    if not of_forms:
        return "NULL::DOUBLE"
    if len(of_forms) == 1:
        return of_forms[0][1]
    *others, (_, last) = of_forms
    cases = " ".join(f"WHEN {is_here} THEN {text}" for is_here, text in others)
    return f"(CASE {cases} ELSE {last} END)"


def _guards(lookup: Lookup) -> dict[str, str]:
    """Return the conditions of a correct call."""
    has_weighed = any(FORMS[form].weighed for form in lookup.shapes)
    value_fits = lookup.is_value("_value")
    if any(shape.has_missing for shape in lookup.shapes.values()):
        value_fits = f"CASE WHEN _value IS NULL THEN {lookup.has_missing()} ELSE {value_fits} END"
    return {
        **{name: _right(mistake) for name, mistake in RIGHT.items()},
        "confident": "(confidence > 0 AND confidence < 1)",
        "here": lookup.is_here(),
        "value_fits": value_fits,
        "known_row": template(
            "(coalesce(@here@ AND @value_fits@, false) AND @row_weight_fits@ AND @column_fits_row@"
            " AND @is_record@)"
        ),
        "known_release": f"(CASE WHEN {lookup.is_here()} THEN true END)",
        # DuckDB knows the type of an aggregate without computing it, but not its name. The count of a column without
        # missing values is the count of rows, which is computed anyway.
        "column_fits": _column_fits(lookup, "any_value(_column)", "count(_column)"),
        # A row that an outer join adds shows NULL. It is distinguishable from a record if no record shows the missing
        # value.
        "are_records": _unless_missing(lookup, "coalesce(count_if(_column IS NULL), 0) = 0"),
        "is_record": _unless_missing(lookup, "_column IS NOT NULL"),
        "column_fits_row": _column_fits(lookup, "_column", "_column"),
        "by_reported": "len(list_filter([CAST(group_columns AS VARCHAR), CAST(condition AS VARCHAR)],"
        " lambda t: regexp_matches(lower(t), "
        + lookup.named("reported", "list_extract(string_split(_release, '.'), 1)")
        + "))) > 0",
        # If weights are possible, the condition aggregates them: a column must be inside an aggregate. It takes the
        # name from any_value: before DuckDB 2.0, a count that occurs twice in a correlated subquery has no name.
        "weight_fits": by_form(
            lookup,
            lambda form, _: (
                f"(count(weight) = count(*) AND alias(any_value(weight)) = 'any_value({SCALE})')"
                if FORMS[form].weighed
                else ("(count(weight) = 0)" if has_weighed else "(weight IS NULL)")
            ),
        ),
        "weight_right": by_form(
            lookup,
            lambda form, _: (
                f"""coalesce(lower(trim(CAST(weight AS VARCHAR))) IN ('{SCALE}', '"{SCALE}"'), false)"""
                if FORMS[form].weighed
                else "(weight IS NULL)"
            ),
        ),
        "row_weight_fits": by_form(
            lookup,
            lambda form, _: (
                f"(weight IS NOT NULL AND alias(weight) = '{SCALE}')"
                if FORMS[form].varied
                else "(weight IS NULL)"
            ),
        ),
    }


RIGHT = {
    "right": "mistake",
    "right_interval": "mistake_of_interval",
    "right_set": "mistaken_set",
    "right_sets": "mistaken_sets",
    "right_amount": "mistaken_amount",
}
"""The placeholder of each check of a call, with the placeholder of its message, which is NULL for a correct call."""


def _right(mistake: str) -> str:
    return template(f"[coalesce(error(_priv_text), true) FOR _priv_text IN [@{mistake}@]][1]")


def _unless_missing(lookup: Lookup, present: str) -> str:
    """Write the condition that rows report a value; it is always true if the missing value is in the domain."""
    missing = lookup.has_missing()
    known = {"true": "true", "false": f"({present})"}
    return known.get(missing.removeprefix("(").removesuffix(")"), f"({missing} OR {present})")


def _column_fits(lookup: Lookup, typed: str, called: str) -> str:
    """Write the condition that a column is the published one: its type is the ENUM of the domain.

    ``typed`` has the type of the column. ``called`` contains its name, which must not be that of another column with
    the same type. A view may rename the column.
    """
    fits = lookup.is_type(typed)
    if any(shape.has_twins for shape in lookup.shapes.values()):
        before, after = called.split("_column")
        names = f"[{literal(before)} || _priv_name || {literal(after)} FOR _priv_name IN {lookup.fact('twins')}]"
        fits += f" AND NOT list_contains({names}, alias({called}))"
    return by_form(lookup, lambda form, _: "true" if FORMS[form].listed else f"({fits})")


def _estimates(lookup: Lookup) -> dict[str, str]:
    """Return the expressions that differ between forms, and the queries of distributions."""
    several = len(lookup.shapes) > 1
    same_law = [form for form in lookup.shapes if FORMS[form].counted]
    match = by_form(
        lookup.among(*same_law),
        lambda form, of: FORMS[form].matched(_places(form, of, lookup)),
    )

    def write(name: str, form: str, of: Lookup) -> str:
        kind = "records" if several and of.shapes[form].enumerated else "rows"
        places = _places(form, of, lookup)
        text = FORMS[form].estimator(name, places, kind)
        if form in same_law and name not in ("row_weight", "mle"):
            text = text.replace(fill(FORMS[form].text("match"), places), match)
        return text

    def interval(form: str, of: Lookup) -> str:
        places = _places(form, of, lookup)
        return FORMS[form].estimator("moments", places, then=INTERVAL)

    cells = lookup.query(distribution.CELLS, "counted", "inverse")
    return {
        name: by_form(lookup, partial(write, name))
        for name in ("estimate", "variance", "row_weight", "mle")
    } | {
        "rows_fit": by_form(
            lookup,
            lambda form, of: write("plausible", form, of) if FORMS[form].independent else "true",
        ),
        "normal_quantile": lookup.quantile(),
        "interval": str(Chain(by_form(lookup, partial(write, "moments")), *INTERVAL))
        if several
        else by_form(lookup, interval),
        "change_query": lookup.query(distribution.VERSIONS, "change"),
        "smoothed_query": distribution.smoothed(cells),
        "distribution_query": lookup.query(distribution.TOGETHER, "counted", METHOD),
    }


def _places(form: str, of: Lookup, lookup: Lookup) -> dict[str, str]:
    """Return the placeholders of one form's sections, also for macros that choose among several forms."""
    several = len(lookup.shapes) > 1
    places = {
        "has_missing": of.has_missing(),
        "equals": equals(has_missing=of.shapes[form].has_missing),
        "compared": "CAST(_column AS VARCHAR)",
        "value": "CAST(_value AS VARCHAR)",
        "column": f"(CASE WHEN {of.is_here()} THEN _column END)"
        if several and not of.shapes[form].enumerated
        else "_column",
        "list": f"CAST((CASE WHEN {of.is_here()} THEN CAST(_column AS VARCHAR) END) AS VARCHAR[])"
        if several
        else "CAST(_column AS VARCHAR[])",
        "scale": "weight",
        "missing": "coalesce(count_if(_column IS NULL), 0)" if of.shapes[form].has_missing else "0",
        "missing_share": f"CASE WHEN {of.has_missing()}"
        " THEN [(t).missing / greatest((t).total, 1)] ELSE []::DOUBLE[] END",
        "size": of.size(),
        "texts": of.texts(),
        "shown_position": f"coalesce({of.place()} + 1, {of.size()})",
        "normal_quantile": of.quantile(),
        **of.blocks(),
    }
    places["last"] = last_shown(places["column"], has_missing=of.shapes[form].has_missing)
    places["block"] = (
        of.place() if of.shapes[form].enumerated else f"TRY_CAST({places['column']} AS INTEGER)"
    )
    position = (
        fill(FORMS[form].text("position"), places) if "position" in FORMS[form].sections else "NULL"
    )
    return (
        places
        | {f"number.{name}": of.number_of_value(name, position) for name in (*NUMBERS, *EXTREMES)}
        | {f"numbers.{name}": of.numbers(name) for name in NUMBERS}
        | {f"row.{name}": of.row(name, position) for name in MATRICES}
        | {f"matrix.{name}": of.matrix(name) for name in MATRICES}
        | {f"constant.{name}": of.constant(name) for name in CONSTANTS}
    )


def _on_weight(form: Form) -> str:
    """Return the message about the argument ``weight`` of functions."""
    given = f": write weight := {SCALE}\nHint: {SCALE} is a column of the release"
    if form.scaled:
        return f"stand for several source records each{given}"
    if form.varied:
        return f"are perturbed as far as their scale says{given}"
    return "stand for one source record each: leave out weight\nHint: every row counts once"


def _on_weight_of_row(form: Form) -> str:
    """Return the message about the argument ``weight`` of priv.weight."""
    if form.scaled:
        return (
            f"stand for several source records each: multiply by {SCALE}"
            f"\nHint: write {SCALE} * priv.weight(…)"
        )
    return _on_weight(form)


def _messages(lookup: Lookup, guards: Mapping[str, str]) -> dict[str, str]:
    """Return the error messages of calls that break a guard, and the lists of what exists."""

    def check(guard: str, message: str) -> tuple[str, str]:
        return guards[guard], template(f"@{message}@")

    unknown = concatenated(
        literal('no release is called "'),
        "left(coalesce(_release, 'NULL'), 100)",
        lookup.unknown_release(),
        literal("\nHint: FROM priv.release lists what there is"),
    )
    here = check("here", "mistaken_release")
    known = [here, (guards["value_fits"], _no_value(lookup, "_value"))]
    given = [
        check("weight_fits", "mistaken_weight"),
        check("column_fits", "mistaken_column"),
        check("are_records", "mistaken_join"),
    ]
    confidence = check("confident", "mistaken_confidence")
    of_set = mistake(confidence, *given)
    # Conditions on the call's arguments alone form one text, which DuckDB folds when it plans the query.
    on_rows = mistake(given.pop(), check("rows_fit", "mistaken_rows"))
    return {
        "unknown_release": unknown,
        "mistake": f"coalesce({mistake(*known, *given)}, {on_rows})",
        "mistake_of_interval": f"coalesce({mistake(*known, confidence, *given)}, {on_rows})",
        "mistaken_value": mistake(*known),
        "mistaken_set": _mistaken_sets(lookup, here, of_set, listed("_values")),
        "mistaken_sets": _mistaken_sets(
            lookup, here, of_set, listed("_values"), listed("_other_values")
        ),
        "mistaken_amount": mistake(
            (
                f"regexp_matches(any_value(typeof(_amount)), '{NO_NUMBERS}') IS NOT TRUE",
                literal(
                    "the fourth argument must be a number\nHint: epoch(x) makes one of a date or a time, in seconds"
                ),
            )
        ),
        "mistake_row": mistake(
            *known,
            (template("@row_weight_fits@"), template("@mistaken_row_weight@")),
            (template("@column_fits_row@"), template("@mistaken_column@")),
            (template("@is_record@"), template("@mistaken_join@")),
        ),
        "mistaken_join": concatenated(
            literal('among these rows are some that are no records of "'),
            "_release",
            literal(
                '", which always report something: a join added them'
                "\nHint: join from the release, FROM release LEFT JOIN …, or by JOIN"
            ),
        ),
        "mistaken_column": concatenated(
            literal('the second argument must be the noisy column of "'),
            "_release",
            literal('", which is '),
            lookup.fact("column"),
            literal("\nHint: write its name without quotes, a cast or a function around it"),
        ),
        "mistaken_rows": chosen_by_reported(_asked("_value")),
        "mistaken_confidence": literal(
            "confidence must lie strictly between 0 and 1; 0.95 is usual\nHint: write confidence := 0.95"
        ),
        "chosen_by_reported": literal(
            "group_columns and condition take public columns only: what a record reports is not what is true of it;"
            " every value has a row already, and priv.reconstructed_joint counts several attributes together"
            "\nHint: leave out what begins with noisy_, and name each column: no *, COLUMNS(…), #1 or whole table,"
            " and no quotes but plain ones"
        ),
        "mistaken_weight": _of_records(lookup, _on_weight),
        "mistaken_row_weight": _of_records(lookup, _on_weight_of_row),
        "mistaken_release": unknown
        if (several := lookup.named("several")) == "NULL"
        else f"coalesce({several}, {unknown})",
    }


def _asked(value: str) -> str:
    """Write the caller's value for a message."""
    return f"coalesce('''' || left(CAST({value} AS VARCHAR), 100) || '''', 'NULL')"


def _no_value(lookup: Lookup, value: str) -> str:
    """Write the message for a value that is not in the domain.

    The text contains values of the domain. If a value looks like a placeholder, it is not filled in.
    """
    return concatenated(
        literal('"'),
        "_release",
        literal('" has no value '),
        _asked(value),
        literal("; it has "),
        lookup.fact("listing"),
        literal("\nHint: write it as it is listed"),
    )


def _mistaken_sets(lookup: Lookup, here: tuple[str, str], others: str, *sets: str) -> str:
    """Write the message for a wrong call with sets of values; NULL for a correct call.

    ``others`` is the message of its other mistakes.
    """
    known = f"CASE WHEN v IS NULL THEN {lookup.has_missing()} ELSE {lookup.is_value('v')} END"
    every, empty = (
        ("s", "len(s) = 0") if len(sets) == 1 else ("flatten(s)", "len(s[1]) = 0 OR len(s[2]) = 0")
    )
    given = sets[0] if len(sets) == 1 else f"[{', '.join(sets)}]"
    unknown = f"list_filter({every}, lambda v: {known} IS NOT TRUE)"
    wrong = (
        f"[CASE WHEN {empty} THEN 'give at least one value'"
        f" ELSE [{_no_value(lookup, 'v')} FOR v IN {unknown}][1] END FOR s IN [{given}]][1]"
    )
    return f"coalesce({mistake(here)}, {wrong}, {others})"


def _of_records(lookup: Lookup, stated: Callable[[Form], str]) -> str:
    of_form = by_form(lookup, lambda form, _: literal(stated(FORMS[form])))
    return concatenated(literal('records of release "'), "_release", literal('" '), of_form)
