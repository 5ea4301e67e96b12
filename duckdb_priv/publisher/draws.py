"""How often a record is charged: once for each value that was ever drawn for it with the same coins.

Keyed coins show the same value for the same record and the same true value, however often they are asked. So what
is known of a record after many versions of a release is what its different true values showed, and the price of the
release is that of the record with most of them: epsilon times the number of its draws. Records are told apart by
their fingerprints; of a table of which only a sample is kept nothing is known here, and every change is charged to
all.
"""

from __future__ import annotations

from dataclasses import dataclass

from duckdb_priv.engine.recognition import Recognition
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.methods.register import Method
from duckdb_priv.release.model import GROUPED_BY, LedgerEntry


@dataclass(frozen=True)
class Draws:
    """The most draws of one record with the same coins."""

    before: int
    after: int
    anew: int
    """Values of records that are drawn for the first time."""
    of_person: int | None
    """The most of all records of one person, with those that are drawn now; None where persons are not known."""


def count_draws(
    workspace: Workspace, method: Method, recognition: Recognition, entry: LedgerEntry
) -> Draws | None:
    """Count the draws of a record by an entry of the ledger, and keep what is drawn for the first time.

    None where coins are not of single records, or where not all records have fingerprints.
    """
    source = recognition.source
    # Coins of groups of public columns are of single records; others name the records that were grouped.
    hangs = method.groups and GROUPED_BY not in entry.notes
    if entry.fresh or hangs or method.afresh or entry.attribute not in source.sensitive:
        return None
    if recognition.level:
        return None
    coins, number = [entry.coins], str(source.sensitive.index(entry.attribute) + 1)
    ((sampled, drawn, shared),) = workspace.rows(
        "SELECT (SELECT count(*) FROM priv.ledger AS entry"
        " JOIN priv.source AS known ON known.number = entry.source_number"
        " WHERE entry.coins = $1 AND known.population = $2 AND known.level > 0),"
        " EXISTS (FROM priv.drawn WHERE coins = $1),"
        " (SELECT count(*) - count(DISTINCT mark) FROM _priv_record)",
        [entry.coins, recognition.population],
    )
    if sampled:
        return None
    if not drawn and not shared:
        return _first_draws(workspace, recognition, coins, number)
    fillings = {"population": str(recognition.population), "number": number}
    recognition.fingerprints.query("drawn", coins, **fillings)
    ((before, after, anew, of_person),) = recognition.fingerprints.query("looks", coins, **fillings)
    workspace.cursor.execute(
        f"INSERT INTO priv.drawn SELECT {recognition.number}, ?, mark, value, person FROM _priv_drawn"
        " JOIN (SELECT mark, person FROM _priv_record) USING (mark)",
        coins,
    )
    return Draws(before, after, anew, of_person)


def _first_draws(
    workspace: Workspace, recognition: Recognition, coins: list[str], number: str
) -> Draws:
    """Keep the values of all records, where none was drawn before and each record has a fingerprint of its own."""
    workspace.cursor.execute(
        f"INSERT INTO priv.drawn SELECT {recognition.number}, ?, mark, shown[{number}], person"
        " FROM _priv_record",
        coins,
    )
    ((anew, of_person),) = workspace.rows(
        "SELECT sum(records)::BIGINT, CASE WHEN bool_and(person IS NOT NULL) THEN max(records) END"
        " FROM (SELECT person, count(*) AS records FROM _priv_record GROUP BY person)"
    )
    return Draws(0, 1, anew, of_person)
