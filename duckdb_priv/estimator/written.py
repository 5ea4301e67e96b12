"""The facts of attributes as literals in the macros of a release file.

They are chosen by name if the release has several attributes. A publisher's database uses the lookup in ``facts``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from hashlib import md5

import duckdb

from duckdb_priv.estimator import distribution, joint
from duckdb_priv.estimator.blocks import PLACES, block_places
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.estimator.lookup import METHOD, Lookup, Shape, merged
from duckdb_priv.estimator.release_facts import release_fields
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext.aggregates import qualified
from duckdb_priv.sqltext.literals import doubles, is_among, position, texts
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import body, compact, computed, fill, read

ENUM_IS_READ = ContextVar("ENUM_IS_READ", default=not duckdb.__version__.startswith("1."))
"""Whether other DuckDB versions can read an ENUM in a macro that this version creates. DuckDB 1.5 is the exception."""
LISTED = 20
"""Maximum number of names in an error message."""


def keys(attributes: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Number attributes by the names that analysts may use for them.

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
    """Whether the column of an attribute is an ENUM, so that DuckDB knows the position of a shown value."""
    return attribute.column_type.startswith("ENUM(")


def type_digest(attribute: SensitiveAttribute) -> str:
    """Write the MD5 digest of what DuckDB's typeof returns for an attribute's published column.

    DuckDB versions spell characters that are not printable differently. For such types, the SQL asks DuckDB.
    """
    kind = attribute.column_type
    if not kind.isprintable():
        return f"md5(typeof(CAST(NULL AS {kind})))"
    return literal(md5(kind.encode(), usedforsecurity=False).hexdigest())


def twin_names(attribute: SensitiveAttribute) -> list[str]:
    """Return the names that DuckDB may give to other columns with the attribute's type."""
    return [name for twin in attribute.twins for name in dict.fromkeys((twin, identifier(twin)))]


def listing(values: Sequence[str | None]) -> str:
    """Return the first values of a domain as text, for messages."""
    shown = ", ".join("NULL" if value is None else f"'{value}'" for value in values[:LISTED])
    if len(values) <= LISTED:
        return shown
    return f"{shown}, ... ({len(values)} values; see FROM priv.coefficient)"


def there_is(releases: Iterable[str]) -> str:
    """Return the list of existing releases, which ends the message for an unknown release."""
    names = sorted(releases)
    listed = ", ".join(f'"{name[:100]}"' for name in names[:LISTED]) + (
        ", ..." if len(names) > LISTED else ""
    )
    return f'"; there is {listed}' if names else '"; nothing is published here yet'


def shapes_of(attributes: Iterable[SensitiveAttribute]) -> dict[str, Shape]:
    """Return the shapes of attributes, by form."""
    found: dict[str, Shape] = {}
    for each in attributes:
        shape = Shape(
            form_of(each).name,
            is_enumerated(each),
            each.has_missing,
            each.is_plain,
            each.equal,
            bool(each.twins),
        )
        found = merged(found, {shape.form: shape})
    return found


def query_texts(attribute: SensitiveAttribute) -> dict[str, str]:
    """Return the query texts of an attribute, with placeholders for the arguments of a call."""
    every = distribution.queries(attribute) | joint.parts_of(attribute)
    return {name: compact(qualified(text)) for name, text in every.items()}


ATTRIBUTE_FACTS: Mapping[str, Callable[[SensitiveAttribute], str]] = {
    "has_missing": lambda of: literal(of.has_missing),
    "size": lambda of: literal(of.size),
    "texts": lambda of: texts(of.values),
    "listing": lambda of: literal(listing(of.values)),
    "type": type_digest,
    "column": lambda of: literal(of.column),
    "twins": lambda of: texts(twin_names(of)),
    "joined": lambda of: literal(form_of(of).joined),
}
"""Facts of an attribute as literals, by method of a lookup."""


class Written(Lookup):
    """A lookup that returns literals."""

    def __init__(
        self,
        attributes: Sequence[SensitiveAttribute],
        among: Mapping[str, SensitiveAttribute] | None = None,
        key: str = "_release",
        written: dict[tuple[str, str], dict[str, str]] | None = None,
    ) -> None:
        self._all, self._key = attributes, key
        # Long texts that every function needs. Each is written once for an attribute.
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
        """Return the lookup restricted to attributes of some forms."""
        named = {name: of for name, of in self._named.items() if of.form in forms}
        return Written(self._all, named, self._key, self._written)

    def by_key(self, key: str) -> Written:
        """Return the lookup of the attribute named by an SQL expression of the form 'release.attribute'."""
        named = {f"{of.release}.{of.name}": of for of in self._all}
        return Written(self._all, named, key, self._written)

    def is_here(self) -> str:
        """Write the condition that the requested attribute is one of these."""
        return self._is_among(self._named) if self._named else "NULL::BOOLEAN"

    def is_value(self, text: str) -> str:
        """Write the condition that a text is a value of the domain."""
        return self._chosen(lambda of: is_among(text, of.values))

    def fact(self, name: str) -> str:
        """Write one of ATTRIBUTE_FACTS."""
        return self._chosen(ATTRIBUTE_FACTS[name], known=name != "joined")

    def number(self, name: str, position: str) -> str:
        """Write one number of the value at a position in the domain."""

        def write(of: SensitiveAttribute) -> str:
            numbers = of.every_number[name]
            if name in of.equal or len(set(numbers)) == 1:
                return literal(float(numbers[0]))
            return f"list_extract({doubles(numbers)}, {position})"

        return self._chosen(write, lambda of: name in of.every_number)

    def numbers(self, name: str) -> str:
        """Write the list of one number for all values."""
        return self._chosen(lambda of: doubles(of.numbers[name]), lambda of: name in of.numbers)

    def encoded(self, name: str) -> str:
        """Write one of MATRICES as a list of encoded rows."""
        return self._chosen(
            lambda of: f"string_split({literal(of.encoded[name])}, '|')",
            lambda of: name in of.encoded,
        )

    def constant(self, name: str) -> str:
        """Write a constant of the release."""
        return self._chosen(lambda of: literal(of.constants[name]), lambda of: name in of.constants)

    def place(self) -> str:
        """Write the position of a row's reported value in the domain, or of its block among all blocks, from 0."""

        def write(of: SensitiveAttribute) -> str:
            if ENUM_IS_READ.get():
                return f"enum_code(TRY_CAST(_column AS {of.column_type}))::INTEGER"
            if of.blocks:
                return "TRY_CAST(_column AS INTEGER)"
            return f"({position('_column', of.values)} - 1)"

        return self._chosen(write, is_enumerated)

    def blocks(self) -> Mapping[str, str]:
        """Return the facts of the blocks that rows report, by their names in blocks.PLACES."""

        def write(name: str) -> str:
            return self._chosen(lambda of: _of_blocks(of)[name], lambda of: of.blocks is not None)

        return {name: write(name) for name in PLACES}

    def query(self, arguments: Mapping[str, str], *parts: str) -> str:
        """Write the text of a query from its parts, with the arguments of the call filled in."""

        def write(part: str) -> str:
            if part == METHOD:
                return f"CASE method WHEN 'inverse' THEN {write('inverse')} ELSE {write('bayesian')} END"
            return self._chosen(
                lambda of: computed(self._queries(of)[part], arguments),
                lambda of: part in self._queries(of),
            )

        return write(*parts) if len(parts) == 1 else f"concat({', '.join(map(write, parts))})"

    def _queries(self, of: SensitiveAttribute) -> dict[str, str]:
        key = of.release, of.name
        if key not in self._written:
            self._written[key] = query_texts(of)
        return self._written[key]

    def named(self, field: str, key: str = "_release") -> str:
        """Write a field of the release that an SQL expression names."""
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
        """Write the end of the message for an unknown release."""
        return literal(there_is({of.release for of in self._all}))

    def quantile(self) -> str:
        """Write the normal quantile z that belongs to ``confidence``."""
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
        """Write the choice by the key; NULL for an attribute without the fact.

        If it is ``known`` that the key is one of these, the last one needs no condition. This saves planning time.
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
