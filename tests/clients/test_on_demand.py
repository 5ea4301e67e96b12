"""Large programs, which are installed for it: pytest -m on_demand tests/clients/test_on_demand.py.

Superset takes 900 MB and two minutes, once; dbt and ibis need a DuckDB of their own.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from clients.installation import PROGRAMS, environment
from clients.superset import Superset, serve

pytestmark = pytest.mark.on_demand
IBIS = ("ibis-framework[duckdb]==12.0.0", "duckdb==1.5.6")
DBT = ("dbt-core==1.10.23", "dbt-duckdb==1.10.0", "duckdb==1.5.6")
FLU = "priv.reconstructed_count('uniform', reported_disease, 'flu')"


@pytest.fixture(scope="module")
def by_ward(releases) -> dict[str, float]:
    with duckdb.connect(str(releases["uniform"].path), read_only=True) as reader:
        return dict(
            reader.execute(
                f"SELECT ward, {FLU} FROM uniform WHERE age > 30 GROUP BY ward"
            ).fetchall()
        )


@pytest.fixture(scope="module")
def by_value(releases) -> dict[str, float]:
    with duckdb.connect(str(releases["uniform"].path), read_only=True) as reader:
        return dict(
            reader.execute("SELECT value, estimate FROM uniform_disease_estimates").fetchall()
        )


def test_ibis(releases, by_ward, by_value) -> None:
    """In SQL, as a chain of calls, and from a view."""
    done = subprocess.run(
        [str(environment("ibis", *IBIS)), "-I", str(PROGRAMS / "ask_ibis.py"), str(releases["uniform"].path)],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    in_sql, chain, view = json.loads(done.stdout)
    assert in_sql == chain == sorted(by_ward.values())
    assert view == sorted(by_value.values())


MODELS = {
    "flu": f"SELECT ward, release.{FLU} AS flu FROM release.uniform WHERE age > 30 GROUP BY ward",
    "by_value": "SELECT value, estimate FROM release.priv.reconstructed_distribution('uniform',"
    " database := 'release')",
    "view": "SELECT value, estimate FROM release.uniform_disease_estimates",
}


def test_dbt(releases, by_ward, by_value, tmp_path: Path) -> None:
    """Models over an attached release, kept as tables."""
    (tmp_path / "models").mkdir()
    for name, query in MODELS.items():
        (tmp_path / "models" / f"{name}.sql").write_text(query)
    project = {"name": "analysis", "version": "1.0", "profile": "analysis"}
    project["models"] = {"+materialized": "table"}
    attached = {"path": str(releases["uniform"].path), "alias": "release", "read_only": True}
    output = {"type": "duckdb", "path": str(tmp_path / "analysis.duckdb"), "attach": [attached]}
    profile = {"analysis": {"target": "dev", "outputs": {"dev": output}}}
    # What is JSON is YAML.
    (tmp_path / "dbt_project.yml").write_text(json.dumps(project))
    (tmp_path / "profiles.yml").write_text(json.dumps(profile))
    dbt = [str(environment("dbt", *DBT)), "-c", "from dbt.cli.main import cli; cli()"]
    done = subprocess.run(
        [*dbt, "run", "--profiles-dir", ".", "--no-send-anonymous-usage-stats"],
        cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    with duckdb.connect(str(tmp_path / "analysis.duckdb"), read_only=True) as made:
        assert dict(made.execute("FROM flu").fetchall()) == by_ward
        assert dict(made.execute("FROM by_value").fetchall()) == by_value
        assert dict(made.execute("FROM view").fetchall()) == by_value


@pytest.fixture(scope="module")
def superset(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Superset]:
    with serve(tmp_path_factory.mktemp("superset")) as server:
        yield server


def test_superset(superset: Superset, releases, by_ward) -> None:
    """A database, a dataset on the published table, a chart by a public column with a filter, and SQL Lab."""
    database, dataset = superset.register(releases["uniform"].path, "uniform")
    metric = {"expressionType": "SQL", "sqlExpression": FLU, "label": "flu"}
    over_thirty = [{"col": "age", "op": ">", "val": 30}]
    chart = superset.call(
        "chart/data",
        datasource={"id": dataset, "type": "table"},
        queries=[{"columns": ["ward"], "metrics": [metric], "filters": over_thirty}],
        result_format="json",
        result_type="full",
    )["result"][0]
    assert {row["ward"]: row["flu"] for row in chart["data"]} == pytest.approx(by_ward)
    question = (
        "SELECT ward, unnest(priv.reconstructed_interval('uniform', reported_disease, 'flu')) FROM uniform"
        " WHERE age > 30 GROUP BY ward"
    )
    answer = superset.call("sqllab/execute/", database_id=database, sql=question)
    assert {row["ward"]: row["estimate"] for row in answer["data"]} == pytest.approx(by_ward)
    assert all(row["low"] < row["estimate"] < row["high"] for row in answer["data"])
