"""Estimates on real records are unbiased, and intervals have the stated coverage.

Coverage is tested twice. Exactly: the published count of a value in a subset is the sum of two binomials, and the
macro returns the interval of every possible count, so the coverage is computed without randomness. End to end: 500
copies of each subset, with different record ids, are published, and agree with the exact coverage. An estimate that is
wrong by half of its standard error, or a coverage of 80% instead of 95%, passes with a probability below 1e-5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
import numpy as np
import pytest
from plausible import FALSE_ALARM, plausible
from scipy.stats import binom, chi2

from duckdb_priv.sqltext.literals import enum

COPIES = 500
SIZES = (10, 12, 15, 20, 30, 50, 70, 100, 200, 300, 500, 1000)
"""Smallest number of records of a subset."""
MOST_COPIED = 320
"""Records of the largest subset that is copied."""
RETENTIONS = (0.2, 0.5)
ATTRIBUTES = {"occupation": 50, "education": 14}
"""Sensitive attributes of the census, and the sizes of their domains."""
PUBLIC = "state, decade, gender, marital"
"""Public attributes that define subsets: all records with equal values."""


@dataclass(frozen=True)
class Cell:
    """A value that is counted in a subset."""

    attribute: str
    subset: int
    size: int
    value: int
    true: int


@pytest.fixture(scope="module")
def publisher(secret: bytes, census: str, prepared) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return subsets by public attributes: for each size, the smallest subset with at least that many records."""
    with prepared(secret=secret) as connection:
        connection.execute(
            f"CREATE TABLE person AS SELECT row_number() OVER () AS id, *, age // 10 AS decade FROM '{census}'"
        )
        connection.execute(
            f"CREATE TABLE groups AS SELECT row_number() OVER (ORDER BY {PUBLIC}) AS subset, * FROM"
            f" (SELECT {PUBLIC}, count(*) AS size FROM person GROUP BY ALL)"
        )
        connection.execute(
            "CREATE TABLE chosen AS SELECT DISTINCT arg_min(subset, (size, subset)) AS subset"
            " FROM groups JOIN (SELECT unnest(?) AS wanted) ON size >= wanted GROUP BY wanted",
            [list(SIZES)],
        ).fetchall()
        connection.execute(
            "CREATE TABLE member AS SELECT subset, size, occupation::INTEGER AS occupation,"
            f" education::INTEGER AS education FROM person JOIN groups USING ({PUBLIC}) SEMI JOIN chosen USING (subset)"
        )
        yield connection


@pytest.fixture(scope="module")
def domains(publisher: duckdb.DuckDBPyConnection) -> dict[str, list[int]]:
    return {
        name: publisher.execute(
            f"SELECT list(DISTINCT {name} ORDER BY {name}) FROM person"
        ).fetchall()[0][0]
        for name in ATTRIBUTES
    }


@pytest.fixture(scope="module")
def cells(publisher: duckdb.DuckDBPyConnection, domains: dict[str, list[int]]) -> list[Cell]:
    """Return, for every subset, the most frequent value, a common one, the rarest, and an absent one."""
    found = []
    for attribute in ATTRIBUTES:
        counts = publisher.execute(
            f"SELECT subset, size, list(({attribute}, n) ORDER BY n DESC, {attribute}) FROM"
            f" (SELECT subset, size, {attribute}, count(*) AS n FROM member GROUP BY ALL) GROUP BY ALL"
        ).fetchall()
        for subset, size, values in counts:
            for place in sorted({0, len(values) // 3, len(values) - 1}):
                found.append(Cell(attribute, subset, size, *values[place]))
            absent = sorted(set(domains[attribute]) - {value for value, _ in values})
            found += [Cell(attribute, subset, size, value, 0) for value in absent[:1]]
    return found


def shown_law(cell: Cell, retention: float) -> np.ndarray:
    """Return the probability of every published count of the value."""
    q = (1 - retention) / ATTRIBUTES[cell.attribute]
    kept = binom.pmf(np.arange(cell.true + 1), cell.true, retention + q)
    drawn = binom.pmf(np.arange(cell.size - cell.true + 1), cell.size - cell.true, q)
    return np.convolve(kept, drawn)


def variance(cell: Cell, retention: float) -> float:
    q = (1 - retention) / ATTRIBUTES[cell.attribute]
    a = retention + q
    return (cell.true * a * (1 - a) + (cell.size - cell.true) * q * (1 - q)) / retention**2


@pytest.fixture(scope="module")
def coverage(
    publisher: duckdb.DuckDBPyConnection, cells: list[Cell], domains: dict[str, list[int]]
) -> dict[tuple[Cell, float], float]:
    """Compute the exact coverage of every cell, at every retention."""
    found = {}
    for retention in RETENTIONS:
        for attribute, domain in domains.items():
            release = f"{attribute}_{retention:.0%}"
            publisher.execute(
                f"FROM priv.publish_uniform('member', '{release}', sensitive := '{attribute}',"
                " retention := ?, domain := ?, population := ?)",
                [retention, domain, release],
            ).fetchall()
            kind = enum(map(str, domain))
            for size in sorted({cell.size for cell in cells}):
                other = (1 - retention) / len(domain)
                shown = plausible(size, other, retention + other)
                ends = np.array(
                    publisher.execute(
                        f"SELECT i.low, i.high FROM (SELECT shown,"
                        f" priv.reconstructed_interval('{release}', shown_value, ?) AS i"
                        f" FROM (SELECT shown, (CASE WHEN r < shown THEN ? ELSE ? END)::VARCHAR::{kind} AS shown_value"
                        " FROM range(?, ?) AS t(shown), range(?) AS u(r)) GROUP BY shown) ORDER BY shown",
                        [domain[0], domain[0], domain[1], shown.start, shown.stop, size],
                    ).fetchall()
                )
                for cell in cells:
                    if (cell.attribute, cell.size) == (attribute, size):
                        covers = (ends[:, 0] <= cell.true) & (cell.true <= ends[:, 1])
                        # A refused interval covers nothing.
                        law = shown_law(cell, retention)[shown.start : shown.stop]
                        found[cell, retention] = float(law @ covers)
    return found


def test_there_are_cells_of_every_kind(cells):
    sizes = sorted({cell.size for cell in cells})
    assert sizes[0] == 10
    assert all(any(wanted <= size < 1.3 * wanted for size in sizes) for wanted in SIZES)
    assert {cell.true for cell in cells} >= {0, 1, 2, 3}
    assert max(cell.true for cell in cells) > 200


def test_intervals_cover_at_least_94_percent_in_every_cell(coverage):
    (cell, retention), worst = min(coverage.items(), key=lambda item: item[1])
    assert worst >= 0.94, f"{worst:.4f} at a retention of {retention} for {cell}"


def test_intervals_cover_at_most_99_percent_on_average(coverage):
    assert len(coverage) > 150
    assert 0.95 <= np.mean(list(coverage.values())) <= 0.99


@pytest.fixture(scope="module")
def outcomes(
    publisher: duckdb.DuckDBPyConnection, cells: list[Cell], domains: dict[str, list[int]]
) -> dict[tuple[Cell, float], np.ndarray]:
    """Return the estimate, and whether its interval contains the true count, for every cell and copy."""
    copied = [cell for cell in cells if cell.size <= MOST_COPIED]
    publisher.execute(
        "CREATE TABLE copies AS SELECT row_number() OVER (ORDER BY copy, subset, occupation, education) AS id, copy,"
        f" subset, occupation, education FROM member, range({COPIES}) AS t(copy) WHERE size <= {MOST_COPIED}"
    )
    found = {}
    for retention in RETENTIONS:
        publisher.execute(
            "FROM priv.publish_uniform('copies', 'released', sensitive := ['occupation', 'education'],"
            " retention := $p, domain := {'occupation': $o, 'education': $e}, record_id := 'id', replace := true,"
            " population := 'copies')",
            {"p": retention, "o": domains["occupation"], "e": domains["education"]},
        ).fetchall()
        for cell in copied:
            rows = publisher.execute(
                f"SELECT i.estimate, i.low <= $true AND $true <= i.high FROM (SELECT copy,"
                f" priv.reconstructed_interval('released.{cell.attribute}', noisy_{cell.attribute}, $value) AS i"
                " FROM released WHERE subset = $subset GROUP BY copy)",
                {"true": cell.true, "value": cell.value, "subset": cell.subset},
            ).fetchall()
            found[cell, retention] = np.array(rows, dtype=float)
    return found


def test_published_copies_are_covered_as_often_as_the_exact_law_says(outcomes, coverage):
    assert len(outcomes) > 100
    for key, rows in outcomes.items():
        assert len(rows) == COPIES
        covered = rows[:, 1].sum()
        low, high = (
            binom.ppf(FALSE_ALARM / 2, COPIES, coverage[key]),
            binom.isf(FALSE_ALARM / 2, COPIES, coverage[key]),
        )
        assert low <= covered <= high, f"{covered} of {COPIES}, expected {coverage[key]:.4f}: {key}"


def test_estimates_are_unbiased(outcomes):
    for (cell, retention), rows in outcomes.items():
        deviation = (rows[:, 0].mean() - cell.true) / np.sqrt(variance(cell, retention) / COPIES)
        assert abs(deviation) <= 6.11, f"{deviation:.2f} standard errors: {cell}, {retention}"


def test_estimates_vary_as_much_as_stated(outcomes):
    """The bounds are those of a sample variance of normal values; the cells have nearly normal estimates."""
    least, most = chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], COPIES - 1) / (COPIES - 1)
    looked_at = 0
    for (cell, retention), rows in outcomes.items():
        if cell.size * (1 - retention) / ATTRIBUTES[cell.attribute] < 3:
            continue
        looked_at += 1
        ratio = rows[:, 0].var(ddof=1) / variance(cell, retention)
        assert least <= ratio <= most, f"{ratio:.3f}: {cell}, {retention}"
    assert looked_at > 20


def test_the_whole_census_is_reconstructed(publisher, domains):
    """Every occupation of half a million people, within 6.2 standard errors of the truth."""
    publisher.execute(
        "FROM priv.publish_uniform('person', 'everybody', sensitive := 'occupation', retention := 0.3,"
        " record_id := 'id', population := 'everybody')"
    ).fetchall()
    deviations = publisher.execute(
        "SELECT abs(estimate - t.n) / stderr FROM priv.reconstructed_distribution('everybody')"
        " JOIN (SELECT occupation AS value, count(*) AS n FROM person GROUP BY 1) AS t USING (value)"
    ).fetchall()
    assert len(deviations) == len(domains["occupation"])
    assert max(deviation for (deviation,) in deviations) < 6.2
