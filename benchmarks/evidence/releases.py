"""Releases of every mechanism from one table of people, as the tables that other tools read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

import duckdb_priv
from duckdb_priv.sqltext.quoting import literal

SECRET = bytes(range(32))
"""The evidence is the same whenever it is made."""
SENSITIVE = "occupation"
PUBLIC = ("decade", "education", "gender")
CALLS: Mapping[str, str] = {
    "uniform": "retention := 0.3",
    "fine_grain": "tolerance := 8, min_retention := 0.05",
    "matrix": "matrix := 'exchange'",
    "reconstruction_private": "retention := 0.3, epsilon := 0.3, delta := 0.3",
    "splu": "gamma := 5",
    "anatomy": "l := 5",
    "distribution": "",
    "shuffled": "epsilon := 1.0, delta := 1e-6",
    "block_design": "epsilon := 1.0",
    "safe_k": "k := 5, beta := 0.3, epsilon := 1.0, hierarchies := 'hierarchies',"
    " levels := {'decade': 1, 'education': 1, 'gender': 0, 'occupation': 0}",
}
"""By mechanism: how it is called."""
LOCAL = ("uniform", "fine_grain", "matrix")
"""Mechanisms that perturb by one square operator, which the weights of the release are the inverse of."""
EXCHANGE = """
    CREATE TABLE exchange AS
    WITH domain AS (SELECT DISTINCT occupation AS value FROM persons)
    SELECT one.value AS original, other.value AS published,
           if(one.value = other.value, 0.35, 0.65 / ((SELECT count(*) FROM domain) - 1)) AS probability
    FROM domain AS one, domain AS other
"""
HIERARCHIES = """
    CREATE TABLE hierarchies AS
    SELECT attribute, value, level, if(level = 0, value, 'any') AS generalized
    FROM (UNPIVOT persons ON decade, gender, education, occupation INTO NAME attribute VALUE value),
         (SELECT unnest([0, 1]) AS level)
    GROUP BY ALL
"""
SHOWN = {
    "anatomy": "list_extract({column}, 1 + floor(random() * len({column}))::INTEGER)",
    "block_design": "(SELECT list_extract(b.occupation, 1 + floor(random() * len(b.occupation))::INTEGER)"
    " FROM block_design_occupation_blocks AS b WHERE b.block = {column})",
}
"""What a reader who knows no better takes for the value, where a row shows several: one of them by chance."""


@dataclass(frozen=True)
class Tables:
    """Files of one release, and where there is one its operator: by true value, the chances of what is shown."""

    mechanism: str
    release: Path
    rebuilt: Path
    operator: NDArray[np.float64] | None
    promised: float | None
    """Epsilon of local differential privacy, where that is promised."""


def prepare(connection: duckdb.DuckDBPyConnection, adult: Path, rows: int) -> None:
    """Read people; a tenth of them is kept aside, of whom no release knows."""
    connection.execute(
        "CREATE TABLE everybody AS SELECT row_number() OVER () AS id, (age // 10 * 10)::VARCHAR AS decade,"
        f" sex AS gender, education, occupation FROM {literal(str(adult))} LIMIT {rows}"
    )
    connection.execute("CREATE TABLE persons AS FROM everybody WHERE id % 10 <> 0")
    connection.execute(EXCHANGE)
    connection.execute(HIERARCHIES)


def write_persons(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Write who is in the releases, and who is not."""
    for name, condition in (("source", "id % 10 <> 0"), ("control", "id % 10 = 0")):
        query = f"SELECT * EXCLUDE (id) FROM everybody WHERE {condition}"
        _copy(connection, query, folder / f"{name}.csv")


def publish(connection: duckdb.DuckDBPyConnection, mechanism: str, folder: Path) -> Tables:
    """Publish, and write what the release shows, and a table that is rebuilt from its estimates."""
    sampled = mechanism == "safe_k"
    how = [
        "'persons'",
        literal(mechanism),
        "record_id := 'id'",
        *(() if sampled else (f"sensitive := '{SENSITIVE}'",)),
        *filter(None, (CALLS[mechanism],)),
    ]
    connection.execute(f"FROM priv.publish_{mechanism}({', '.join(how)})").fetchall()
    with exported(connection, mechanism, folder) as reader:
        return _read(reader, mechanism, folder)


@contextmanager
def exported(
    connection: duckdb.DuckDBPyConnection, release: str, folder: Path
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open what is handed out: nothing else is looked at."""
    path = str(folder / f"{release}.duckdb")
    connection.execute("FROM priv.export_release(?, ?)", [release, path]).fetchall()
    with duckdb.connect(path, read_only=True) as reader:
        yield reader


def _read(reader: duckdb.DuckDBPyConnection, mechanism: str, folder: Path) -> Tables:
    column = SENSITIVE if mechanism == "safe_k" else f"noisy_{SENSITIVE}"
    shown = SHOWN.get(mechanism, "{column}").replace("{column}", column)
    release, rebuilt = folder / f"{mechanism}.csv", folder / f"{mechanism}_rebuilt.csv"
    # The same rows are drawn whenever the evidence is made.
    reader.execute("SET threads = 1")
    reader.execute("SELECT setseed(0.5)")
    _copy(reader, f"SELECT {', '.join(PUBLIC)}, {shown} AS {SENSITIVE} FROM {mechanism}", release)
    scaled = reader.execute("FROM priv.attribute WHERE role = 'scale'").fetchall()
    weight = ", weight := 'scale'" if scaled else ""
    by = PUBLIC[-1]
    _copy(
        reader,
        f"SELECT {by}, value AS {SENSITIVE}"
        f" FROM (SELECT {by}, value, unnest(range(greatest(round(estimate), 0)::BIGINT))"
        f" FROM priv.reconstructed_distribution('{mechanism}.{SENSITIVE}', group_columns := '{by}'{weight}))",
        rebuilt,
    )
    operator = _operator(reader, mechanism) if mechanism in LOCAL else None
    return Tables(mechanism, release, rebuilt, operator, local_epsilon(reader))


def local_epsilon(reader: duckdb.DuckDBPyConnection) -> float | None:
    """Return the epsilon of local differential privacy that a release promises, if it does."""
    found = reader.execute(
        "SELECT value FROM priv.guarantee WHERE guarantee = 'local_differential_privacy'"
    ).fetchall()
    return found[0][0] if found else None


def _operator(reader: duckdb.DuckDBPyConnection, mechanism: str) -> NDArray[np.float64]:
    """Invert the weights that the release gives to each shown value, for each true one."""
    values = [
        value
        for (value,) in reader.execute(
            "SELECT value FROM priv.coefficient ORDER BY value"
        ).fetchall()
    ]
    weights = ", ".join(f"any_value(weight_{place})" for place in range(len(values)))
    inner = ", ".join(
        f"priv.weight('{mechanism}', noisy_{SENSITIVE}, {literal(value)}) AS weight_{place}"
        for place, value in enumerate(values)
    )
    rows = reader.execute(
        f"SELECT {weights} FROM (SELECT noisy_{SENSITIVE}::VARCHAR AS shown, {inner} FROM {mechanism})"
        " GROUP BY shown ORDER BY shown"
    ).fetchall()
    assert len(rows) == len(values), "every value is shown at least once"
    return np.linalg.inv(np.array(rows))


def _copy(connection: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    connection.execute(f"COPY ({query}) TO {literal(str(path))} (HEADER)")


def connect() -> duckdb.DuckDBPyConnection:
    """Open a publisher's database in memory."""
    return duckdb_priv.connect(secret=SECRET)
