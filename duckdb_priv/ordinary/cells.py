"""Group the published rows into cells: rows that are equal in all columns that the rest of the query uses.

Expressions over public columns alone are computed here, for each row; everything else once per cell. A cell has the
requested public values, the reported values, and sums over its rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy

from sqlglot import exp

from duckdb_priv.ordinary.names import (
    DUCKDB,
    Names,
    StepColumns,
    column,
    filtered,
    select_sql,
    text,
)
from duckdb_priv.ordinary.published import Attribute
from duckdb_priv.ordinary.scope import MARK, Kind, Scope
from duckdb_priv.sqltext.numbers import KNOWN_OF_NUMBERS, as_number
from duckdb_priv.sqltext.quoting import literal

NO_VALUES = (
    exp.Query,
    exp.PropertyEQ,
    exp.Kwarg,
    exp.Slice,
    exp.Tuple,
    exp.Lambda,
    exp.Distinct,
    exp.Star,
)
"""Nodes of expressions that are not values."""
OF_NUMBERS = literal(KNOWN_OF_NUMBERS)
"""The error of sums and means of dates, as a literal."""


class Cells:
    """The cells of one SELECT over a release. Rewriting the SELECT adds columns, with names that are not ``taken``."""

    def __init__(self, scope: Scope, taken: Collection[str]) -> None:
        (self.source,) = scope.asked
        assert self.source.release is not None
        self.release, self.kind = self.source.release, scope.kind
        self.conditions: list[exp.Expr] = []
        """Conditions on the counted rows."""
        self.attributes: dict[str, Attribute] = {}
        """The attributes that the rest of the query uses, by name in lower case."""
        self.scale_key = ""
        """The column with the strength of perturbation, if an attribute needs it."""
        self._keys: dict[str, tuple[str, exp.Expr]] = {}
        self._names = Names({name.lower() for name in (*taken, *self.release.columns)})
        self._sums = StepColumns(self._names)
        self.weight, self.shown = self._names.fresh("weight"), self._names.fresh("shown")
        """Columns of the classes: the weight of a true value, and whether it is the reported one."""

    def of_attributes(self, attributes: Iterable[Attribute]) -> Cells:
        """Return the cells with some of the attributes."""
        found = copy(self)
        found.attributes = {each.name.lower(): each for each in attributes}
        return found

    def kept(self, expression: exp.Expr) -> exp.Expr:
        """Return an expression over cells, in which each part over public columns alone is a column of the cells."""
        depends = self.kind(expression)
        if depends is Kind.CONSTANT:
            return expression
        if depends is Kind.PUBLIC and _is_value(expression):
            return self._key(expression)
        if not isinstance(expression, exp.Column):
            self.keep_within(expression)
        elif attribute := self.source.attribute(expression):
            self.attributes[attribute.name.lower()] = attribute
            if attribute.traits.varied and not self.scale_key:
                assert self.release.scale is not None
                self.scale_key = self._key(column(self.release.scale, self.source.alias)).name
        return expression

    def written(self, expression: exp.Expr) -> str:
        """Write an expression over cells, as `kept` returns it."""
        return str(self.kept(expression.copy()).sql(DUCKDB, copy=False))

    def keep_within(self, node: exp.Expr) -> None:
        """Rewrite all expressions in a part of a query over cells, in place."""
        for child in list(node.iter_expressions()):
            kept = self.kept(child)
            if kept is not child:
                child.replace(kept)

    def sum(
        self,
        factors: Sequence[exp.Expr],
        conditions: Sequence[exp.Expr],
        count: str | None = None,
    ) -> str:
        """Return the column with the sum of a product of public values over the rows of a cell.

        A row counts as the number of records that it represents, or as ``count``, an expression over the row; "1" is
        one.
        """
        scale = self.scale if count is None else "" if count == "1" else count
        product = " * ".join(
            [as_number(text(each), OF_NUMBERS) for each in factors] + [scale] * bool(scale)
        )
        found = (f"sum({product})" if product else "count(*)") + filtered(map(text, conditions))
        if product and not factors:
            found = f"coalesce({found}, 0)"
        return self._sums.name(found, "n" if not factors and not conditions else "sum")

    def aggregate(self, name: str, argument: exp.Expr, conditions: Sequence[exp.Expr]) -> str:
        """Return the column with any other aggregate over the rows of a cell."""
        return self._sums.name(f"{name}({text(argument)}){filtered(map(text, conditions))}", name)

    @property
    def columns(self) -> list[str]:
        """The columns of a cell, except the reported values."""
        return [*(name for name, _ in self._keys.values()), *self._sums.found.values()]

    def sql(self) -> str:
        """Write the query of the cells."""
        named = [
            text(each)
            + ("" if isinstance(each, exp.Column) and each.name == name else f" AS {text(name)}")
            for name, each in self._keys.values()
        ]
        reported = [self.column(each.column) for each in self.attributes.values()]
        return select_sql(
            [*named, *reported, *self._sums.selected],
            text(self.source.node),
            [text(each) for each in self.conditions],
            ["ALL"] if named or reported else [],
        )

    @property
    def scale(self) -> str:
        """The SQL of the number of source records that a row represents; empty if it is one."""
        return self.given_scale if self.release.weighed else ""

    @property
    def given_scale(self) -> str:
        """The column of the scale, whatever its meaning."""
        assert self.release.scale is not None
        return f"CAST({self.column(self.release.scale)} AS DOUBLE)"

    def column(self, name: str) -> str:
        """Write a column of the table, or of its cells or classes, which have its alias."""
        return f"{text(self.source.alias)}.{text(name)}"

    def _key(self, expression: exp.Expr) -> exp.Expr:
        expression = expression.unnest()
        written, own = text(expression), isinstance(expression, exp.Column)
        if written not in self._keys:
            name = expression.name if own else self._names.fresh("part")
            self._keys[written] = (name, expression.copy())
        found = column(self._keys[written][0], self.source.alias)
        found.meta[MARK] = self.source.number
        return found


def _is_value(node: exp.Expr) -> bool:
    """Whether a node is an expression whose value a column can hold."""
    is_branch = isinstance(node, exp.If) and isinstance(node.parent, exp.Case)
    return isinstance(node, exp.Condition) and not isinstance(node, NO_VALUES) and not is_branch
