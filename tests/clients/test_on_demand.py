"""Large programs, which are installed for it: pytest -m on_demand tests/clients/test_on_demand.py.

Superset takes 900 MB and two minutes, once; dbt and ibis need a DuckDB of their own.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from clients.installation import PROGRAMS, environment

pytestmark = pytest.mark.on_demand
IBIS = ("ibis-framework[duckdb]==12.0.0", "duckdb==1.5.6")
DBT = ("dbt-core==1.10.23", "dbt-duckdb==1.10.0", "duckdb==1.5.6")
SUPERSET = (
    "apache-superset==6.1.0", "flask-caching<2.5", "rich", "cachetools", "duckdb-engine", "duckdb==2.0.0"
)  # fmt: skip
FLU = "priv.reconstructed_count('uniform', disease, 'flu')"


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


Call = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def superset(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    """A server of Superset, and a function that calls its interface as somebody who has logged in."""
    home = tmp_path_factory.mktemp("superset")
    key, password = secrets.token_hex(32), secrets.token_hex(8)
    (home / "superset_config.py").write_text(
        f"SECRET_KEY = {key!r}\nWTF_CSRF_ENABLED = False\nTALISMAN_ENABLED = False\n"
        f"SQLALCHEMY_DATABASE_URI = 'sqlite:///{home}/superset.db'\n"
    )
    start = "from superset.cli.main import superset; superset()"
    program = [str(environment("superset", *SUPERSET)), "-c", start]
    settings = {
        **os.environ, "SUPERSET_HOME": str(home), "FLASK_APP": "superset",
        "SUPERSET_CONFIG_PATH": str(home / "superset_config.py"),
    }  # fmt: skip
    person = [f"--{name}={value}" for name, value in {
        "username": "admin", "password": password, "firstname": "A", "lastname": "B", "email": "a@example.com",
    }.items()]  # fmt: skip
    for command in (["db", "upgrade"], ["fab", "create-admin", *person], ["init"]):
        done = subprocess.run(
            [*program, *command], env=settings, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = ""

    def call(path: str, **content: Any) -> dict[str, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{path}",
            data=json.dumps(content).encode() if content else None,
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{path}: {error.read().decode()}") from error

    log = (home / "log").open("w")
    server = subprocess.Popen(
        [*program, "run", "-h", "127.0.0.1", "-p", str(port)], env=settings, stdout=log, stderr=log
    )
    for _ in range(120):
        try:
            with socket.create_connection(("127.0.0.1", port)):
                break
        except OSError:
            time.sleep(1)
    token = call(
        "/api/v1/security/login", username="admin", password=password, provider="db", refresh=False
    )["access_token"]
    yield call
    server.terminate()
    server.wait()
    log.close()


def test_superset(superset: Call, releases, by_ward) -> None:
    """A database, a dataset on the published table, a chart by a public column with a filter, and SQL Lab."""
    path = releases["uniform"].path
    database = superset(
        "/api/v1/database/",
        database_name="release",
        sqlalchemy_uri=f"duckdb:///{path}",
        extra=json.dumps({"engine_params": {"connect_args": {"read_only": True}}}),
        expose_in_sqllab=True,
    )["id"]
    dataset = superset("/api/v1/dataset/", database=database, schema="main", table_name="uniform")[
        "id"
    ]
    metric = {"expressionType": "SQL", "sqlExpression": FLU, "label": "flu"}
    chart = superset(
        "/api/v1/chart/data",
        datasource={"id": dataset, "type": "table"},
        queries=[
            {
                "columns": ["ward"],
                "metrics": [metric],
                "filters": [{"col": "age", "op": ">", "val": 30}],
            }
        ],
        result_format="json",
        result_type="full",
    )["result"][0]
    assert {row["ward"]: row["flu"] for row in chart["data"]} == pytest.approx(by_ward)
    question = (
        "SELECT ward, unnest(priv.reconstructed_interval('uniform', disease, 'flu')) FROM uniform"
        " WHERE age > 30 GROUP BY ward"
    )
    answer = superset("/api/v1/sqllab/execute/", database_id=database, sql=question)
    assert {row["ward"]: row["estimate"] for row in answer["data"]} == pytest.approx(by_ward)
    assert all(row["low"] < row["estimate"] < row["high"] for row in answer["data"])
