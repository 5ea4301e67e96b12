"""Budgets: a budget limits the total that the ledger charges to a population."""

from __future__ import annotations

from dataclasses import dataclass

from duckdb_priv.errors import GuaranteeViolated, InvalidParameter
from duckdb_priv.release.catalog import Connection, now
from duckdb_priv.sqltext.templates import section

ROUNDING = 1e-9
"""Sums that differ by at most this relative error count as equal."""


@dataclass(frozen=True)
class Spent:
    """The total privacy loss of everything published about a population."""

    epsilon: float
    delta: float
    rule: str


@dataclass(frozen=True)
class Limit:
    """The most that may be spent on a population."""

    epsilon: float
    delta: float

    def is_exceeded(self, spent: Spent) -> bool:
        """Return whether more than the limit was spent."""
        return spent.epsilon > self.epsilon * (1 + ROUNDING) or spent.delta > self.delta * (
            1 + ROUNDING
        )


def limit_of(connection: Connection, population: str) -> Limit | None:
    """Return the limit of a population; None if it has none."""
    rows = connection.execute(
        "SELECT epsilon, delta FROM priv.budget WHERE population = ?", [population]
    ).fetchall()
    return Limit(*rows[0]) if rows else None


def state(connection: Connection, population: str, limit: Limit) -> None:
    """Write the limit of a population; raises InvalidParameter if more was spent already."""
    spent = spent_of(connection, population, limit)
    if limit.is_exceeded(spent):
        raise InvalidParameter(
            f"epsilon = {spent.epsilon:.4g}, delta = {spent.delta:.3g} of population {population!r} was spent already",
            hint="a budget is at least that; what was handed out cannot be taken back",
        )
    connection.execute(
        "INSERT OR REPLACE INTO priv.budget VALUES (?, ?, ?, ?)",
        [population, limit.epsilon, limit.delta, now()],
    )


def spent_of(connection: Connection, population: str, limit: Limit | None) -> Spent:
    """Return the ledger's total for one person if a person column is known, otherwise for one record.

    For records, use advanced composition if its total is lower and its delta is within the limit.
    """

    def totals(slack: float = 0.5) -> tuple[float, float, float | None, float] | None:
        rows = connection.execute(section("ledger", "totals"), [slack, population]).fetchall()
        return rows[-1] if rows else None

    if (found := totals()) is None:
        return Spent(0.0, 0.0, "nothing was published")
    total, record_delta, person_delta, _ = found
    if person_delta is not None:
        return Spent(total, person_delta, "the total of the ledger, by person")
    if limit and 0 < (slack := limit.delta - record_delta) < 1:
        *_, advanced = totals(slack) or found
        if advanced < total:
            return Spent(advanced, limit.delta, "advanced composition of the ledger, by record")
    return Spent(total, record_delta, "the total of the ledger, by record")


def require_budget(connection: Connection, population: str, release: str) -> None:
    """Refuse the publication just written if it exceeds the budget; the caller rolls back.

    Raises GuaranteeViolated, whose message states the total that would have been spent.
    """
    limit = limit_of(connection, population)
    if limit is None:
        return
    spent = spent_of(connection, population, limit)
    if limit.is_exceeded(spent):
        raise GuaranteeViolated(
            f"with {release!r}, epsilon = {spent.epsilon:.4g} and delta = {spent.delta:.3g} would be spent"
            f" ({spent.rule}), and the budget of population {population!r} is epsilon = {limit.epsilon:.4g}, delta ="
            f" {limit.delta:.3g}",
            hint="publish with more noise, or with the draw of an earlier release; or state another budget and say why",
        )
