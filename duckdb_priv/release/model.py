"""Frozen, self-checking dataclasses that describe a release."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.sqltext.literals import EXACT, ROUNDED, SEPARATORS, encoded, enum

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
"""Catalog columns with one number for each value."""
MANY_VALUES = 10_000
"""The most values of an ENUM: DuckDB takes ten seconds to declare one with a million."""
LISTS = ("weights", "operator")
"""Catalog columns with a list for each value: one number for every published value."""
EXTREMES = ("rarely", "often")
"""Derived from the operator for each value: the least and the largest probability that a record shows it."""
MATRICES = {"weights": EXACT, "operator": EXACT, "chances": ROUNDED}
"""The matrices that functions read, and the characters of each number in them. Chances are the transposed operator,
rounded down: enough to judge how many rows may show a value."""


@dataclass(frozen=True)
class Blocks:
    """The blocks of values, for attributes whose column shows a block number instead of a value."""

    count: int
    """The number of blocks, which are numbered from 0."""
    stride: int
    """The increase of the block numbers from a value to the next, modulo ``count``."""
    first: tuple[int, ...]
    """The blocks that contain the value at position 0."""

    @property
    def bits(self) -> str:
        """Return one digit for each block: 1 if it contains the value at position 0.

        >>> Blocks(7, 1, (0, 4, 6)).bits
        '1000101'
        """
        held = set(self.first)
        return "".join("1" if block in held else "0" for block in range(self.count))


@dataclass(frozen=True)
class SensitiveAttribute:
    """A perturbed column, with the numbers for reconstruction."""

    release: str
    name: str
    type: str
    """The type of its values in the source; ENUM without values for an ENUM column."""
    values: tuple[str | None, ...]
    """The domain as text, by position; None is the missing value and comes last."""
    form: str
    """The form of its estimates, which is the name of a folder of SQL fragments."""
    numbers: Mapping[str, Sequence[float]]
    """Catalog columns with a number for each value: some of NUMBERS."""
    lists: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    """Catalog columns with a list for each value: some of LISTS."""
    constants: Mapping[str, float] = field(default_factory=dict)
    """The numbers among the parameters of the release."""
    column: str = ""
    """The name of its published column; by default that of its noisy values."""
    published: str = ""
    """The publication time in the catalog, which distinguishes releases of one name."""
    blocks: Blocks | None = None
    """The blocks, if the column shows block numbers instead of values."""
    twins: Sequence[str] = ()
    """Columns of other attributes of the release with the same type."""
    namesake: bool = False
    """Whether a column has the name of the release: in SQL the name then means the column, not the row."""

    def __post_init__(self) -> None:
        if not self.column:
            object.__setattr__(self, "column", noisy_column(self.name))

    @property
    def size(self) -> int:
        """The number of values in the domain."""
        return len(self.values)

    @property
    def shown(self) -> Sequence[str | None]:
        """The possible entries of its column: the values, or the block numbers."""
        return [*map(str, range(self.blocks.count))] if self.blocks else self.values

    @cached_property
    def column_type(self) -> str:
        """The type of its published column."""
        if self.type == "ENUM" and not self.blocks:
            return enum(self.values)
        return shown_type(self.shown) or ("INTEGER" if self.blocks else self.type)

    @cached_property
    def every_number(self) -> Mapping[str, Sequence[float]]:
        """The numbers of each value that functions read: those of the catalog, and EXTREMES if there are lists."""
        if not self.lists:
            return self.numbers
        shown = [*zip(*self.lists["operator"], strict=True)]
        return {**self.numbers, "rarely": [*map(min, shown)], "often": [*map(max, shown)]}

    @cached_property
    def encoded(self) -> Mapping[str, str]:
        """MATRICES as texts; empty without lists."""
        if not self.lists:
            return {}
        rows = {**self.lists, "chances": zip(*self.lists["operator"], strict=True)}
        return {name: encoded(rows[name], length) for name, length in MATRICES.items()}

    @cached_property
    def has_missing(self) -> bool:
        """Whether the missing value is in the domain."""
        return None in self.values

    @cached_property
    def is_plain(self) -> bool:
        """Whether no value contains the first separator of texts."""
        return SEPARATORS[0] not in "".join(value for value in self.values if value is not None)

    @cached_property
    def equal(self) -> frozenset[str]:
        """Names of numbers that are equal for all values."""
        return frozenset(name for name in NUMBERS if len(set(self.numbers.get(name, ()))) <= 1)


def shown_type(values: Sequence[str | None]) -> str | None:
    """Write the ENUM type of a noisy column; None if it has too many values.

    The type identifies the column, prevents averages of noisy numbers, and makes every query faster.

    >>> print(shown_type(["5", "7", None]))
    ENUM('5', '7')
    """
    return enum(values) if len(values) <= MANY_VALUES else None


def noisy_column(attribute: str) -> str:
    """Return the name of the published column of a sensitive attribute: it holds noisy values, not true ones.

    >>> noisy_column("disease")
    'noisy_disease'
    """
    return f"noisy_{attribute}"


def published_column(attribute: str, role: str) -> str:
    """Return the published column's name by the attribute's role: an unperturbed attribute keeps its name.

    >>> published_column("disease", "sensitive"), published_column("age", "public")
    ('noisy_disease', 'age')
    """
    return noisy_column(attribute) if role == "sensitive" else attribute


def renamed_columns(roles: Mapping[str, str]) -> dict[str, str]:
    """Return, by attribute, the published columns whose names differ from their attributes.

    Raises InvalidParameter if such a name is taken, ignoring case.

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
    """Return the name of the column with the group of each record, for methods that publish groups.

    >>> group_column("disease")
    'disease_group'
    """
    return f"{attribute}_group"


@dataclass(frozen=True)
class Guarantee:
    """A guarantee of a release, verified at publication."""

    name: str
    statement: str
    value: float | None = None
    attribute: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


SCALE = "scale"
"""The published column with the weight of each row: the number of source records that it represents, or how strongly it
is perturbed."""
GROUPED_BY = "grouped_by"
"""The note of a ledger entry that lists the public columns whose values form its groups."""


@dataclass(frozen=True)
class LedgerEntry:
    """The ledger entry of one perturbed attribute."""

    attribute: str
    epsilon: float | None
    fingerprint: str
    fresh: bool
    delta: float = 0.0
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Additional parameters that only the publisher may see."""
    grouped: bool = False
    """Whether the published value of a record depends on the other records in its group."""
    mechanism: str | None = None
    """The mechanism, if it differs from that of the plan."""


def to_json(value: Mapping[str, Any]) -> str:
    """Write parameters as JSON, in the canonical form of the catalog and the noise keys.

    >>> to_json({"retention": 0.5, "domain": "source"})
    '{"domain": "source", "retention": 0.5}'
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
