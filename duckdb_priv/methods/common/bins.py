"""The edges at which numbers are cut, and the names of the resulting values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.source import Source, quoted_name
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.questions import MOST_VALUES
from duckdb_priv.methods.common.cuts import (
    PLACE,
    Cut,
    CutDomain,
    axis_sql,
    is_time,
    is_whole,
    on_axis,
    refuse_unordered,
    rounding_bits,
)
from duckdb_priv.release.arguments import nested
from duckdb_priv.sqltext.quoting import identifier, listed, literal
from duckdb_priv.sqltext.reading import counts_of
from duckdb_priv.sqltext.templates import section

USUAL = 64
"""The number of bins between two edges if none is stated."""
DIGITS = 12
"""Digits of equally spaced edges and of the middles of bins."""


@dataclass(frozen=True)
class Binned:
    """A sensitive attribute that is cut into bins."""

    domain: CutDomain
    points: tuple[float, ...]
    """The values as points on the axis, without the missing one."""

    def counts(self, workspace: Workspace, source: Source) -> Vector:
        """Count the records of each value, the missing one last; numbers go into bins and are not rounded at random."""
        records = self.domain.cut.records(source, source.table, "", self.domain.number)
        found = dict(counts_of(workspace.cursor, f"{PLACE}{self.domain.number}", records))
        return np.array([found.get(str(n), 0) for n in range(self.domain.size)], dtype=np.float64)

    def view(self, name: str, of: str) -> str:
        """Return the SQL of a view of a table in which each number is replaced by the value of its bin."""
        cut, column = self.domain.cut, identifier(self.domain.attribute)
        values = listed([value for value in self.domain.values if value is not None])
        inner = ", ".join(map(literal, cut.bounds[1:-1]))
        at = axis_sql(column, cut.kind)
        table = quoted_name(of)
        return section(
            "domains",
            "view_of_bins",
            view=identifier(name),
            column=column,
            values=values,
            kind=self.domain.source_type,
            edges=inner,
            point=at,
            table=table,
        )


@dataclass(frozen=True)
class Edges:
    """The arguments that state the edges: for all sensitive columns, or a struct with an entry for each."""

    bins: Any
    low: Any = None
    high: Any = None
    rounded: bool = False
    """Whether numbers are rounded at random to an edge instead of put into bins."""
    clip: bool = False
    """Whether numbers outside of all bins go to the outer bins."""


def open_binned(workspace: Workspace, source: Source, given: Edges) -> list[Binned]:
    """Return the cut of every sensitive attribute.

    Raises InvalidParameter for edges without a bin, and InvalidSource for records outside of all bins.
    """
    return [
        _open(workspace, source, attribute, number, given)
        for number, attribute in enumerate(source.sensitive)
    ]


def of_attribute(given: Any, source: Source, attribute: str) -> Any:
    """Return an argument's value for an attribute: its entry of a struct, or the value itself."""
    if not isinstance(given, Mapping):
        return given
    return nested(given, source.sensitive, "sensitive column").get(attribute)


def _open(
    workspace: Workspace,
    source: Source,
    attribute: str,
    number: int,
    given: Edges,
) -> Binned:
    refuse_unordered(source, attribute)
    kind = source.types[attribute]
    bins, low, high = (
        of_attribute(each, source, attribute) for each in (given.bins, given.low, given.high)
    )
    edges = _edges(workspace, attribute, kind, bins, low, high)
    cut = Cut(attribute, kind, edges, given.rounded)
    if not 2 <= cut.size <= MOST_VALUES:
        raise InvalidParameter(
            f"the bins of {attribute!r} make {cut.size} values, and 2 to {MOST_VALUES} are allowed",
            hint="give more or fewer edges",
        )
    missing = _look(workspace, source, cut, clip=given.clip)
    points = edges if cut.rounded else _middles(attribute, kind, edges)
    value_type, texts = _texts(workspace, kind, points)
    if len(set(texts)) < len(texts):
        raise InvalidParameter(
            f"bins of {attribute!r} are so narrow that two have one value", hint="take fewer bins"
        )
    domain = CutDomain(
        attribute=attribute,
        values=(*texts, None) if missing else tuple(texts),
        counts=(),
        provenance="given",
        source_type=value_type,
        table=f"_priv_domain_{number}",
        cut=cut,
        number=number,
        bits=rounding_bits(workspace, source, cut),
    )
    return Binned(domain, points)


def _edges(
    workspace: Workspace, attribute: str, kind: str, bins: Any, low: Any, high: Any
) -> tuple[float, ...]:
    """Return the edges on the axis, in increasing order."""
    if bins is None and low is None and high is None:
        raise InvalidParameter(
            f"the bins of {attribute!r} are missing",
            hint="write bins := [0, 20, 40, 65, 100], or low := 0, high := 100",
        )
    bins = USUAL if bins is None else bins
    listed = isinstance(bins, list | tuple)
    if listed == (low is not None) or listed == (high is not None):
        raise InvalidParameter(
            f"the bins of {attribute!r} are given "
            + ("twice" if listed else "as a number, without low and high"),
            hint="write bins := [0, 20, 40, 65, 100], or low := 0, high := 100, bins := 64",
        )
    written = bins if listed else [low, high]
    edges = on_axis(workspace, written, kind)
    if unread := [value for value, at in zip(written, edges, strict=True) if at is None]:
        wrong = "NULL" if unread[0] is None else repr(unread[0])
        raise InvalidParameter(
            f"an edge of {attribute!r} is {wrong}, which is no finite {kind.lower() if is_time(kind) else 'number'}",
            hint="write edges as the column has its values",
        )
    found = [at for at in edges if at is not None]
    if not listed:
        if isinstance(bins, bool) or not isinstance(bins, int | float) or bins != int(bins):
            raise InvalidParameter(
                f"bins must be a list of edges or a whole number, got {bins!r}",
                hint="write bins := 64",
            )
        _check_number(attribute, int(bins))
        width = (found[1] - found[0]) / int(bins)
        found = [
            *(float(f"{found[0] + n * width:.{DIGITS}g}") for n in range(int(bins))),
            found[1],
        ]
        if kind == "DATE":
            found = [float(round(at)) for at in found]
    _check_number(attribute, max(len(found) - 1, 0))
    if any(right <= left for left, right in pairwise(found)):
        raise InvalidParameter(
            f"the edges of {attribute!r} do not increase",
            hint="write the lowest first, each once" + ("" if listed else ", or take fewer bins"),
        )
    return tuple(found)


def _check_number(attribute: str, bins: int) -> None:
    if not 2 <= bins <= MOST_VALUES:
        raise InvalidParameter(
            f"{attribute!r} is cut into {bins} bin{'s' if bins != 1 else ''}, and 2 to {MOST_VALUES} are allowed",
            hint="64 bins are usual for a number of many values",
        )


def _look(workspace: Workspace, source: Source, cut: Cut, *, clip: bool) -> bool:
    """Check that every value has a bin; return whether some values are missing."""
    found = aggregates_of(workspace, source).on_axis(
        cut.attribute, lambda value: axis_sql(value, cut.kind), cut.bounds[0], cut.bounds[-1]
    )
    if found.infinite:
        raise InvalidSource(
            f"{found.infinite} records have a {cut.attribute!r} that is not a number or infinite",
            hint="make it NULL in a view, and publish the view",
        )
    if found.outside and not clip:
        raise InvalidSource(
            f"{found.outside} records have a {cut.attribute!r} outside of all bins",
            hint="widen the outer bins, or put them into those with clip := true",
        )
    return found.missing > 0


def _middles(attribute: str, kind: str, edges: Sequence[float]) -> tuple[float, ...]:
    """Return the middle of each bin; for whole numbers, of those from one edge up to and without the next."""
    if not is_whole(kind):
        return tuple(float(f"{(low + high) / 2:.{DIGITS}g}") for low, high in pairwise(edges))
    middles = []
    for low, high in pairwise(edges):
        first, last = math.ceil(low), math.ceil(high) - 1
        if first > last:
            raise InvalidParameter(
                f"a bin of {attribute!r} holds no whole number",
                hint="take fewer bins, or whole edges",
            )
        middles.append((first + last) / 2)
    # There is no date between two consecutive days.
    return tuple(float(math.floor(at)) if kind == "DATE" else at for at in middles)


def _texts(workspace: Workspace, kind: str, points: Sequence[float]) -> tuple[str, list[str]]:
    """Return the type of values at points of the axis, and their texts."""
    whole = all(at.is_integer() for at in points)
    if kind == "DATE":
        value_type, value = kind, "DATE '1970-01-01' + _at::INTEGER"
    elif kind.startswith("TIMESTAMP"):
        value_type, value = "TIMESTAMP", "make_timestamp(_at::BIGINT)"
    elif is_whole(kind) and whole:
        value_type, value = kind, "_at"
    else:
        value_type, value = "DOUBLE", "_at"
    rows = workspace.rows(
        section("domains", "texts_of_points", value=value, kind=value_type),
        [list(points)],
    )
    return value_type, [text for (text,) in rows]
