"""Random ordinary queries over a table with attributes: what is asked is drawn, how it is written as well."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass
from typing import Any

import duckdb


@dataclass(frozen=True)
class Table:
    """What queries are made of: a table, its columns and some of their values."""

    name: str
    attributes: dict[str, list[Any]]
    """Attributes and their domains."""
    public: dict[str, list[Any]]
    """Public columns and some of their values; at least two of each."""
    numbers: tuple[str, ...]
    """Public columns that may be summed."""

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection, name: str, attributes: list[str]) -> Table:
        """Look at a true table."""
        described = connection.execute(f"DESCRIBE {name}").fetchall()
        values = {
            column: [
                value
                for (value,) in connection.execute(
                    f"SELECT {column} FROM {name} GROUP BY ALL ORDER BY count(*) DESC, {column} LIMIT 60"
                ).fetchall()
            ]
            for column, *_ in described
        }
        public = {
            column: [each for each in found if each is not None]
            for column, found in values.items()
            if column not in attributes and len(found) > 1
        }
        numbers = tuple(
            column
            for column, kind, *_ in described
            if column in public and kind not in ("VARCHAR", "DATE") and len(public[column]) > 3
        )
        return cls(name, {each: values[each] for each in attributes}, public, numbers)


@dataclass(frozen=True)
class Query:
    """An ordinary query, whose column ``e`` is what is estimated."""

    kind: str
    sql: str


class Queries:
    """Draws queries; the same ones for the same seed."""

    def __init__(self, table: Table, seed: int) -> None:
        self.table, self.random = table, random.Random(seed)

    def draw(self) -> Query:
        """Draw one."""
        kind = self.random.choice(
            ["count", "count", "count", "sum", "average", "share", "difference"]
        )
        group = self._group()
        where = (
            self._condition(depth=2, sensitive=self.random.random() < 0.7)
            if self.random.random() < 0.85
            else ""
        )
        value = self._value(kind, bool(where))
        return Query(kind, self._written(value, where, group))

    def _value(self, kind: str, chosen: bool) -> str:
        pick = self.random.random
        if kind == "count":
            return "count(*)" if pick() < 0.5 else self._count()
        if kind == "sum":
            number = self._number()
            if pick() < 0.4:
                return f"sum(CASE WHEN {self._condition(1)} THEN {number} ELSE 0 END)"
            return f"sum({number})" + (
                f" FILTER (WHERE {self._condition(1)})" if pick() < 0.5 else ""
            )
        if kind == "average":
            number = self._number()
            return f"avg({number})" + (
                f" FILTER (WHERE {self._condition(1)})" if pick() < 0.6 else ""
            )
        if kind == "share":
            below = "count(*)" if pick() < 0.7 else f"nullif({self._count()}, 0)"
            factor = self.random.choice(["", "100.0 * "])
            return f"{factor}{self._count()} / {below}"
        return f"{self._count()} - {self._count()}"

    def _number(self) -> str:
        numbers = list(self.table.numbers)
        numbers += [
            name for name, values in self.table.attributes.items() if isinstance(values[0], int)
        ]
        found = self.random.choice(numbers or ["1"])
        return found if self.random.random() < 0.8 else f"{found} * 2"

    def _count(self) -> str:
        condition = self._condition(1)
        return self.random.choice(
            [
                f"count(*) FILTER (WHERE {condition})",
                f"count_if({condition})",
                f"sum(CASE WHEN {condition} THEN 1 ELSE 0 END)",
                f"count(CASE WHEN {condition} THEN 1 END)",
            ]
        )

    def _condition(self, depth: int, sensitive: bool = True) -> str:
        pick = self.random.random()
        if depth and pick < 0.3:
            return (
                f"{self._condition(depth - 1, sensitive)} AND {self._condition(depth - 1, False)}"
            )
        if depth and pick < 0.38:
            return (
                f"({self._condition(depth - 1, sensitive)} OR {self._condition(depth - 1, False)})"
            )
        if depth and pick < 0.42:
            return f"NOT ({self._condition(depth - 1, sensitive)})"
        columns = self.table.attributes if sensitive else self.table.public
        name = self.random.choice(list(columns))
        return self._test(name, columns[name])

    def _test(self, name: str, values: list[Any]) -> str:
        # The more frequent values are first: they are asked for more often.
        def value() -> str:
            place = min(int(self.random.expovariate(4 / len(values))), len(values) - 1)
            return literal(values[place])

        present = [each for each in values if each is not None]
        pick = self.random.random()
        if pick < 0.4:
            found = value()
            return f"{name} IS NULL" if found == "NULL" else f"{name} = {found}"
        listed = ", ".join(sorted({each for each in (value() for _ in range(4)) if each != "NULL"}))
        if pick < 0.65 and listed:
            return f"{name} {self.random.choice(['IN', 'IN', 'NOT IN'])} ({listed})"
        if pick < 0.75 and isinstance(present[0], str):
            return f"{name} LIKE '{self.random.choice(present)[:1].replace(chr(39), '%')}%'"
        low, high = sorted(self.random.sample(range(len(present)), 2))
        ordered = sorted(present)
        if pick < 0.9:
            return f"{name} BETWEEN {literal(ordered[low])} AND {literal(ordered[high])}"
        return f"{name} <> {literal(self.random.choice(present))}"

    def _group(self) -> list[str]:
        pick = self.random.random()
        few = [name for name, values in self.table.public.items() if len(values) <= 12]
        if pick < 0.35 or not few:
            return []
        if pick < 0.7:
            return [self.random.choice(few)]
        attribute = self.random.choice(list(self.table.attributes))
        if pick < 0.85:
            return [attribute]
        if pick < 0.93:
            return [f"({self._test(attribute, self.table.attributes[attribute])})"]
        return [self.random.choice(few), attribute]

    def _written(self, value: str, where: str, group: list[str]) -> str:
        keys = [f"{key} AS g{number}" for number, key in enumerate(group)]
        selected = ", ".join([*keys, f"{value} AS e"])
        where = f" WHERE {where}" if where else ""
        grouped = (
            f" GROUP BY {', '.join(f'g{number}' for number, _ in enumerate(group))}"
            if group
            else ""
        )
        form, name = self.random.random(), self.table.name
        if form < 0.7:
            return f"SELECT {selected} FROM {name}{where}{grouped}"
        if form < 0.85:
            return f"SELECT {selected} FROM (SELECT * FROM {name}{where}) AS t{grouped}"
        return (
            f"WITH chosen AS (SELECT * FROM {name}{where}) SELECT {selected} FROM chosen{grouped}"
        )


def literal(value: Any) -> str:
    """Write a value of a column as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"DATE '{value}'" if isinstance(value, dt.date) else str(value)
