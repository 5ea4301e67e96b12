"""Cutting numbers, dates and timestamps at stated edges, which replaces each value by that of its bin or edge.

A column is read on an axis of doubles: a number as it is, a date in days, a timestamp in microseconds. A bin contains
its lower edge but not its upper edge; the last bin contains both. Random rounding instead moves a number to one of the
two adjacent edges and keeps its mean. The rounding bits have their own key, and depend on the record but not on its
value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from duckdb_priv.engine.randomness import FreshBits, KeyedBits
from duckdb_priv.engine.source import Source, is_one_of
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.perturbation import open_random_bits
from duckdb_priv.release import catalog
from duckdb_priv.release.request import INTEGER
from duckdb_priv.sqltext.literals import texts
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import place, section

STATED = ("edges", "rounding")
"""The parameters of a release that state its cuts."""
NUMBERS = ("FLOAT", "DOUBLE", "DECIMAL")
TIMES = ("TIMESTAMP",)
AT, BITS, PLACE = "_priv_at", "_priv_rounding", "_priv_place"
"""Columns added to a record: its point on the axis, its rounding bits, and its position in the domain."""


@dataclass(frozen=True)
class Cut:
    """The cut of one attribute."""

    attribute: str
    kind: str
    """Type of the column."""
    edges: tuple[float, ...]
    """Edges on the axis, in increasing order."""
    rounded: bool = False
    """Whether a number is rounded at random to an adjacent edge instead of put into a bin."""

    @property
    def size(self) -> int:
        """Number of values, without the missing one."""
        return len(self.edges) - (not self.rounded)

    @property
    def bounds(self) -> tuple[float, ...]:
        """The edges as the column has them: 0.7 as a FLOAT is a little less than 0.7 on the axis."""
        if self.kind != "FLOAT":
            return self.edges
        with np.errstate(over="ignore"):
            return tuple(np.array(self.edges, dtype=np.float32).astype(float).tolist())

    def records(self, source: Source, records: str, stream: str, number: int) -> str:
        """Return the query of a table expression's records, with the position of each value as ``_priv_place{number}``.

        ``stream`` is the number of the rounding bits.
        """
        bits = ""
        if self.rounded:
            function, _ = source.drawing("bits")
            ids = ", ".join(source.id_arguments[: 1 if source.integer_id else 2])
            bits = f", {function}({stream}::UBIGINT, {ids}, 0::UINTEGER) AS {BITS}"
        at = axis_sql(f"s.{identifier(self.attribute)}", self.kind)
        return section(
            "domains",
            "in_bins",
            hidden=f"{AT}, {BITS}" if bits else AT,
            bin=self._place(),
            place=f"{PLACE}{number}",
            point=at,
            axis=AT,
            bits=bits,
            records=records,
        )

    def _place(self) -> str:
        """Return SQL for the position of a value; NULL has the last position."""
        places = [f"{n}::UINTEGER" for n in range(self.size)]
        if self.rounded:
            # The 53 highest bits as a number in [0, 1).
            share = f"({BITS} >> 11::UBIGINT)::DOUBLE * {literal(2.0**-53)}"
            places = [
                f"CASE WHEN {share} * {literal(high - low)} < {AT} - {literal(low)}"
                f" THEN {n + 1} ELSE {n} END::UINTEGER"
                for n, (low, high) in enumerate(pairwise(self.bounds))
            ]
        found = _among(places, [literal(edge) for edge in self.bounds[1:-1]])
        return f"CASE WHEN {AT} IS NULL THEN {self.size}::UINTEGER ELSE {found} END"


def _among(places: Sequence[str], bounds: Sequence[str]) -> str:
    """Return SQL that finds the position of a number on the axis by binary search.

    >>> _among(["'low'", "'mid'", "'high'"], ["1", "2"])
    "CASE WHEN _priv_at < 1 THEN 'low' ELSE CASE WHEN _priv_at < 2 THEN 'mid' ELSE 'high' END END"
    """
    if len(places) == 1:
        return places[0]
    half = len(places) // 2
    low, high = (
        _among(places[:half], bounds[: half - 1]),
        _among(places[half:], bounds[half:]),
    )
    return f"CASE WHEN {AT} < {bounds[half - 1]} THEN {low} ELSE {high} END"


def is_ordered(kind: str) -> bool:
    """Return whether values of a type can be cut.

    >>> is_ordered("DECIMAL(9,2)"), is_ordered("DATE"), is_ordered("VARCHAR"), is_ordered("TIME")
    (True, True, False, False)
    """
    return is_whole(kind) or is_one_of(kind, *NUMBERS, *TIMES)


def is_whole(kind: str) -> bool:
    """Return whether a type has whole numbers on the axis only.

    >>> is_whole("INTEGER"), is_whole("DATE"), is_whole("DOUBLE")
    (True, True, False)
    """
    return bool(INTEGER.match(kind)) or kind in ("HUGEINT", "UHUGEINT", "DATE")


def is_time(kind: str) -> bool:
    """Return whether a type has dates or timestamps."""
    return kind == "DATE" or kind.startswith("TIMESTAMP")


def axis_sql(value: str, kind: str) -> str:
    """Return SQL for the point of a value on the axis; infinity stays infinity.

    >>> print(axis_sql("income", "INTEGER"))
    (income)::DOUBLE
    """
    if kind == "DATE":
        return _finite(value, f"(({value}) - DATE '1970-01-01')::DOUBLE")
    if is_one_of(kind, *TIMES):
        return _finite(f"({value})::TIMESTAMP", f"epoch_us(({value})::TIMESTAMP)::DOUBLE")
    return f"({value})::DOUBLE"


def _finite(value: str, at: str) -> str:
    return f"CASE WHEN isfinite({value}) THEN {at} WHEN {value} IS NOT NULL THEN 'inf'::DOUBLE END"


def on_axis(workspace: Workspace, values: Sequence[Any], kind: str) -> list[float | None]:
    """Convert given values to points on the axis; NULL for values of another type or infinite ones."""
    read = f"TRY_CAST(written AS {kind if is_time(kind) else 'DOUBLE'})"
    found = workspace.rows(
        section("domains", "points_of_texts", point=axis_sql(read, kind)),
        [[None if value is None or isinstance(value, bool) else str(value) for value in values]],
    )
    return [at if at is not None and math.isfinite(at) else None for (at,) in found]


@dataclass(frozen=True)
class CutDomain(Domain):
    """The values of a cut attribute."""

    cut: Cut
    number: int
    """Number of the attribute."""
    bits: KeyedBits | FreshBits | None
    """The rounding bits."""

    @property
    def random_bits(self) -> Mapping[str, KeyedBits | FreshBits]:
        """The rounding bits, by placeholder."""
        return {} if self.bits is None else {self._stream: self.bits}

    @property
    def _stream(self) -> str:
        return f"rounding{self.number}"

    def placed(self, source: Source, records: str) -> str:
        """Add the position of each value."""
        return self.cut.records(source, records, place(self._stream), self.number)

    def found(self, n: int) -> str:
        """Compare positions."""
        return f"d{n}.position = s.{PLACE}{self.number}"


def rounding_bits(workspace: Workspace, source: Source, cut: Cut) -> KeyedBits | FreshBits | None:
    """Return the rounding bits of an attribute; None if its values are put into bins."""
    if not cut.rounded:
        return None
    context: dict[str, object] = {
        "mechanism": "rounding",
        "attribute": cut.attribute.lower(),
        "edges": cut.edges,
    }
    return open_random_bits(workspace, source, context).bits


def as_published(workspace: Workspace, source: Source, *releases: str) -> Source:
    """Return the source with the values that releases cut replaced by their values after the cut, as texts.

    Raises InvalidParameter if releases cut an attribute differently, and InvalidSource if it was rounded with fresh
    bits, which cannot be drawn again.
    """
    cuts: dict[str, tuple[Cut, str]] = {}
    for release in releases:
        for cut in _stated_cuts(workspace, source, release):
            first, of = cuts.setdefault(cut.attribute, (cut, release))
            if first != cut:
                raise InvalidParameter(
                    f"{of!r} and {release!r} cut {cut.attribute!r} at different edges",
                    hint="ask of one at a time",
                )
    for number, (cut, release) in enumerate(cuts.values()):
        records = cut.records(*_rounding(workspace, source, cut, release), number)
        values = workspace.rows(
            "SELECT value FROM priv.coefficient WHERE release = ? AND attribute = ? ORDER BY position",
            [release, cut.attribute],
        )
        value = f"({texts(value for (value,) in values)})[{PLACE}{number} + 1]"
        source = replace(
            source,
            table=section(
                "domains",
                "binned",
                place=f"{PLACE}{number}",
                value=value,
                column=identifier(cut.attribute),
                records=records,
            ),
            types={**source.types, cut.attribute: "VARCHAR"},
        )
    return source


def _stated_cuts(workspace: Workspace, source: Source, release: str) -> Iterator[Cut]:
    stated = catalog.release_row(workspace.cursor, release)["parameters"]
    for name, edges in stated.get("edges", {}).items():
        if name in source.types:
            yield Cut(name, source.types[name], tuple(edges), stated["rounding"] == "random")


def _rounding(
    workspace: Workspace, source: Source, cut: Cut, release: str
) -> tuple[Source, str, str]:
    """Return the source with the record id that keys its rounding, its table expression, and the number of the bits."""
    if not cut.rounded:
        return source, source.table, ""
    record_id = last_of(workspace.cursor, release).record_id
    source = replace(source, record_id=record_id)
    bits = rounding_bits(workspace, source, cut)
    if not isinstance(bits, KeyedBits):
        raise InvalidSource(
            f"{cut.attribute!r} was rounded at random without a record id, so that nobody knows how",
            hint="publish it with record_id, or with rounding := 'middle'",
        )
    return source, source.table, str(workspace.open_stream(bits))


def refuse_unordered(source: Source, attribute: str) -> None:
    """Refuse a column that cannot be cut."""
    if not is_ordered(kind := source.types[attribute]):
        raise InvalidParameter(
            f"sensitive column {attribute!r} has type {kind.split('(')[0]}, which cannot be cut into bins",
            hint="numbers, dates and timestamps can; publish_uniform and publish_block_design take any column",
        )
