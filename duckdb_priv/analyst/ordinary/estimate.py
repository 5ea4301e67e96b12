"""One SELECT that sums up a release by its attributes, rewritten into a query over what is published.

Three steps, each a common table expression:

- ``cells`` counts the published rows (``cells.py``);
- ``estimates`` gives every cell each true value with its weight (``law.py``), and sums up as the query does;
- what stands above the aggregates is left as it was, over the estimates.

Filters, joins, groups and sums are linear in the weighted records, so the estimates stay unbiased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from duckdb_priv.analyst.ordinary import aggregates
from duckdb_priv.analyst.ordinary.aggregates import Plain, Quantile, Sum
from duckdb_priv.analyst.ordinary.cells import Cells
from duckdb_priv.analyst.ordinary.frame import (
    CLASSES,
    Frame,
    Measure,
    PlainColumn,
    filtered,
)
from duckdb_priv.analyst.ordinary.grouping import SETS, bare, group_keys, grouped_by, keys_to_where
from duckdb_priv.analyst.ordinary.intervals import Intervals
from duckdb_priv.analyst.ordinary.linear import refuse_what_is_not_linear
from duckdb_priv.analyst.ordinary.names import Names, column, fresh, named, text
from duckdb_priv.analyst.ordinary.published import ConnectedTables, Release
from duckdb_priv.analyst.ordinary.quantiles import Counted, Quantiled
from duckdb_priv.analyst.ordinary.scope import ENDS, MARK, FromItem, Kind
from duckdb_priv.analyst.ordinary.windows import write_out_names
from duckdb_priv.errors import QueryRefused


@dataclass
class Estimation:
    """A SELECT while it is rewritten."""

    select: exp.Select
    source: FromItem
    sources: Sequence[FromItem]
    outer: frozenset[int]
    connection: ConnectedTables
    names: Names
    outputs: Sequence[str]
    """Names under which the expressions of the SELECT list come out."""
    confidence: float | None = None
    """Of the intervals beside the estimates; none where there are none."""
    keys: dict[exp.Expr, str] = field(default_factory=dict)
    """Group keys, and their columns in the estimates."""
    measures: dict[str, Measure] = field(default_factory=dict)
    """Sums over records by their columns in the estimates."""
    plain: dict[str, PlainColumn] = field(default_factory=dict)
    """Other columns of the estimates."""
    quantiles: dict[str, Quantile] = field(default_factory=dict)
    """Quantiles by their columns in the estimates."""

    def __post_init__(self) -> None:
        self._numbers = {each.number for each in self.sources}
        others = {name for each in self.sources if each is not self.source for name in each.columns}
        self.cells = Cells(self.source, self.outer, others)
        self._table = self.names.fresh("estimates")

    @property
    def release(self) -> Release:
        """The release that is summed up."""
        assert self.source.release is not None
        return self.source.release

    def rewrite(self) -> None:
        """Rewrite the SELECT in place."""
        refuse_what_is_not_linear(self.select, self.source)
        if self.confidence is not None:
            if any(each.estimated for each in self.sources):
                raise QueryRefused(
                    "the interval of counts over a join with other estimates is not known",
                    hint="count first, and join the counts; or leave out intervals",
                )
            write_out_names(self.select)
            keys_to_where(self.select)
        self._find_keys()
        unchanged = self.select.copy()
        items = self._items()
        above = {
            name: self._above(self.select.args[name])
            for name in ("having", "qualify", "order", "distinct")
            if self.select.args.get(name)
        }
        windows = [self._above(each) for each in self.select.args.get("windows") or ()]
        if self.quantiles and not self.measures:
            self._sum(Sum())
        if not self.measures and not any(kind != "grouping" for kind, *_ in self.plain.values()):
            raise QueryRefused(
                "which groups there are cannot be told from perturbed records, only how many records they have",
                hint="add count(*), and HAVING count(*) > … for those that matter; FROM priv.coefficient lists values",
            )
        frame = self._frame()
        quantiled = self._quantiled(unchanged)
        table = self.names.fresh("groups") if self.quantiles else self._table
        if self.confidence is None:
            steps = frame.estimates(self.names, table, self.measures, self.plain)
        else:
            intervals = Intervals(
                frame, self.measures, self.plain, self.names, table, self.confidence,
                "having" in above, quantiled.ends,
            )  # fmt: skip
            items = intervals.items(items)
            self.select.meta[ENDS] = intervals.with_ends
            steps = intervals.steps()
        if self.quantiles:
            steps = [*steps, *quantiled.beside(table, list(self.keys.values()), self._table)]
        self._put(items, above, windows, steps)

    def _find_keys(self) -> None:
        """Find the conditions and the group keys, and whether sums of public columns are known."""
        self._left = self._conditions()
        # In GROUP BY, a column of another table comes before a key of that name.
        taken = {name for each in self.sources if each is not self.source for name in each.columns}
        self.keys = group_keys(self.select, taken)
        joins = self.select.args.get("joins") or []
        joined = [join.args["on"] for join in joins if join.args.get("on")]
        joined += [self._own(name.name) for join in joins for name in join.args.get("using") or ()]
        self._exact = not self.release.sampled and not any(
            Kind.SENSITIVE in self.cells.kind(each) for each in [*self._left, *joined, *self.keys]
        )

    def _items(self) -> list[exp.Expr]:
        pairs = zip(self.select.expressions, self.outputs, strict=True)
        return [self._item(item, name) for item, name in pairs]

    def _conditions(self) -> list[exp.Expr]:
        """Split WHERE: rows are chosen by public columns before they are counted, by anything else afterwards."""
        where = self.select.args.get("where")
        left = []
        for each in aggregates.conjuncts(where.this) if where else ():
            if self.cells.kind(each) in (Kind.PUBLIC, Kind.CONSTANT):
                self.cells.conditions.append(each)
            else:
                left.append(each)
        return left

    def _own(self, name: str) -> exp.Expr:
        """Return a column of the release by its name, or a column of no table where it has none of the name."""
        found = column(name, self.source.alias)
        if name.lower() in self.source.columns:
            found.meta[MARK] = self.source.number
        return found

    def _item(self, item: exp.Expr, name: str) -> exp.Expr:
        """Rewrite an expression of the SELECT list; it keeps its name."""
        value = bare(self._above(item.unalias()))
        if isinstance(value, exp.Column) and value.name == name:
            return value
        return exp.Alias(this=value, alias=named(name).copy())

    def _above(self, node: exp.Expr, *, within: bool = False) -> exp.Expr:
        """Rewrite what stands above the aggregates, over the estimates; ``within`` a subquery only group keys."""
        if not isinstance(node, exp.Query) and bare(node) in self.keys:
            return column(self.keys[bare(node)], self._table if within else None)
        if isinstance(node, exp.Column):
            if node.meta.get(MARK) in self._numbers:
                raise QueryRefused(
                    f'"{node.name}" is neither in GROUP BY nor summed up', hint="add it to GROUP BY"
                )
            return node
        if not within:
            if isinstance(node, exp.Grouping):
                keys = ", ".join(self.keys[bare(each)] for each in node.expressions)
                return self._column(("grouping", keys, "", False), "grouping")
            if isinstance(node, exp.Window):
                return self._window(node)
            if aggregates.is_aggregate(aggregates.unwrapped(node)):
                return self._aggregate(node)
        within = within or isinstance(node, exp.Query)
        for child in list(node.iter_expressions()):
            if isinstance(child, exp.Literal) and self._orders_result(node) and not within:
                # What is added beside a column moves the positions.
                child.replace(column(self.outputs[int(child.name) - 1]))
                continue
            new = self._above(child, within=within)
            if new is not child:
                child.replace(new)
        return node

    def _orders_result(self, node: exp.Expr) -> bool:
        """Whether a node is a part of the ORDER BY of the SELECT, and not of a window or an aggregate."""
        return isinstance(node, exp.Ordered) and node.parent is self.select.args.get("order")

    def _window(self, node: exp.Window) -> exp.Expr:
        """Rewrite what a window function is called with; it stays a window over the estimates."""
        function = aggregates.unwrapped(node.this)
        holders = [node, *aggregates.wrappers(node.this)]
        for holder in (*holders, function):
            for child in list(holder.iter_expressions()):
                if child is not function and child not in holders:
                    child.replace(self._above(child))
        return node

    def _aggregate(self, node: exp.Expr) -> exp.Expr:
        parsed = aggregates.parse(node.copy())
        if isinstance(parsed, Plain):
            return self._plain(parsed)
        if isinstance(parsed, Quantile):
            self._refuse_texts(parsed.value)
            name = self._fresh("quantile")
            self.quantiles[name] = parsed
            return column(name)
        combined = parsed.combine(*(self._sum(each) for each in parsed.sums))
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

    def _sum(self, of: Sum) -> exp.Expr:
        """Return the column with the estimate of a sum."""
        public, factors = self._split(of.factors)
        before, conditions = self._split(of.conditions)
        depends = [self.cells.kind(each) for each in (*factors, *conditions)]
        measure = Measure(
            cell=self.cells.sum(public, before),
            public=tuple(public),
            before=tuple(before),
            factors=tuple(
                f"CAST({text(self.cells.kept(each.copy()))} AS DOUBLE)" for each in factors
            ),
            conditions=tuple(text(self.cells.kept(each.copy())) for each in conditions),
            exact=self._exact and not any(Kind.SENSITIVE in each for each in depends),
            counts=of.is_count,
            of_attribute=not factors and all(each is Kind.SENSITIVE for each in depends),
        )
        for name, known in self.measures.items():
            if known == measure:
                return column(name)
        name = self._fresh("n" if of.is_count else "total")
        self.measures[name] = measure
        return column(name)

    def _plain(self, of: Plain) -> exp.Expr:
        """Return the column with an aggregate that is no sum, if it is one of public columns alone."""
        parts = (of.argument, *of.conditions)
        if not self._exact or any(Kind.SENSITIVE in self.cells.kind(each) for each in parts):
            raise aggregates.refusal("count(DISTINCT …)" if of.distinct else of.name)
        public = self.cells.kind(of.argument) is Kind.PUBLIC
        before, conditions = self._split(of.conditions)
        if of.distinct or not public:
            before, conditions = [], list(of.conditions)
            argument = text(self.cells.kept(of.argument.copy()))
        else:
            argument = self._cell(self.cells.aggregate(of.name, of.argument, before))
        when = [text(self.cells.kept(each.copy())) for each in conditions]
        return self._column((of.name, argument, filtered(when), of.distinct), of.name)

    def _split(self, parts: Sequence[exp.Expr]) -> tuple[list[exp.Expr], list[exp.Expr]]:
        """Split factors or conditions: into those of public columns alone, and others."""
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
        return fresh(stem, {*self.keys.values(), *self.measures, *self.plain, *self.quantiles})

    def _quantiled(self, select: exp.Select) -> Quantiled:
        """Write the steps to the quantiles of a SELECT that is not rewritten yet."""
        group = select.args.get("group")
        sets = group is not None and any(isinstance(bare(each), SETS) for each in group.expressions)
        if self.quantiles and sets:
            raise QueryRefused(
                "a quantile beside subtotals is not answered",
                hint="GROUP BY plain keys, one query for each",
            )
        found = Quantiled(self.names, self.confidence)
        alike: dict[str, dict[str, Quantile]] = {}
        for name, each in self.quantiles.items():
            which = " AND ".join(map(text, (each.value, *each.conditions)))
            alike.setdefault(which, {})[name] = each
        for quantiles in alike.values():
            found.add(self._counted(select.copy(), next(iter(quantiles.values()))), quantiles)
        return found

    def _counted(self, select: exp.Select, quantile: Quantile) -> Counted:
        """Count the records by a value besides the groups."""
        value = bare(quantile.value)
        for name in ("having", "qualify", "order", "distinct", "windows", "limit", "offset"):
            select.set(name, None)
        known = exp.Not(this=exp.Is(this=exp.paren(value.copy()), expression=exp.Null()))
        select.where(known, *(each.copy() for each in quantile.conditions), copy=False)
        if select.args.get("group") is None:
            select.set("group", exp.Group(expressions=[]))
        select.args["group"].append("expressions", value.copy())
        items = [select.args["from_"].this, *(each.this for each in select.args.get("joins") or ())]
        sources = [replace(old, node=item) for old, item in zip(self.sources, items, strict=True)]
        source = sources[list(self.sources).index(self.source)]
        inner = Estimation(select, source, sources, self.outer, self.connection, self.names, [])
        inner._find_keys()
        count = inner._sum(Sum())
        names = list(inner.keys.values())
        frame = inner._frame()
        return Counted(
            frame,
            {count.name: inner.measures[count.name]},
            inner.keys[value],
            tuple(names[: len(self.keys)]),
        )

    def _frame(self) -> Frame:
        """Write all that the sums are taken over."""
        conditions, joins = self._left, self.select.args.get("joins") or []
        kinds = {name: self.cells.kind(key) for key, name in self.keys.items()}
        pure = (Kind.CONSTANT, Kind.PUBLIC, Kind.SENSITIVE)
        separable = all(
            each in pure for each in (*kinds.values(), *map(self.cells.kind, conditions))
        )
        keys = {name: text(self.cells.kept(key.copy())) for key, name in self.keys.items()}
        where = [text(self.cells.kept(each.copy())) for each in conditions]
        joined = [self._join(join) for join in joins]
        tables = text(self.select.args["from_"].this)
        start = self.select.args["from_"].this
        if start is self.source.node:
            tables = CLASSES
        for join, written in zip(joins, joined, strict=True):
            if join.this is self.source.node:
                join.set("this", exp.to_identifier(CLASSES))
                written = text(join)
            tables += written if written.startswith(",") else f" {written}"
        group = self.select.args.get("group")
        for element in group.expressions if group is not None else ():
            for key in grouped_by(element):
                key.replace(column(self.keys[bare(key)]))
        return Frame(
            self.connection, self.release, self.source.alias, self.cells, keys, tables, where,
            groups=[text(element) for element in group.expressions] if group is not None else [],
            subtotals=group is not None
            and any(not isinstance(bare(each), exp.Column) for each in group.expressions),
            joined=bool(joins),
            sensitive_keys=frozenset(name for name, each in kinds.items() if Kind.SENSITIVE in each),
            separable=separable,
            partly_unknown=any(
                self.connection.partly_unknown(self.release, each)
                for each in self.cells.attributes.values()
            ),
        )  # fmt: skip

    def _join(self, join: exp.Join) -> str:
        """Write a join over cells: what it is joined on are columns of theirs, or attributes."""
        for name in join.args.get("using") or ():
            if name.name.lower() in self.source.columns:
                self.cells.kept(self._own(name.name))
        if join.args.get("on"):
            join.set("on", self.cells.kept(join.args["on"]))
        if not isinstance(join.this, exp.Table):
            self.cells.keep_within(join.this)
        return text(join)

    def _put(
        self,
        items: list[exp.Expr],
        above: dict[str, exp.Expr],
        windows: list[exp.Expr],
        estimates: list[tuple[str, str]],
    ) -> None:
        """Put the rewritten SELECT into the place of the old one."""
        select = self.select
        for name in ("joins", "where", "group", "having", *above):
            select.set(name, None)
        select.set("expressions", items)
        select.set("from_", exp.From(this=exp.Table(this=named(self._table).copy())))
        if "having" in above:
            select.set("where", exp.Where(this=above.pop("having").this))
        for name, node in above.items():
            select.set(name, node)
        select.set("windows", windows or None)
        # Between the parts of a set operation no WITH can stand.
        holder: exp.Expr = select
        while isinstance(holder.parent, exp.SetOperation):
            holder = holder.parent
        if holder.args.get("with_") is None:
            holder.set("with_", exp.With(expressions=[]))
        for name, query in estimates:
            holder.args["with_"].append("expressions", self.names.step(name, query))
