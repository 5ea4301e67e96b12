"""Random queries of all that docs/sql.md says may be written, over the table of visits and two look-up tables.

The same seed draws the same queries. A query is written for the true table; what it says of one release is in
``attributes``. Written from the page, not from the code, so that what the page promises is what is tried.
"""

from __future__ import annotations

import random
from collections.abc import Callable

DISEASES = ("none", "flu", "asthma", "cancer")
WARDS = ("north", "south", "it''s \"far\"")


class Generator:
    """Draws queries over visits(age, ward, cost, day, disease) and, where it is an attribute, dose."""

    def __init__(self, seed: int, attributes: tuple[str, ...] = ("disease",)) -> None:
        self.random, self.attributes = random.Random(seed), attributes

    def draw(self) -> str:
        """Draw a query."""
        return self._one(
            *[self.grouped] * 10, self._nested, self._nested, self._with, self._union, self._joined_counts,
            self._scalars, self._correlated,
        )()  # fmt: skip

    def _one(self, *choices: Callable[[], str]) -> Callable[[], str]:
        return self.random.choice(choices)

    def _of(self, *choices: str) -> str:
        return self.random.choice(choices)

    def _often(self, share: float) -> bool:
        return self.random.random() < share

    # Conditions

    def condition(self, depth: int = 2, attributes: bool = True) -> str:
        """Draw a condition over public columns and, if asked for, attributes."""
        pick = self.random.random()
        if depth and pick < 0.22:
            joint = self._of("AND", "AND", "OR")
            both = f"{self.condition(depth - 1, attributes)} {joint} {self.condition(depth - 1, self._often(0.3))}"
            return both if joint == "AND" else f"({both})"
        if depth and pick < 0.28:
            return f"NOT ({self.condition(depth - 1, attributes)})"
        if not attributes or self._often(0.2):
            return self.of_public()
        if self._often(0.08):
            return self._of(
                "length(disease) * 10 > age",
                "disease < ward",
                "disease = CASE WHEN age > 40 THEN 'flu' ELSE 'none' END",
            )
        return (
            self._of_dose() if "dose" in self.attributes and self._often(0.4) else self.of_disease()
        )

    def of_public(self) -> str:
        age = self.random.randrange(20, 80, 10)
        return self._of(
            f"age > {age}", f"age BETWEEN 30 AND {age}", f"age IN (20, {age})", f"age <> {age}", "age % 20 = 0",
            f"ward = '{self._of(*WARDS)}'", f"ward LIKE '{self._of('n', 's', 'i')}%'", "ward IN ('north', 'south')",
            "day >= DATE '2024-06-01'", "year(day) = 2024", "cost < 70", "cost + age > 100", "day IS NOT NULL",
            "ward IN (SELECT ward FROM memory.main.wards WHERE rate > 2)",
        )  # fmt: skip

    def of_disease(self) -> str:
        one, two = self.random.sample(DISEASES, 2)
        return self._of(
            f"disease = '{one}'", f"disease = '{one}'", f"'{one}' = disease", f"disease <> '{one}'",
            f"disease IN ('{one}', '{two}')", f"disease NOT IN ('{one}', '{two}')", "disease IS NULL",
            "disease IS NOT NULL", f"disease LIKE '%{self._of('a', 'e', 'fl')}%'", f"disease ILIKE '{one.upper()}'",
            "disease BETWEEN 'b' AND 'g'", "disease > 'cancer'", f"length(disease) = {len(one)}",
            f"coalesce(disease, 'none') = '{one}'", f"upper(disease) = '{one.upper()}'",
            f"disease IS NOT DISTINCT FROM '{one}'", f"CASE WHEN disease = '{one}' THEN true ELSE age > 50 END",
            "disease IN (SELECT code FROM memory.main.chapter WHERE chapter = 'lung')",
            f"regexp_matches(disease, '^{one[:2]}')",
        )  # fmt: skip

    def _of_dose(self) -> str:
        dose = self.random.randrange(4)
        return self._of(
            f"dose = {dose}", f"dose > {dose}", f"dose <> {dose}", f"dose IN (1, {dose})", f"dose BETWEEN 1 AND {dose}",
            "dose * 20 < age", "dose % 2 = 0", f"dose + 1 >= {dose}",
        )  # fmt: skip

    # Aggregates

    def number(self) -> str:
        """Draw a number of every record."""
        found = [
            "age",
            "cost",
            "age * 2",
            "cost - age",
            "age // 10",
            "-cost",
            "day - DATE '2024-01-01'",
        ]
        if "dose" in self.attributes:
            found += ["dose", "dose * 2", "dose * age"]
        return self._of(*found)

    def aggregate(self) -> str:
        """Draw an aggregate, with what is made of it."""
        pick = self.random.random()
        if pick < 0.3:
            return "count(*)"
        if pick < 0.5:
            return self._counted()
        if pick < 0.9:
            name = self._of(
                "sum", "sum", "avg", "avg", "var_pop", "var_samp", "stddev", "stddev_pop"
            )
            call = f"{name}({self.number()})"
            return f"{call} FILTER (WHERE {self.condition(1)})" if self._often(0.4) else call
        value = self._of("age", "cost", *(["dose"] if "dose" in self.attributes else []))
        return self._of(
            f"median({value})", f"quantile_cont({value}, 0.9)", f"quantile_disc({value}, 0.25)",
            f"percentile_cont(0.4) WITHIN GROUP (ORDER BY {value})",
        )  # fmt: skip

    def _counted(self) -> str:
        condition = self.condition(1)
        return self._of(
            f"count(*) FILTER (WHERE {condition})", f"count_if({condition})", "count(disease)",
            f"sum(CASE WHEN {condition} THEN 1 ELSE 0 END)", f"count(CASE WHEN {condition} THEN 1 END)",
            f"sum(if({condition}, 1, 0))", f"count(nullif(disease, '{self._of(*DISEASES)}'))",
        )  # fmt: skip

    def result(self, grouped: bool) -> str:
        """Draw something computed of aggregates."""
        pick = self.random.random()
        if pick < 0.6:
            return self.aggregate()
        if pick < 0.7:
            return f"100.0 * {self._counted()} / nullif(count(*), 0)"
        if pick < 0.8:
            return f"{self._counted()} - {self._counted()}"
        if pick < 0.85:
            return f"coalesce({self.aggregate()}, 0) * 2 + 1"
        if pick < 0.9:
            return f"CASE WHEN count(*) > 5.5 THEN {self.aggregate()} END"
        if not grouped:
            return f"round({self._counted()}, 0)"
        return self._of(
            "count(*) / sum(count(*)) OVER ()", "sum(count(*)) OVER ()", f"sum({self._counted()}) OVER ()",
            "max(count(*)) OVER ()", "count(*) - avg(count(*)) OVER ()",
        )  # fmt: skip

    # Groups

    def key(self) -> str:
        """Draw a key."""
        found = [
            "ward",
            "age",
            "age // 20 * 20",
            "year(day)",
            "date_trunc('month', day)",
            "(age > 40)",
            "upper(ward)",
        ]
        found += [
            "disease",
            "disease",
            "coalesce(disease, 'unknown')",
            "length(disease)",
            f"({self.of_disease()})",
        ]
        found += [
            "CASE WHEN disease IN ('flu', 'asthma') THEN 'lung' WHEN age > 50 THEN ward ELSE 'other' END"
        ]
        if "dose" in self.attributes:
            found += ["dose", "dose // 2", "dose + age // 40"]
        return self._of(*found)

    def grouped(self, table: str | None = None) -> str:
        """Draw a query that counts."""
        keys = list(dict.fromkeys(self.key() for _ in range(self._number_of_keys())))
        source, more = (table, []) if table else self._source()
        if more and self._often(0.5):
            keys = [*keys[:1], self._of(*more)]
        results = [self.result(bool(keys)) for _ in range(self.random.randint(1, 3))]
        items = [f"{each} AS k{number}" for number, each in enumerate(keys)]
        items += [f"{each} AS e{number}" for number, each in enumerate(results)]
        query = f"SELECT {', '.join(items)} FROM {source}"
        if self._often(0.6):
            query += f" WHERE {self.condition()}"
        if keys:
            query += f" GROUP BY {self._written(keys)}"
        if keys and self._often(0.15):
            query += f" HAVING {self._of('count(*) > 10.5', 'count(*) > 0.5 AND count(*) < 2000', 'sum(age) > 300.5')}"
        if keys and self._often(0.1):
            query += " ORDER BY ALL"
        return query

    def _number_of_keys(self) -> int:
        return self.random.choice([0, 0, 1, 1, 1, 2])

    def _written(self, keys: list[str]) -> str:
        names = [f"k{number}" for number, _ in enumerate(keys)]
        positions = [str(number + 1) for number, _ in enumerate(keys)]
        some = ", ".join(self.random.choice([keys, names, positions]))
        return self._of(
            some,
            some,
            some,
            some,
            "ALL",
            f"ROLLUP ({some})",
            f"CUBE ({some})",
            f"GROUPING SETS (({some}), ())",
        )

    # FROM

    def _source(self) -> tuple[str, list[str]]:
        pick = self.random.random()
        if pick < 0.5:
            return "visits", []
        if pick < 0.58:
            return f"(SELECT * FROM visits WHERE {self.condition(1)}) AS t", []
        if pick < 0.64:
            return "(SELECT *, age // 10 AS decade, disease = 'flu' AS ill FROM visits)", [
                "decade",
                "ill",
            ]
        if pick < 0.7:
            return (
                f"(SELECT * FROM (SELECT * FROM visits WHERE {self.of_public()}) WHERE {self.of_disease()})",
                [],
            )
        if pick < 0.78:
            return "visits JOIN memory.main.wards USING (ward)", ["floor", "rate * 2"]
        if pick < 0.84:
            return "visits LEFT JOIN memory.main.chapter ON code = disease", ["chapter", "points"]
        if pick < 0.9:
            return (
                "visits JOIN memory.main.chapter AS c ON c.code = visits.disease AND c.points > 2",
                ["c.chapter"],
            )
        if pick < 0.95:
            return "visits, (VALUES (30), (50)) AS bound(least)", ["least"]
        return "visits CROSS JOIN (SELECT max(rate) AS top FROM memory.main.wards) AS w", ["top"]

    # Queries of several SELECTs

    def _nested(self) -> str:
        inner = f"SELECT {self._of('ward', 'age')} AS a, disease AS b, count(*) AS n, sum(cost) AS s FROM visits"
        if self._often(0.5):
            inner += f" WHERE {self.condition(1)}"
        inner += " GROUP BY ALL"
        return self._of(
            f"SELECT a, sum(n) AS e0, sum(s) AS e1 FROM ({inner}) GROUP BY a",
            f"SELECT b, sum(n) AS e0 FROM ({inner}) AS t GROUP BY b",
            f"SELECT sum(n) AS e0 FROM ({inner}) AS t",
            f"SELECT a, b, n, n / sum(n) OVER (PARTITION BY a) AS e0 FROM ({inner}) AS t",
            f"SELECT a, b, n, s FROM ({inner}) AS t WHERE n > 20.5",
            f"SELECT a, sum(n) AS e0, avg(n) AS e1, count(*) AS e2 FROM ({inner}) AS t GROUP BY a",
            f"SELECT a, sum(CASE WHEN b = 'flu' THEN n ELSE 0 END) / sum(n) AS e0 FROM ({inner}) AS t GROUP BY a",
            f"SELECT a, b, e FROM (SELECT a, b, s / n AS e FROM ({inner}) AS t) AS u WHERE b IS NOT NULL",
        )  # fmt: skip

    def _with(self) -> str:
        condition = self.condition(1)
        return self._of(
            f"WITH chosen AS (SELECT * FROM visits WHERE {condition}) {self.grouped('chosen')}",
            f"WITH a AS (SELECT ward, count(*) AS n FROM visits WHERE {condition} GROUP BY ward) SELECT ward, n FROM a",
            "WITH a AS (SELECT disease, count(*) AS n FROM visits GROUP BY 1) SELECT sum(n) AS e0 FROM a",
            f"WITH a AS (SELECT * FROM visits), b AS (SELECT * FROM a WHERE {condition}) {self.grouped('b')}",
        )

    def _union(self) -> str:
        one, two = self.aggregate(), self.aggregate()
        kind = self._of("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT")
        return (
            f"SELECT 'a' AS part, {one} AS e0 FROM visits WHERE {self.condition(1)} {kind}"
            f" SELECT 'b', {two} FROM visits WHERE {self.condition(1)}"
        )

    def _joined_counts(self) -> str:
        return (
            f"SELECT a.ward, a.n AS e0, b.n AS e1, a.n / nullif(b.n, 0) AS e2"
            f" FROM (SELECT ward, count(*) AS n FROM visits WHERE {self.condition(1)} GROUP BY ward) AS a"
            f" JOIN (SELECT ward, {self._counted()} AS n FROM visits GROUP BY ward) AS b USING (ward)"
        )

    def _scalars(self) -> str:
        condition = self.condition(1)
        where = f"(SELECT {self.aggregate()} FROM visits WHERE {self.condition(1)})"
        return self._of(
            f"SELECT {where} AS e0", f"SELECT count(*) / {where} AS e0 FROM visits WHERE {condition}",
            f"SELECT ward, count(*) / (SELECT count(*) FROM visits) AS e0 FROM visits WHERE {condition} GROUP BY 1",
            f"SELECT floor, (SELECT {self._counted()} FROM visits) AS e0 FROM memory.main.wards",
        )  # fmt: skip

    def _correlated(self) -> str:
        condition = self.condition(1)
        return self._of(
            f"SELECT floor, (SELECT count(*) FROM visits AS v WHERE v.ward = w.ward AND {condition}) AS e0"
            " FROM memory.main.wards AS w",
            "SELECT code, n AS e0 FROM memory.main.chapter,"
            " LATERAL (SELECT count(*) AS n FROM visits WHERE disease = code) AS counted",
            "SELECT chapter, (SELECT avg(age) FROM visits WHERE disease = c.code) AS e0 FROM memory.main.chapter AS c",
        )
