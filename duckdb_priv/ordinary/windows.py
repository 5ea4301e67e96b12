"""Windows over estimates: totals of groups, running totals, preceding groups, and their covariances.

A window that sums groups is a sum over records like its summands, so its covariance with them is known. Let S be the
sum of the groups in a window, and K the covariance of a group with S. For a total, the variance of S is the sum of K
over the groups. For a running total it is the sum of 2 K minus the group's own variance. Groups distinguished by public
columns share no record: then K is a group's own variance, and every frame is supported.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlglot import exp

from duckdb_priv.errors import QueryRefused
from duckdb_priv.estimator.lets import let
from duckdb_priv.estimator.set_formulas import ordinary
from duckdb_priv.ordinary.names import StepColumns, column, first, nodes, text
from duckdb_priv.ordinary.records import Records

RANKS = (
    exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile, exp.PercentRank, exp.CumeDist,
)  # fmt: skip
"""Window functions that rank estimates; their results are not estimates."""
WHOLE = ("UNBOUNDED", "PRECEDING", "UNBOUNDED", "FOLLOWING")
RUNNING = ("UNBOUNDED", "PRECEDING", "CURRENT ROW", "")
"""Frames of a total and of a running total."""
TABLE = "_priv_law_of_values"
"""The placeholder for the attribute's numbers among the tables."""


@dataclass(frozen=True)
class GroupWindow:
    """A window over one estimate."""

    of: str
    """The column of the estimate."""
    partition: frozenset[str]
    """The PARTITION BY expressions, as SQL."""
    kind: str
    """total, running, frame or shift."""
    over: str
    """The text inside the parentheses of OVER."""
    call: str
    """The call of the window function, with {} for its argument."""
    order: exp.Expr | None = None

    def of_column(self, name: str) -> str:
        """Write the same window over another column."""
        return f"{self.call.format(name)} OVER ({self.over})"


class Windows:
    """The windows over estimates in one SELECT."""

    def __init__(self, records: Records, uncertain: Collection[str], chosen: bool) -> None:
        self._records, self._uncertain, self._chosen = records, uncertain, chosen
        self.columns = StepColumns(records.taken)
        """Columns of the step between the estimates and their intervals: values of windows, and covariances."""
        self.found: dict[str, GroupWindow] = {}
        """Windows by column."""
        self._apart = not (records.frame.sensitive_keys or records.frame.joined)

    def replaced(self, value: exp.Expr) -> exp.Expr:
        """Return an expression with its windows over estimates replaced by columns.

        Raises QueryRefused for a window whose variance is unknown.
        """
        holder = exp.Paren(this=value.copy())
        for node in list(nodes(holder, exp.Window)):
            estimated = any(each.name in self._uncertain for each in nodes(node, exp.Column))
            if estimated and not isinstance(node.this, RANKS):
                node.replace(self._column(node))
        found: exp.Expr = holder.this
        return found

    def covariance(self, one: str, two: str) -> str:
        """Write the covariance of two columns, at least one of which is a window."""
        if one not in self.found:
            one, two = two, one
        if two not in self.found:
            return self._with_group(two, self.found[one])
        first, second = self.found[one], self.found[two]
        if first.kind == "total" and second.kind != "total":
            first, second = second, first
        same = first.over == second.over and first.kind == second.kind
        if second.kind == "total" and second.partition <= first.partition:
            found = first.of_column(self._with_group(first.of, second))
            if first.of == second.of and (sampling := self._records.sampling(first.of, first.of)):
                found += f" + {first.of_column(sampling)}"
        elif same and first.kind != "running":
            found = first.of_column(self.of_group(first.of, second.of))
        elif same:
            each = f"{self._with_group(first.of, second)} + {self._with_group(second.of, first)}"
            each += f" - {self.of_group(first.of, second.of)}"
            found = first.of_column(self.columns.take(each, "running"))
        else:
            raise refused("two windows that overlap")
        return self.columns.take(f"coalesce({found}, 0)", "covariance")

    def of_group(self, one: str, two: str) -> str:
        """Write the covariance of two estimates of a group, in the approximation used for windows."""
        return self._kept(self._records.covariance(one, two, raw=True), one, two)

    def _with_group(self, name: str, window: GroupWindow) -> str:
        """Write the covariance of a group's estimate with a window of the same group."""
        if window.kind == "shift":
            return "0"
        if self._apart:
            return self.of_group(name, window.of)
        found = self._records.across(name, window.of, sorted(window.partition), window.order)
        return self._kept(found, name, window.of)

    def _kept(self, covariance: str, one: str, two: str) -> str:
        """Write a covariance, reduced if the weights are computed from the published histogram."""
        records = self._records
        if not (
            records.traits.from_histogram
            and records.one_attribute
            and records.frame.separable
            and all(records.measures[each].counts for each in (one, two))
        ):
            return covariance
        share = f"least({records.rows(one)} / {records.constant('rows')}, 1)"
        share = records.estimates.take(share, "share")
        least = f"(SELECT 1 - max(own - other) FROM {TABLE})"
        kept = let("m", ordinary("kept"), share=share, k=least)
        return self.columns.take(f"{kept} * {covariance}", "kept")

    def _column(self, node: exp.Window) -> exp.Expr:
        if self._chosen:
            raise QueryRefused(
                "HAVING chooses groups by their estimates before the window adds them up, so the interval of the"
                " window is not known",
                hint="write QUALIFY for HAVING, which adds all groups up; or leave out intervals",
            )
        if self._records.frame.subtotals:
            raise refused("a window over subtotals")
        if isinstance(node.this, exp.Avg):
            # The number of groups is exact.
            total, number = node.copy(), node.copy()
            total.set("this", exp.Sum(this=node.this.this.copy()))
            number.set("this", exp.Count(this=node.this.this.copy()))
            groups = column(self.columns.name(text(number), "groups"))
            return exp.paren(exp.Div(this=self._column(total), expression=groups))
        window = self._understood(node)
        name = self.columns.name(text(node), "total")
        self.found[name] = window
        return column(name)

    def _understood(self, node: exp.Window) -> GroupWindow:
        """Classify a window. Raises QueryRefused for one whose variance is unknown."""
        function, order, spec = node.this, node.args.get("order"), node.args.get("spec")
        argument = function.this if isinstance(function, exp.Sum | exp.Lag | exp.Lead) else None
        if not isinstance(argument, exp.Column) or argument.name not in self._uncertain:
            raise refused("this window over estimates")
        call, bare = "sum({})", node.copy()
        bare.set("this", exp.column("_priv_each"))
        frame = _frame(spec) if spec is not None else RUNNING if order is not None else WHOLE
        if isinstance(function, exp.Lag | exp.Lead):
            offset, default = function.args.get("offset"), function.args.get("default")
            odd = offset is not None and not (offset.is_int and int(offset.name) >= 1)
            if odd or (default is not None and first(default, exp.Column)):
                raise refused("a window that looks back by other than a number of rows")
            name = "lag" if isinstance(function, exp.Lag) else "lead"
            kind, call = "shift", f"{name}({{}}, {text(offset) if offset else 1})"
        elif frame == WHOLE and order is None:
            kind = "total"
        elif frame == RUNNING:
            kind = "running"
        elif spec is not None and _holds_own(*frame) and not spec.args.get("exclude"):
            kind = "frame"
        else:
            raise refused("a window without the group of its row")
        partition = frozenset(text(each) for each in node.args.get("partition_by") or ())
        if not self._apart:
            # Groups that may share records: only totals and running totals by keys.
            keys = set(map(text, self._records.frame.keys))
            if kind not in ("total", "running") or not partition <= keys:
                raise refused("this window over groups that depend on an attribute")
            ordered = (
                {text(each.this) for each in order.expressions} if order is not None else set()
            )
            if kind == "running" and ordered | partition != keys:
                raise refused("a running total over groups that depend on an attribute")
        over = text(bare).partition("OVER (")[2].removesuffix(")")
        return GroupWindow(argument.name, partition, kind, over, call, order)

    @property
    def reads_law(self) -> bool:
        """Whether its columns read an attribute's numbers."""
        return any(TABLE in each for each in self.columns.found)


def refused(what: str) -> QueryRefused:
    """Return the error for a window whose interval is not known."""
    return QueryRefused(
        f"the interval of {what} is not known",
        hint="sum(…) OVER (PARTITION BY …) of a count or sum has one; or leave out intervals",
    )


def write_out_names(select: exp.Select) -> None:
    """Replace named windows by their definitions in the WINDOW clause, in place."""
    named = {each.name.lower(): each for each in select.args.get("windows") or ()}
    for node in list(nodes(select, exp.Window)):
        alias = node.args.get("alias")
        known = named.get(alias.name.lower()) if alias else None
        if known is not None and node.find_ancestor(exp.Query) is select:
            node.set("alias", None)
            for part, value in known.copy().args.items():
                if value and part in ("partition_by", "order", "spec"):
                    node.set(part, value)


def _frame(spec: exp.Expr) -> tuple[str, str, str, str]:
    """Return start, start side, end and end side of a frame, in capitals."""
    parts = [spec.args.get(name) or "" for name in ("start", "start_side", "end", "end_side")]
    start, before, end, after = (
        (each if isinstance(each, str) else each.sql()).upper() for each in parts
    )
    return start, before, end or "CURRENT ROW", after


def _holds_own(start: str, start_side: str, end: str, end_side: str) -> bool:
    """Whether a frame holds the group of its row."""
    before = start == "CURRENT ROW" or start_side == "PRECEDING"
    return before and (end == "CURRENT ROW" or end_side == "FOLLOWING")
