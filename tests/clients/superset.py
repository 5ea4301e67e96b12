"""A server of Apache Superset, and calls of its interface."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

from clients.browser import free_port
from clients.installation import PROGRAMS, environment

REQUIREMENTS = (
    "apache-superset==6.1.0", "flask-caching<2.5", "rich", "cachetools", "duckdb-engine", "duckdb==2.0.0"
)  # fmt: skip
PATIENCE = 120
ROOT = Path(__file__).parents[2]


class Superset:
    """What someone who has logged in asks of a server."""

    def __init__(self, address: str, name: str, password: str) -> None:
        self.address = address
        self.name = name
        self.password = password
        self._token = ""

    def log_in(self) -> None:
        """Ask as this person from now on."""
        given = {"username": self.name, "password": self.password, "provider": "db"}
        self._token = self.call("security/login", **given)["access_token"]

    def call(self, path: str, **content: Any) -> dict[str, Any]:
        """Send content, or read where there is none."""
        return self._ask(path, "POST" if content else "GET", content)

    def forget(self, dataset: int) -> None:
        """Delete a dataset: in a Superset of one file, each table's name is there once."""
        self._ask(f"dataset/{dataset}", "DELETE", {})

    def _ask(self, path: str, method: str, content: Mapping[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self.address}/api/v1/{path}",
            data=json.dumps(content).encode() if content else None,
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{path}: {error.read().decode()}") from error

    def cookies(self) -> list[str]:
        """Log in by the form, as a browser does, and return what the browser would keep."""
        jar = CookieJar()
        form = urllib.parse.urlencode({"username": self.name, "password": self.password}).encode()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        with opener.open(f"{self.address}/login/", form, timeout=PATIENCE):
            return [f"{cookie.name}={cookie.value}" for cookie in jar]

    def register(
        self,
        release: Path,
        table: str,
        *,
        name: str = "",
        dialect: str = "duckdb",
        schema: str = "main",
    ) -> tuple[int, int]:
        """Make a release a database, and its published table a dataset."""
        read_only = {"engine_params": {"connect_args": {"read_only": True}}}
        database = self.call(
            "database/", database_name=name or table, sqlalchemy_uri=f"{dialect}:///{release}",
            extra=json.dumps(read_only), expose_in_sqllab=True,
        )["id"]  # fmt: skip
        dataset = self.call("dataset/", database=database, schema=schema, table_name=table)["id"]
        return database, dataset

    def chart(self, dataset: int, **question: Any) -> list[dict[str, Any]]:
        """Ask what a chart asks, and return its rows."""
        answer = self.call(
            "chart/data",
            datasource={"id": dataset, "type": "table"},
            queries=[question],
            result_format="json",
            result_type="full",
        )
        return list(answer["result"][0]["data"])

    def draw(self, dataset: int, name: str, kind: str, **parameters: Any) -> int:
        """Keep a chart."""
        chart = {
            "datasource": f"{dataset}__table",
            "viz_type": kind,
            "row_limit": 1000,
            **parameters,
        }
        return int(
            self.call(
                "chart/", slice_name=name, viz_type=kind, datasource_id=dataset, datasource_type="table",
                params=json.dumps(chart),
            )["id"]
        )  # fmt: skip


@contextmanager
def serve(home: Path, *, estimated: Sequence[Path] = ()) -> Iterator[Superset]:
    """Set a server up in an empty folder, and run it; some releases are opened by USE estimated."""
    (home / "superset_config.py").write_text(
        "from superset_estimates import *\n"
        f"SECRET_KEY = {secrets.token_hex(32)!r}\nWTF_CSRF_ENABLED = False\nTALISMAN_ENABLED = False\n"
        f"SQLALCHEMY_DATABASE_URI = 'sqlite:///{home}/superset.db'\n"
    )
    program = (
        str(environment("superset", *REQUIREMENTS)), "-c",
        "from superset.cli.main import superset; superset()",
    )  # fmt: skip
    surroundings = {
        **os.environ, "SUPERSET_HOME": str(home), "FLASK_APP": "superset",
        "SUPERSET_CONFIG_PATH": str(home / "superset_config.py"),
        "PYTHONPATH": os.pathsep.join(map(str, (PROGRAMS, ROOT))),
        "RELEASES": json.dumps(list(map(str, estimated))),
    }  # fmt: skip
    port = free_port()
    superset = Superset(f"http://127.0.0.1:{port}", "admin", secrets.token_hex(8))
    _set_up(program, surroundings, superset)
    with (home / "log").open("w") as log:
        server = subprocess.Popen(
            [*program, "run", "-h", "127.0.0.1", "-p", str(port)],
            env=surroundings, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            _await(port)
            superset.log_in()
            yield superset
        finally:
            server.terminate()
            server.wait()


def _set_up(program: Sequence[str], surroundings: Mapping[str, str], superset: Superset) -> None:
    person = {
        "username": superset.name, "password": superset.password, "firstname": "Local", "lastname": "administrator",
        "email": "admin@example.com",
    }  # fmt: skip
    for command in (
        ["db", "upgrade"],
        ["fab", "create-admin", *(f"--{name}={value}" for name, value in person.items())],
        ["init"],
    ):
        done = subprocess.run(
            [*program, *command], env=surroundings, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]


def _await(port: int) -> None:
    for _ in range(PATIENCE):
        try:
            with socket.create_connection(("127.0.0.1", port)):
                return
        except OSError:
            time.sleep(1)
    raise AssertionError("the server does not listen")
