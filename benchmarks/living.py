"""Simulates a year of refreshes: measures an averaging attack on all versions, the ledger, and the cost of a refresh.

    python benchmarks/living.py [PERSONS] [DAYS] [MARKDOWN]
    python benchmarks/living.py cost [PERSONS]
    python benchmarks/living.py histories [NUMBER] [WORDS]

Every day, one person in a hundred joins, one leaves and one changes the value, and the release is refreshed. Every
person has a unique public seat number, so an attacker who collects the versions can follow everyone. ``cost`` prints
the processor time of publishing, exporting, and refreshing with the export. ``histories`` publishes decoy groups, lets
90% of one value leave and others come, and prints the coverage of intervals, with fixed secrets. WORDS choose histories
by name.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median

import duckdb

import duckdb_priv

VALUES = ["asthma", "cold", "cough", "diabetes", "flu", "gout", "migraine", "none"]
EPSILON = 1.0
SHARE = 100
"""One person in so many joins, leaves and changes, each day."""
STEP = 20
"""Days between two reports."""


@dataclass
class Year:
    """The results of the simulation."""

    publishing: float = 0.0
    """Seconds for the first version."""
    refreshing: list[float] = field(default_factory=list)
    """Seconds of each refresh."""
    steady: int = 0
    """Records in several versions whose true value never changed."""
    redrawn: int = 0
    """Steady records that ever showed two values."""
    guessed: tuple[float, float] = (0.0, 0.0)
    """Shares of the steady records whose true value is their first noisy value, and their most frequent one."""
    draws: int = 0
    """The largest number of true values of one record."""
    ledger: float = 0.0
    """The epsilon in the ledger."""
    covered: int = 0
    asked: int = 0
    """The number of estimated counts."""
    squares: float = 0.0
    """The sum of the counts' squared errors, in units of the standard error."""


def simulate(
    con: duckdb.DuckDBPyConnection,
    persons: int,
    days: int,
    tell: Callable[[Year, int], object] | None = None,
) -> Year:
    """Publish, and refresh every day; the connection's secret determines all noise.

    ``tell`` is called with the results so far, every ``STEP`` days.
    """
    found = Year()
    con.execute(
        f"CREATE TABLE persons AS SELECT i AS id, i AS seat, {_value('i', 0)} AS value FROM range({persons}) AS t(i)"
    )
    con.execute(f"CREATE TYPE value AS ENUM {tuple(VALUES)}")
    con.execute("CREATE TABLE versions (day SMALLINT, id INTEGER, value value, shown value)")
    started = time.perf_counter()
    con.execute(
        f"FROM priv.publish_uniform('persons', 'living', sensitive := 'value', epsilon := {EPSILON}, record_id := 'id',"
        f" public := ['seat'], domain := {VALUES})"
    )
    found.publishing = time.perf_counter() - started
    _collect(con, found, 0)
    for day in range(1, days + 1):
        con.execute(f"DELETE FROM persons WHERE {_drawn('leaves', 'id', day)} % {SHARE} = 0")
        con.execute(
            f"UPDATE persons SET value = {_value('id', day)} WHERE {_drawn('changes', 'id', day)} % {SHARE} = 0"
        )
        con.execute(
            f"INSERT INTO persons SELECT i, i, {_value('i', 0)}"
            f" FROM range({persons + day * (persons // SHARE)}, {persons + (day + 1) * (persons // SHARE)}) AS t(i)"
        )
        started = time.perf_counter()
        con.execute("FROM priv.refresh('living')").fetchall()
        found.refreshing.append(time.perf_counter() - started)
        _collect(con, found, day)
        if tell is not None and day % STEP == 0:
            _summarize(con, found)
            tell(found, day)
    _summarize(con, found)
    return found


def _summarize(con: duckdb.DuckDBPyConnection, found: Year) -> None:
    """Follow every record through all versions so far."""
    found.steady, found.redrawn = con.execute(
        "SELECT count(*), count_if(different > 1) FROM (SELECT count(DISTINCT shown) AS different FROM versions"
        " GROUP BY id HAVING count(DISTINCT value) = 1 AND count(*) > 1)"
    ).fetchall()[0]
    found.guessed = con.execute(
        "SELECT avg((first = value)::INTEGER), avg((most = value)::INTEGER) FROM ("
        " SELECT any_value(value) AS value, arg_min(shown, day) AS first, mode(shown) AS most FROM versions"
        " GROUP BY id HAVING count(DISTINCT value) = 1 AND count(*) > 1)"
    ).fetchall()[0]
    ((found.draws,),) = con.execute(
        "SELECT max(draws) FROM (SELECT count(DISTINCT value) AS draws FROM versions GROUP BY id)"
    ).fetchall()
    ((found.ledger,),) = con.execute("SELECT max(total) FROM priv.ledger()").fetchall()


def _value(number: str, day: int) -> str:
    return f"({VALUES})[1 + ({_drawn('value', number, day)} % {len(VALUES)})::INTEGER]"


def _drawn(purpose: str, number: str, day: int) -> str:
    """Write the SQL of a person's random number for a day, from one text: hashes of several arguments correlate."""
    return f"hash('{purpose}/{day}/' || {number})"


def _collect(con: duckdb.DuckDBPyConnection, found: Year, day: int) -> None:
    """Store every person's true and noisy value, and estimate every count."""
    con.execute(
        "INSERT INTO versions SELECT $1, id, value, noisy_value::VARCHAR FROM persons JOIN living USING (seat)",
        [day],
    )
    for covered, square in con.execute(
        "SELECT records BETWEEN low AND high, ((estimate - records) / stderr) ** 2"
        " FROM priv.reconstructed_distribution('living')"
        " JOIN (SELECT value, count(*) AS records FROM persons GROUP BY ALL) USING (value)"
    ).fetchall():
        found.covered += covered
        found.squares += square
        found.asked += 1


def report(year: Year, persons: int, days: int) -> str:
    """Write the results as a page."""
    last = median(year.refreshing[-10:])
    lines = [
        "# A year of a release that lives",
        "",
        f"`python benchmarks/living.py {persons}`: {persons:,} people, {days} daily refreshes, before each of which"
        f" one in {SHARE} joins, one leaves and one has another value; uniform perturbation, epsilon = {EPSILON:g},"
        f" {len(VALUES)} values. Someone with all versions follows everyone, since their seats are published.",
        "",
        "| | |",
        "|--|--|",
        f"| records with one value in all their versions (of several) | {year.steady:,} |",
        f"| of these, showed two different values | {year.redrawn} |",
        f"| value guessed right by what the first version shows | {year.guessed[0]:.4f} |",
        f"| value guessed right by what all versions show | {year.guessed[1]:.4f} |",
        f"| most different values of one record | {year.draws} |",
        f"| epsilon of that record | {year.draws * EPSILON:g} |",
        f"| epsilon in the ledger | {year.ledger:g} |",
        f"| 95% intervals that hold the truth, of all values in all versions | {year.covered} of {year.asked} |",
        f"| root mean square error of their estimates, in standard errors | {(year.squares / year.asked) ** 0.5:.3f} |",
        f"| seconds to publish the first version | {year.publishing:.2f} |",
        f"| seconds to refresh: median | {median(year.refreshing):.2f} |",
        f"| seconds to refresh: the last ten, median | {last:.2f} |",
        "",
        "Versions share their noise, so that the intervals of a value miss together for weeks: they are no independent"
        " trials.",
    ]
    return "\n".join(lines) + "\n"


def cost(persons: int) -> None:
    """Print the processor time of a refresh and of a publication, with ordinary public columns."""

    def timed(what: str, statement: str) -> None:
        started = time.process_time()
        con.execute(statement).fetchall()
        print(f"{what}: {time.process_time() - started:.2f}", flush=True)

    def publish(table: str, release: str) -> str:
        return (
            f"FROM priv.publish_uniform('{table}', '{release}', sensitive := 'value', epsilon := {EPSILON},"
            f" record_id := 'id', domain := {VALUES})"
        )

    with (
        tempfile.TemporaryDirectory() as folder,
        duckdb_priv.connect(f"{folder}/own.duckdb") as con,
    ):
        for table, size in (("first", 1000), ("persons", persons)):
            con.execute(
                f"CREATE TABLE {table} AS SELECT i AS id, i % 60 AS age, i % 2 AS gender,"
                f" (hash('city', i) % 300)::INTEGER AS city, {_value('i', 0)} AS value FROM range({size}) AS t(i)"
            )
        # The first publication and export of a process also load modules, so they are not timed.
        con.execute(publish("first", "warm"))
        con.execute(f"FROM priv.export_release('warm', '{folder}/warm.duckdb')")
        timed("publish", publish("persons", "living"))
        timed("export", f"FROM priv.export_release('living', '{folder}/living.duckdb')")
        for day in (1, 2, 3):
            con.execute(f"DELETE FROM persons WHERE {_drawn('leaves', 'id', day)} % {SHARE} = 0")
            con.execute(
                f"UPDATE persons SET value = {_value('id', day)} WHERE {_drawn('changes', 'id', day)} % {SHARE} = 0"
            )
            con.execute(
                f"INSERT INTO persons SELECT i, i % 60, i % 2, (hash('city', i) % 300)::INTEGER, {_value('i', 0)}"
                f" FROM range({persons + day * (persons // SHARE)}, {persons + (day + 1) * (persons // SHARE)}) AS t(i)"
            )
            timed("refresh", "FROM priv.refresh('living')")


OF_MANY = "'v' || (1 + [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6][1 + (hash(i) % 13)::INTEGER])"
LEAVE = "DELETE FROM v WHERE value = 'v0' AND id % 10 > 0"
RECORDS = 12_000


def _come(value: str, number: int = 840, start: int = RECORDS) -> str:
    return (
        f"INSERT INTO v SELECT i, i % 7 < 3, {value} FROM range({start}, {start + number}) AS t(i)"
    )


HISTORIES = {
    "7% come, as frequent as before": [(LEAVE, _come(OF_MANY))],
    "7% come, two frequent values more often": [
        (LEAVE, _come("'v' || (CASE WHEN i % 3 < 2 THEN 1 + i % 3 ELSE 3 + i % 4 END)"))
    ],
    "7% come, with rare values": [(LEAVE, _come("'v' || (4 + i % 4)"))],
    "7% come, with new values": [(LEAVE, _come("'w' || i % 7"))],
    "none come": [(LEAVE,)],
    "none come, and half of all others leave": [
        (LEAVE, "DELETE FROM v WHERE value <> 'v0' AND id % 2 = 0")
    ],
    "19% come, with rare values": [(LEAVE, _come("'v' || (4 + i % 4)", 2_300))],
    "three refreshes, with rare, new and other values": [
        (LEAVE, _come("'v' || (4 + i % 4)")),
        ("DELETE FROM v WHERE value = 'v1' AND id % 10 > 1", _come("'w' || i % 7", start=20_000)),
        ("DELETE FROM v WHERE value <> 'v2' AND id % 5 = 0", _come(OF_MANY, 300, 30_000)),
    ],
}
"""By what happens: the statements before each refresh."""
PARTS = {"all rows": "true", "three sevenths": "young", "the others": "NOT young"}
CONFIDENCES = (0.95, 0.99)


@dataclass
class Coverage:
    """The intervals of one kind of history."""

    held: dict[tuple[str, str, float], list[bool]] = field(default_factory=dict)
    """By part, value and confidence: whether the intervals hold the true count."""
    errors: dict[tuple[str, str], list[tuple[float, float]]] = field(default_factory=dict)
    """By part and value: errors and standard errors."""

    def share(self, *, part: str | None, confidence: float, value: str | None = None) -> str:
        """Return the share of the intervals that hold the true count, of a part and a value or of all."""
        chosen = [
            each
            for (where, what, how), found in self.held.items()
            if part in (None, where) and value in (None, what) and how == confidence
            for each in found
        ]
        return f"{mean(chosen):.1%}"

    def line(self, what: str) -> str:
        """Return the line of a table."""
        bias = max(
            abs(mean(error for error, _ in of)) / mean(stderr for _, stderr in of)
            for of in self.errors.values()
        )
        wide = median(
            mean(stderr for _, stderr in of) / mean(error**2 for error, _ in of) ** 0.5
            for (part, _), of in self.errors.items()
            if part == "all rows"
        )
        shares = " | ".join(
            ", ".join(self.share(part=part, confidence=each) for each in CONFIDENCES)
            for part in PARTS
        )
        values = sorted({value for _, value in self.errors})
        least = min(
            values,
            key=lambda value: float(self.share(part=None, confidence=0.95, value=value)[:-1]),
        )
        of_value = ", ".join(
            self.share(part=None, confidence=each, value=least) for each in CONFIDENCES
        )
        return f"| {what} | {shares} | {least}: {of_value} | {bias:.2f} | {wide:.1f} |"


def histories(number: int, only: str = "") -> str:
    """Return a table of the coverage, when 90% of the records of one of eight values leave and others come."""
    lines = [
        "| what happens | 95% and 99% intervals hold: all rows | three sevenths of them | the others | value with the"
        " fewest | largest mean error, in standard errors | standard error over the errors' spread, all rows: median |",
        "|--|--|--|--|--|--|--|",
    ]
    for what, steps in HISTORIES.items():
        if only in what:
            found = Coverage()
            for history in range(number):
                _live(steps, hashlib.sha256(b"history %d" % history).digest(), found)
            lines.append(found.line(what))
    return "\n".join(lines)


def _live(steps: Sequence[Sequence[str]], secret: bytes, found: Coverage) -> None:
    """Publish, do the steps and refresh after each, and compare the counts of the last version with the truth."""
    with duckdb_priv.connect(secret=secret) as con:
        con.execute(
            "CREATE TABLE v AS SELECT i AS id, i % 7 < 3 AS young,"
            f" CASE WHEN i % 20 < 4 THEN 'v0' ELSE {OF_MANY} END AS value FROM range({RECORDS}) AS t(i)"
        )
        con.execute(
            "FROM priv.publish_splu('v', 'r', sensitive := 'value', gamma := 3, record_id := 'id')"
        )
        for step in steps:
            for statement in step:
                con.execute(statement)
            con.execute("FROM priv.refresh('r')").fetchall()
        for part, condition in PARTS.items():
            for confidence in CONFIDENCES:
                rows = con.execute(
                    "SELECT d.value, estimate - coalesce(known, 0), stderr,"
                    " coalesce(known, 0) BETWEEN low AND high FROM"
                    f" priv.reconstructed_distribution('r', condition := '{condition}', confidence := {confidence})"
                    f" AS d LEFT JOIN (SELECT value, count(*) AS known FROM v WHERE {condition} GROUP BY ALL) AS t"
                    " USING (value)"
                ).fetchall()
                for value, error, stderr, holds in rows:
                    found.held.setdefault((part, value, confidence), []).append(holds)
                    if confidence == CONFIDENCES[0]:
                        found.errors.setdefault((part, value), []).append((error, stderr))


def main() -> None:
    """Print the results, or write them as a page."""
    if sys.argv[1:2] == ["histories"]:
        print(histories(int(sys.argv[2]) if len(sys.argv) > 2 else 20, " ".join(sys.argv[3:])))
        return
    if sys.argv[1:2] == ["cost"]:
        cost(int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
        return
    persons, days = (
        int(sys.argv[place]) if len(sys.argv) > place else default
        for place, default in ((1, 100_000), (2, 365))
    )

    def tell(year: Year, day: int) -> None:
        page = report(year, persons, day)
        print(page, flush=True)
        if len(sys.argv) > 3:
            Path(sys.argv[3]).write_text(page, encoding="utf-8")

    with duckdb_priv.connect() as con:
        tell(simulate(con, persons, days, tell), days)


if __name__ == "__main__":
    main()
