"""A budget is a limit on what the ledger adds up to for a population, and nothing of its own."""

from __future__ import annotations

from dataclasses import dataclass

from duckdb_priv.errors import GuaranteeViolated, InvalidParameter
from duckdb_priv.release.catalog import Connection, now

ROUNDING = 1e-9
"""Relative difference of sums that are the same."""


@dataclass(frozen=True)
class Spent:
    """What all that was published of a population adds up to."""

    epsilon: float
    delta: float
    rule: str


@dataclass(frozen=True)
class Limit:
    """What may be spent of a population."""

    epsilon: float
    delta: float

    def is_exceeded(self, spent: Spent) -> bool:
        """Return whether more was spent."""
        return spent.epsilon > self.epsilon * (1 + ROUNDING) or spent.delta > self.delta * (
            1 + ROUNDING
        )


def limit_of(connection: Connection, population: str) -> Limit | None:
    """Return the limit of a population, if one is stated."""
    rows = connection.execute(
        "SELECT epsilon, delta FROM priv.budget WHERE population = ?", [population]
    ).fetchall()
    return Limit(*rows[0]) if rows else None


def state(connection: Connection, population: str, limit: Limit) -> None:
    """State what may be spent; raises InvalidParameter where more was spent already."""
    spent = spent_of(connection, population, limit.delta)
    if limit.is_exceeded(spent):
        raise InvalidParameter(
            f"epsilon = {spent.epsilon:.4g}, delta = {spent.delta:.3g} of population {population!r} was spent already",
            hint="a budget is at least that; what was handed out cannot be taken back",
        )
    connection.execute(
        "INSERT OR REPLACE INTO priv.budget VALUES (?, ?, ?, ?)",
        [population, limit.epsilon, limit.delta, now()],
    )


def spent_of(connection: Connection, population: str, delta: float) -> Spent:
    """Return the total of the ledger: of one person where people are named, else of one record.

    For records the total of advanced composition is taken where it is less, and keeps to ``delta``.
    """
    found = _totals(connection, population, 0.5)
    if found is None:
        return Spent(0.0, 0.0, "nothing was published")
    total, record_delta, person_delta, _ = found
    if person_delta is not None:
        return Spent(total, person_delta, "the total of the ledger, by person")
    basic = Spent(total, record_delta, "the total of the ledger, by record")
    if 0 < (slack := delta - record_delta) < 1:
        *_, advanced = _totals(connection, population, slack) or (total,)
        if advanced < basic.epsilon:
            return Spent(advanced, delta, "advanced composition of the ledger, by record")
    return basic


def _totals(
    connection: Connection, population: str, slack: float
) -> tuple[float, float, float | None, float] | None:
    rows = connection.execute(
        "SELECT total, delta_record, delta_person, epsilon_advanced"
        " FROM priv.ledger(slack := ?, details := true) WHERE population = ?",
        [slack, population],
    ).fetchall()
    return rows[-1] if rows else None


def require_budget(connection: Connection, population: str, release: str) -> None:
    """Refuse what was just published, if it is more than the budget allows; the caller rolls back.

    Raises GuaranteeViolated, which says what would have been spent.
    """
    limit = limit_of(connection, population)
    if limit is None:
        return
    spent = spent_of(connection, population, limit.delta)
    if limit.is_exceeded(spent):
        raise GuaranteeViolated(
            f"with {release!r}, epsilon = {spent.epsilon:.4g} and delta = {spent.delta:.3g} would be spent"
            f" ({spent.rule}), and the budget of population {population!r} is epsilon = {limit.epsilon:.4g}, delta ="
            f" {limit.delta:.3g}",
            hint="publish with more noise, or with the draw of an earlier release; or state another budget and say why",
        )
