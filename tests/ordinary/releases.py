"""Releases of every form, whose ordinary queries are compared with what their weights add up to by definition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from shared import folder_of_run, once

import duckdb_priv

VISITS = """
    CREATE TABLE source AS
    SELECT i AS id,
        20 + (hash('age' || i) % 6)::INTEGER * 10 AS age,
        ['north', 'south', 'it''s "far"'][1 + (hash('ward' || i) % 3)::INTEGER] AS ward,
        (hash('cost' || i) % 1000)::DECIMAL(9, 2) / 7 AS cost,
        DATE '2024-01-01' + (hash('day' || i) % 400)::INTEGER AS day,
        {disease} AS disease,
        (hash('dose' || i) % 4)::INTEGER AS dose
    FROM range({rows}) AS t(i)
"""
EVEN = "['none', 'flu', 'asthma', 'cancer', NULL][1 + (hash('disease' || i) % 5)::INTEGER]"
BALANCED = "['none', 'flu', 'asthma', 'cancer', NULL][1 + i % 5]"
SKEWED = (
    "['none', 'none', 'none', 'none', 'none', 'flu', 'flu', 'flu', 'asthma', 'asthma', 'cancer', NULL]"
    "[1 + (hash('disease' || i) % 12)::INTEGER]"
)
EXCHANGE = """
    CREATE TABLE exchange AS
    WITH disease AS (SELECT unnest(['none', 'flu', 'asthma', 'cancer', NULL]) AS value)
    SELECT a.value AS original, b.value AS published,
        CASE WHEN a.value IS NOT DISTINCT FROM b.value THEN 0.5
             WHEN a.value = 'flu' AND b.value = 'none' THEN 0.2 WHEN a.value = 'flu' THEN 0.1
             ELSE 0.125 END AS probability
    FROM disease a, disease b
"""
HIERARCHIES = """
    CREATE TABLE hierarchies AS
    SELECT attribute, value, level, CASE level WHEN 0 THEN value ELSE 'any' END AS generalized
    FROM (
        SELECT 'age' AS attribute, unnest(range(20, 80, 10))::VARCHAR AS value
        UNION ALL SELECT DISTINCT 'ward', ward FROM source
        UNION ALL SELECT DISTINCT 'disease', disease FROM source
    ), (SELECT unnest([0, 1]) AS level)
"""
ONE, TWO = "sensitive := 'disease', exclude := ['dose']", "sensitive := ['disease', 'dose']"
CALLS = {
    "two_weights": f"publish_uniform('source', 'visits', {ONE}, retention := 0.5",
    "two_attributes": f"publish_uniform('source', 'visits', {TWO}, retention := 0.6",
    "blocks": f"publish_block_design('source', 'visits', {ONE}, epsilon := 0.5",
    "rank_one": f"publish_fine_grain('source', 'visits', {ONE}, tolerance := 3, min_retention := 0.05",
    "operator": f"publish_matrix('source', 'visits', {ONE}, matrix := 'exchange'",
    "scaled": f"publish_reconstruction_private('source', 'visits', {ONE}, retention := 0.5, epsilon := 0.3,"
    " delta := 0.3",
    "by_group": f"publish_shuffled('source', 'visits', {ONE}, epsilon := 1.0, delta := 1e-4",
    "two_by_two": f"publish_splu('source', 'visits', {ONE}, gamma := 2",
    "conditional_poisson": f"publish_splu('source', 'visits', {ONE}, gamma := 2",
    "listed": f"publish_anatomy('source', 'visits', {ONE}, l := 3",
    "constant": f"publish_distribution('source', 'visits', {ONE}",
    "sample": "publish_safe_k('source', 'visits', k := 5, beta := 0.3, epsilon := 1.0, hierarchies := 'hierarchies',"
    " levels := {'age': 0, 'ward': 0, 'disease': 0}, exclude := ['cost', 'day', 'dose']",
}
"""By the form of the estimates: how the release is published."""

DOES_NOT_SUM = ("listed", "constant", "sample")
"""Forms whose records have no weights that could be summed, row by row."""
DISEASES = {"two_by_two": BALANCED, "conditional_poisson": SKEWED}
"""By form: how diseases are spread, where it matters."""


def publish(
    folder: Path,
    form: str,
    *,
    rows: int = 3000,
    secret: bytes = bytes(range(32)),
    connect: Callable[..., duckdb.DuckDBPyConnection] = duckdb_priv.connect,
) -> Path:
    """Publish one release, called visits, to a file of its own, from where ``connect`` leads to."""
    path = folder / f"{form}.duckdb"
    disease = DISEASES.get(form, EVEN)
    with connect(secret=secret) as publisher:
        publisher.execute(VISITS.format(rows=rows, disease=disease))
        publisher.execute(EXCHANGE)
        if form == "sample":
            publisher.execute(HIERARCHIES)
        publisher.execute(f"FROM priv.{CALLS[form]}, record_id := 'id')").fetchall()
        publisher.execute("FROM priv.export_release('visits', ?)", [str(path)]).fetchall()
    return path


def of_run(
    temporary: pytest.TempPathFactory,
    form: str,
    connect: Callable[..., duckdb.DuckDBPyConnection],
) -> Path:
    """Return the file of the release of a form, which is published once for all processes of a run."""
    place = folder_of_run(temporary) / "ordinary" / form
    return once(place, lambda folder: publish(folder, form, connect=connect))


def weigh(connection: duckdb.DuckDBPyConnection) -> None:
    """Lay out, beside an attached release ``r``, every row with every true value that it may have, and its weight.

    This is the definition: what ordinary SQL answers must be what these weights add up to. ``shown`` marks one of the
    lines of each row, so that sums of public columns can be compared as well.
    """
    attributes = connection.execute(
        "SELECT attribute, coalesce(blocks.type, type), form FROM r.priv.attribute"
        " WHERE form IS NOT NULL AND form <> 'sample'"
    ).fetchall()
    columns = {
        name for (name, *_) in connection.execute("DESCRIBE SELECT * FROM r.visits").fetchall()
    }
    names, weights, shown, domains, left_out = [], [], [], [], []
    for name, kind, form in attributes:
        column = f"noisy_{name}" if f"noisy_{name}" in columns else name
        cast = "VARCHAR" if kind.startswith("ENUM") else kind
        domains.append(
            f"(SELECT CAST(value AS {cast}) AS {name} FROM r.priv.coefficient WHERE attribute = '{name}') AS d_{name}"
        )
        names.append(f"d_{name}.{name}")
        left_out.append(column)
        row = ", weight := v.scale" if form == "by_group" else ""
        weights.append(f"r.priv.weight('visits.{name}', v.{column}, d_{name}.{name}{row})")
        if form == "listed":
            shown.append(f"d_{name}.{name} IS NOT DISTINCT FROM v.{column}[1]::VARCHAR")
        elif form in ("constant", "blocks"):
            shown.append(f"d_{name}.{name} IS NULL")
        else:
            shown.append(f"d_{name}.{name} IS NOT DISTINCT FROM CAST(v.{column} AS {cast})")
    weighted = "scale" in columns and all(form != "by_group" for _, _, form in attributes)
    if "scale" in columns:
        left_out.append("scale")
    if weighted:
        weights.append("v.scale")
    exclude = f" EXCLUDE ({', '.join(left_out)})" if left_out else ""
    connection.execute(
        f"CREATE TABLE memory.main.weighted AS SELECT v.*{exclude}, {''.join(each + ', ' for each in names)}"
        f" {' * '.join(weights)} AS w, {' AND '.join(shown) or 'true'} AS shown,"
        f" {'v.scale' if weighted else '1'} AS records"
        f" FROM {', '.join(['r.visits AS v', *domains])}"
    )
