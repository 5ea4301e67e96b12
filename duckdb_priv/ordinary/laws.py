"""Laws of sets: the probabilities with which records report a set of values, from which its score interval follows.

For values of one attribute, a law has two probabilities: that a record reports one of the set if it has one of them,
and if it has none. For combinations of several attributes' values, it is the distribution of what a record adds to the
count, among records distributed as in the whole release. If no selected row shows a requested value, the rows seem to
have no noise, so the variance is at least that of this distribution. Derivation: ``mechanism/comparison.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from sqlglot import exp

from duckdb_priv.ordinary.names import filtered, indented, select_sql, text
from duckdb_priv.ordinary.published import Attribute
from duckdb_priv.ordinary.records import TRUTH_IS_RANDOM, Records, formula
from duckdb_priv.ordinary.values import true_value, weight_sql

TERMS = ("slope", "half_step", "scatter", "most_scatter", "upward", "downward")
"""Terms of an interval besides the variance, by their names in the catalog."""
WITH_TERMS = ("rank_one", "singular", "operator", "conditional_poisson", "batches")
"""Forms whose catalog has these terms for single values."""
TABLE = "_priv_laws"
"""The placeholder for the laws among the tables."""
MOST = 20_000_000
"""Maximum number of combinations of true and shown values. With more, only the variance of a count is known."""


class Laws:
    """The laws of the sets that one SELECT counts, one row for each group that depends on attributes."""

    def __init__(self, records: Records) -> None:
        self._records, self._frame = records, records.frame
        self._attributes = list(self._frame.cells.attributes.values())
        self.columns: dict[str, str] = {}
        """Columns of the laws, by count."""
        self.keys = [name for name in self._frame.keys if name in self._frame.sensitive_keys]
        """Group keys on which the laws depend."""
        self.of_product = (
            len(self._attributes) > 1
            and self._frame.separable
            and not (self._frame.joined or self._frame.subtotals or self._frame.partly_unknown)
            and not any(
                each.traits.varied or each.form in TRUTH_IS_RANDOM for each in self._attributes
            )
            and prod(each.size * _shown(each) for each in self._attributes) <= MOST
        )
        """Whether sets are of combinations of several attributes' values, and their law can be computed."""

    def of(self, name: str) -> str:
        """Return the law of a count."""
        if name not in self.columns:
            self.columns[name] = self._records.taken.fresh("law")
        return f"{TABLE}.{text(self.columns[name])}"

    @property
    def numbers(self) -> list[str]:
        """Names of the catalog's numbers that the laws read besides those of the weights."""
        if not self.columns:
            return []
        form = self._records.form
        of_value = ["own", "other"] if form == "conditional_poisson" else []
        if form not in WITH_TERMS:
            return of_value
        catalog = f"{self._frame.connection.catalog_of(self._frame.release)}.coefficient"
        table = exp.maybe_parse(catalog, into=exp.Table, dialect="duckdb")
        there = self._frame.connection.columns(table)
        return [*of_value, *(each for each in TERMS if each in there)]

    def sql(self, laws: Mapping[str, str]) -> str:
        """Write the query of the laws; ``laws`` names the queries of the attributes' numbers."""
        weight = text(self._frame.cells.weight)
        pairs, places, carried = self._pairs(laws)
        by_report, of_sets = [], []
        for name, law in self.columns.items():
            when = filtered(self._records.measures[name].conditions)
            h, within = text(f"{name}_h"), text(f"{name}_in")
            by_report.append(f"coalesce(sum({weight}){when}, 0) AS {h}")
            if not self.of_product:
                blocks = self._attributes[0].blocks
                shown = f"bool_or({text(self._frame.cells.shown)})"
                found, none = ("count(*)", "0") if blocks else (shown, "false")
                by_report.append(f"coalesce({found}{when}, {none}) AS {within}")
            of_sets.append(f"{self._of_set(h, within)} AS {text(law)}")
        by_report += [f"any_value({each}) AS {each}" for each in carried]
        keys = list(map(text, self.keys))
        of_reports = select_sql(
            [*self._frame.selected_keys_of(self.keys), *by_report],
            f"{indented(pairs)} AS {text(self._frame.alias)}",
            self._frame.where,
            [*keys, *places],
        )
        return select_sql([*keys, *of_sets], indented(of_reports), groups=keys)

    def _pairs(self, laws: Mapping[str, str]) -> tuple[str, list[str], list[str]]:
        """Write the true and reported values with their weights; return columns of reports, and others to keep."""
        cells, selected, weights, tables = self._frame.cells, [], [], []
        for number, attribute in enumerate(self._attributes, start=1):
            x, y, law = f"x{number}", f"y{number}", text(laws[attribute.name])
            reports, reported = law, f"{y}.position"
            if self.of_product:
                reported = f"{text(cells.source.alias)}.{text(attribute.column)}"
                reports = (
                    f"(SELECT r.*, row_number() OVER () AS place, v.* EXCLUDE (value) FROM (SELECT"
                    f" {reported} AS reported, count(*) / sum(count(*)) OVER () AS share FROM"
                    f" {text(cells.source.node)} GROUP BY ALL) AS r"
                    f" LEFT JOIN {law} AS v ON v.value IS NOT DISTINCT FROM CAST(r.reported AS VARCHAR))"
                )
                reported = f"{y}.reported"
            elif attribute.blocks:
                reports = f"(SELECT unnest(range({attribute.blocks.count}))::INTEGER AS position)"
            selected.append(f"{true_value(attribute, x)} AS {text(attribute.name)}")
            weights.append(f"({weight_sql(attribute, reported, x, y)})")
            tables += [f"{law} AS {x}", f"{reports} AS {y}"]
        ys = [f"y{number}" for number, _ in enumerate(self._attributes, start=1)]
        places = [f"{y}_place" for y in ys]
        # Of several attributes, ``position`` is the place of a reported value in its domain.
        place = "place" if self.of_product else "position"
        selected += [f"{y}.{place} AS {y}_place" for y in ys]
        shown = (
            " * ".join(f"{y}.share" for y in ys) if self.of_product else "x1.position = y1.position"
        )
        selected += [
            f"{' * '.join(weights)} AS {text(cells.weight)}",
            f"{shown} AS {text(cells.shown)}",
        ]
        joined = " CROSS JOIN ".join(tables)
        if self.of_product:
            return select_sql(selected, joined), places, [text(cells.shown)]
        # With blocks, all values have the same two numbers, and the blocks themselves have none.
        of, read = ("x1", ["own", "other"]) if self._attributes[0].blocks else ("y1", self.numbers)
        selected += [f"{of}.{each} AS y_{each}" for each in read]
        return select_sql(selected, joined), places, [f"y_{each}" for each in read]

    def _of_set(self, h: str, within: str) -> str:
        """Write the law of a set from the weight ``h`` of each report; ``within``: is it in the set, or the size."""
        if self.of_product:
            share = text(self._frame.cells.shown)
            return formula(
                "law_of_product", "k", most=f"max({h})", least=f"min({h})",
                mean=f"sum({share} * {h})", square=f"sum({share} * {h} ** 2)",
            )  # fmt: skip
        blocks = self._attributes[0].blocks
        if blocks:
            return formula(
                "law_of_blocks", "k", h=f"list({h})", size=f"any_value({within})", own="any_value(y_own)",
                other="any_value(y_other)", blocks=str(blocks.count), stride=str(blocks.stride),
                held=str(len(blocks.first)),
            )  # fmt: skip
        of_value = {each: f"y_{each}" for each in TERMS if each in self.numbers}
        if "own" in self.numbers:
            of_value["shrinkage"] = "1 - y_own + y_other"
        own = dict.fromkeys((*TERMS, "shrinkage"), "NULL::DOUBLE")
        for each, number in of_value.items():
            only = f"max({number}) FILTER (WHERE {within})"
            own[each] = f"CASE WHEN count_if({within}) = 1 THEN {only} END"
        return formula(
            "law", "k", inside=f"avg({h}) FILTER (WHERE {within})",
            outside=f"avg({h}) FILTER (WHERE NOT {within})", **own,
        )  # fmt: skip


def _shown(attribute: Attribute) -> int:
    return attribute.blocks.count if attribute.blocks else attribute.size
