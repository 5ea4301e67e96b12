"""Noisy counts of the records left out of a release, in total and by value. The ledger charges them.

``max_rows`` leaves out a person's records beyond it. New records of a later version can wait until a group is complete.
The noise is keyed by the counts: equal counts get equal noise, so it cannot be averaged away. Its size doubles in steps
as the number of published records grows, or the number of one person's records beyond the limit.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from duckdb_priv.engine import randomness
from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import echoed
from duckdb_priv.mechanism.discrete_laplace import Bits, laplace_count, secure_bits
from duckdb_priv.release.catalog import Connection, guarantees, now
from duckdb_priv.release.model import Guarantee, to_json
from duckdb_priv.release.promise import factor
from duckdb_priv.release.request import Request

ABSENT = NAME, VALUES = "records_left_out", "values_left_out"
"""The guarantees that state how many records are left out, and which values they have."""
FEWEST, SHARE = 100, 0.01
"""With probability 95%, the noise is at most FEWEST records, or this SHARE of the published ones if that is more."""
OF_A_PERSON = 0.25
"""The most epsilon that the total may cost a person, and the most that the counts by value may cost."""
LISTED = 5
"""The most values that are listed, the most frequent first."""


@dataclass(frozen=True)
class Absent:
    """What a release states about the records left out, and its cost."""

    guarantees: Sequence[Guarantee]
    charged: Mapping[str, Any] | None = None
    """Its entry in ``priv.noisy_count``; None if the statement repeats that of an earlier version."""


def within_of(records: int, most: int = 1) -> int:
    """Return the bound that the noise of a count keeps with probability 95%.

    It grows with the published records and with the ``most`` records of one person. It doubles in steps, so it reveals
    little about either.

    >>> within_of(1_500), within_of(101_766), within_of(101_766, 39), within_of(8_000, 158)
    (100, 800, 800, 3072)
    """
    of_rows = FEWEST << max(0, math.floor(math.log2(max(1, SHARE * records / FEWEST))))
    return max(of_rows, math.ceil(math.log(20) / OF_A_PERSON) << math.ceil(math.log2(most)))


def epsilon_of(within: int) -> float:
    """Return the epsilon of noise with this 95% bound."""
    return math.log(20) / within


def records_left_out(
    workspace: Workspace,
    request: Request,
    plan: Plan,
    whole: Source,
    entering: Source,
    *,
    waits: bool,
    earlier: Sequence[Guarantee],
) -> Absent | None:
    """Return a noisy statement of how many records are left out; None if none can be, or the number must stay secret.

    ``whole`` has all records of the source, ``entering`` those within ``max_rows``. ``waits`` says whether records can
    wait for later versions. ``earlier`` is the statement of the previous version. It is repeated, so that a nightly
    refresh is not charged every night.
    """
    waiting = (plan.left_out or 0) if waits else 0
    if plan.sample or (request.max_rows is None and not waiting):
        return None
    # Which records wait for a group depends on the values of others, so the effect of one record has no bound.
    unbounded = bool(waiting) and any(each.epsilon is None for each in plan.ledger)
    if earlier and not unbounded:
        return Absent([_repeated(each) for each in earlier])
    limited = whole.rows - entering.rows
    missing = _missing_values(workspace, request, plan, whole, entering)
    most = _rows_of_person(workspace, whole, entering, limited, waiting)
    # A changed value affects two counts of its attribute.
    within, within_values = (
        within_of(entering.rows, (most or 1) * looks) for looks in (1, max(1, 2 * len(missing)))
    )
    totals = [limited, waiting]
    by_value = [count for each in missing.values() for count in each.values()]
    context = to_json(
        {
            "purpose": "records left out",
            "population": request.population,
            "values": [[name, *each] for name, each in missing.items()],
            "counts": [*totals, *by_value],
            "within": [within, within_values],
        }
    )
    bits, noise_id = _noise(workspace, request, context)
    totals = laplace_count(np.array(totals), epsilon_of(within), bits).tolist()
    noisy = iter(laplace_count(np.array(by_value, int), epsilon_of(within_values), bits).tolist())
    counted = now().date().isoformat()
    statement = _statement(request.max_rows, totals[0], totals[1] if waiting else None, within)
    guarantees = [
        Guarantee(
            NAME,
            f"{statement} Every count is of the records that are here.",
            value=float(sum(max(0, each) for each in totals[: 1 + bool(waiting)])),
            parameters={
                "epsilon": epsilon_of(within),
                "max_rows": request.max_rows,
                "within": within,
                "counted": counted,
            },
        )
    ]
    for name, each in missing.items():
        frequent = _most({value: next(noisy) for value in each}, within_values)
        if frequent:
            values = [{"value": value, "records": count} for value, count in frequent]
            guarantees.append(
                Guarantee(
                    VALUES,
                    _of_values(name, frequent),
                    attribute=name,
                    parameters={
                        "epsilon": epsilon_of(within_values),
                        "within": within_values,
                        "values": values,
                        "counted": counted,
                    },
                )
            )
    price = epsilon_of(within) + 2 * len(missing) * epsilon_of(within_values)
    charged = math.ceil(price * 10_000) / 10_000
    if not unbounded:
        last = guarantees[-1]
        guarantees[-1] = replace(last, statement=f"{last.statement} {_of_one(charged, most)}")
    epsilon = None if unbounded else charged
    return Absent(guarantees, {"epsilon": epsilon, "coins": noise_id, "person_rows": most})


def stated_before(connection: Connection, release: str) -> list[Guarantee]:
    """Return the guarantees of a release that state which records are left out."""
    stated = [each for each in guarantees(connection, release) if each.name in ABSENT]
    return sorted(stated, key=lambda each: (each.name, each.attribute or ""))


def _repeated(earlier: Guarantee) -> Guarantee:
    stated = f"Counted on {earlier.parameters['counted']}."
    if earlier.statement.endswith(stated):
        return earlier
    return replace(earlier, statement=f"{earlier.statement} {stated}")


def _missing_values(
    workspace: Workspace, request: Request, plan: Plan, whole: Source, entering: Source
) -> dict[str, Mapping[str | None, int]]:
    """Count the missing records by value, for each attribute whose original values are published."""
    if request.max_rows is None and not plan.waiting:
        return {}
    domains = {each.name: {*each.values} for each in plan.attributes}
    found: dict[str, Mapping[str | None, int]] = {}
    for name in whole.sensitive:
        entered = dict(aggregates_of(workspace, entering).histogram(name))
        values = domains.get(name, {*entered})
        if not {*entered} <= values:
            continue
        missing = Counter(plan.waiting.get(name, {}))
        if whole.rows > entering.rows:
            missing.update(dict(aggregates_of(workspace, whole).histogram(name)))
            missing.subtract(entered)
        listed = sorted(values, key=lambda value: (value is None, value or ""))
        found[name] = {value: missing[value] for value in listed}
    return found


def _noise(workspace: Workspace, request: Request, context: str) -> tuple[Bits, str]:
    """Return the source of random bits and its fingerprint: keyed by the secret, or fresh if records have no id."""
    if not request.record_id:
        return secure_bits, randomness.fingerprint(randomness.new_secret())
    secret = workspace.secret()
    words, streams = randomness.KeyedWords.derive(secret, context), itertools.count()
    return lambda count: words(next(streams), count), randomness.fingerprint(secret, context)


def _rows_of_person(
    workspace: Workspace, whole: Source, entering: Source, limited: int, waiting: int
) -> int | None:
    """Return the most missing records of one person; None without a person column."""
    if entering.rows_of_person is None:
        return None
    beyond = 0
    if limited:
        *_, most = aggregates_of(workspace, replace(whole, person=entering.person)).persons()
        beyond = most - entering.rows_of_person
    return max(1, beyond + (entering.rows_of_person if waiting else 0))


def _statement(max_rows: int | None, limited: int, waiting: int | None, within: int) -> str:
    reasons = []
    if max_rows is not None:
        taken = (
            "one record of each person was"
            if max_rows == 1
            else f"at most {max_rows} records of each person were"
        )
        reasons.append(f"{_about(limited, within)} are not here, since {taken} taken.")
    if waiting is not None:
        reasons.append(
            f"{_about(waiting, within)} are not here yet, since there are too few others to group them with."
        )
    return " ".join(reasons)


def _of_one(epsilon: float, most: int | None) -> str:
    """Write the guarantee of the counts for one record, or for one person with at most ``most`` counted records.

    >>> print(_of_one(0.1498, None))
    These counts change the odds between any two truths about a record by a factor of at most 1.162 more (epsilon = 0.1498).
    """  # noqa: E501
    total = epsilon * (most or 1)
    return (
        f"These counts change the odds between any two truths about a {'record' if most is None else 'person'} by a"
        f" factor of {factor(total)} more (epsilon = {total:.4g})."
    )


def _about(count: int, within: int) -> str:
    """Write a noisy count in words.

    >>> _about(6129, 100), _about(-3, 100)
    ('About 6,129 records (give or take 100)', 'Few records or none (100 at most)')
    """
    if count <= 0:
        return f"Few records or none ({within} at most)"
    return f"About {count:,} records (give or take {within:,})"


def _most(counts: Mapping[str | None, int], within: int) -> list[tuple[str | None, int]]:
    """List the values that are missing with 95% confidence: noise alone lists a value in one of 20 releases."""
    surely = math.log(20 * max(1, len(counts))) / epsilon_of(within)
    found = sorted(counts.items(), key=lambda each: -each[1])
    return [(value, count) for value, count in found if count > surely][:LISTED]


def _of_values(name: str, most: Sequence[tuple[str | None, int]]) -> str:
    """Write how many of the missing records have each value.

    >>> _of_values("disease", [("flu", 2371), (None, 240)])
    "Of the missing records about 2,371 have disease 'flu', about 240 have no disease."
    """
    listed = ", ".join(
        f"about {count:,} have {f'no {name}' if value is None else f'{name} {echoed(value)}'}"
        for value, count in most
    )
    return f"Of the missing records {listed}."


def warnings_of_absence(plan: Plan, whole: Source, entering: Source) -> list[str]:
    """Return warnings that state how many records are left out."""
    limited = whole.rows - entering.rows
    found = []
    if limited:
        found.append(
            f"max_rows leaves out {limited:,} of {whole.rows:,} records: every count is of the others; a larger"
            " max_rows leaves out fewer, and a noisy count of them is in the release"
        )
    if plan.left_out and not plan.sample:
        found.append(
            f"{plan.left_out:,} of {entering.rows:,} records wait for others to be grouped with: every count is of the"
            " rest; publishing with replace := true groups all records again"
        )
    return found
