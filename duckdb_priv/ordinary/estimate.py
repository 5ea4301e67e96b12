"""Rewrite one SELECT that aggregates a release by its attributes into a query over the published table.

The query has three steps, each a common table expression:

- ``cells`` counts the published rows (``cells.py``);
- ``estimates`` joins every cell with each true value and its weight (``law.py``), and aggregates as the query does;
- the expressions above the aggregates are kept, over the estimates.

Filters, joins, groups and sums are linear in the weighted records, so the estimates stay unbiased.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.above import Above
from duckdb_priv.ordinary.aggregates import Quantile, Sum, Zero
from duckdb_priv.ordinary.cells import Cells
from duckdb_priv.ordinary.checks import refuse_what_is_not_linear
from duckdb_priv.ordinary.frame import (
    CLASSES,
    Frame,
)
from duckdb_priv.ordinary.grouping import (
    group_keys,
    grouped_by,
    grouping_sets,
    has_sets,
    keys_to_where,
    repeated_sets,
)
from duckdb_priv.ordinary.intervals import Intervals
from duckdb_priv.ordinary.names import Names, column, first, named, nodes, text
from duckdb_priv.ordinary.published import ConnectedTables, Release
from duckdb_priv.ordinary.quantiles import Counted, Quantiled
from duckdb_priv.ordinary.scope import ENDS, MARK, PURE, FromItem, Kind, from_items
from duckdb_priv.ordinary.windows import write_out_names


@dataclass
class Estimation:
    """A SELECT that is being rewritten."""

    select: exp.Select
    source: FromItem
    sources: Sequence[FromItem]
    outer: frozenset[int]
    connection: ConnectedTables
    names: Names
    outputs: Sequence[str]
    """Names of the result's columns."""
    confidence: float | None = None
    """The confidence of the intervals; None without intervals."""

    def __post_init__(self) -> None:
        others = {name for each in self.sources if each is not self.source for name in each.columns}
        around = frozenset(
            each.name.lower()
            for each in nodes(self.select, exp.Column)
            if each.meta.get(MARK) in self.outer
        )
        self.cells = Cells(self.source, self.outer, others, around)
        self._table = self.names.fresh("estimates")

    @property
    def release(self) -> Release:
        """The release that is aggregated."""
        assert self.source.release is not None
        return self.source.release

    def rewrite(self) -> frozenset[str]:
        """Rewrite the SELECT in place; return the columns of its result that are estimates, in lower case."""
        refuse_what_is_not_linear(self.select, self.source)
        if self.confidence is not None:
            write_out_names(self.select)
            keys_to_where(self.select)
        found = self._above()
        unchanged = self.select.copy() if first(self.select, *aggregates.QUANTILES) else None
        pairs = zip(self.select.expressions, self.outputs, strict=True)
        items = [found.item(item, name) for item, name in pairs]
        noisy = found.noisy(items)
        above = {
            name: found.rewritten(self.select.args[name])
            for name in ("having", "qualify", "order", "distinct")
            if self.select.args.get(name)
        }
        windows = [found.rewritten(each) for each in self.select.args.get("windows") or ()]
        if found.quantiles and not found.measures:
            found.sum(Sum(zero=Zero.ALWAYS))
        if not found.measures and not any(kind != "grouping" for kind, *_ in found.plain.values()):
            raise QueryRefused(
                "perturbed records do not show which groups exist, only how many records they have",
                hint="add count(*), and HAVING count(*) > … for those that matter; FROM priv.coefficient lists values",
            )
        frame = self._frame(found)
        frame.refuse_too_much()
        quantiled = self._quantiled(unchanged or self.select, found.quantiles)
        table = self.names.fresh("groups") if found.quantiles else self._table
        if self.confidence is None:
            steps = frame.estimates(self.names, table, found.measures, found.plain)
        else:
            intervals = Intervals(
                frame, found.measures, found.plain, self.names, table, self.confidence,
                "having" in above, quantiled.ends,
            )  # fmt: skip
            items = intervals.items(items)
            self.select.meta[ENDS] = intervals.with_ends
            steps = intervals.steps()
        if found.quantiles:
            steps = [*steps, *quantiled.beside(table, list(found.keys.values()), self._table)]
        self._put(items, above, windows, steps)
        return noisy

    def _above(self) -> Above:
        """Collect the conditions and the group keys, and decide whether sums of public columns are exact."""
        self._left = self._conditions()
        # In GROUP BY, a column of another table takes precedence over a key of the same name.
        taken = {name for each in self.sources if each is not self.source for name in each.columns}
        keys = group_keys(self.select, taken | self.cells.around)
        joins = self.select.args.get("joins") or []
        joined = [join.args["on"] for join in joins if join.args.get("on")]
        joined += [self._own(name.name) for join in joins for name in join.args.get("using") or ()]
        public = not self.release.sampled and not any(
            map(self._is_sensitive, [*self._left, *joined])
        )
        exact = public and not any(map(self._is_sensitive, keys))
        numbers = {each.number for each in self.sources}
        order = self.select.args.get("order")
        return Above(
            self.source, numbers, self.cells, keys, exact, public, self._table, self.outputs, order
        )

    def _is_sensitive(self, part: exp.Expr) -> bool:
        return Kind.SENSITIVE in self.cells.kind(part)

    def _conditions(self) -> list[exp.Expr]:
        """Split WHERE: conditions on public columns select rows before they are counted, all others afterwards.

        A condition that is true for all rows, such as ``disease = 'flu' OR true``, is dropped.
        """
        left = []
        for each in aggregates.conditions_of(self.select):
            if isinstance(each, exp.Or) and any(part == exp.true() for part in each.flatten()):
                continue
            if self.cells.kind(each) in (Kind.PUBLIC, Kind.CONSTANT):
                self.cells.conditions.append(each)
            else:
                left.append(each)
        return left

    def _own(self, name: str) -> exp.Expr:
        """Return a column of the release by name, or a column without a table if the release has none of that name."""
        found = column(name, self.source.alias)
        if name.lower() in self.source.columns:
            found.meta[MARK] = self.source.number
        return found

    def _quantiled(self, select: exp.Select, quantiles: Mapping[str, Quantile]) -> Quantiled:
        """Write the steps that compute the quantiles of a SELECT before it is rewritten."""
        if quantiles and has_sets(select):
            raise QueryRefused(
                "a quantile beside subtotals is not answered",
                hint="GROUP BY plain keys, one query for each",
            )
        found = Quantiled(self.names, self.confidence)
        together: dict[str, dict[str, Quantile]] = {}
        for name, each in quantiles.items():
            which = " AND ".join(map(text, (each.value, *each.conditions)))
            together.setdefault(which, {})[name] = each
        for some in together.values():
            found.add(self._counted(select.copy(), next(iter(some.values()))), some)
        return found

    def _counted(self, select: exp.Select, quantile: Quantile) -> Counted:
        """Count the records by groups and by the value of a quantile."""
        value = quantile.value.unnest()
        number = len(group_keys(select.copy(), ()))
        for name in ("having", "qualify", "order", "distinct", "windows", "limit", "offset"):
            select.set(name, None)
        known = exp.Not(this=exp.Is(this=exp.paren(value.copy()), expression=exp.Null()))
        select.where(known, *(each.copy() for each in quantile.conditions), copy=False)
        if select.args.get("group") is None:
            select.set("group", exp.Group(expressions=[]))
        select.args["group"].append("expressions", value.copy())
        sources = []
        for old, item in zip(self.sources, from_items(select), strict=True):
            sources.append(replace(old, node=item))
            sources[-1].number = old.number
        source = sources[list(self.sources).index(self.source)]
        inner = Estimation(select, source, sources, self.outer, self.connection, self.names, [])
        found = inner._above()
        count = found.sum(Sum(zero=Zero.ALWAYS))
        groups = tuple(found.keys.values())[:number]
        measures = {count.name: found.measures[count.name]}
        frame = inner._frame(found)
        frame.refuse_too_much()
        return Counted(frame, measures, found.keys[value], groups)

    def _frame(self, found: Above) -> Frame:
        """Return the tables, conditions and groups of the sums."""
        conditions, joins = self._left, self.select.args.get("joins") or []
        kinds = {name: self.cells.kind(key) for key, name in found.keys.items()}
        of_conditions = list(map(self.cells.kind, conditions))
        separable = all(each in PURE for each in (*kinds.values(), *of_conditions))
        # An expression over other tables also depends on their join conditions.
        of_joins = reduce(or_, map(self._kind_of_join, joins), Kind.CONSTANT)
        through = [of_joins, *(each | of_joins for each in kinds.values() if Kind.OTHER in each)]
        pure_keys = [each for each in kinds.values() if Kind.OTHER not in each]
        uneven = any(each & ~Kind.OTHER not in PURE for each in (*through, *pure_keys))
        keys = {name: self.cells.written(key) for key, name in found.keys.items()}
        where = list(map(self.cells.written, conditions))
        mixed = [sql for sql, each in zip(where, of_conditions, strict=True) if each not in PURE]
        tables = self._tables(joins)
        group = self.select.args.get("group")
        elements = group.expressions if group is not None else []
        sets = grouping_sets(group) if group is not None else [set[str]()]
        if self.confidence is not None and any(each in sets[:n] for n, each in enumerate(sets)):
            raise repeated_sets()
        for key in [key for element in elements for key in grouped_by(element)]:
            key.replace(column(found.keys[key]))
        return Frame(
            self.connection, self.release, self.source.alias, self.cells, keys, tables, where,
            groups=list(map(text, elements)),
            subtotals=any(not isinstance(each.unnest(), exp.Column) for each in elements),
            of_all=set() in sets,
            joined=bool(joins),
            sensitive_keys=frozenset(name for name, each in kinds.items() if Kind.SENSITIVE in each),
            separable=separable,
            partly_unknown=any(
                self.connection.partly_unknown(self.release, each)
                for each in self.cells.attributes.values()
            ),
            mixed=mixed,
            uneven=uneven,
        )  # fmt: skip

    def _tables(self, joins: Sequence[exp.Join]) -> str:
        """Write FROM over the classes."""
        joined = [self._join(join) for join in joins]
        start = self.select.args["from_"].this
        tables = CLASSES if start is self.source.node else text(start)
        for join, written in zip(joins, joined, strict=True):
            if join.this is self.source.node:
                join.set("this", exp.to_identifier(CLASSES))
                written = text(join)
            tables += written if written.startswith(",") else f" {written}"
        return tables

    def _kind_of_join(self, join: exp.Join) -> Kind:
        """Return the kind of a join: the columns on which it depends."""
        using = [self.cells.kind(self._own(name.name)) for name in join.args.get("using") or ()]
        return reduce(or_, using, self.cells.kind(join))

    def _join(self, join: exp.Join) -> str:
        """Write a join over cells: its condition uses columns of the cells, or attributes."""
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
        """Replace the old SELECT by the rewritten one."""
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
        # Parts of a set operation cannot have a WITH clause.
        holder: exp.Expr = select
        while isinstance(holder.parent, exp.SetOperation):
            holder = holder.parent
        if holder.args.get("with_") is None:
            holder.set("with_", exp.With(expressions=[]))
        for name, query in estimates:
            holder.args["with_"].append("expressions", self.names.step(name, query))
