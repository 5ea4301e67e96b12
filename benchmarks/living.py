"""A year of refreshes: what averaging all versions gains, what the ledger says, and what a refresh costs.

    python benchmarks/living.py [PERSONS] [DAYS]

Every day one in a hundred persons joins, leaves and changes the value; the release is refreshed from the table. The
persons' seats are published, so that whoever collects the versions follows everyone: the strongest attack there is.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

import duckdb

import duckdb_priv

VALUES = ["asthma", "cold", "cough", "diabetes", "flu", "gout", "migraine", "none"]
EPSILON = 1.0
SHARE = 100
"""One in so many joins, leaves and changes, each day."""


@dataclass
class Year:
    """What was seen."""

    publishing: float = 0.0
    """Seconds of the first version."""
    refreshing: list[float] = field(default_factory=list)
    """Seconds of each refresh."""
    steady: int = 0
    """Records with one true value in all versions, of those that are in several."""
    redrawn: int = 0
    """Those of them that ever showed two values."""
    draws: int = 0
    """The most true values of one record."""
    ledger: float = 0.0
    """What the ledger says was spent."""
    covered: int = 0
    asked: int = 0
    """Counts whose interval holds the truth, of those asked."""


def simulate(con: duckdb.DuckDBPyConnection, persons: int, days: int) -> Year:
    """Publish, and refresh every day; the secret of the connection decides all noise."""
    found = Year()
    con.execute(
        f"CREATE TABLE persons AS SELECT i AS id, i AS seat, {_value('i', 0)} AS value FROM range({persons}) AS t(i)"
    )
    con.execute("CREATE TABLE versions (id BIGINT, value VARCHAR, shown VARCHAR)")
    started = time.perf_counter()
    con.execute(
        f"FROM priv.publish_uniform('persons', 'living', sensitive := 'value', epsilon := {EPSILON}, record_id := 'id',"
        f" public := ['seat'], domain := {VALUES})"
    )
    found.publishing = time.perf_counter() - started
    _collect(con, found)
    for day in range(1, days + 1):
        con.execute(f"DELETE FROM persons WHERE hash('leaves', {day}, id) % {SHARE} = 0")
        con.execute(
            f"UPDATE persons SET value = {_value('id', day)} WHERE hash('changes', {day}, id) % {SHARE} = 0"
        )
        con.execute(
            f"INSERT INTO persons SELECT i, i, {_value('i', 0)}"
            f" FROM range({persons + day * (persons // SHARE)}, {persons + (day + 1) * (persons // SHARE)}) AS t(i)"
        )
        started = time.perf_counter()
        con.execute("FROM priv.refresh('living')").fetchall()
        found.refreshing.append(time.perf_counter() - started)
        _collect(con, found)
    found.steady, found.redrawn = con.execute(
        "SELECT count(*), count_if(different > 1) FROM (SELECT count(DISTINCT shown) AS different FROM versions"
        " GROUP BY id HAVING count(DISTINCT value) = 1 AND count(*) > 1)"
    ).fetchall()[0]
    ((found.draws,),) = con.execute(
        "SELECT max(draws) FROM (SELECT count(DISTINCT value) AS draws FROM versions GROUP BY id)"
    ).fetchall()
    ((found.ledger,),) = con.execute("SELECT max(epsilon_attribute) FROM priv.ledger()").fetchall()
    return found


def _value(number: str, day: int) -> str:
    return f"({VALUES})[1 + (hash('value', {day}, {number}) % {len(VALUES)})::INTEGER]"


def _collect(con: duckdb.DuckDBPyConnection, found: Year) -> None:
    """Keep what everyone has and shows, and ask for every count."""
    con.execute(
        "INSERT INTO versions SELECT id, value, reported_value FROM persons JOIN living USING (seat)"
    )
    for value in VALUES:
        ((covered,),) = con.execute(
            "SELECT (SELECT count(*) FROM persons WHERE value = $1) BETWEEN i.low AND i.high FROM"
            " (SELECT priv.reconstructed_interval('living', reported_value, $1) AS i FROM living)",
            [value],
        ).fetchall()
        found.covered += covered
        found.asked += 1


def main() -> None:
    """Print what was seen."""
    persons, days = (
        int(sys.argv[place]) if len(sys.argv) > place else default
        for place, default in ((1, 100_000), (2, 365))
    )
    with duckdb_priv.connect() as con:
        year = simulate(con, persons, days)
    last = sorted(year.refreshing[-10:])
    print(f"{persons:,} persons, {days} refreshes, 1% joining, leaving and changing each day")
    print(
        f"records with one value in all their versions: {year.steady:,}; that showed two: {year.redrawn}"
    )
    print(
        f"most values of one record: {year.draws}; ledger: epsilon = {year.ledger:g}, {EPSILON:g} a draw"
    )
    print(f"95% intervals that hold the truth: {year.covered} of {year.asked}")
    print(
        f"seconds: {year.publishing:.2f} to publish, {year.refreshing[0]:.2f} for the first refresh,"
        f" {last[len(last) // 2]:.2f} for one of the last"
    )


if __name__ == "__main__":
    main()
