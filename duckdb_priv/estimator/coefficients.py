"""What each row adds to a sum: a coefficient that its public columns decide, as SQL."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Coefficient:
    """The coefficient of a row in a sum: the product of the factors where all conditions hold, else 0."""

    conditions: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()

    def times(self, other: Coefficient) -> Coefficient:
        """Return the product of two coefficients."""
        conditions = tuple(dict.fromkeys((*self.conditions, *other.conditions)))
        return Coefficient(conditions, (*self.factors, *other.factors))

    def total(self, *also: str) -> str:
        """Write the sum of the coefficients of rows for which ``also`` holds."""
        return self.of("", *also)

    def of(self, function: str, *also: str) -> str:
        """Write the sum of the coefficients times a ``function`` of the row."""
        met = " AND ".join((*self.conditions, *also))
        product = " * ".join((*self.factors, *([function] if function else [])))
        if not product:
            return f"count(*) FILTER ({met})" if met else "count(*)"
        chosen = f"CASE WHEN {met} THEN {product} ELSE 0 END" if met else product
        return f"coalesce(sum({chosen}), 0)"

    def extreme(self, which: str) -> str:
        """Write the largest coefficient, ``max``, or the smallest, ``min``, where the conditions hold."""
        product, met = " * ".join(self.factors), " AND ".join(self.conditions)
        if not product:
            return "1"
        return f"coalesce({which}({f'CASE WHEN {met} THEN {product} END' if met else product}), 0)"


SCALES = Coefficient((), ("weight::DOUBLE",))
"""Each row by what its scale says."""


@dataclass(frozen=True)
class Part:
    """One sum: the coefficients of the rows, and the argument with the set of values; without, all values."""

    rows: Coefficient
    values: str | None
    amount: str = ""
    """A factor of the coefficients that may be negative."""

    def signed(self, sign: str) -> Coefficient:
        """Return the coefficients that are positive, or the negative ones, as positive numbers."""
        if not self.amount:
            return self.rows
        factors = self.rows.factors if sign == ">" else ("(-1)", *self.rows.factors)
        return Coefficient((*self.rows.conditions, f"{self.amount} {sign} 0"), factors)
