"""The source of facts about attributes for macros: the SQL of each fact of the attribute that is asked for.

A release file has literals (``written``), and a publisher's database has macros that find facts (``facts``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from duckdb_priv.release.model import MATRICES
from duckdb_priv.sqltext.literals import decoded

METHOD = "method"
"""The part of a query that the macro's argument of this name chooses."""


@dataclass(frozen=True)
class Shape:
    """The traits on which the text of macros depends, of all attributes with one form."""

    form: str
    enumerated: bool
    """Whether all their columns are ENUMs of their domain."""
    has_missing: bool
    """Whether the missing value is in any domain."""
    plain: bool = False
    """Whether none of their values contains the first separator of texts."""
    equal: frozenset[str] = frozenset()
    """Names of numbers that are equal for all values within each attribute."""
    has_twins: bool = False
    """Whether any release has several columns of the same type."""

    def __or__(self, other: Shape) -> Shape:
        """Return the shape of the attributes of both."""
        return Shape(
            self.form,
            self.enumerated and other.enumerated,
            self.has_missing or other.has_missing,
            self.plain and other.plain,
            self.equal & other.equal,
            self.has_twins or other.has_twins,
        )


class Lookup(ABC):
    """The source of facts about the requested attribute, for macros.

    Every method returns SQL that DuckDB folds when it plans a query. The caller checks first that the attribute exists.
    """

    shapes: Mapping[str, Shape]
    """The shape of each form that occurs, by name of the form."""

    @abstractmethod
    def among(self, *forms: str) -> Self:
        """Return the lookup restricted to attributes of some forms."""

    @abstractmethod
    def by_key(self, key: str) -> Self:
        """Return the lookup of the attribute named by an SQL expression of the form 'release.attribute'."""

    @abstractmethod
    def fact(self, name: str) -> str:
        """Write a fact of ATTRIBUTE_FACTS.

        Besides those that have a method, these are ``listing``, the first values for messages; ``column``, the name of
        the published column; ``type``, the MD5 digest of what typeof returns for it; ``twins``, the list of names of
        the release's other columns of the same type; ``joined``, whether the attribute can be estimated jointly with
        others.
        """

    @abstractmethod
    def is_here(self) -> str:
        """Write the condition that the requested attribute is one of these."""

    def has_missing(self) -> str:
        """Write whether the missing value is in the domain."""
        return self.fact("has_missing")

    def size(self) -> str:
        """Write the size of the domain."""
        return self.fact("size")

    def texts(self) -> str:
        """Write the texts of the domain's values, without the missing value."""
        return self.fact("texts")

    def is_type(self, column: str) -> str:
        """Write the condition that a column has the type of the published one."""
        return f"md5(typeof({column})) = {self.fact('type')}"

    @abstractmethod
    def is_value(self, text: str) -> str:
        """Write the condition that a text is a value of the domain."""

    @abstractmethod
    def number(self, name: str, position: str) -> str:
        """Write one number of the value at a position in the domain."""

    def number_of_value(self, name: str, position: str) -> str:
        """Write one number of the value that is asked for, which is at this position."""
        return self.number(name, position)

    @abstractmethod
    def numbers(self, name: str) -> str:
        """Write the list of one number for all values."""

    @abstractmethod
    def encoded(self, name: str) -> str:
        """Write one of MATRICES as a list of encoded rows."""

    def row(self, name: str, position: str) -> str:
        """Write the row of a matrix for the value at a position in the domain."""
        return decoded(f"list_extract({self.encoded(name)}, {position})", MATRICES[name])

    def matrix(self, name: str) -> str:
        """Write the list of the rows of a matrix."""
        return decoded_rows(name, self.encoded(name))

    @abstractmethod
    def constant(self, name: str) -> str:
        """Write a constant of the release."""

    @abstractmethod
    def place(self) -> str:
        """Write the position of a row's reported value in the domain, or of its block among all blocks, from 0."""

    @abstractmethod
    def blocks(self) -> Mapping[str, str]:
        """Return the facts of the blocks that rows report, by their names in blocks.PLACES."""

    @abstractmethod
    def query(self, arguments: Mapping[str, str], *parts: str) -> str:
        """Write the text of a query from its parts, with the arguments of the call filled in.

        The part METHOD is the one that the argument ``method`` names: inverse or bayesian.
        """

    @abstractmethod
    def named(self, field: str, key: str = "_release") -> str:
        """Write a field of the release that an SQL expression names."""

    @abstractmethod
    def unknown_release(self) -> str:
        """Write the end of the message for an unknown release."""

    @abstractmethod
    def quantile(self) -> str:
        """Write the normal quantile z that belongs to ``confidence``."""


def by_text(lookup: Lookup, write: Callable[[str, Lookup], str]) -> list[tuple[str, str]]:
    """Return the distinct texts of the forms, each with the condition that it is for the requested attribute."""
    forms: dict[str, list[str]] = {}
    for form in lookup.shapes:
        forms.setdefault(write(form, lookup.among(form)), []).append(form)
    return [(lookup.among(*same).is_here(), text) for text, same in forms.items()]


def merged(some: Mapping[str, Shape], more: Mapping[str, Shape]) -> dict[str, Shape]:
    """Return the shapes of the attributes of both."""
    found = dict(some)
    for form, shape in more.items():
        found[form] = found[form] | shape if form in found else shape
    return dict(sorted(found.items()))


def decoded_rows(name: str, rows: str) -> str:
    """Write the decoded rows of one of MATRICES."""
    return f"[{decoded('r', MATRICES[name])} FOR r IN {rows}]"
