"""Large programs, which are installed for it: pytest -m on_demand tests/clients/test_on_demand.py.

Superset takes 900 MB and two minutes, once; dbt and ibis need a DuckDB of their own.
"""

from __future__ import annotations

import json
import os
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
JUPYTER = (
    "jupysql==0.11.1", "ipython>=8,<10", f"duckdb=={duckdb.__version__}", "duckdb-engine==0.17.0", "sqlalchemy==2.1.9",
    "sqlglot>=28.10,<31", "pyarrow>=18",
)  # fmt: skip
ROOT = Path(__file__).parents[2]
FLU = "priv.reconstructed_count('uniform', noisy_disease, 'flu')"


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
            reader.execute(
                "SELECT value, estimate FROM priv.reconstructed_distribution('uniform')"
            ).fetchall()
        )


def test_ibis(releases, by_ward, by_value) -> None:
    """In SQL, as a chain of calls, and from a view."""
    done = subprocess.run(
        [str(environment("ibis", *IBIS)), "-I", str(PROGRAMS / "ask_ibis.py"), str(releases["uniform"].path)],
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    in_sql, chain, view = json.loads(done.stdout)
    assert in_sql == chain == sorted(by_ward.values())
    assert view == sorted(map(round, by_value.values()))


MODELS = {
    "flu": f"SELECT ward, release.{FLU} AS flu FROM release.uniform WHERE age > 30 GROUP BY ward",
    "by_value": "SELECT value, estimate FROM release.priv.reconstructed_distribution('uniform',"
    " database := 'release')",
    "view": "SELECT value, estimate FROM release.uniform_disease_estimates",
    "plain": "{{ config(pre_hook='USE release.estimated', post_hook='USE analysis') }}"
    " SELECT ward, count(*) AS flu FROM uniform WHERE disease = 'flu' AND age > 30 GROUP BY ward",
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
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    with duckdb.connect(str(tmp_path / "analysis.duckdb"), read_only=True) as made:
        assert dict(made.execute("FROM flu").fetchall()) == by_ward
        assert dict(made.execute("FROM plain").fetchall()) == pytest.approx(by_ward)
        assert dict(made.execute("FROM by_value").fetchall()) == by_value
        assert dict(made.execute("FROM view").fetchall()) == {
            value: round(estimate) for value, estimate in by_value.items()
        }


def test_jupyter(releases, by_ward) -> None:
    """The magic %sql of jupysql, over the dialect."""
    done = subprocess.run(
        [str(environment("jupyter", *JUPYTER)), str(PROGRAMS / "ask_jupyter.py"), str(releases["uniform"].path)],
        capture_output=True, text=True, timeout=600, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    plain, beside, refused = json.loads(done.stdout.splitlines()[0])
    assert dict(plain) == pytest.approx(by_ward)
    assert {ward: flu for ward, flu, *_ in beside} == pytest.approx(by_ward)
    assert all(stderr > 0 and low < flu < high for _, flu, stderr, low, high in beside)
    assert "has no value 'Flu'" in refused


@pytest.fixture(scope="module")
def estimated(releases, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the release, which Superset opens by USE estimated."""
    copy = tmp_path_factory.mktemp("estimated") / "uniform.duckdb"
    copy.write_bytes(releases["uniform"].path.read_bytes())
    return copy


@pytest.fixture(scope="module")
def superset(tmp_path_factory: pytest.TempPathFactory, estimated: Path) -> Iterator[Superset]:
    with serve(tmp_path_factory.mktemp("superset"), estimated=[estimated]) as server:
        yield server


OVER_THIRTY = {"col": "age", "op": ">", "val": 30}


def test_superset(superset: Superset, releases, by_ward) -> None:
    """A database, a dataset on the published table, a chart by a public column with a filter, and SQL Lab."""
    database, dataset = superset.register(releases["uniform"].path, "uniform")
    metric = {"expressionType": "SQL", "sqlExpression": FLU, "label": "flu"}
    rows = superset.chart(dataset, columns=["ward"], metrics=[metric], filters=[OVER_THIRTY])
    assert {row["ward"]: row["flu"] for row in rows} == pytest.approx(by_ward)
    question = (
        "SELECT ward, unnest(priv.reconstructed_interval('uniform', noisy_disease, 'flu')) FROM uniform"
        " WHERE age > 30 GROUP BY ward"
    )
    answer = superset.call("sqllab/execute/", database_id=database, sql=question)
    assert {row["ward"]: row["estimate"] for row in answer["data"]} == pytest.approx(by_ward)
    assert all(row["low"] < row["estimate"] < row["high"] for row in answer["data"])
    superset.forget(dataset)


@pytest.mark.parametrize("way", ["dialect", "USE estimated"])
def test_superset_by_drag_and_drop(
    way: str, superset: Superset, releases, estimated, by_ward, by_value
) -> None:
    """COUNT(*) by an attribute, and by a public column with filters on both, as the chart's own metric writes them."""
    if way == "dialect":
        path, place = releases["uniform"].path, {"dialect": "duckdb+priv", "schema": "main"}
    else:
        path, place = estimated, {"dialect": "duckdb", "schema": "estimated"}
    _, dataset = superset.register(path, "uniform", name=way, **place)
    metric = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "COUNT(*)"}
    with_flu = {"col": "disease", "op": "==", "val": "flu"}
    rows = superset.chart(
        dataset, columns=["ward"], metrics=[metric], filters=[OVER_THIRTY, with_flu],
        orderby=[[metric, False]], row_limit=1000,
    )  # fmt: skip
    assert {row["ward"]: row["COUNT(*)"] for row in rows} == pytest.approx(by_ward)
    rows = superset.chart(dataset, columns=["disease"], metrics=["count"], row_limit=1000)
    assert {row["disease"]: row["count"] for row in rows} == pytest.approx(by_value)
    superset.forget(dataset)
