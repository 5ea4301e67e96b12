"""Perturbs the same million values with the generalized randomized response of other libraries.

    python benchmarks/libraries.py [--write]

The operators are equal at equal epsilon: these libraries' p is the total probability of showing the true value, which
is p + (1 - p) / m for our retention p. So the errors must agree, and only the times differ. Each library is used as in
its documentation: one call per value, without keyed randomness, catalog and file.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from numpy.typing import NDArray
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer

import duckdb_priv

RESULTS = Path(__file__).parent / "results" / "LIBRARIES.md"
ROWS, VALUES, RETENTION = 1_000_000, 50, 0.3
EPSILON = math.log(1 + VALUES * RETENTION / (1 - RETENTION))
HEADER = """\
| library | seconds | root mean squared error of a count | predicted |
|---|---|---|---|"""

Estimates = NDArray[np.float64]


def ours(values: NDArray[np.int64]) -> tuple[float, Estimates]:
    """Publish a table with record ids, then reconstruct all counts."""
    with duckdb_priv.connect() as connection:
        connection.register("given", pa.table({"id": np.arange(len(values)), "v": values}))
        connection.execute("CREATE TABLE people AS FROM given")
        start = time.perf_counter()
        connection.execute(
            "FROM priv.publish_uniform('people', 'release', sensitive := 'v', retention := ?,"
            " record_id := 'id')",
            [RETENTION],
        ).fetchall()
        rows = connection.execute(
            "SELECT estimate FROM priv.reconstructed_distribution('release') ORDER BY value"
        ).fetchall()
        return time.perf_counter() - start, np.array(rows)[:, 0]


def multi_freq_ldpy(values: NDArray[np.int64]) -> tuple[float, Estimates]:
    """Use multi-freq-ldpy: a compiled client, called once per value."""
    GRR_Client(0, VALUES, EPSILON)  # compiled at its first call
    start = time.perf_counter()
    reports = [GRR_Client(value, VALUES, EPSILON) for value in values.tolist()]
    estimates = GRR_Aggregator_MI(reports, VALUES, EPSILON) * len(values)
    return time.perf_counter() - start, np.asarray(estimates)


def pure_ldp(values: NDArray[np.int64]) -> tuple[float, Estimates]:
    """Use pure-ldp: a client and a server object, called once per value."""
    client = DEClient(epsilon=EPSILON, d=VALUES, index_mapper=int)
    server = DEServer(epsilon=EPSILON, d=VALUES, index_mapper=int)
    start = time.perf_counter()
    for value in values.tolist():
        server.aggregate(client.privatise(value))
    estimates = [server.estimate(value, suppress_warnings=True) for value in range(VALUES)]
    return time.perf_counter() - start, np.array(estimates)


LIBRARIES: dict[str, Callable[[NDArray[np.int64]], tuple[float, Estimates]]] = {
    "duckdb_priv": ours,
    "multi-freq-ldpy": multi_freq_ldpy,
    "pure-ldp": pure_ldp,
}


def main() -> None:
    """Measure each library and print a line for it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    values = np.random.default_rng(1).integers(VALUES, size=ROWS)
    true = np.bincount(values, minlength=VALUES)
    other = (1 - RETENTION) / VALUES
    own = RETENTION + other
    variance = (true * own * (1 - own) + (ROWS - true) * other * (1 - other)) / RETENTION**2
    lines = []
    for name, perturb in LIBRARIES.items():
        seconds, estimates = perturb(values)
        error = np.sqrt(np.mean((estimates - true) ** 2))
        lines.append(
            f"| {name} {importlib.metadata.version(name)} | {seconds:.2f} | {error:.0f} |"
            f" {np.sqrt(variance.mean()):.0f} |"
        )
        print(lines[-1], flush=True)
    if options.write:
        title = f"# Generalized randomized response of {ROWS:,} values out of {VALUES}, epsilon {EPSILON:.3f}"
        note = "Written by `python benchmarks/libraries.py --write`."
        RESULTS.write_text("\n".join([title, "", note, "", HEADER, *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
