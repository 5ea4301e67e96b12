"""Draws workloads: COUNT queries over a few public attributes and one sensitive value, as in the papers.

A workload is a table. Each row is a query, which counts the records with the given values:

- ``query``: the number of the query;
- ``conditions``: a MAP from public columns to their values as text; NULL is the missing value;
- ``attribute`` and ``value``: the sensitive column, and its value as text.

Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", section 6; Chaytor, Wang, "Fine grain
perturbation for privacy preserving data publishing", section 5. The papers draw random queries and reject those with
small true counts. This module computes all counts that are large enough, and draws queries from these, weighted by the
probability with which the papers draw them. So both have the same distribution.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil, comb, floor
from typing import Any

from duckdb_priv.engine.source import SCALAR, Source, open_source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource
from duckdb_priv.release.arguments import (
    ANYTHING,
    COLUMNS,
    NAME,
    NUMBER,
    NUMBERS,
    Arguments,
    argument,
    read,
    whole,
)
from duckdb_priv.release.catalog import Connection
from duckdb_priv.release.request import Roles
from duckdb_priv.sqltext.quoting import identifier, identifiers, literal
from duckdb_priv.sqltext.reading import count_of, make_table, named_rows, select
from duckdb_priv.sqltext.templates import section

SETS_PER_SIZE = 20
"""The largest number of sets of public attributes of each size in a workload, over all sensitive attributes."""
TABLE = "temp.main._priv_queries"
"""The temporary table of a workload."""


@dataclass(frozen=True, kw_only=True)
class TableArguments(Arguments):
    """The table of a workload and the roles of its columns."""

    source: str = argument(NAME, "the table with the truth", "'visits'")
    sensitive: tuple[str, ...] = argument(
        COLUMNS,
        "the column whose values are counted, or a list of them",
        "'disease'",
        missing="no sensitive column is named",
    )
    record_id: tuple[str, ...] = argument(
        COLUMNS, "the column that tells records apart, or a list of them", "'id'", default=()
    )
    exclude: tuple[str, ...] = argument(
        COLUMNS, "the columns that are not published", "['name', 'phone']", default=()
    )

    @property
    def roles(self) -> Roles:
        """The roles of the columns. Record ids are excluded, since queries do not use them."""
        hidden = {column.lower(): column for column in (*self.record_id, *self.exclude)}
        return Roles(self.sensitive, exclude=tuple(hidden.values()))


@dataclass(frozen=True, kw_only=True)
class DrawArguments(Arguments):
    """The number of queries, of their attributes, and the range of their true counts."""

    queries: int = argument(whole(1), "how many queries are drawn", "1000", default=5000)
    max_public_attributes: int = argument(
        whole(1), "how many public columns a query is about at most", "3", default=3
    )
    min_selectivity: float | None = argument(
        NUMBER, "the smallest share of the rows that a query counts", "0.001", default=0.001
    )
    selectivity: Sequence[float] | None = argument(
        NUMBERS, "the smallest and the largest such share", "[0.001, 0.01]", default=None
    )
    small_counts: int | None = argument(
        whole(1), "the largest count, where small ones are to be asked for", "10", default=None
    )
    seed: Any = argument(ANYTHING, "what the draw depends on", "0", default=0)


def _limits(arguments: DrawArguments, rows: int) -> tuple[int, int]:
    """Return the smallest and the largest true count of a query; a count of 0 has no relative error.

    Raises InvalidParameter if the limits are invalid or contradict each other.
    """
    between = arguments.selectivity
    if arguments.small_counts is not None:
        if between is not None:
            raise InvalidParameter(
                "selectivity and small_counts both limit the true counts of queries",
                hint="give only one of them",
            )
        return 1, arguments.small_counts
    if between is None:
        between = (arguments.min_selectivity or 0.0, 1.0)
    if len(between) != 2 or not 0 <= between[0] <= between[1] <= 1:
        raise InvalidParameter(
            f"selectivities must be shares between 0 and 1, got {list(between)!r}",
            hint="write min_selectivity := 0.001, or selectivity := [0.001, 0.01]",
        )
    return max(1, ceil(between[0] * rows)), floor(between[1] * rows)


def workload(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Draw a workload from a table."""
    table, wish = read(given, TableArguments, DrawArguments, of="workload")
    source = open_source(workspace, table.source, table.roles)
    draw(workspace.cursor, source, wish)
    query = section("evaluation/workload", "selectivities", rows=str(source.rows))
    return named_rows(workspace.cursor, query)


def draw(
    connection: Connection, source: Source, wish: DrawArguments, sets: int = SETS_PER_SIZE
) -> None:
    """Draw queries from a table into TABLE, with their true counts; fewer than wished if fewer qualify.

    ``sets`` is the largest number of sets of public attributes of each size. Raises InvalidParameter for contradicting
    limits, and InvalidSource if no query qualifies.
    """
    low, high = _limits(wish, source.rows)
    public = [name for name in source.public if SCALAR.match(source.types[name])]
    if not public:
        raise InvalidSource(
            f"{source.name!r} has no public column whose values a query can compare",
            hint="write the workload yourself, with an empty MAP {} as conditions",
        )
    variety = _variety(connection, source, public)
    connection.execute(section("evaluation/workload", "drawn"))
    for attribute in source.sensitive:
        others = [name for name in public if name != attribute]
        limit = max(1, sets // len(source.sensitive))
        for names, share in _attribute_sets(others, limit, wish):
            weight = share
            for name in (*names, attribute):
                weight /= variety[name]
            connection.execute(
                section(
                    "evaluation/workload",
                    "draw",
                    **_terms(names, attribute, wish.seed),
                    weight=literal(weight),
                    table=source.table,
                    low=str(low),
                    high=str(high),
                    queries=str(wish.queries),
                )
            )
    make_table(
        connection, TABLE, section("evaluation/workload", "numbered", queries=str(wish.queries))
    )
    drawn = count_of(connection, TABLE)
    if not drawn:
        raise InvalidSource(
            f"no query over {source.name!r} counts between {low} and {high} records",
            hint="lower min_selectivity, or give selectivity := [low, high]",
        )


def _variety(connection: Connection, source: Source, public: Sequence[str]) -> dict[str, int]:
    """Count the distinct values of each column, including the missing value."""
    names = [*public, *source.sensitive]
    counts = (
        f"count(DISTINCT {identifier(name)}) + (count({identifier(name)}) < count(*))::INTEGER"
        for name in names
    )
    (row,) = connection.execute(select(counts, source.table)).fetchall()
    return dict(zip(names, row, strict=True))


def _attribute_sets(
    public: Sequence[str], limit: int, wish: DrawArguments
) -> Iterator[tuple[tuple[str, ...], float]]:
    """Choose the sets of public attributes for the queries of a sensitive attribute, with their shares of the queries.

    Every size is equally likely, and so is every set of one size. At most ``limit`` sets of each size are chosen.

    >>> list(_attribute_sets(["age", "ward"], 20, DrawArguments(max_public_attributes=2)))
    [(('age',), 0.25), (('ward',), 0.25), (('age', 'ward'), 0.5)]
    """
    sizes = range(1, min(wish.max_public_attributes, len(public)) + 1)
    for size in sizes:
        sets = list(combinations(public, size))
        if comb(len(public), size) > limit:
            sets = sorted(sets, key=lambda names: _digest(str(wish.seed), *names))[:limit]
        for names in sets:
            yield names, 1 / len(sizes) / len(sets)


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()


def _terms(names: Sequence[str], attribute: str, seed: object) -> dict[str, str]:
    """Return the SQL of the columns in queries over one set of attributes."""
    every = (*names, attribute)
    return {
        "attribute": literal(attribute),
        "value": identifier(attribute),
        "columns": identifiers(every),
        "of_query": ", ".join(f"{identifier(name)}::VARCHAR" for name in every),
        "conditions": ", ".join(f"{literal(name)}: {identifier(name)}::VARCHAR" for name in names),
        "written": ", ".join(map(literal, (str(seed), *every))),
    }
