"""Rewrite the expressions above the aggregates of a SELECT over its estimates, and collect the estimates needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.aggregates import Plain, Quantile, Sum
from duckdb_priv.ordinary.cells import OF_NUMBERS, Cells
from duckdb_priv.ordinary.frame import Measure, PlainColumn, filtered
from duckdb_priv.ordinary.names import column, fresh, named, nodes, text
from duckdb_priv.ordinary.scope import MARK, FromItem, Kind
from duckdb_priv.sqltext.numbers import as_number


@dataclass
class Above:
    """The columns of estimates that one SELECT needs."""

    source: FromItem
    numbers: Collection[int]
    """Numbers of all tables of the SELECT."""
    cells: Cells
    keys: Mapping[exp.Expr, str]
    """Columns in the estimates, by group key."""
    exact: bool
    """Whether sums of public columns are exact."""
    public: bool
    """Whether they are exact in groups by public columns alone: among subtotals."""
    table: str
    """The name of the table of estimates."""
    outputs: Sequence[str]
    """Names of the result's columns."""
    order: exp.Expr | None
    """The ORDER BY of the SELECT."""
    measures: dict[str, Measure] = field(default_factory=dict)
    """Sums over records, by column in the estimates."""
    plain: dict[str, PlainColumn] = field(default_factory=dict)
    """Other columns of the estimates."""
    quantiles: dict[str, Quantile] = field(default_factory=dict)
    """Quantiles, by column in the estimates."""

    def noisy(self, items: Sequence[exp.Expr]) -> frozenset[str]:
        """Return the names of rewritten items that are estimates, in lower case."""
        known = {name for name, each in self.measures.items() if each.exact}
        noisy = ({*self.measures} - known) | {*self.quantiles}
        return frozenset(
            item.alias_or_name.lower()
            for item in items
            if any(each.name in noisy and not each.table for each in nodes(item, exp.Column))
        )

    def item(self, item: exp.Expr, name: str) -> exp.Expr:
        """Rewrite an expression of the SELECT list, and keep its name."""
        if isinstance(item, exp.Func) and text(item) == name:
            name = name.lower()
        value = self.rewritten(item.unalias()).unnest()
        if isinstance(value, exp.Column) and value.name == name:
            return value
        if text(value) == name.upper():
            # For words such as current_date: a column of that name would take precedence over the function.
            value = exp.Subquery(this=exp.Select(expressions=[value]))
        return exp.Alias(this=value, alias=named(name).copy())

    def rewritten(self, node: exp.Expr, *, within: bool = False) -> exp.Expr:
        """Rewrite an expression over the estimates; ``within`` a subquery, only its group keys."""
        if not isinstance(node, exp.Query) and node.unnest() in self.keys:
            return column(self.keys[node.unnest()], self.table if within else None)
        if isinstance(node, exp.Column):
            if node.meta.get(MARK) in self.numbers:
                raise QueryRefused(
                    f'"{node.name}" is neither in GROUP BY nor summed up', hint="add it to GROUP BY"
                )
            return node
        if not within:
            if isinstance(node, exp.Grouping | exp.GroupingId):
                keys = ", ".join(text(self.keys[each.unnest()]) for each in node.expressions)
                of_all = str(2 ** len(node.expressions) - 1)
                return self._column(("grouping", keys, of_all, False), "grouping")
            if isinstance(node, exp.Window):
                return self._window(node)
            if aggregates.is_aggregate(aggregates.unwrapped(node)):
                return self._aggregate(node)
        within = within or isinstance(node, exp.Query)
        for child in list(node.iter_expressions()):
            if isinstance(child, exp.Literal) and self._orders_result(node) and not within:
                # Interval columns are inserted, so positions change.
                child.replace(column(self._output(int(child.name))))
                continue
            new = self.rewritten(child, within=within)
            if new is not child:
                child.replace(new)
        return node

    def _orders_result(self, node: exp.Expr) -> bool:
        """Whether a node is in the ORDER BY of the SELECT, not of a window or an aggregate."""
        return isinstance(node, exp.Ordered) and node.parent is self.order

    def _output(self, position: int) -> str:
        name = self.outputs[position - 1]
        if [each.lower() for each in self.outputs].count(name.lower()) > 1:
            raise QueryRefused(
                f'ORDER BY {position} is ambiguous: several results are called "{name}"',
                hint="give each result a name of its own, and ORDER BY that",
            )
        return name

    def _window(self, node: exp.Window) -> exp.Expr:
        """Rewrite the arguments of a window function; it becomes a window over the estimates."""
        function = aggregates.unwrapped(node.this)
        holders = [node, *aggregates.wrappers(node.this)]
        for holder in (*holders, function):
            for child in list(holder.iter_expressions()):
                if child is not function and child not in holders:
                    child.replace(self.rewritten(child))
        return node

    def _aggregate(self, node: exp.Expr) -> exp.Expr:
        several = aggregates.each_of_list(node)
        if several:
            if node.find_ancestor(exp.Bracket):
                raise QueryRefused(
                    "one of a list of quantiles is asked for",
                    hint="write quantile_cont(x, 0.25) for that one",
                )
            calls = [self._aggregate(each) for each in several]
            return exp.Anonymous(this="list_value", expressions=calls)
        parsed = aggregates.parse(node.copy())
        if isinstance(parsed, Plain):
            return self._plain(parsed)
        if isinstance(parsed, Quantile):
            self._refuse_texts(parsed.value)
            name = self._fresh("quantile")
            self.quantiles[name] = parsed
            return column(name)
        combined = parsed.combine(*(self.sum(each) for each in parsed.sums))
        return exp.paren(combined) if isinstance(combined, exp.Binary) else combined

    def _refuse_texts(self, value: exp.Expr) -> None:
        attribute = self.source.attribute(value) if isinstance(value, exp.Column) else None
        if attribute is not None and not exp.DataType.build(attribute.type, "duckdb").is_type(
            *exp.DataType.NUMERIC_TYPES
        ):
            raise QueryRefused(
                f'"{attribute.name}" is no number, and has no quantiles',
                hint="GROUP BY it, and look at the counts",
            )

    def sum(self, of: Sum) -> exp.Expr:
        """Return the column with the estimate of a sum."""
        public, factors = self._split(of.factors)
        before, conditions = self._split(of.conditions)
        depends = [self.cells.kind(each) for each in (*factors, *conditions)]
        public_parts = not any(Kind.SENSITIVE in each for each in depends)
        measure = Measure(
            cell=self.cells.sum(public, before),
            public=tuple(public),
            before=tuple(before),
            factors=tuple(as_number(self.cells.written(each), OF_NUMBERS) for each in factors),
            conditions=tuple(self.cells.written(each) for each in conditions),
            exact=self.exact and public_parts,
            exact_in_sets=self.public and public_parts,
            counts=of.is_count,
            of_attribute=not factors and all(each is Kind.SENSITIVE for each in depends),
            zero=of.zero,
        )
        for name, known in self.measures.items():
            if known == measure:
                return column(name)
        name = self._fresh("n" if of.is_count else "total")
        self.measures[name] = measure
        return column(name)

    def _plain(self, of: Plain) -> exp.Expr:
        """Return the column of an aggregate that is not a sum, if it uses public columns only."""
        parts = (of.argument, *of.conditions)
        if not self.exact or any(Kind.SENSITIVE in self.cells.kind(each) for each in parts):
            raise aggregates.refusal("count(DISTINCT …)" if of.distinct else of.name)
        public = self.cells.kind(of.argument) is Kind.PUBLIC
        before, conditions = self._split(of.conditions)
        if of.distinct or not public:
            before, conditions = [], list(of.conditions)
            argument = self.cells.written(of.argument)
        else:
            argument = self._cell(self.cells.aggregate(of.name, of.argument, before))
        when = [self.cells.written(each) for each in conditions]
        return self._column((of.name, argument, filtered(when), of.distinct), of.name)

    def _split(self, parts: Sequence[exp.Expr]) -> tuple[list[exp.Expr], list[exp.Expr]]:
        """Split factors or conditions into those with public columns only, and others."""
        public = [each for each in parts if self.cells.kind(each) is Kind.PUBLIC]
        return public, [each for each in parts if each not in public]

    def _cell(self, name: str) -> str:
        return f"{text(self.source.alias)}.{text(name)}"

    def _column(self, found: PlainColumn, stem: str) -> exp.Expr:
        for name, known in self.plain.items():
            if known == found:
                return column(name)
        name = self._fresh(stem)
        self.plain[name] = found
        return column(name)

    def _fresh(self, stem: str) -> str:
        taken = {*self.keys.values(), *self.measures, *self.plain, *self.quantiles}
        return fresh(stem, taken | self.cells.around)
