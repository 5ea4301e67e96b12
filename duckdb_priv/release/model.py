"""Frozen, self-checking descriptions of what is published."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.sqltext.literals import EXACT, ROUNDED, encoded, enum

NUMBERS = (
    "own",
    "other",
    "retention",
    "background",
    "inclusion",
    "odds",
    "potential",
    "own_weight",
    "tied_weight",
    "tied_joint",
    "slope",
    "half_step",
    "scatter",
    "most_scatter",
    "upward",
    "downward",
)
"""What the catalog can hold of each value: a number."""
MANY_VALUES = 10_000
"""Most values of an ENUM: DuckDB takes ten seconds to declare one with a million."""
LISTS = ("weights", "operator")
"""What the catalog can hold of each value: one number for every published value."""
EXTREMES = ("rarely", "often")
"""What follows from it for each value: the least and the largest probability with which a record shows the value."""
MATRICES = {"weights": EXACT, "operator": EXACT, "chances": ROUNDED}
"""What functions read of it, and how many characters a number has there. Chances are the operator again, by published
value, rounded down: enough to judge how many rows may show a value."""


@dataclass(frozen=True)
class Blocks:
    """The blocks of values that records report, where they report the number of one instead of a value."""

    count: int
    """How many blocks there are, numbered from 0."""
    stride: int
    """By how much the numbers of its blocks grow from a value to the next, modulo ``count``."""
    first: tuple[int, ...]
    """The blocks that hold the value at position 0."""

    @property
    def bits(self) -> str:
        """Whether each block holds the value at position 0, as digits.

        >>> Blocks(7, 1, (0, 4, 6)).bits
        '1000101'
        """
        held = set(self.first)
        return "".join("1" if block in held else "0" for block in range(self.count))


@dataclass(frozen=True)
class SensitiveAttribute:
    """A perturbed column, as reconstruction needs to know it."""

    release: str
    name: str
    type: str
    """Type of its values in the source; ENUM for texts whose column is one."""
    values: tuple[str | None, ...]
    """The domain as text, in order of position; None is the missing value, and comes last."""
    form: str
    """Which form its estimates take; a folder of SQL fragments has this name."""
    numbers: Mapping[str, Sequence[float]]
    """Columns of the catalog with a number per value: some of NUMBERS."""
    lists: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    """Columns of the catalog with a list per value: some of LISTS."""
    constants: Mapping[str, float] = field(default_factory=dict)
    """Numbers among the parameters of the release."""
    column: str = ""
    """Name of its column in the published table; that of reported values, where no other is given."""
    published: str = ""
    """When its release was published, as the catalog says it: what tells releases of one name apart."""
    blocks: Blocks | None = None
    """The blocks whose numbers the column shows, where it does not show values."""
    twins: Sequence[str] = ()
    """Columns of other attributes of its release that have the same type."""
    namesake: bool = False
    """Whether a column of the release is called as the release: its name alone is not the row then."""

    def __post_init__(self) -> None:
        if not self.column:
            object.__setattr__(self, "column", noisy_column(self.name))

    @property
    def size(self) -> int:
        """How many values the domain has."""
        return len(self.values)

    @property
    def shown(self) -> Sequence[str | None]:
        """What its column can show: the values, or the numbers of the blocks."""
        return [*map(str, range(self.blocks.count))] if self.blocks else self.values

    @property
    def column_type(self) -> str:
        """Type of its published column."""
        if self.type == "ENUM" and not self.blocks:
            return enum(self.values)
        return shown_type(self.shown) or ("INTEGER" if self.blocks else self.type)

    @cached_property
    def every_number(self) -> Mapping[str, Sequence[float]]:
        """What functions read of each value: what the catalog has, and EXTREMES where there are lists."""
        if not self.lists:
            return self.numbers
        shown = [*zip(*self.lists["operator"], strict=True)]
        return {**self.numbers, "rarely": [*map(min, shown)], "often": [*map(max, shown)]}

    @cached_property
    def encoded(self) -> Mapping[str, str]:
        """MATRICES as texts; none where there are no lists."""
        if not self.lists:
            return {}
        rows = {**self.lists, "chances": zip(*self.lists["operator"], strict=True)}
        return {name: encoded(rows[name], length) for name, length in MATRICES.items()}

    @property
    def has_missing(self) -> bool:
        """Whether the missing value belongs to the domain."""
        return None in self.values


def shown_type(values: Sequence[str | None]) -> str | None:
    """Write the ENUM of what a noisy column can show; None where there are too many values for one.

    The type tells the column from others, keeps the noise from being averaged, and makes every query faster.

    >>> print(shown_type(["5", "7", None]))
    ENUM('5', '7')
    """
    return enum(values) if len(values) <= MANY_VALUES else None


def noisy_column(attribute: str) -> str:
    """Name the published column of a sensitive attribute: it holds what records report, not what is true.

    >>> noisy_column("disease")
    'noisy_disease'
    """
    return f"noisy_{attribute}"


def published_column(attribute: str, role: str) -> str:
    """Name the published column of an attribute by its role: what is not perturbed keeps its name.

    >>> published_column("disease", "sensitive"), published_column("age", "public")
    ('noisy_disease', 'age')
    """
    return noisy_column(attribute) if role == "sensitive" else attribute


def renamed_columns(roles: Mapping[str, str]) -> dict[str, str]:
    """Return the published columns that are not named as their attributes are, by attribute.

    Raises InvalidParameter where such a name is taken, in upper or lower case.

    >>> renamed_columns({"age": "public", "disease": "sensitive"})
    {'disease': 'noisy_disease'}
    """
    taken = {name.lower(): name for name in roles}
    found = {}
    for name, role in roles.items():
        column = published_column(name, role)
        if column == name:
            continue
        if column.lower() in taken:
            raise InvalidParameter(
                f"what records report of {name!r} is published as column {column!r}, but there is a column"
                f" {taken[column.lower()]!r} already",
                hint="exclude that column, or give it another name in a view and publish the view",
            )
        found[name] = column
    return found


def group_column(attribute: str) -> str:
    """Name the column that says which group a record is in, where the values of groups are published.

    >>> group_column("disease")
    'disease_group'
    """
    return f"{attribute}_group"


@dataclass(frozen=True)
class Guarantee:
    """A promise of a release, verified when it was published."""

    name: str
    statement: str
    value: float | None = None
    attribute: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


SCALE = "scale"
"""The published column that functions need as their weight: how many source records a row stands for, or how far it is
perturbed."""
GROUPED_BY = "grouped_by"
"""The note of an entry that says which columns make its groups, where public columns do."""


@dataclass(frozen=True)
class LedgerEntry:
    """What the ledger keeps of one perturbed attribute."""

    attribute: str
    epsilon: float | None
    fingerprint: str
    fresh: bool
    delta: float = 0.0
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What only the publisher is to know beside the parameters."""
    grouped: bool = False
    """Whether what a record shows depends on the records that it is grouped with."""
    mechanism: str | None = None
    """How it was published, where that is not as the plan says."""


def to_json(value: Mapping[str, Any]) -> str:
    """Write parameters in the one form that the catalog and the keys of the noise use.

    >>> to_json({"retention": 0.5, "domain": "source"})
    '{"domain": "source", "retention": 0.5}'
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
