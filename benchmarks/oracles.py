"""Compares the errors of all frequencies between our mechanisms and two other libraries, at equal local epsilon.

    pip install 'duckdb_priv[bench]'
    python -P benchmarks/oracles.py --data FOLDER [--write]

FOLDER contains adult, census_500k and vaers_reactions as Parquet files, from each of which ROWS records are used.
multi-freq-ldpy perturbs by subset selection (Ye and Barg), which is optimal for subsets of one size; pure-ldp perturbs
by optimal unary encoding (Wang and others 2017). Each library is called once per record, as in its documentation.
multi-freq-ldpy sets negative estimates to 0 and scales the others to their total, so this is done for all estimates.
Without -P, one of the packages would import the script coverage.py of this folder instead of the package coverage.
"""

from __future__ import annotations

import argparse
import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from numpy.typing import NDArray
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

import duckdb_priv
from duckdb_priv.sqltext.quoting import literal

RESULTS = Path(__file__).parent / "results" / "ORACLES.md"
ROWS = 40_000
EPSILONS = (0.5, 1.0, 2.0, 4.0)
COLUMNS = {"adult": "occupation", "census_500k": "occupation", "vaers_reactions": "reaction"}
CHANCE = """\
Each figure is one draw. Differences of a fifth in the rows of 516 values are chance: at epsilon 4 the standard error
of a count is 53.7 for the block design and 53.6 for subset selection. Six secrets of ours gave 54 to 56 before negative
estimates are set to 0 and the others scaled, and 57 to 64 after it; six draws of subset selection gave 54 to 58, and
53 to 64."""

Counts = NDArray[np.float64]


def published(mechanism: str, values: NDArray[np.int64], size: int, epsilon: float) -> Counts:
    """Publish a table with record ids, then reconstruct all counts."""
    with duckdb_priv.connect(secret=bytes(range(32))) as connection:
        connection.register("given", pa.table({"id": np.arange(len(values)), "v": values}))
        connection.execute("CREATE TABLE people AS SELECT *, id % 2 AS half FROM given")
        connection.execute(
            f"FROM priv.publish_{mechanism}('people', 'release', sensitive := 'v', epsilon := ?, record_id := 'id')",
            [epsilon],
        ).fetchall()
        rows = connection.execute(
            "SELECT value, estimate FROM priv.reconstructed_distribution('release')"
        ).fetchall()
    found = np.zeros(size)
    for value, estimate in rows:
        found[value] = estimate
    return found


def subset_selection(values: NDArray[np.int64], size: int, epsilon: float) -> Counts:
    """Use multi-freq-ldpy."""
    np.random.seed(1)
    reports = [SS_Client(value, size, epsilon) for value in values.tolist()]
    return np.asarray(SS_Aggregator_MI(reports, size, epsilon)) * len(values)


def unary_encoding(values: NDArray[np.int64], size: int, epsilon: float) -> Counts:
    """Use pure-ldp."""
    np.random.seed(1)
    client = UEClient(epsilon=epsilon, d=size, use_oue=True, index_mapper=int)
    server = UEServer(epsilon=epsilon, d=size, use_oue=True, index_mapper=int)
    for value in values.tolist():
        server.aggregate(client.privatise(value))
    return np.array([server.estimate(value, suppress_warnings=True) for value in range(size)])


ORACLES: dict[str, Callable[[NDArray[np.int64], int, float], Counts]] = {
    "duckdb_priv, uniform": lambda *given: published("uniform", *given),
    "duckdb_priv, block_design": lambda *given: published("block_design", *given),
    "multi-freq-ldpy, subset selection": subset_selection,
    "pure-ldp, optimal unary encoding": unary_encoding,
}


def possible(counts: Counts, total: int) -> Counts:
    """Set negative estimates to 0, and scale the others to their total."""
    cut = np.maximum(counts, 0)
    return cut * total / cut.sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("multi-freq-ldpy", "pure-ldp")
    )
    lines = [
        f"Root mean squared error of the counts of all values, of {ROWS:,} records, at equal local epsilon"
        f" ({versions}).",
        "",
        f"| column | values | {' | '.join(f'epsilon {each:g}' for each in EPSILONS)} | by |",
        "|---|---|" + "---|" * (len(EPSILONS) + 1),
    ]
    for table, column in COLUMNS.items():
        with duckdb_priv.connect(secret=bytes(range(32))) as connection:
            path = literal(str(arguments.data / f"{table}.parquet"))
            rows = connection.execute(
                f"SELECT dense_rank() OVER (ORDER BY {column}) - 1 FROM (SELECT {column} FROM {path} LIMIT {ROWS})"
            ).fetchall()
        values = np.array(rows, np.int64).ravel()
        size = int(values.max()) + 1
        true = np.bincount(values, minlength=size)
        for name, oracle in ORACLES.items():
            errors = [
                np.sqrt(np.mean((possible(oracle(values, size, epsilon), ROWS) - true) ** 2))
                for epsilon in EPSILONS
            ]
            cells = " | ".join(f"{error:,.0f}" for error in errors)
            lines.append(f"| {table}.{column} | {size:,} | {cells} | {name} |")
            print(lines[-1], flush=True)
    if arguments.write:
        text = "\n".join(["# Frequencies beside two outside libraries", "", *lines, "", CHANCE, ""])
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
