"""Coefficients as SQL: the amount that each row adds to a sum, computed from its public columns."""

from __future__ import annotations

import re
from dataclasses import dataclass

NUMBER = re.compile(r"TRY_CAST\((\w+) AS DOUBLE\)")
"""Matches a factor that is a column as a number, and the column."""


@dataclass(frozen=True)
class Coefficient:
    """The coefficient of a row in a sum: the product of the factors if all conditions hold, else 0."""

    conditions: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()

    def times(self, other: Coefficient) -> Coefficient:
        """Return the product of two coefficients."""
        conditions = tuple(dict.fromkeys((*self.conditions, *other.conditions)))
        return Coefficient(conditions, (*self.factors, *other.factors))

    def total(self, *also: str) -> str:
        """Write the sum of the coefficients over the rows that also meet the conditions ``also``."""
        return self.of("", *also)

    def of(self, function: str, *also: str) -> str:
        """Write the sum of coefficient times ``function`` over the rows."""
        met = " AND ".join((*self._needed, *also))
        product = " * ".join((*self.factors, *([function] if function else [])))
        if not product:
            return f"count(*) FILTER ({met})" if met else "count(*)"
        chosen = f"CASE WHEN {met} THEN {product} ELSE 0 END" if met else product
        return f"coalesce(sum({chosen}), 0)"

    @property
    def _needed(self) -> list[str]:
        """The conditions, but not that a factor is not NULL: sums and extremes leave NULL out."""
        columns = filter(None, map(NUMBER.fullmatch, self.factors))
        implied = {f"{column[1]} IS NOT NULL" for column in columns}
        return [each for each in self.conditions if each not in implied]

    def extreme(self, which: str) -> str:
        """Write the ``max`` or ``min`` of the coefficients over the rows that meet the conditions."""
        product, met = " * ".join(self.factors), " AND ".join(self._needed)
        if not product:
            return "1"
        return f"coalesce({which}({f'CASE WHEN {met} THEN {product} END' if met else product}), 0)"


SCALES = Coefficient((), ("weight::DOUBLE",))
"""Each row counts as its scale says."""


@dataclass(frozen=True)
class Part:
    """One sum: the coefficients of the rows, and the argument with the set of values. None: all values."""

    rows: Coefficient
    values: str | None
    amount: str = ""
    """An additional factor of the coefficients, which may be negative."""

    def signed(self, sign: str) -> Coefficient:
        """Return the positive coefficients, or the absolute values of the negative ones."""
        if not self.amount:
            return self.rows
        factors = self.rows.factors if sign == ">" else ("(-1)", *self.rows.factors)
        return Coefficient((*self.rows.conditions, f"{self.amount} {sign} 0"), factors)
