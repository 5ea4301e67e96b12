"""Counting the published rows once: cells of rows that are equal in all columns that the rest of the query uses.

Everything that depends on public columns alone is computed here, over the rows; everything else once per cell.
A cell has the public values that are asked for, what its rows report, and sums over its rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot import exp

from duckdb_priv.ordinary.names import LINE, column, fresh, text
from duckdb_priv.ordinary.published import Attribute
from duckdb_priv.ordinary.scope import MARK, FromItem, Kind, kind

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
"""Parts of expressions that are no value of a column."""


class Cells:
    """The cells of one SELECT over a release; it grows as the SELECT is rewritten."""

    def __init__(
        self,
        source: FromItem,
        outer: frozenset[int],
        taken: Collection[str],
        around: frozenset[str] = frozenset(),
    ) -> None:
        assert source.release is not None
        self.around = around
        """Columns of the tables around the SELECT that it names: no column here may have their names."""
        self.source, self.release, self.outer = source, source.release, outer
        self.conditions: list[exp.Expr] = []
        """Which rows are counted."""
        self.attributes: dict[str, Attribute] = {}
        """The attributes that the rest of the query asks for, by name in lower case."""
        self.scale_key = ""
        """The column of the cells that says how far their rows are perturbed, where an attribute asks for it."""
        self._keys: dict[str, tuple[str, exp.Expr]] = {}
        self._sums: dict[str, str] = {}
        self._taken = {name.lower() for name in (*taken, *around)}
        self._taken.update(self.release.columns)
        self.weight, self.shown = self._fresh("weight"), self._fresh("shown")
        """Columns of the classes: the weight of a true value, and whether it is the one that is reported."""

    def kind(self, expression: exp.Expr) -> Kind:
        """Return what an expression depends on."""
        return kind(expression, self.source, self.outer)

    def kept(self, expression: exp.Expr) -> exp.Expr:
        """Return an expression over cells: what depends on public columns alone is a column of theirs."""
        depends = self.kind(expression)
        if depends is Kind.CONSTANT:
            return expression
        if depends is Kind.PUBLIC and _is_value(expression):
            return self._key(expression)
        if isinstance(expression, exp.Column):
            attribute = self.source.attribute(expression)
            if attribute is not None:
                self.attributes[attribute.name.lower()] = attribute
                if attribute.varied and not self.scale_key:
                    assert self.release.scale is not None
                    self.scale_key = self._key(column(self.release.scale, self.source.alias)).name
            return expression
        self.keep_within(expression)
        return expression

    def keep_within(self, node: exp.Expr) -> None:
        """Let all that a part of a query consists of be over cells."""
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
        """Return the column with the sum over the rows of a cell: of the product of some public values.

        A row counts for what it stands for, or for ``count``, an expression over the row; "1" for one.
        """
        scale = self.scale if count is None else "" if count == "1" else count
        product = " * ".join(
            [f"CAST({text(each)} AS DOUBLE)" for each in factors] + [scale] * bool(scale)
        )
        found = f"sum({product})" if product else "count(*)"
        if conditions:
            found += f" FILTER (WHERE {' AND '.join(f'({text(each)})' for each in conditions)})"
        if product and not factors:
            found = f"coalesce({found}, 0)"
        return self._column(found, "n" if not factors and not conditions else "sum")

    def aggregate(self, name: str, argument: exp.Expr, conditions: Sequence[exp.Expr]) -> str:
        """Return the column with another aggregate of the rows of a cell."""
        found = f"{name}({text(argument)})"
        if conditions:
            found += f" FILTER (WHERE {' AND '.join(f'({text(each)})' for each in conditions)})"
        return self._column(found, name)

    @property
    def columns(self) -> list[str]:
        """The columns of a cell but what its rows report."""
        return [*(name for name, _ in self._keys.values()), *self._sums.values()]

    @property
    def keys(self) -> list[str]:
        """The public values of a cell."""
        return [name for name, _ in self._keys.values()]

    def sql(self) -> str:
        """Write the query that counts."""
        named = [
            text(each)
            + ("" if isinstance(each, exp.Column) and each.name == name else f" AS {text(name)}")
            for name, each in self._keys.values()
        ]
        reported = [self._qualified(each.column) for each in self.attributes.values()]
        sums = [f"{found} AS {text(name)}" for found, name in self._sums.items()]
        lines = [
            f"SELECT {', '.join([*named, *reported, *sums])}",
            f"FROM {text(self.source.node)}",
        ]
        if self.conditions:
            lines.append(f"WHERE {' AND '.join(map(_paren, self.conditions))}")
        if named or reported:
            lines.append("GROUP BY ALL")
        return LINE.join(lines)

    @property
    def scale(self) -> str:
        """How many source records a row stands for; nothing where it is one."""
        return self.given_scale if self.release.weighed else ""

    @property
    def given_scale(self) -> str:
        """The column of the scale, whatever it says."""
        assert self.release.scale is not None
        return f"CAST({self._qualified(self.release.scale)} AS DOUBLE)"

    def _qualified(self, name: str) -> str:
        return f"{text(self.source.alias)}.{text(name)}"

    def _key(self, expression: exp.Expr) -> exp.Expr:
        while isinstance(expression, exp.Paren):
            expression = expression.this
        written = text(expression)
        if written not in self._keys:
            name = expression.name if isinstance(expression, exp.Column) else self._fresh("part")
            self._keys[written] = (name, expression.copy())
        found = column(self._keys[written][0], self.source.alias)
        found.meta[MARK] = self.source.number
        return found

    def _column(self, found: str, stem: str) -> str:
        if found not in self._sums:
            self._sums[found] = self._fresh(stem)
        return self._sums[found]

    def _fresh(self, stem: str) -> str:
        name = fresh(stem, self._taken)
        self._taken.add(name)
        return name


def _is_value(node: exp.Expr) -> bool:
    """Whether a part of an expression is one itself, of which a column can hold the value."""
    is_branch = isinstance(node, exp.If) and isinstance(node.parent, exp.Case)
    return isinstance(node, exp.Condition) and not isinstance(node, NO_VALUES) and not is_branch


def _paren(node: exp.Expr) -> str:
    return f"({text(node)})" if isinstance(node, exp.Or) else text(node)
