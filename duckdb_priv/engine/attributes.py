"""Which sensitive columns are attributes that were published before, whatever they are called now."""

from __future__ import annotations

from collections.abc import Container

from duckdb_priv.engine.fingerprints import Fingerprints, sql
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.determination import ODDS, Groups, determination
from duckdb_priv.sqltext.quoting import literal

SAME = 0.95
"""Share of the records of which two attributes must tell each other, to be one under two names."""
WHOLE = "*"
"""Stands for the attribute where every column is treated alike."""


def number_attributes(
    taken: Fingerprints, sharing: Container[int], population: int | None
) -> dict[str, int]:
    """Number the sensitive columns: as before where the population had such an attribute, under whatever name.

    ``sharing`` are the known sources with records of the same ids; ``population`` is None where it is a new one.
    """
    workspace, source = taken.workspace, taken.source
    earlier = [] if population is None else _earlier(workspace, population)
    ((last,),) = workspace.rows("SELECT coalesce(max(attribute_number), 0) FROM priv.ledger")
    found: dict[str, int] = {}
    for place, name in enumerate(source.sensitive or (WHOLE,), start=1):
        same = {
            number
            for number, attribute, of_source in earlier
            if attribute == name.lower()
            or (
                WHOLE not in (attribute, name)
                and of_source in sharing
                and _one_attribute(taken, of_source, attribute, place)
            )
        }
        if not same:
            last += 1
            same = {last}
        found[name] = min(same)
        for other in same - {min(same)}:
            workspace.cursor.execute(
                "UPDATE priv.ledger SET attribute_number = ? WHERE attribute_number = ?",
                [min(same), other],
            )
    return found


def _earlier(workspace: Workspace, population: int) -> list[tuple[int, str, int]]:
    """List the attributes of a population that were published, by number, name and source."""
    return workspace.rows(
        "SELECT DISTINCT entry.attribute_number, lower(entry.attribute), entry.source_number FROM priv.ledger AS entry"
        " JOIN priv.source ON priv.source.number = entry.source_number WHERE population = ?",
        [population],
    )


def _one_attribute(taken: Fingerprints, known: int, attribute: str, place: int) -> bool:
    """Say whether a column is an attribute that was published before, its values renamed, merged or refined."""
    return any(
        _determines(taken, known, attribute, place, key, value)
        for key, value in (("before", "now"), ("now", "before"))
    )


def _determines(
    taken: Fingerprints, known: int, attribute: str, place: int, key: str, value: str
) -> bool:
    counted = sql(
        "both_values",
        known=str(known),
        attribute=literal(attribute),
        number=str(place),
        key=key,
        value=value,
    )
    prior = f"SELECT 0 AS told, value, sum(rows)::BIGINT AS rows FROM ({counted}) GROUP BY ALL"
    groups = taken.workspace.integers(
        sql(
            "determined",
            folder="check",
            counted=counted,
            prior=prior,
            certainty=literal(SAME),
            odds=literal(ODDS),
        ),
    )
    if not groups["size"].size:
        return False
    found = Groups(groups["size"], groups["groups"], groups["determined"])
    records = int((found.sizes * found.groups).sum())
    each = determination(found, taken.workspace.integers(prior)["rows"], records, SAME)
    return each.evident and each.share >= SAME
