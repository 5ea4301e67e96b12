"""What may be spent of the persons of a source, and what was: by the least of the rules of composition that hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duckdb_priv.engine.fingerprints import identified_origins, identify, listed, sql
from duckdb_priv.engine.source import Source, find_table, origins_of, readable_name
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import GuaranteeViolated, InvalidParameter
from duckdb_priv.methods.register import METHODS
from duckdb_priv.publisher.budgeted import marks_of, recognize_budgets
from duckdb_priv.release.arguments import NAME, NUMBER, Arguments, argument, read
from duckdb_priv.release.catalog import now
from duckdb_priv.sqltext.quoting import identifier

ROUNDING = 1e-9
"""Relative difference of sums that are the same."""


@dataclass(frozen=True, kw_only=True)
class BudgetArguments(Arguments):
    """Of what, and how much."""

    source: str = argument(NAME, "a table or view that is published", "'visits'")
    epsilon: float | None = argument(NUMBER, "what may be spent at most", "4.0", default=None)
    delta: float | None = argument(NUMBER, "the largest delta", "1e-6", default=None)


@dataclass(frozen=True)
class Spent:
    """What all that was published of a population tells together."""

    epsilon: float
    delta: float
    rule: str


NOTHING_SPENT = Spent(0.0, 0.0, "nothing was published")


def budget(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """State a budget, or say how much of it is left."""
    (arguments,) = read(given, BudgetArguments, of="budget")
    _check(arguments)
    path = find_table(workspace, arguments.source)
    identify(workspace)
    origins = identified_origins(workspace, sorted(origins_of(workspace, path)))
    if arguments.epsilon is not None:
        workspace.cursor.execute(
            "DELETE FROM priv.budget WHERE list_sort(origins) = list_sort($1) OR list_has_all(linked, $1)",
            [origins],
        )
        chosen, marks = marks_of(workspace, ".".join(map(identifier, path)))
        workspace.cursor.execute(
            "INSERT INTO priv.budget VALUES (?, ?, [], ?, ?, ?, ?, ?)",
            [
                readable_name(path),
                origins,
                chosen,
                marks,
                arguments.epsilon,
                arguments.delta or 0.0,
                now(),
            ],
        )
    stated = stated_for(workspace, origins)
    allowed = (min(each[1] for each in stated), min(each[2] for each in stated)) if stated else None
    spent = max(
        (
            spent_of(workspace, each, allowed[1] if allowed else 0.0)
            for each in populations_of(workspace, origins)
        ),
        key=lambda each: each.epsilon,
        default=NOTHING_SPENT,
    )
    left = None if allowed is None else max(0.0, allowed[0] - spent.epsilon)
    return [
        {
            "source": readable_name(path),
            "epsilon": allowed[0] if allowed else None,
            "delta": allowed[1] if allowed else None,
            # JSON has no infinity.
            "epsilon_spent": _written(spent.epsilon),
            "delta_spent": spent.delta,
            "epsilon_left": left,
            "rule": spent.rule,
            "statement": _told(allowed, spent),
        }
    ]


def _check(arguments: BudgetArguments) -> None:
    if arguments.epsilon is None and arguments.delta is not None:
        raise InvalidParameter(
            "a delta alone is no budget", hint="write epsilon := 4.0, delta := 1e-6"
        )
    if arguments.epsilon is not None and not 0 <= arguments.epsilon < math.inf:
        raise InvalidParameter(
            f"epsilon must be at least 0 and finite, got {arguments.epsilon!r}",
            hint="4.0 is a usual budget",
        )
    if arguments.delta is not None and not 0 <= arguments.delta < 1:
        raise InvalidParameter(
            f"delta must be at least 0 and below 1, got {arguments.delta!r}", hint="1e-6 is usual"
        )


def _written(epsilon: float) -> float | str:
    return epsilon if math.isfinite(epsilon) else "inf"


def _told(allowed: tuple[float, float] | None, spent: Spent) -> str:
    told = f"epsilon = {spent.epsilon:.4g}, delta = {spent.delta:.3g} was spent: {spent.rule}."
    if allowed is None:
        return f"{told} No budget is stated, so nothing is refused."
    if _exceeds(spent, *allowed):
        return f"{told} That is more than the budget, and nothing further is published."
    return (
        f"{told} Publishing beyond epsilon = {allowed[0]:.4g}, delta = {allowed[1]:.3g} is refused."
    )


def stated_for(workspace: Workspace, origins: Sequence[str]) -> list[tuple[str, float, float]]:
    """List the budgets of the tables of these identities, or of those with which they are of one population."""
    return workspace.rows(
        "SELECT stated.source, stated.epsilon, stated.delta FROM priv.budget AS stated"
        " WHERE list_has_any(stated.origins || stated.linked, $1) OR EXISTS ("
        "  FROM priv.source AS mine JOIN priv.source AS theirs USING (population)"
        "  WHERE list_has_any(mine.origins, $1) AND list_has_any(theirs.origins, stated.origins || stated.linked))",
        [list(origins)],
    )


def populations_of(workspace: Workspace, origins: Sequence[str]) -> list[int]:
    """List the populations of the sources that read these tables."""
    return [
        number
        for (number,) in workspace.rows(
            "SELECT DISTINCT population FROM priv.source WHERE list_has_any(origins, ?)",
            [list(origins)],
        )
    ]


def require_budget(workspace: Workspace, source: Source, population: int, release: str) -> None:
    """Refuse what was just published of a source, if it is more than a budget allows; whoever calls rolls back.

    Raises GuaranteeViolated, which says what would have been spent and by which rule.
    """
    if workspace.rows("SELECT count(*) FROM priv.budget") == [(0,)]:
        return
    recognize_budgets(workspace, source)
    ((origins,),) = workspace.rows(
        "SELECT list_distinct(flatten(list(origins))) FROM priv.source WHERE population = ?",
        [population],
    )
    for stated, epsilon, delta in stated_for(workspace, origins or []):
        spent = spent_of(workspace, population, delta)
        if _exceeds(spent, epsilon, delta):
            raise GuaranteeViolated(
                f"with {release!r}, epsilon = {spent.epsilon:.4g} and delta = {spent.delta:.3g} would be spent"
                f" ({spent.rule}), and the budget of {stated!r} is epsilon = {epsilon:.4g}, delta = {delta:.3g}",
                hint="publish with more noise, or with the coins of an earlier release; or state another budget and say"
                " why",
            )


def _exceeds(spent: Spent, epsilon: float, delta: float) -> bool:
    return spent.epsilon > epsilon * (1 + ROUNDING) or spent.delta > delta * (1 + ROUNDING)


def spent_of(workspace: Workspace, population: int, delta: float) -> Spent:
    """Add up what was published of a population, by the rule with the least epsilon that keeps to ``delta``."""
    totals = _totals(workspace, population, 0.5)
    if totals["person"] is not None:
        return Spent(totals["person"], totals["delta_person"], "basic composition, by persons")
    basic = Spent(totals["source"] or 0.0, totals["delta"] or 0.0, "basic composition, by records")
    found = [basic]
    if 0 < (slack := delta - basic.delta) < 1:
        advanced = _totals(workspace, population, slack)["advanced"]
        found.append(Spent(advanced, delta, "advanced composition, by records"))
    if _by_record(workspace, population):
        together = listed([name for name, method in METHODS.items() if method.jointly])
        ((dearest,),) = workspace.rows(
            sql("dearest", population=str(population), of_all_values=together)
        )
        found.append(
            Spent(
                dearest, basic.delta, "parallel composition: the record that was drawn most often"
            )
        )
    return min(found, key=lambda each: each.epsilon)


def _totals(workspace: Workspace, population: int, slack: float) -> dict[str, Any]:
    """Read the running totals of the ledger at its end."""
    row = workspace.rows(
        "SELECT max(epsilon_source), max(delta_source), max(epsilon_advanced), max(epsilon_person), max(delta_person)"
        " FROM priv.ledger(slack := ?) WHERE population = ?",
        [slack, f"population {population}"],
    )[0]
    return dict(zip(("source", "delta", "advanced", "person", "delta_person"), row, strict=True))


def _by_record(workspace: Workspace, population: int) -> bool:
    """Say whether it is known of every record what it cost: by ids of all, and by epsilons of single values."""
    whole = [name for name, method in METHODS.items() if method.whole_records]
    ((known,),) = workspace.rows(
        "SELECT bool_and(level = 0 AND known_by = 'id' AND epsilon IS NOT NULL AND NOT list_contains(?, mechanism))"
        " FROM priv.ledger JOIN priv.source AS known ON known.number = source_number WHERE population = ?",
        [whole, population],
    )
    return bool(known) and workspace.rows("SELECT count(*) FROM priv.noisy_count") == [(0,)]
