"""Frozen, self-checking descriptions of what is published."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from duckdb_priv.errors import InvalidParameter


@dataclass(frozen=True)
class Request:
    """What every ``publish_…`` is asked: what to publish, under which name, and how to treat columns."""

    source: str
    release: str
    sensitive: tuple[str, ...]
    record_id: tuple[str, ...]
    exclude: tuple[str, ...]
    replace: bool

    @classmethod
    def read(cls, arguments: Mapping[str, Any], *, needs_sensitive: bool = True) -> Request:
        """Read the arguments of a call, in which a list may be a single name."""
        request = cls(
            source=_text(arguments, "source"),
            release=_text(arguments, "release"),
            sensitive=listed(arguments, "sensitive"),
            record_id=listed(arguments, "record_id"),
            exclude=listed(arguments, "exclude"),
            replace=flag(arguments, "replace"),
        )
        if needs_sensitive and not request.sensitive:
            raise InvalidParameter(
                "no sensitive column is named", hint="write sensitive := 'disease', or a list"
            )
        return request

    def __post_init__(self) -> None:
        if "." in self.release or not self.release.strip():
            raise InvalidParameter(
                f"a release cannot be called {self.release!r}",
                hint="a name without dot, such as 'patients_2026': the dot separates release and attribute",
            )
        roles: dict[str, str] = {}
        for role, names in (
            ("sensitive", self.sensitive),
            ("record_id", self.record_id),
            ("exclude", self.exclude),
        ):
            for name in names:
                known = roles.setdefault(name.lower(), role)
                if known != role and {known, role} != {"record_id", "exclude"}:
                    raise InvalidParameter(
                        f"column {name!r} is both {known} and {role}", hint="a column has one role"
                    )
            if len({name.lower() for name in names}) < len(names):
                raise InvalidParameter(f"{role} names a column twice", hint="name it once")


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value or "\0" in value:
        raise InvalidParameter(
            f"{name} must be a name, got {value!r}", hint=f"write the {name} as text"
        )
    return value


def flag(arguments: Mapping[str, Any], name: str) -> bool:
    """Return an argument that is true or false."""
    value = arguments.get(name)
    if not isinstance(value, bool):
        raise InvalidParameter(
            f"{name} must be true or false, got {value!r}", hint=f"write {name} := true"
        )
    return value


def listed(arguments: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return an argument that is a name or a list of names.

    >>> listed({"sensitive": "disease"}, "sensitive")
    ('disease',)
    """
    value = arguments.get(name)
    names = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(item, str) and item for item in names):
        raise InvalidParameter(
            f"{name} must be a column name or a list of them, got {value!r}",
            hint=f"write {name} := 'column' or {name} := ['one', 'two']",
        )
    return tuple(names)


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
)
"""What the catalog can hold of each value: a number."""
LISTS = ("weights", "operator")
"""What the catalog can hold of each value: one number for every published value."""


@dataclass(frozen=True)
class SensitiveAttribute:
    """A perturbed column, as reconstruction needs to know it."""

    release: str
    name: str
    type: str
    """Type of its values as they are published; ENUM for what was text."""
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

    @property
    def size(self) -> int:
        """How many values the domain has."""
        return len(self.values)

    @property
    def has_missing(self) -> bool:
        """Whether the missing value belongs to the domain."""
        return None in self.values


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


@dataclass(frozen=True)
class LedgerEntry:
    """What the ledger keeps of one perturbed attribute."""

    attribute: str
    epsilon: float | None
    coins: str
    fresh: bool
    delta: float = 0.0
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What only the publisher is to know beside the parameters."""
    reason: str | None = None
    """Why its records may be published in these groups, where the mechanism makes groups."""


@dataclass(frozen=True)
class Plan:
    """Everything that a mechanism decides before one row is written."""

    mechanism: str
    parameters: Mapping[str, Any]
    select: str
    """The query that gives the published rows, in no order."""
    columns: Mapping[str, str]
    """Role of every published column: public, sensitive, generalized, group or scale."""
    attributes: Sequence[SensitiveAttribute]
    provenance: Mapping[str, str]
    """By sensitive attribute: whether its domain was given or comes from the source."""
    guarantees: Sequence[Guarantee]
    ledger: Sequence[LedgerEntry]
    strongest: str
    """The strongest guarantee, in words."""
    rows_expected: int | None
    """Rows that the query must give, where that is known beforehand."""
    left_out: int | None = None
    """Source records that are not published, where it is not the difference of the rows."""
    sample: bool = False
    """Whether the rows are what is left of a random sample, so that how many are missing must not be told."""
    warnings: Sequence[str] = ()


def to_json(value: Mapping[str, Any]) -> str:
    """Write parameters in the one form that the catalog and the keys of the coins use.

    >>> to_json({"retention": 0.5, "domain": "source"})
    '{"domain": "source", "retention": 0.5}'
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
