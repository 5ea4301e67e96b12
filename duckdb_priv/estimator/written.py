"""What the analyst's macros must know of the attributes, written into them: those of a release file are so.

Macros ask a ``Lookup`` and get SQL: that of the attribute which is called by their first argument. In a release file
all of it is literals, chosen by name where the release has several attributes. ``chosen`` has the other way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Self

import duckdb

from duckdb_priv.estimator import distribution, joint_texts
from duckdb_priv.estimator.blocks import PLACES, block_places
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.estimator.public_only import reaching
from duckdb_priv.release.model import MATRICES, NUMBERS, SensitiveAttribute
from duckdb_priv.sqltext.aggregates import qualified
from duckdb_priv.sqltext.literals import SEPARATORS, decoded, doubles, is_among, position, texts
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import body, computed, fill, read

ENUM_IS_READ = ContextVar("ENUM_IS_READ", default=not duckdb.__version__.startswith("1."))
"""Whether other versions read an ENUM in a macro that this DuckDB writes: not one that 1.5 writes."""
LISTED = 20
"""How many names an error message lists."""


@dataclass(frozen=True)
class Shape:
    """What the text of the macros depends on, of all attributes whose estimates take one form."""

    form: str
    enumerated: bool
    """Whether the columns of all of them are an ENUM of the domain."""
    has_missing: bool
    """Whether the missing value belongs to the domain of any."""
    plain: bool = False
    """Whether none of their values holds the character that separates texts first of all."""
    equal: frozenset[str] = frozenset()
    """Numbers that, in each of them, are the same for all values."""
    has_twins: bool = False
    """Whether a release of any has several columns of one type."""

    def __or__(self, other: Shape) -> Shape:
        """Return what the text for attributes of both depends on."""
        return Shape(
            self.form,
            self.enumerated and other.enumerated,
            self.has_missing or other.has_missing,
            self.plain and other.plain,
            self.equal & other.equal,
            self.has_twins or other.has_twins,
        )


class Lookup(ABC):
    """Where macros find what they must know of the attribute that is asked for.

    Every method returns SQL that is folded when a query is planned. The caller makes sure first that the attribute
    exists.
    """

    shapes: Mapping[str, Shape]
    """Every form that an attribute takes, by its name."""

    @abstractmethod
    def among(self, *forms: str) -> Self:
        """Return the lookup for macros that ask for attributes of some forms only."""

    @abstractmethod
    def by_key(self, key: str) -> Self:
        """Return the lookup of the attribute that an SQL expression calls 'release.attribute'."""

    @abstractmethod
    def fact(self, name: str) -> str:
        """Write one of ATTRIBUTE_FACTS."""

    @abstractmethod
    def is_here(self) -> str:
        """Write whether the attribute that is asked for is one of these."""

    def has_missing(self) -> str:
        """Write whether the missing value belongs to its domain."""
        return self.fact("has_missing")

    def size(self) -> str:
        """Write how many values its domain has."""
        return self.fact("size")

    def texts(self) -> str:
        """Write the texts of its values, the missing one left out."""
        return self.fact("texts")

    @abstractmethod
    def is_value(self, text: str) -> str:
        """Write whether a text is a value of its domain."""

    def listing(self) -> str:
        """Write the first values of its domain, for people."""
        return self.fact("listing")

    def type(self) -> str:
        """Write the type of its published column, as DuckDB's typeof says it."""
        return self.fact("type")

    def column(self) -> str:
        """Write the name of its published column."""
        return self.fact("column")

    def twins(self) -> str:
        """Write the list of names that other columns of its type have, of the release."""
        return self.fact("twins")

    def joined(self) -> str:
        """Write whether it can be asked for together with others."""
        return self.fact("joined")

    @abstractmethod
    def number(self, name: str, position: str) -> str:
        """Write a number of the value at a position of the domain."""

    @abstractmethod
    def numbers(self, name: str) -> str:
        """Write the numbers of all values."""

    @abstractmethod
    def encoded(self, name: str) -> str:
        """Write one of MATRICES as the list of the texts of its rows."""

    def row(self, name: str, position: str) -> str:
        """Write the row of a matrix that belongs to the value at a position of the domain."""
        return decoded(f"list_extract({self.encoded(name)}, {position})", MATRICES[name])

    def matrix(self, name: str) -> str:
        """Write the list of the rows of a matrix."""
        return decoded_rows(name, self.encoded(name))

    @abstractmethod
    def constant(self, name: str) -> str:
        """Write a number of the release."""

    @abstractmethod
    def place(self) -> str:
        """Write the place of what a row reports among all that it can, from 0: in the domain, or among the blocks."""

    @abstractmethod
    def blocks(self) -> Mapping[str, str]:
        """Write what is known of the blocks that rows report, by the names of blocks.PLACES."""

    @abstractmethod
    def query(self, name: str, arguments: Mapping[str, str]) -> str:
        """Write the text of a query, or of a part of one, with the arguments of the call in it."""

    @abstractmethod
    def named(self, field: str, key: str = "_release") -> str:
        """Write what is known of the release that an SQL expression calls."""

    @abstractmethod
    def unknown_release(self) -> str:
        """Write the end of the message that there is no such release."""

    @abstractmethod
    def quantile(self) -> str:
        """Write the z of a normal interval at ``confidence``."""


def by_text(lookup: Lookup, write: Callable[[str, Lookup], str]) -> list[tuple[str, str]]:
    """Write what each form says, once for all that say the same: whether one of them is asked for, and the text."""
    forms: dict[str, list[str]] = {}
    for form in lookup.shapes:
        forms.setdefault(write(form, lookup.among(form)), []).append(form)
    return [(lookup.among(*same).is_here(), text) for text, same in forms.items()]


RELEASE_FIELDS = ("table", "attributes", "several", "reported")
"""What is known of a release by its name: its table; its attributes; what to write where there are several; and a
pattern of the texts that may reach the columns in which records report what may not be true."""


def release_fields(
    release: str, attributes: Sequence[str], reported: Sequence[str], namesake: bool
) -> dict[str, str | None]:
    """Return what is known of a release by its name."""
    several = " or ".join(repr(f"{release}.{name}") for name in attributes)
    return {
        "table": identifier(release),
        "attributes": ", ".join(attributes),
        "several": f'release "{release}" has several sensitive attributes: write {several}'
        "\nHint: name one of them instead of the release"
        if len(attributes) > 1
        else None,
        "reported": reaching(release, reported, namesake) if reported else None,
    }


def keys(attributes: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Number attributes by release and name, as analysts may call them.

    >>> keys([("patients", "disease"), ("survey", "income"), ("survey", "age")])
    {'patients.disease': 0, 'patients': 0, 'survey.income': 1, 'survey.age': 2}
    """
    listed = list(attributes)
    releases = [release for release, _ in listed]
    found: dict[str, int] = {}
    for number, (release, name) in enumerate(listed):
        found[f"{release}.{name}"] = number
        if releases.count(release) == 1:
            found[release] = number
    return found


def is_enumerated(attribute: SensitiveAttribute) -> bool:
    """Whether the column of an attribute is an ENUM, so that what a row shows has a place in its type."""
    return attribute.column_type.startswith("ENUM(")


def type_name(attribute: SensitiveAttribute) -> str:
    """Write the type of the published column of an attribute, as DuckDB's typeof says it.

    Characters that are not printed are written in ways that differ between versions: there DuckDB is asked.
    """
    kind = attribute.column_type
    return literal(kind) if kind.isprintable() else f"typeof(CAST(NULL AS {kind}))"


def twin_names(attribute: SensitiveAttribute) -> list[str]:
    """List how DuckDB may name the columns that have the type of an attribute's."""
    return [name for twin in attribute.twins for name in dict.fromkeys((twin, identifier(twin)))]


def listing(values: Sequence[str | None]) -> str:
    """List the first values of a domain, for people."""
    shown = ", ".join("NULL" if value is None else f"'{value}'" for value in values[:LISTED])
    if len(values) <= LISTED:
        return shown
    return f"{shown}, ... ({len(values)} values; see FROM priv.coefficient)"


def there_is(releases: Iterable[str]) -> str:
    """Return which releases there are, as the end of the message that another is not."""
    names = sorted(releases)
    listed = ", ".join(f'"{name[:100]}"' for name in names[:LISTED]) + (
        ", ..." if len(names) > LISTED else ""
    )
    return f'"; there is {listed}' if names else '"; nothing is published here yet'


def shapes_of(attributes: Iterable[SensitiveAttribute]) -> dict[str, Shape]:
    """Return the forms that attributes take."""
    found: dict[str, Shape] = {}
    for each in attributes:
        shape = Shape(
            form_of(each).name,
            is_enumerated(each),
            each.has_missing,
            not any(SEPARATORS[0] in value for value in each.values if value is not None),
            frozenset(name for name in NUMBERS if len(set(each.numbers.get(name, ()))) <= 1),
            bool(each.twins),
        )
        found = merged(found, {shape.form: shape})
    return found


def merged(some: Mapping[str, Shape], more: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the forms that attributes of both take."""
    found = dict(some)
    for form, shape in more.items():
        found[form] = found[form] | shape if form in found else shape
    return dict(sorted(found.items()))


def decoded_rows(name: str, rows: str) -> str:
    """Write rows of one of MATRICES, of the texts that they have."""
    return f"[{decoded('r', MATRICES[name])} FOR r IN {rows}]"


def query_texts(attribute: SensitiveAttribute) -> dict[str, str]:
    """Return the texts of the queries about an attribute, with marked places for the arguments of a call."""
    every = distribution.queries(attribute) | joint_texts.texts_of(attribute)
    return {name: qualified(text) for name, text in every.items()}


ATTRIBUTE_FACTS: Mapping[str, Callable[[SensitiveAttribute], str]] = {
    "has_missing": lambda of: literal(of.has_missing),
    "size": lambda of: literal(of.size),
    "texts": lambda of: texts(of.values),
    "listing": lambda of: literal(listing(of.values)),
    "type": type_name,
    "column": lambda of: literal(of.column),
    "twins": lambda of: texts(twin_names(of)),
    "joined": lambda of: literal(form_of(of).joined),
}
"""What is known of an attribute, by the method of a lookup: as a literal."""


class Written(Lookup):
    """Everything as literals."""

    def __init__(
        self,
        attributes: Sequence[SensitiveAttribute],
        among: Mapping[str, SensitiveAttribute] | None = None,
        key: str = "_release",
        written: dict[tuple[str, str], dict[str, str]] | None = None,
    ) -> None:
        self._all, self._key = attributes, key
        # Long texts, of which every function asks one: written once an attribute.
        self._written = {} if written is None else written
        self._named = (
            {
                name: attributes[number]
                for name, number in keys((of.release, of.name) for of in attributes).items()
            }
            if among is None
            else among
        )
        self.shapes = shapes_of(self._named.values())

    def among(self, *forms: str) -> Written:
        """Return the lookup for macros that ask for attributes of some forms only."""
        named = {name: of for name, of in self._named.items() if of.form in forms}
        return Written(self._all, named, self._key, self._written)

    def by_key(self, key: str) -> Written:
        """Return the lookup of the attribute that an SQL expression calls 'release.attribute'."""
        named = {f"{of.release}.{of.name}": of for of in self._all}
        return Written(self._all, named, key, self._written)

    def is_here(self) -> str:
        """Write whether the attribute that is asked for is one of these."""
        return self._is_among(self._named) if self._named else "NULL::BOOLEAN"

    def is_value(self, text: str) -> str:
        """Write whether a text is a value of its domain."""
        return self._chosen(lambda of: is_among(text, of.values))

    def fact(self, name: str) -> str:
        """Write one of ATTRIBUTE_FACTS."""
        return self._chosen(ATTRIBUTE_FACTS[name], known=name != "joined")

    def number(self, name: str, position: str) -> str:
        """Write a number of the value at a position of the domain."""

        def write(of: SensitiveAttribute) -> str:
            numbers = of.every_number[name]
            if len(set(numbers)) == 1:
                return literal(float(numbers[0]))
            return f"list_extract({doubles(numbers)}, {position})"

        return self._chosen(write, lambda of: name in of.every_number)

    def numbers(self, name: str) -> str:
        """Write the numbers of all values."""
        return self._chosen(lambda of: doubles(of.numbers[name]), lambda of: name in of.numbers)

    def encoded(self, name: str) -> str:
        """Write one of MATRICES as the list of the texts of its rows."""
        return self._chosen(
            lambda of: f"string_split({literal(of.encoded[name])}, '|')",
            lambda of: name in of.encoded,
        )

    def constant(self, name: str) -> str:
        """Write a number of the release."""
        return self._chosen(lambda of: literal(of.constants[name]), lambda of: name in of.constants)

    def place(self) -> str:
        """Write the place of what a row reports among all that it can, from 0: in the domain, or among the blocks."""

        def write(of: SensitiveAttribute) -> str:
            if ENUM_IS_READ.get():
                return f"enum_code(TRY_CAST(_column AS {of.column_type}))::INTEGER"
            if of.blocks:
                return "TRY_CAST(_column AS INTEGER)"
            return f"({position('_column', of.values)} - 1)"

        return self._chosen(write, is_enumerated)

    def blocks(self) -> Mapping[str, str]:
        """Write what is known of the blocks that rows report, by the names of blocks.PLACES."""

        def write(name: str) -> str:
            return self._chosen(lambda of: _of_blocks(of)[name], lambda of: of.blocks is not None)

        return {name: write(name) for name in PLACES}

    def query(self, name: str, arguments: Mapping[str, str]) -> str:
        """Write the text of a query, or of a part of one, with the arguments of the call in it."""
        return self._chosen(
            lambda of: computed(self._queries(of)[name], arguments),
            lambda of: name in self._queries(of),
        )

    def _queries(self, of: SensitiveAttribute) -> dict[str, str]:
        key = of.release, of.name
        if key not in self._written:
            self._written[key] = query_texts(of)
        return self._written[key]

    def named(self, field: str, key: str = "_release") -> str:
        """Write what is known of the release that an SQL expression calls."""
        attributes: dict[str, list[SensitiveAttribute]] = {}
        for of in self._all:
            attributes.setdefault(of.release, []).append(of)
        fields = {
            release: release_fields(
                release,
                [of.name for of in each],
                [of.column for of in each if form_of(of).reported],
                each[0].namesake,
            )
            for release, each in attributes.items()
        }
        if not any(found[field] for found in fields.values()):
            return "NULL"
        cases = " ".join(
            f"WHEN lower({literal(release)}) THEN {literal(found[field])}"
            for release, found in fields.items()
        )
        return f"(CASE lower({key}) {cases} END)" if cases else "NULL"

    def unknown_release(self) -> str:
        """Write the end of the message that there is no such release."""
        return literal(there_is({of.release for of in self._all}))

    def quantile(self) -> str:
        """Write the z of a normal interval at ``confidence``."""
        return fill(
            body(read("analyst/fragments", "normal_quantile")), {"confidence": "confidence"}
        )

    def _chosen(
        self,
        write: Callable[[SensitiveAttribute], str],
        has: Callable[[SensitiveAttribute], bool] = lambda _: True,
        *,
        known: bool = True,
    ) -> str:
        """Choose by the key; NULL for an attribute that has none.

        The last one need not be asked for where it is ``known`` that the key is one of these: what is written often is
        planned often.
        """
        of_attribute: dict[tuple[str, str], dict[str, SensitiveAttribute]] = {}
        for key, attribute in self._named.items():
            of_attribute.setdefault((attribute.release, attribute.name), {})[key] = attribute
        cases = [
            (of, write(attribute) if has(attribute) else "NULL")
            for of in of_attribute.values()
            for attribute in [next(iter(of.values()))]
        ]
        other = cases.pop()[1] if known and cases else "NULL"
        if not cases:
            return f"({other})"
        chosen = " ".join(f"WHEN {self._is_among(of)} THEN {sql}" for of, sql in cases)
        return f"(CASE {chosen} ELSE {other} END)"

    def _is_among(self, named: Iterable[str]) -> str:
        among = ", ".join(
            literal(key.lower()) if key.isascii() else f"lower({literal(key)})" for key in named
        )
        return f"lower({self._key}) IN ({among})"


def _of_blocks(attribute: SensitiveAttribute) -> dict[str, str]:
    assert attribute.blocks is not None
    return block_places(attribute.blocks)
