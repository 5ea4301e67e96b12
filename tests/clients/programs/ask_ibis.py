"""Asks a release with ibis: python ask_ibis.py FILE. Writes flu by ward, twice: as SQL, and as a chain of calls."""

from __future__ import annotations

import json
import sys

import ibis


@ibis.udf.agg.builtin(database="priv")
def reconstructed_count(release: str, column: str, value: str) -> float:
    """The macro of the release, which ibis does not know by itself."""


release = ibis.duckdb.connect(sys.argv[1], read_only=True)
sql = release.sql(
    "SELECT ward, priv.reconstructed_count('uniform', noisy_disease, 'flu') AS flu FROM uniform"
    " WHERE age > 30 GROUP BY ward"
)
uniform = release.table("uniform")
chain = (
    uniform.filter(uniform.age > 30)
    .group_by("ward")
    .aggregate(flu=reconstructed_count("uniform", uniform.noisy_disease.cast("string"), "flu"))
)
view = release.table("uniform_disease_estimates").select("value", "estimate")
print(
    json.dumps(
        [
            sorted(sql.to_pyarrow().to_pydict()["flu"]),
            sorted(chain.to_pyarrow().to_pydict()["flu"]),
            sorted(view.to_pyarrow().to_pydict()["estimate"]),
        ]
    )
)
