"""Write the sums of a SELECT: over cells with their true values, aggregated to estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.estimator.weights import steps_of
from duckdb_priv.ordinary.aggregates import Zero
from duckdb_priv.ordinary.cells import Cells
from duckdb_priv.ordinary.names import Names, filtered, indented, lines_of, select_sql, text
from duckdb_priv.ordinary.published import ConnectedTables
from duckdb_priv.ordinary.values import law_sql, true_value, weight_sql
from duckdb_priv.sqltext.literals import exact
from duckdb_priv.sqltext.quoting import literal

CAP = 1_000_000_000
"""Maximum number of classes, each a cell with one combination of true values. A core computes some ten million a
second."""
CLASSES = "_priv_classes"
"""The placeholder for the classes among the tables of a SELECT."""
SAYS_NOTHING = (
    "one of the values that are asked for is in every decoy group, or published like another one, so that nothing can"
    " be reported of it: see FROM priv.guarantee, and priv.reconstructed_interval for bounds"
)
Total = Callable[[str, Sequence[str]], str]
"""Writes the sum of a value over the classes that meet conditions."""
Steps = list[tuple[str, str]]
"""Common table expressions: names and queries."""
PlainColumn = tuple[str, str, str, bool]
"""An aggregate of public columns: its name, argument and filter, and whether it is DISTINCT. For the grouping level:
"grouping", the keys, and the level of the group of all records."""


@dataclass(frozen=True)
class Measure:
    """A sum over records of public values, which are summed within cells, times factors that depend on true values."""

    cell: str
    """The column of the cells with the sum of the public values."""
    public: tuple[exp.Expr, ...]
    """The public values."""
    before: tuple[exp.Expr, ...]
    """Public conditions on the summed records."""
    factors: tuple[str, ...]
    """Factors that depend on true values, as SQL over the classes."""
    conditions: tuple[str, ...]
    """Conditions on the summed classes."""
    exact: bool
    """Whether the sum is exact, because it does not depend on an attribute."""
    exact_in_sets: bool
    """Whether it is exact in groups by public columns alone: among subtotals."""
    counts: bool
    """Whether the sum counts records."""
    of_attribute: bool
    """Whether the conditions on classes depend on attributes alone."""
    zero: Zero
    """When the sum is 0 and not NULL if no record is summed."""


@dataclass(frozen=True)
class Frame:
    """The classes of a SELECT over a release, with its joins, filters, groups and aggregates."""

    connection: ConnectedTables
    names: Names
    cells: Cells
    measures: Mapping[str, Measure]
    """Sums over records, by their columns in the estimates."""
    plain: Mapping[str, PlainColumn]
    """Other columns of the estimates."""
    keys: Mapping[str, str]
    """Group keys, as SQL over the classes, by their columns in the estimates."""
    tables: str
    """FROM, with ``CLASSES`` for the classes."""
    where: Sequence[str]
    groups: Sequence[str]
    """Elements of GROUP BY."""
    subtotals: bool
    """Whether GROUP BY has more than plain keys, such as ROLLUP."""
    of_all: bool
    """Whether a group of all records exists even without any record."""
    joined: bool
    """Whether the SELECT joins other tables."""
    sensitive_keys: frozenset[str]
    """Keys that depend on attributes."""
    laws: Mapping[str, str]
    """Names of the queries of the attributes' numbers, by attribute."""
    separable: bool
    """Whether every key and every condition depends on public columns alone, or on attributes alone."""
    partly_unknown: bool = False
    """Whether some values of the attributes have no weights."""
    mixed: Sequence[str] = ()
    """The conditions of ``where`` that depend on public columns and attributes together."""
    uneven: bool = False
    """Whether groups or joins restrict the true values of some records and not of others."""

    def estimates(self, table: str) -> Steps:
        """Return the steps that compute the estimates; the last one is called ``table``."""
        cells = self.names.fresh("cells")
        classes = self.classes(text(cells), self.cells.columns)
        selected = self.selected_keys_of(self.keys)
        for name, each in self.measures.items():
            selected.append(f"{self.estimate(each, _sum)} AS {text(name)}")
        for name, (kind, argument, when, distinct) in self.plain.items():
            filter_sql = when if kind != "grouping" else ""
            selected.append(
                f"{kind}({'DISTINCT ' * distinct}{argument}){filter_sql} AS {text(name)}"
            )
        return [
            *self.law_steps(),
            (cells, self.cells.sql()),
            (table, self.select(selected, classes, self.groups)),
        ]

    def refuse_too_much(self) -> None:
        """Refuse a query with more classes than the cap, with the factors of the work."""
        values = [each.size or 1 for each in self.cells.attributes.values()]
        cells = self.cells.release.rows
        if cells * prod(values) > CAP and cells > 1:
            # A query that uses outer tables cannot run on its own to count its cells: then every row is a cell.
            cells = min(self.connection.count(lines_of(self.cells.sql()), cells), cells)
        work = cells * prod(values)
        if work > CAP:
            each = " times ".join(f"{size:,} values" for size in values)
            raise QueryRefused(
                f"{cells:,} combinations of public and reported values times {each} are {work:,} classes, more than"
                f" {CAP:,}, which would take minutes or hours",
                hint="group by fewer or coarser public columns, such as age // 10, and ask for one attribute at a time",
            )

    def selected_keys_of(self, names: Iterable[str]) -> list[str]:
        """Return group keys as items of a SELECT over the classes."""
        keys = [(text(name), self.keys[name]) for name in names]
        return [sql if sql.rpartition(".")[2] == name else f"{sql} AS {name}" for name, sql in keys]

    def law_steps(self, more: Sequence[str] = ()) -> Steps:
        """Return the steps that read the numbers of each attribute; ``more`` names additional numbers."""
        return [
            (self.laws[each.name], law_sql(self.connection, self.cells.release, each, more))
            for each in self.cells.attributes.values()
        ]

    def classes(
        self,
        cells: str,
        columns: Sequence[str],
        positions: Sequence[str] = (),
        shrinkage: str = "",
    ) -> str:
        """Write the classes: each cell with every combination of true values of its rows, and their weight.

        The combination of the reported values is marked as shown. ``columns`` are those of the cells that are kept,
        ``positions`` columns that identify the combination, and ``shrinkage`` a column with the part of its value's
        noise that the published histogram shares. An unknown weight is NaN.
        """
        attributes = list(self.cells.attributes.values())
        scale = f"c.{text(self.cells.scale_key)}" if self.cells.scale_key else "1"
        selected = [f"c.{text(name)}" for name in columns]
        weights, shown, where = [], [], []
        tables = f"{cells} AS c"
        for number, attribute in enumerate(attributes, start=1):
            numbers, reported = text(self.laws[attribute.name]), f"c.{text(attribute.column)}"
            x, y = (f"x{number}", f"y{number}") if len(attributes) > 1 else ("x", "y")
            weights.append(weight_sql(attribute, reported, x, y, scale))
            by_report = f"{y}." in weights[-1]
            if by_report:
                tables += f" JOIN {numbers} AS {y} ON {y}.value IS NOT DISTINCT FROM CAST({reported} AS VARCHAR)"
            tables += f" CROSS JOIN {numbers} AS {x}"
            selected.append(f"{true_value(attribute, x)} AS {text(attribute.name)}")
            if shrinkage:
                selected.append(f"1 - {x}.own + {x}.other AS {text(shrinkage)}")
            if positions:
                selected.append(f"{x}.position AS {text(positions[number - 1])}")
            if attribute.traits.listed:
                values = f"CAST({reported} AS VARCHAR[])"
                where.append(
                    f"CASE WHEN {x}.value IS NULL THEN len({values}) > list_count({values})"
                    f" ELSE list_contains({values}, {exact(f'{x}.value')}) END"
                )
                shown.append(f"{x}.value IS NOT DISTINCT FROM list_extract({values}, 1)")
            else:
                shown.append(f"{x}.position = {f'{y}.position' if by_report else '0'}")
        weight = " * ".join(f"({each})" for each in weights) if weights[1:] else "".join(weights)
        weight = f"coalesce({weight}, 'nan'::DOUBLE)" if self.partly_unknown else weight or "1"
        selected.append(f"{weight} AS {text(self.cells.weight)}")
        selected.append(f"{' AND '.join(shown) or 'true'} AS {text(self.cells.shown)}")
        return select_sql(selected, tables, where)

    def select(self, selected: Sequence[str], classes: str, groups: Sequence[str]) -> str:
        """Write a SELECT over the classes."""
        tables = self.tables.replace(
            CLASSES, f"{indented(classes)} AS {text(self.cells.source.alias)}"
        )
        return select_sql(selected, tables, self.where, groups)

    def is_public(self, of: Measure) -> bool:
        """Whether a sum is exact in some groups among subtotals, and an estimate in others."""
        return of.exact_in_sets and self.subtotals

    def estimate(self, of: Measure, total: Total, level: str = "") -> str:
        """Write a sum or its estimate, with SQL's result for no summed record.

        ``total`` writes the sum of a value over the classes that meet conditions, and ``level`` is the column of
        grouping(). A count is summed in steps of a power of two. So it has no rounding error that depends on the order
        of the sum, and counts of the same records are equal to the last digit.
        """
        cell, weight, shown = map(self.cells.column, (of.cell, self.cells.weight, self.cells.shown))
        conditions = list(of.conditions)
        if of.before and not of.public and of.zero is Zero.NEVER:
            # The number of its records decides whether a cell has a summed one.
            conditions.append(f"{cell} > 0")
        exact = ""
        if of.exact or self.is_public(of):
            exact = total(" * ".join([cell, *of.factors]), [*conditions, shown])
        found = exact
        if not of.exact:
            steps, added = steps_of(self.cells.release.rows), f"{cell} * {weight}"
            added = f"round({added} * {steps})" if of.counts else added
            found = total(" * ".join([added, *of.factors]), conditions)
            found += f" / {steps}" * of.counts
            if self.partly_unknown:
                # An unknown weight is NaN, and so is its sum.
                unknown = f"CASE WHEN isnan(e) THEN error({literal(SAYS_NOTHING)}) ELSE e END"
                found = f"[{unknown} FOR e IN [{found}]][1]"
            found = self.in_public_sets(of, exact, found, level)
        if of.zero is Zero.NEVER:
            return found
        found = f"coalesce({found}, 0)"
        return (
            found if of.zero is Zero.ALWAYS else f"CASE WHEN {total('1', ())} > 0 THEN {found} END"
        )

    def in_public_sets(self, of: Measure, exact: str, found: str, level: str = "") -> str:
        """Write a sum that is exact in groups by public columns alone; ``level`` is the column of grouping()."""
        if not self.is_public(of):
            return found
        numbers = enumerate(reversed(list(self.keys)))
        of_attributes = sum(1 << place for place, name in numbers if name in self.sensitive_keys)
        level = level or self.level
        return (
            f"CASE WHEN {level} & {of_attributes} = {of_attributes} THEN {exact} ELSE {found} END"
        )

    @property
    def level(self) -> str:
        """The level of a group among subtotals."""
        return f"grouping({', '.join(map(text, self.keys))})"


def _sum(value: str, conditions: Sequence[str]) -> str:
    return f"sum({value}){filtered(conditions)}"
