"""Macros of each release, and a thin choice above them: how a publisher's database has what the functions must know.

What is known of an attribute stands in a few macros of its own, each a literal that is written once, when the release
is published: its numbers, its domain, the texts of its queries. Above each stands one macro that chooses
among all attributes by their names. The functions ask these, so their text depends on the shapes of the attributes
(which forms there are, and a few traits of each) and on nothing else: publishing costs the same however many releases
there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from duckdb_priv.analyst.forms import CONSTANTS, FORMS, form_of
from duckdb_priv.analyst.written import (
    RELEASE_FIELDS,
    Lookup,
    Shape,
    listing,
    query_texts,
    release_fields,
    there_is,
    type_name,
)
from duckdb_priv.release.model import LISTS, NUMBERS, SensitiveAttribute
from duckdb_priv.sqltext.literals import SEPARATORS, enum, packed, texts
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import MARKED_ARGUMENT, body, fill, read

FOLDER = "analyst/chosen"
QUERIES = ("inverse", "bayesian", "pattern", "law", "own", "weight")
BETWEEN = SEPARATORS[0]
"""Stands between fields that hold names of ours and numbers only, and between texts that have no such character."""
FACTS, LISTS_, QUERIES_, TEXTS, LISTING = "_facts", "_lists", "_queries", "_texts", "_listing"
TYPE, COLUMN = "_type", "_column"
SAID = {
    FACTS: "The numbers",
    LISTS_: "The matrices",
    QUERIES_: "The texts of queries",
    TEXTS: "The domain",
    LISTING: "The domain, for people,",
    TYPE: "The type of the column",
    COLUMN: "The name of the column",
}
"""By the macro that chooses: what it gives."""
FIELDS: Mapping[str, Sequence[str]] = {
    FACTS: ("form", "has_missing", "size", "joined", *CONSTANTS, *NUMBERS),
    LISTS_: LISTS,
}
"""By the macro that chooses: the fields of the text that it gives."""
PLACE, RELEASES, THERE = "_place", "_releases", "_there"


@dataclass(frozen=True)
class NamedAttribute:
    """An attribute of a publisher's database, as the choice names it."""

    release: str
    name: str
    form: str
    type: str
    column: str = ""
    """Name of its published column."""
    lower_release: str = ""
    """The names as DuckDB has them in lower case."""
    lower_name: str = ""

    @property
    def has_place(self) -> bool:
        """Whether what its rows report is looked up by the place in an ENUM."""
        return FORMS[self.form].by_record and self.type == "ENUM"

    def macro(self, kind: str) -> str:
        """Name the macro that is its own."""
        return f"{kind} {self.release}.{self.name}"


def known(attribute: SensitiveAttribute) -> NamedAttribute:
    """Return an attribute as the choice names it."""
    return NamedAttribute(attribute.release, attribute.name, attribute.form, attribute.type)


def own_names(each: NamedAttribute) -> set[str]:
    """Name the macros that are an attribute's own."""
    return {each.macro(kind) for kind in (*SAID, *([PLACE] if each.has_place else []))}


def choice_names() -> set[str]:
    """Name the macros that choose."""
    return {*SAID, PLACE, RELEASES, THERE}


def own_statements(attribute: SensitiveAttribute) -> Iterator[str]:
    """Write the macros that are an attribute's own."""
    each = known(attribute)
    of = f"of {attribute.release}.{attribute.name}, for the functions of the analyst."
    queries = query_texts(attribute)
    contents = {
        FACTS: _fields(FACTS, _facts(attribute)),
        LISTS_: _fields(LISTS_, {name: _numbers(attribute.flat(name)) for name in attribute.lists}),
        QUERIES_: packed(packed(MARKED_ARGUMENT.split(queries.get(name, ""))) for name in QUERIES),
        TEXTS: packed(value for value in attribute.values if value is not None),
        LISTING: listing(attribute.values),
        COLUMN: attribute.column,
    }
    written = {kind: literal(content) for kind, content in contents.items()}
    written[TYPE] = type_name(attribute)
    for kind, content in written.items():
        yield _macro("attribute", each.macro(kind), f"{SAID[kind]} {of}", content=content)
    if each.has_place:
        comment = f"The place in the domain of what a row reports {of}"
        yield _macro("place", each.macro(PLACE), comment, enum=enum(attribute.values))


def _fields(kind: str, content: Mapping[str, str]) -> str:
    return BETWEEN.join(content.get(name, "") for name in FIELDS[kind])


def _facts(attribute: SensitiveAttribute) -> dict[str, str]:
    return {
        "form": attribute.form,
        "has_missing": literal(attribute.has_missing),
        "size": str(attribute.size),
        "joined": literal(form_of(attribute).joined),
        **{name: repr(number) for name, number in attribute.constants.items()},
        **{name: _numbers(numbers) for name, numbers in attribute.numbers.items()},
    }


def _numbers(numbers: Sequence[float]) -> str:
    """Write numbers as a text, only one where all are the same."""
    shown = numbers[:1] if len(set(numbers)) == 1 else numbers
    return ",".join(repr(float(number)) for number in shown)


def choice_statements(attributes: Sequence[NamedAttribute]) -> Iterator[str]:
    """Write the macros that choose among attributes, of which there is one at least, listed in order of their names."""
    releases: dict[str, list[NamedAttribute]] = {}
    for of in attributes:
        releases.setdefault(of.release, []).append(of)
    # Two names for each: the only attribute of a release is called by that of the release, too.
    named = [
        key
        for each in releases.values()
        for of in each
        for key in (f"{of.lower_release}.{of.lower_name}", of.lower_release)[
            : 3 - min(len(each), 2)
        ]
        * min(len(each), 2)
    ]
    for kind, said in SAID.items():
        calls = [f"priv.{identifier(of.macro(kind))}()" for of in attributes]
        yield _choice(kind, f"{said} of the attribute that is asked for.", calls, named)
    cases = " ".join(
        f"WHEN lower(_key) IN ({', '.join(map(literal, sorted(set(named[2 * number : 2 * number + 2]))))})"
        f" THEN priv.{identifier(of.macro(PLACE))}(_column)"
        for number, of in enumerate(attributes)
        if of.has_place
    )
    yield _macro(
        "choice_of_place",
        PLACE,
        "The place in the domain of what a row reports of the attribute that is asked for.",
        cases=cases or "WHEN true THEN NULL::INTEGER",
    )
    contents = [
        literal(
            packed(
                of or ""
                for of in release_fields(
                    release,
                    [of.name for of in each],
                    [of.column for of in each if FORMS[of.form].reported],
                ).values()
            )
        )
        for release, each in releases.items()
    ]
    yield _choice(
        RELEASES,
        "The table and the attributes of a release.",
        contents,
        [key for each in releases.values() for key in [each[0].lower_release] * 2],
    )
    yield _macro(
        "attribute",
        THERE,
        "The releases that there are, for people.",
        content=literal(there_is(releases)),
    )


def _choice(macro: str, comment: str, contents: Sequence[str], keys: Sequence[str]) -> str:
    return _macro("choice", macro, comment, contents=", ".join(contents), keys=texts(keys))


def _macro(file: str, macro: str, comment: str, **fillings: str) -> str:
    places = {"macro": identifier(macro), "comment": literal(comment), **fillings}
    return fill(body(read(FOLDER, file)), places)


class Chosen(Lookup):
    """Everything by the macros that choose."""

    def __init__(self, shapes: Mapping[str, Shape], key: str = "_release") -> None:
        self.shapes, self._key = shapes, key

    def among(self, form: str) -> Chosen:
        """Return the lookup for macros that ask for attributes of one form only."""
        return Chosen({form: self.shapes[form]}, self._key)

    def by_key(self, key: str) -> Chosen:
        """Return the lookup of the attribute that an SQL expression calls 'release.attribute'."""
        return Chosen(self.shapes, key)

    def is_here(self) -> str:
        """Write whether the attribute that is asked for is one of these."""
        among = ", ".join(map(literal, self.shapes))
        return f"({self._field(FACTS, 'form')} IN ({among}))" if among else "NULL::BOOLEAN"

    def has_missing(self) -> str:
        """Write whether the missing value belongs to its domain."""
        if not any(shape.has_missing for shape in self.shapes.values()):
            return "false"
        return f"CAST({self._field(FACTS, 'has_missing')} AS BOOLEAN)"

    def size(self) -> str:
        """Write how many values its domain has."""
        return f"CAST({self._field(FACTS, 'size')} AS INTEGER)"

    def texts(self) -> str:
        """Write the texts of its values, the missing one left out."""
        every = f"priv.{TEXTS}({self._key})"
        return f"list_slice(string_split({every}, {self._between(every)}), 2, -2)"

    def is_value(self, text: str) -> str:
        """Write whether a text is a value of its domain."""
        every = f"CAST(priv.{TEXTS}({self._key}) AS VARCHAR)"
        between = self._between(every)
        # Without the casts DuckDB 1.5 does not know the type of what is NULL.
        enclosed = f"CAST({between} || {text} || {between} AS VARCHAR)"
        return f"(contains({every}, {enclosed}) AND NOT contains({text}, {between}))"

    def listing(self) -> str:
        """Write the first values of its domain, for people."""
        return f"priv.{LISTING}({self._key})"

    def type(self) -> str:
        """Write the type of its published column, as DuckDB's typeof says it."""
        return f"priv.{TYPE}({self._key})"

    def column(self) -> str:
        """Write the name of its published column."""
        return f"priv.{COLUMN}({self._key})"

    def joined(self) -> str:
        """Write whether it can be asked for together with others."""
        return f"CAST({self._field(FACTS, 'joined')} AS BOOLEAN)"

    def number(self, name: str, position: str) -> str:
        """Write a number of the value at a position of the domain."""
        if all(name in shape.equal for shape in self.shapes.values()):
            return f"CAST(nullif({self._field(FACTS, name)}, '') AS DOUBLE)"
        every = self._list(name)
        return f"list_extract({every}, least({position}, len({every})))"

    def numbers(self, name: str) -> str:
        """Write the numbers of all values."""
        every = self._list(name)
        count = f"{self.size()} * {self.size()}" if name in LISTS else self.size()
        return f"list_resize({every}, {count}, list_extract({every}, 1))"

    def constant(self, name: str) -> str:
        """Write a number of the release."""
        return f"CAST(nullif({self._field(FACTS, name)}, '') AS DOUBLE)"

    def place(self) -> str:
        """Write the place in the domain of what a row of an ENUM reports, from 0."""
        return f"priv.{PLACE}({self._key}, _column)"

    def reports(self, values: str) -> str:
        """Write whether a row reports one of a list of texts, all of them values of its domain."""
        return f"list_contains({values}, CAST(_column AS VARCHAR))"

    def query(self, name: str, arguments: Mapping[str, str]) -> str:
        """Write the text of a query, or of a part of one, with the arguments of the call in it."""
        cases = " ".join(f"WHEN '{each}' THEN {sql}" for each, sql in arguments.items())
        queries = _unpacked(f"priv.{QUERIES_}({self._key})")
        pieces = _unpacked(f"list_extract({queries}, {QUERIES.index(name) + 1})")
        return (
            "[array_to_string([CASE WHEN n % 2 = 1 THEN list_extract(q, n) ELSE CASE list_extract(q, n)"
            f" {cases} END END FOR n IN range(1, len(q) + 1)], '') FOR q IN [{pieces}]][1]"
        )

    def named(self, field: str, key: str = "_release") -> str:
        """Write what is known of the release that an SQL expression calls."""
        place = RELEASE_FIELDS.index(field) + 1
        return f"nullif(list_extract({_unpacked(f'priv.{RELEASES}({key})')}, {place}), '')"

    def unknown_release(self) -> str:
        """Write the end of the message that there is no such release."""
        return f"priv.{THERE}()"

    def _field(self, kind: str, name: str) -> str:
        place = FIELDS[kind].index(name) + 1
        return f"list_extract(string_split(priv.{kind}({self._key}), '{BETWEEN}'), {place})"

    def _between(self, every: str) -> str:
        """Write what stands between the texts of a domain."""
        plain = all(shape.plain for shape in self.shapes.values())
        return literal(BETWEEN) if plain else f"left({every}, 1)"

    def _list(self, name: str) -> str:
        kind = LISTS_ if name in LISTS else FACTS
        return f"string_split(nullif({self._field(kind, name)}, ''), ',')::DOUBLE[]"


def _unpacked(text: str) -> str:
    """Write the list that a text holds, as ``packed`` makes it.

    Without a let: DuckDB 2 takes one inside of another that is bound for an aggregate for an error of its own.
    """
    return f"list_slice(string_split({text}, left({text}, 1)), 2, -2)"
