"""Workloads: COUNT queries over a few public attributes and one sensitive value, drawn as the papers draw theirs.

A workload is a table. Each row is a query, which counts the records that agree with it:

- ``query``: its number;
- ``conditions``: a MAP from public columns to their values as text; NULL asks for the missing value;
- ``attribute`` and ``value``: the sensitive column, and its value as text.

Source: Wang, Han, Fu, "Randomization resilient to sensitive reconstruction", section 6; Chaytor, Wang, "Fine grain
perturbation for privacy preserving data publishing", section 5. They draw queries at random and keep those
whose true count is large enough. The same law is reached without drawing in vain: every count that qualifies is
computed, and queries are drawn from those, weighted by how likely each would have been drawn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil, comb, floor
from typing import Any

import duckdb

from duckdb_priv.errors import InvalidParameter, InvalidSource
from duckdb_priv.parameters import Request, listed
from duckdb_priv.procedures import Call, procedure
from duckdb_priv.source import SCALAR, Source, open_source
from duckdb_priv.sqlfiles import identifier, literal

SETS_PER_SIZE = 20
"""How many sets of so many public attributes one workload asks about, at most, over all sensitive attributes."""
TABLE = "temp._priv_queries"
"""Where a workload stands while it is made or answered."""
COLUMNS = ("query", "conditions", "attribute", "value")

Connection = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Draw:
    """How queries are drawn."""

    queries: int
    """How many; fewer are drawn where fewer qualify."""
    max_public_attributes: int
    low: int
    """Smallest true count of a query."""
    high: int
    """Largest true count of a query."""
    seed: str
    """The same seed draws the same queries from the same table."""

    @classmethod
    def read(cls, arguments: Mapping[str, Any], rows: int) -> Draw:
        """Read the arguments of a call about a table with so many rows.

        Raises InvalidParameter for a number that makes no sense, and where the limits exclude each other.
        """
        low, high = _limits(arguments, rows)
        return cls(
            queries=_count(arguments, "queries"),
            max_public_attributes=_count(arguments, "max_public_attributes"),
            low=low,
            high=high,
            seed=str(arguments.get("seed")),
        )


def _count(arguments: Mapping[str, Any], name: str) -> int:
    value = arguments.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParameter(f"{name} must be a whole number from 1 up, got {value!r}")
    return value


def _limits(arguments: Mapping[str, Any], rows: int) -> tuple[int, int]:
    """Return the smallest and the largest true count of a query; a query that counts nobody has no error."""
    share, between = arguments.get("min_selectivity"), arguments.get("selectivity")
    if arguments.get("small_counts") is not None:
        if between is not None:
            raise InvalidParameter(
                "selectivity and small_counts both say which queries to keep", hint="give one"
            )
        return 1, _count(arguments, "small_counts")
    if between is None:
        between = [share, 1]
    numbers = [each for each in between if isinstance(each, int | float)]
    if len(numbers) != 2 or len(between) != 2 or not 0 <= numbers[0] <= numbers[1] <= 1:
        raise InvalidParameter(
            f"selectivities must be shares between 0 and 1, got {between!r}",
            hint="write min_selectivity := 0.001, or selectivity := [0.001, 0.01]",
        )
    return max(1, ceil(numbers[0] * rows)), floor(numbers[1] * rows)


@procedure
def workload(call: Call) -> list[dict[str, Any]]:
    """Draw a workload from a table."""
    source = open_table(call, call.arguments.get("source"), "sensitive")
    draw(call.cursor, source, Draw.read(call.arguments, source.rows))
    return [
        dict(zip((*COLUMNS, "true_count", "selectivity"), row, strict=True))
        for row in call.rows(
            f"SELECT {', '.join(COLUMNS)}, true_count, true_count / {source.rows} FROM {TABLE} ORDER BY query"
        )
    ]


def open_table(call: Call, name: Any, *roles: str) -> Source:
    """Open a table that is to be counted in; record ids and excluded columns are no public attributes."""
    arguments = call.arguments
    sensitive = tuple(column for role in roles for column in listed(arguments, role))
    if roles and not sensitive:
        raise InvalidParameter(
            "no sensitive column is named", hint="write sensitive := 'disease', or a list"
        )
    if not isinstance(name, str):
        raise InvalidParameter(f"source must be the name of a table, got {name!r}")
    hidden = (*listed(arguments, "record_id"), *listed(arguments, "exclude"))
    return open_source(
        call,
        Request(
            source=name,
            release="workload",
            sensitive=sensitive,
            record_id=(),
            exclude=tuple({column.lower(): column for column in hidden}.values()),
            replace=False,
        ),
    )


def draw(connection: Connection, source: Source, wish: Draw) -> None:
    """Draw queries from a table into TABLE, with their true counts.

    Raises InvalidSource where no query qualifies.
    """
    public = [name for name in source.public if SCALAR.match(source.types[name])]
    if not public:
        raise InvalidSource(
            f"{source.name!r} has no public column with values that can be asked for",
            hint="write the workload yourself, with conditions that are an empty MAP {}",
        )
    variety = _variety(connection, source, public)
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE _priv_drawn"
        " (attribute VARCHAR, value VARCHAR, conditions MAP(VARCHAR, VARCHAR), true_count BIGINT, place DOUBLE)"
    )
    for attribute in source.sensitive:
        others = [name for name in public if name != attribute]
        limit = max(1, SETS_PER_SIZE // len(source.sensitive))
        for names, share in _attribute_sets(others, limit, wish):
            weight = share
            for name in (*names, attribute):
                weight /= variety[name]
            connection.execute(_draw_sql(source.table, names, attribute, weight, wish))
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {TABLE.split('.')[1]} AS"
        " SELECT row_number() OVER (ORDER BY place) AS query, conditions, attribute, value, true_count"
        f" FROM _priv_drawn ORDER BY place LIMIT {wish.queries}"
    )
    (drawn,) = connection.execute(f"SELECT count(*) FROM {TABLE}").fetchall()[0]
    if not drawn:
        raise InvalidSource(
            f"no query over {source.name!r} counts between {wish.low} and {wish.high} records",
            hint="lower min_selectivity, or give selectivity := [low, high]",
        )


def _variety(connection: Connection, source: Source, public: Sequence[str]) -> dict[str, int]:
    """Count the values of every column, the missing one included."""
    names = [*public, *source.sensitive]
    counts = ", ".join(
        f"count(DISTINCT {identifier(name)}) + (count({identifier(name)}) < count(*))::INTEGER"
        for name in names
    )
    row = connection.execute(f"SELECT {counts} FROM {source.table}").fetchall()[0]
    return dict(zip(names, row, strict=True))


def _attribute_sets(
    public: Sequence[str], limit: int, wish: Draw
) -> Iterator[tuple[tuple[str, ...], float]]:
    """Choose the sets of public attributes that a sensitive one is asked with.

    Each has the share of the queries that it would be drawn for: every size is equally likely, and every set of one
    size. Where there are more than ``limit``, so many are chosen.

    >>> wish = Draw(queries=9, max_public_attributes=2, low=1, high=9, seed="1")
    >>> list(_attribute_sets(["age", "ward"], 20, wish))
    [(('age',), 0.25), (('ward',), 0.25), (('age', 'ward'), 0.5)]
    """
    sizes = range(1, min(wish.max_public_attributes, len(public)) + 1)
    for size in sizes:
        sets = list(combinations(public, size))
        if comb(len(public), size) > limit:
            sets = sorted(sets, key=lambda names: _digest(wish.seed, *names))[:limit]
        for names in sets:
            yield names, 1 / len(sizes) / len(sets)


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()


def _draw_sql(table: str, names: Sequence[str], attribute: str, weight: float, wish: Draw) -> str:
    """Write the draw from all queries over one set of attributes.

    Weighted sampling without replacement: the smallest of -ln(uniform) / weight (Efraimidis and Spirakis 2006),
    the uniform number being a hash of the seed and the query.
    """
    columns = ", ".join(identifier(name) for name in (*names, attribute))
    of_query = ", ".join(f"{identifier(name)}::VARCHAR" for name in (*names, attribute))
    conditions = ", ".join(f"{literal(name)}: {identifier(name)}::VARCHAR" for name in names)
    written = ", ".join(map(literal, (wish.seed, *names, attribute)))
    return f"""
        INSERT INTO _priv_drawn
        SELECT {literal(attribute)}, {identifier(attribute)}::VARCHAR, MAP {{{conditions}}}, _priv_count,
            -ln((md5_number_lower(to_json([{written}, {of_query}])::VARCHAR)::DOUBLE + 1) / 2e0**64)
                / {literal(weight)} AS place
        FROM (
            SELECT {columns}, count(*) AS _priv_count FROM {table} GROUP BY ALL
            HAVING _priv_count BETWEEN {wish.low} AND {wish.high}
        )
        ORDER BY place LIMIT {wish.queries}
    """
