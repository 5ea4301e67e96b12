"""Write the estimates of every SELECT that aggregates a release by its attributes, as a query over the published table.

All names are resolved before. The query has three steps, each a common table expression:

- ``cells`` counts the published rows (``cells.py``);
- ``estimates`` joins every cell with each true value and its weight (``frame.py``), and aggregates as the query does;
- the expressions above the aggregates are kept, over the estimates.

Filters, joins, groups and sums are linear in the weighted records, so the estimates stay unbiased. How queries use the
estimates of others is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TypeVar

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary import aggregates
from duckdb_priv.ordinary.aggregates import Plain, Quantile, Sum, Zero
from duckdb_priv.ordinary.cells import OF_NUMBERS, Cells
from duckdb_priv.ordinary.checks import (
    check,
    noisy_columns,
    refuse_selected_noise,
    refuse_what_is_not_linear,
)
from duckdb_priv.ordinary.frame import CLASSES, Frame, Measure, PlainColumn, Steps
from duckdb_priv.ordinary.grouping import (
    group_keys,
    grouped_by,
    grouping_sets,
    has_sets,
    keys_to_where,
)
from duckdb_priv.ordinary.intervals import Intervals
from duckdb_priv.ordinary.names import (
    Names,
    column,
    column_names,
    filtered,
    first,
    named,
    nodes,
    raw,
    split,
    table_alias,
    text,
)
from duckdb_priv.ordinary.published import ConnectedTables
from duckdb_priv.ordinary.quantiles import Counted, Quantiled
from duckdb_priv.ordinary.scope import (
    ENDS,
    ESTIMATED,
    MARK,
    PURE,
    Kind,
    QueryState,
    Scope,
    called,
    has_own,
    passed_on,
)
from duckdb_priv.ordinary.values import list_values
from duckdb_priv.ordinary.windows import write_out_names
from duckdb_priv.sqltext.numbers import as_number

T = TypeVar("T")


class UnevenParts(Exception):
    """Only some parts of a set operation have intervals, so the columns of its parts would differ."""


def answer(state: QueryState) -> None:
    """Write the estimates of a query, in place. Raises QueryRefused if it cannot be estimated."""
    for scope in state.scopes.values():
        _estimate(state, scope)
    if len({tuple(each.meta.get(ENDS, ())) for each in state.parts}) > 1:
        raise UnevenParts


def _estimate(state: QueryState, scope: Scope) -> None:
    """Write the estimates of a SELECT whose names are resolved, or check how it uses the estimates of others."""
    select, sources = scope.select, scope.sources
    names = [name for item in select.expressions for name in passed_on(item, sources)]
    if scope.lists:
        pairs = zip(select.expressions, _prepared(state, scope, names), strict=True)
        items = [called(item.unalias(), name) for item, name in pairs]
        list_values(scope, state.connection)
        select.set("expressions", items)
        return
    if scope.summed:
        _refuse_choices(state, scope)
    if not scope.asked:
        refuse_selected_noise(select, sources)
        scope.noisy = noisy_columns(select, names, sources)
        scope.chosen = any(each.scope.chosen for each in sources)
    elif scope.summed:
        outputs = _prepared(state, scope, names)
        scope.chosen = select.args.get("having") is not None
        returned = any(select is each for each in state.parts)
        confidence = state.confidence if returned else None
        estimation = Estimation(scope, state.connection, state.names, outputs, confidence)
        scope.noisy = estimation.rewrite()


def _prepared(state: QueryState, scope: Scope, names: list[str]) -> list[str]:
    """Check a SELECT that is rewritten; return the names of its columns.

    The first one of a query has those that DuckDB gives the query.
    """
    select, (source,) = scope.select, scope.asked
    check(select, source, state.connection, state.parameters)
    leads = any(select is each for each in state.parts[:1])
    if leads and not first(state.original, exp.Placeholder, exp.Parameter):
        names = [name for name, _ in state.described()] or names
    refuse_what_is_not_linear(select, source)
    return names


def _refuse_choices(state: QueryState, scope: Scope) -> None:
    """Refuse sums over records that are selected by reported values or by estimates."""
    choosing, sources, asked = _choosing(scope.select), scope.sources, scope.asked
    by_estimate = any(each.estimated for each in sources) or any(
        inner.meta.get(ESTIMATED) for part in choosing for inner in nodes(part, exp.Select)
    )
    by_report = any(each.reported for each in sources if each not in asked) or any(
        not column_names(part).isdisjoint(state.connection.reported) for part in choosing
    )
    if by_report and (asked or by_estimate):
        raise QueryRefused(
            "what records report, and what is estimated from it, vary together, and cannot be counted together",
            hint="ask for reported values in a query of their own, and join the counts",
        )
    of_release = any(each.release or each.rows for each in sources)
    if state.confidence is not None and by_estimate and of_release:
        raise QueryRefused(
            "the interval of sums over records that another estimate chooses, or is joined to, is not known",
            hint="ask for the other estimate first, and write it as a number; or leave out intervals",
        )


def _choosing(select: exp.Select) -> list[exp.Expr]:
    """Return the conditions, group keys and aggregates of a SELECT."""
    group = select.args.get("group")
    keys = list(group.expressions) if group is not None else []
    found = [select.args["where"]] if select.args.get("where") else []
    found += [join for join in select.args.get("joins") or () if join.args.get("on")]
    for item in select.expressions:
        summed = list(aggregates.aggregates_in(item))
        found += summed
        keys += [] if summed else [item]
    # A key without columns is the same for all records, so it selects none.
    return found + [key for key in keys if has_own(key, exp.Column)]


@dataclass
class Estimation:
    """A SELECT that is being rewritten, and the columns of estimates that it needs."""

    scope: Scope
    connection: ConnectedTables
    names: Names
    outputs: Sequence[str]
    """Names of the result's columns."""
    confidence: float | None = None
    """The confidence of the intervals; None without intervals."""

    def __post_init__(self) -> None:
        self.measures: dict[str, Measure] = {}
        """Sums over records, by column in the estimates."""
        self.plain: dict[str, PlainColumn] = {}
        """Other columns of the estimates."""
        self.quantiles: dict[str, Quantile] = {}
        """Quantiles, by column in the estimates."""
        self.select, (self.source,) = self.scope.select, self.scope.asked
        # In GROUP BY, a column of another table takes precedence over a key of the same name.
        tables = (each for each in self.scope.sources if each is not self.source)
        others = {name for each in tables for name in each.columns}
        numbers = self.scope.around
        around = frozenset(
            each.name.lower()
            for each in nodes(self.select, exp.Column)
            if each.meta.get(MARK) in numbers
        )
        self.cells = Cells(self.scope, others | around)
        self.release = self.cells.release
        self._table = self.names.fresh("estimates")
        if self.confidence is not None:
            write_out_names(self.select)
            keys_to_where(self.select)
        self._left = self._conditions()
        self._keys = group_keys(self.select, others | around)
        # Columns of outer tables that the SELECT names must not be hidden.
        self._columns = Names({each.lower() for each in self._keys.values()} | around)
        self._joins: list[exp.Join] = self.select.args.get("joins") or []
        joined = [join.args["on"] for join in self._joins if join.args.get("on")]
        joined += [each for join in self._joins for each in self._using(join)]
        self._public = not self.release.sampled and not any(
            map(self._is_sensitive, [*self._left, *joined])
        )
        """Whether sums of public columns are exact in groups by public columns alone: among subtotals."""
        self._exact = self._public and not any(map(self._is_sensitive, self._keys))
        """Whether they are exact in all groups."""

    def rewrite(self) -> frozenset[str]:
        """Rewrite the SELECT in place; return the columns of its result that are estimates, in lower case."""
        unchanged = self.select.copy() if first(self.select, *aggregates.QUANTILES) else None
        pairs = zip(self.select.expressions, self.outputs, strict=True)
        items = [self._item(item, name) for item, name in pairs]
        noisy = self._noisy(items)
        chosen = self.select.args.get("having") is not None
        for name in ("having", "qualify", "order", "distinct"):
            if part := self.select.args.get(name):
                self.select.set(name, self._over(part))
        windows = [self._over(each) for each in self.select.args.get("windows") or ()]
        self.select.set("windows", windows or None)
        if self.quantiles and not self.measures:
            self.sum(Sum(zero=Zero.ALWAYS))
        if not self.measures and not any(kind != "grouping" for kind, *_ in self.plain.values()):
            raise QueryRefused(
                "perturbed records do not show which groups exist, only how many records they have",
                hint="add count(*), and HAVING count(*) > … for those that matter; FROM priv.coefficient lists values",
            )
        frame = self._frame()
        quantiled = self._quantiled(unchanged or self.select)
        table = self.names.fresh("groups") if self.quantiles else self._table
        if self.confidence is None:
            steps = frame.estimates(table)
        else:
            intervals = Intervals(frame, self.confidence, chosen, quantiled.ends)
            items = intervals.items(items)
            self.select.meta[ENDS] = intervals.with_ends
            steps = intervals.steps(table)
        if self.quantiles:
            steps = [*steps, *quantiled.beside(table, list(self._keys.values()), self._table)]
        self._put(items, steps)
        return noisy

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

    def _using(self, join: exp.Join) -> list[exp.Expr]:
        """Return the columns of USING: of the release, or without a table if the release has none of that name."""
        found: list[exp.Expr] = []
        for each in join.args.get("using") or ():
            found.append(column(each.name, self.source.alias))
            if each.name.lower() in self.source.columns:
                found[-1].meta[MARK] = self.source.number
        return found

    def _quantiled(self, select: exp.Select) -> Quantiled:
        """Write the steps that compute the quantiles of a SELECT before it is rewritten."""
        if self.quantiles and has_sets(select):
            raise QueryRefused(
                "a quantile beside subtotals is not answered",
                hint="GROUP BY plain keys, one query for each",
            )
        found = Quantiled(self.names, self.confidence)
        together: dict[str, dict[str, Quantile]] = {}
        for name, each in self.quantiles.items():
            which = " AND ".join(map(text, (each.value, *each.conditions)))
            together.setdefault(which, {})[name] = each
        for some in together.values():
            found.add(self._counted(select.copy(), next(iter(some.values()))), some)
        return found

    def _counted(self, select: exp.Select, quantile: Quantile) -> Counted:
        """Count the records by groups and by the value of a quantile."""
        value = quantile.value.unnest()
        for name in ("having", "qualify", "order", "distinct", "windows", "limit", "offset"):
            select.set(name, None)
        select.where(
            aggregates.is_known(value), *(each.copy() for each in quantile.conditions), copy=False
        )
        if select.args.get("group") is None:
            select.set("group", exp.Group(expressions=[]))
        select.args["group"].append("expressions", value.copy())
        scope = replace(self.scope, select=select)
        inner = Estimation(scope, self.connection, self.names, [])
        inner.sum(Sum(zero=Zero.ALWAYS))
        groups = tuple(inner._keys.values())[: len(self._keys)]
        return Counted(inner._frame(), inner._keys[value], groups)

    def _frame(self) -> Frame:
        """Return the tables, conditions and groups of the sums. Raises QueryRefused if they are too large."""
        conditions, joins = self._left, self._joins
        kinds = {name: self.cells.kind(key) for key, name in self._keys.items()}
        of_conditions = list(map(self.cells.kind, conditions))
        separable = all(each in PURE for each in (*kinds.values(), *of_conditions))
        # An expression over other tables also depends on their join conditions.
        parts = [part for join in joins for part in (join, *self._using(join))]
        of_joins = reduce(or_, map(self.cells.kind, parts), Kind.CONSTANT)
        through = [of_joins, *(each | of_joins for each in kinds.values() if Kind.OTHER in each)]
        pure_keys = [each for each in kinds.values() if Kind.OTHER not in each]
        uneven = any(each & ~Kind.OTHER not in PURE for each in (*through, *pure_keys))
        keys = {name: self.cells.written(key) for key, name in self._keys.items()}
        where = list(map(self.cells.written, conditions))
        mixed = [sql for sql, each in zip(where, of_conditions, strict=True) if each not in PURE]
        tables = self._tables()
        group = self.select.args.get("group")
        elements = group.expressions if group is not None else []
        sets = grouping_sets(group) if group is not None else [set[str]()]
        if self.confidence is not None and any(each in sets[:n] for n, each in enumerate(sets)):
            raise QueryRefused(
                "GROUP BY has the same groups more than once, and intervals are made once for each",
                hint="name each set of keys once, or leave out intervals",
            )
        for key in [key for element in elements for key in grouped_by(element)]:
            key.replace(column(self._keys[key]))
        frame = Frame(
            self.connection, self.names, self.cells, self.measures, self.plain, keys,
            tables, where,
            groups=list(map(text, elements)),
            subtotals=any(not isinstance(each.unnest(), exp.Column) for each in elements),
            of_all=set() in sets,
            joined=bool(joins),
            sensitive_keys=frozenset(name for name, each in kinds.items() if Kind.SENSITIVE in each),
            laws={
                each.name: self.names.fresh(f"{each.name}_law")
                for each in self.cells.attributes.values()
            },
            separable=separable,
            partly_unknown=any(
                self.connection.partly_unknown(self.release, each)
                for each in self.cells.attributes.values()
            ),
            mixed=mixed,
            uneven=uneven,
        )  # fmt: skip
        frame.refuse_too_much()
        return frame

    def _tables(self) -> str:
        """Write FROM over the classes; conditions of joins use columns of the cells, or attributes."""
        place = self.scope.sources.index(self.source)
        tables = text(self.select.args["from_"].this) if place else CLASSES
        for number, join in enumerate(self._joins, start=1):
            for each in self._using(join):
                if MARK in each.meta:
                    self.cells.kept(each)
            if join.args.get("on"):
                join.set("on", self.cells.kept(join.args["on"]))
            if not isinstance(join.this, exp.Table):
                self.cells.keep_within(join.this)
            if number == place:
                join.set("this", exp.to_identifier(CLASSES))
            written = text(join)
            tables += written if written.startswith(",") else f" {written}"
        return tables

    def _put(self, items: list[exp.Expr], steps: Steps) -> None:
        """Replace the old SELECT by the rewritten one; HAVING selects rows of the estimates."""
        select, having = self.select, self.select.args.get("having")
        for name in ("joins", "where", "group", "having"):
            select.set(name, None)
        select.set("expressions", items)
        select.set("from_", exp.From(this=exp.Table(this=named(self._table))))
        if having is not None:
            select.set("where", exp.Where(this=having.this))
        # Parts of a set operation cannot have a WITH clause.
        holder: exp.Query = select
        while isinstance(holder.parent, exp.SetOperation):
            holder = holder.parent
        for name, query in steps:
            holder.with_(table_alias(name), as_=raw(query), copy=False)

    def _noisy(self, items: Sequence[exp.Expr]) -> frozenset[str]:
        """Return the names of rewritten items that are estimates, in lower case."""
        known = {name for name, each in self.measures.items() if each.exact}
        noisy = ({*self.measures} - known) | {*self.quantiles}
        return frozenset(
            item.alias_or_name.lower()
            for item in items
            if any(each.name in noisy and not each.table for each in nodes(item, exp.Column))
        )

    def _item(self, item: exp.Expr, name: str) -> exp.Expr:
        """Rewrite an expression of the SELECT list, and keep its name."""
        if isinstance(item, exp.Func) and text(item) == name:
            name = name.lower()
        value = self._over(item.unalias()).unnest()
        if isinstance(value, exp.Column) and value.name == name:
            return value
        if text(value) == name.upper():
            # For words such as current_date: a column of that name would take precedence over the function.
            value = exp.Subquery(this=exp.Select(expressions=[value]))
        return called(value, name)

    def _over(self, node: exp.Expr, *, within: bool = False) -> exp.Expr:
        """Rewrite an expression over the estimates; ``within`` a subquery, only its group keys."""
        if not isinstance(node, exp.Query) and node.unnest() in self._keys:
            return column(self._keys[node.unnest()], self._table if within else None)
        if isinstance(node, exp.Column):
            if any(each.owns(node) for each in self.scope.sources):
                raise QueryRefused(
                    f'"{node.name}" is neither in GROUP BY nor summed up', hint="add it to GROUP BY"
                )
            return node
        if not within:
            if isinstance(node, exp.Grouping | exp.GroupingId):
                keys = ", ".join(text(self._keys[each.unnest()]) for each in node.expressions)
                of_all = str(2 ** len(node.expressions) - 1)
                return self._added(self.plain, ("grouping", keys, of_all, False), "grouping")
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
            new = self._over(child, within=within)
            if new is not child:
                child.replace(new)
        return node

    def _orders_result(self, node: exp.Expr) -> bool:
        """Whether a node is in the ORDER BY of the SELECT, not of a window or an aggregate."""
        return isinstance(node, exp.Ordered) and node.parent is self.select.args.get("order")

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
        for part in aggregates.window_parts(node):
            part.replace(self._over(part))
        return node

    def _aggregate(self, node: exp.Expr) -> exp.Expr:
        parsed = aggregates.parse(node.copy())
        if isinstance(parsed, Plain):
            return self._plain(parsed)
        if isinstance(parsed, Quantile):
            self._refuse_texts(parsed.value)
            if parsed.of_list and node.find_ancestor(exp.Bracket):
                raise QueryRefused(
                    "one of a list of quantiles is asked for",
                    hint="write quantile_cont(x, 0.25) for that one",
                )
            found = [
                self._added(self.quantiles, each, "quantile") for each in parsed.of_list or [parsed]
            ]
            return (
                exp.Anonymous(this="list_value", expressions=found) if parsed.of_list else found[0]
            )
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
        public, factors = split(of.factors, self._is_public)
        before, conditions = split(of.conditions, self._is_public)
        depends = [self.cells.kind(each) for each in (*factors, *conditions)]
        public_parts = not any(Kind.SENSITIVE in each for each in depends)
        measure = Measure(
            cell=self.cells.sum(public, before),
            public=tuple(public),
            before=tuple(before),
            factors=tuple(as_number(self.cells.written(each), OF_NUMBERS) for each in factors),
            conditions=tuple(self.cells.written(each) for each in conditions),
            exact=self._exact and public_parts,
            exact_in_sets=self._public and public_parts,
            counts=of.is_count,
            of_attribute=not factors and all(each is Kind.SENSITIVE for each in depends),
            zero=of.zero,
        )
        return self._added(self.measures, measure, "n" if of.is_count else "total")

    def _plain(self, of: Plain) -> exp.Expr:
        """Return the column of an aggregate that is not a sum, if it uses public columns only."""
        parts = (of.argument, *of.conditions)
        if not self._exact or any(Kind.SENSITIVE in self.cells.kind(each) for each in parts):
            raise aggregates.refusal("count(DISTINCT …)" if of.distinct else of.name)
        before, conditions = split(of.conditions, self._is_public)
        if of.distinct or not self._is_public(of.argument):
            before, conditions = [], list(of.conditions)
            argument = self.cells.written(of.argument)
        else:
            argument = self.cells.column(self.cells.aggregate(of.name, of.argument, before))
        when = [self.cells.written(each) for each in conditions]
        found = (of.name, argument, filtered(when), of.distinct)
        return self._added(self.plain, found, of.name)

    def _is_public(self, part: exp.Expr) -> bool:
        return self.cells.kind(part) is Kind.PUBLIC

    def _added(self, columns: dict[str, T], found: T, stem: str) -> exp.Expr:
        """Return the column of what the estimates need; add it if it does not exist."""
        name = next((name for name, known in columns.items() if known == found), None)
        if name is None:
            name = self._columns.fresh(stem)
            columns[name] = found
        return column(name)
