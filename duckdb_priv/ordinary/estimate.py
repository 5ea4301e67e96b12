"""One SELECT that sums up a release by its attributes, rewritten into a query over what is published.

Three steps, each a common table expression:

- ``cells`` counts the published rows (``cells.py``);
- ``estimates`` gives every cell each true value with its weight (``law.py``), and sums up as the query does;
- what is above the aggregates is left as it was, over the estimates.

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
from duckdb_priv.ordinary.frame import (
    CLASSES,
    Frame,
)
from duckdb_priv.ordinary.grouping import (
    SETS,
    bare,
    group_keys,
    grouped_by,
    grouping_sets,
    keys_to_where,
    repeated_sets,
)
from duckdb_priv.ordinary.intervals import Intervals
from duckdb_priv.ordinary.linear import refuse_what_is_not_linear
from duckdb_priv.ordinary.names import Names, column, named, text
from duckdb_priv.ordinary.published import ConnectedTables, Release
from duckdb_priv.ordinary.quantiles import Counted, Quantiled
from duckdb_priv.ordinary.scope import ENDS, MARK, PURE, FromItem, Kind
from duckdb_priv.ordinary.windows import write_out_names
from duckdb_priv.ordinary.work import refuse_too_much


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

    def __post_init__(self) -> None:
        others = {name for each in self.sources if each is not self.source for name in each.columns}
        around = frozenset(
            each.name.lower()
            for each in self.select.find_all(exp.Column)
            if each.meta.get(MARK) in self.outer
        )
        self.cells = Cells(self.source, self.outer, others, around)
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
            write_out_names(self.select)
            keys_to_where(self.select)
        found = self._above()
        unchanged = self.select.copy()
        pairs = zip(self.select.expressions, self.outputs, strict=True)
        items = [found.item(item, name) for item, name in pairs]
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
        refuse_too_much(frame)
        quantiled = self._quantiled(unchanged, found.quantiles)
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

    def _above(self) -> Above:
        """Find the conditions and the group keys, and whether sums of public columns are known."""
        self._left = self._conditions()
        # In GROUP BY, a column of another table comes before a key of that name.
        taken = {name for each in self.sources if each is not self.source for name in each.columns}
        keys = group_keys(self.select, taken | self.cells.around)
        joins = self.select.args.get("joins") or []
        joined = [join.args["on"] for join in joins if join.args.get("on")]
        joined += [self._own(name.name) for join in joins for name in join.args.get("using") or ()]
        exact = not self.release.sampled and not any(
            Kind.SENSITIVE in self.cells.kind(each) for each in [*self._left, *joined, *keys]
        )
        numbers = {each.number for each in self.sources}
        order = self.select.args.get("order")
        return Above(
            self.source, numbers, self.cells, keys, exact, self._table, self.outputs, order
        )

    def _conditions(self) -> list[exp.Expr]:
        """Split WHERE: rows are chosen by public columns before they are counted, by anything else afterwards.

        What is true of all rows, such as ``disease = 'flu' OR true``, chooses none.
        """
        where = self.select.args.get("where")
        left = []
        for each in aggregates.conjuncts(where.this) if where else ():
            if isinstance(each, exp.Or) and any(part == exp.true() for part in each.flatten()):
                continue
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

    def _quantiled(self, select: exp.Select, quantiles: Mapping[str, Quantile]) -> Quantiled:
        """Write the steps to the quantiles of a SELECT that is not rewritten yet."""
        group = select.args.get("group")
        sets = group is not None and any(isinstance(bare(each), SETS) for each in group.expressions)
        if quantiles and sets:
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
        """Count the records by a value besides the groups."""
        value = bare(quantile.value)
        number = len(group_keys(select.copy(), ()))
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
        found = inner._above()
        count = found.sum(Sum(zero=Zero.ALWAYS))
        groups = tuple(found.keys.values())[:number]
        measures = {count.name: found.measures[count.name]}
        frame = inner._frame(found)
        refuse_too_much(frame)
        return Counted(frame, measures, found.keys[value], groups)

    def _frame(self, found: Above) -> Frame:
        """Write all that the sums are taken over."""
        conditions, joins = self._left, self.select.args.get("joins") or []
        kinds = {name: self.cells.kind(key) for key, name in found.keys.items()}
        of_conditions = list(map(self.cells.kind, conditions))
        separable = all(each in PURE for each in (*kinds.values(), *of_conditions))
        # What depends on other tables depends on what these are joined on.
        of_joins = reduce(or_, map(self._kind_of_join, joins), Kind.CONSTANT)
        through = [of_joins, *(each | of_joins for each in kinds.values() if Kind.OTHER in each)]
        pure_keys = [each for each in kinds.values() if Kind.OTHER not in each]
        uneven = any(each & ~Kind.OTHER not in PURE for each in (*through, *pure_keys))
        keys = {name: text(self.cells.kept(key.copy())) for key, name in found.keys.items()}
        where = [text(self.cells.kept(each.copy())) for each in conditions]
        mixed = [sql for sql, each in zip(where, of_conditions, strict=True) if each not in PURE]
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
        sets = grouping_sets(group) if group is not None else [set[str]()]
        if self.confidence is not None and any(each in sets[:n] for n, each in enumerate(sets)):
            raise repeated_sets()
        for element in group.expressions if group is not None else ():
            for key in grouped_by(element):
                key.replace(column(found.keys[bare(key)]))
        return Frame(
            self.connection, self.release, self.source.alias, self.cells, keys, tables, where,
            groups=[text(element) for element in group.expressions] if group is not None else [],
            subtotals=group is not None
            and any(not isinstance(bare(each), exp.Column) for each in group.expressions),
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

    def _kind_of_join(self, join: exp.Join) -> Kind:
        """Return what a join depends on."""
        using = [self.cells.kind(self._own(name.name)) for name in join.args.get("using") or ()]
        return reduce(or_, using, self.cells.kind(join))

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
        # Between the parts of a set operation no WITH is allowed.
        holder: exp.Expr = select
        while isinstance(holder.parent, exp.SetOperation):
            holder = holder.parent
        if holder.args.get("with_") is None:
            holder.set("with_", exp.With(expressions=[]))
        for name, query in estimates:
            holder.args["with_"].append("expressions", self.names.step(name, query))
