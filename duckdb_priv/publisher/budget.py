"""``priv.budget``: sets the budget of a population, or shows how much is left."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.ledger import budget as ledger
from duckdb_priv.ledger.budget import Limit, Spent
from duckdb_priv.ledger.population import find_population
from duckdb_priv.release.arguments import NUMBER, Arguments, argument, read
from duckdb_priv.release.request import population_argument


@dataclass(frozen=True, kw_only=True)
class BudgetArguments(Arguments):
    """The population and its budget."""

    population: str = population_argument()
    epsilon: float | None = argument(NUMBER, "what may be spent at most", "4.0", default=None)
    delta: float | None = argument(NUMBER, "the largest delta", "1e-6", default=None)

    def __post_init__(self) -> None:
        if self.epsilon is None and self.delta is not None:
            raise InvalidParameter(
                "a delta alone is no budget", hint="write epsilon := 4.0, delta := 1e-6"
            )
        if self.epsilon is not None and not 0 <= self.epsilon < math.inf:
            raise InvalidParameter(
                f"epsilon must be at least 0 and finite, got {self.epsilon!r}",
                hint="4.0 is a usual budget",
            )
        if self.delta is not None and not 0 <= self.delta < 1:
            raise InvalidParameter(
                f"delta must be at least 0 and below 1, got {self.delta!r}", hint="1e-6 is usual"
            )


def budget(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Set a budget, or return how much of it is left."""
    (arguments,) = read(given, BudgetArguments, of="budget")
    cursor = workspace.cursor
    population = find_population(cursor, arguments.population)
    if arguments.epsilon is not None:
        ledger.state(cursor, population, Limit(arguments.epsilon, arguments.delta or 0.0))
    limit = ledger.limit_of(cursor, population)
    spent = ledger.spent_of(cursor, population, limit)
    return [
        {
            "population": population,
            "epsilon": limit.epsilon if limit else None,
            "delta": limit.delta if limit else None,
            # JSON has no infinity.
            "epsilon_spent": spent.epsilon if math.isfinite(spent.epsilon) else "inf",
            "delta_spent": spent.delta,
            "epsilon_left": max(0.0, limit.epsilon - spent.epsilon) if limit else None,
            "rule": spent.rule,
            "statement": _statement(limit, spent),
        }
    ]


def _statement(limit: Limit | None, spent: Spent) -> str:
    found = f"epsilon = {spent.epsilon:.4g}, delta = {spent.delta:.3g} was spent: {spent.rule}."
    if limit is None:
        return f"{found} No budget is stated, so nothing is refused."
    if limit.is_exceeded(spent):
        return f"{found} That is more than the budget, and nothing further is published."
    return f"{found} Publishing beyond epsilon = {limit.epsilon:.4g}, delta = {limit.delta:.3g} is refused."
