"""The pictures of docs/clients.md, taken of the real programs: pytest -m on_demand tests/clients/test_pictures.py."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

import duckdb_priv
from clients.asking import job
from clients.browser import CHROMIUM, ask_page, free_port, headless
from clients.exploring import Tab, engine, served
from clients.installation import PATH, PROGRAMS, STREAMLIT, environment, on_path, with_packages
from clients.superset import serve
from duckdb_priv.sqltext import templates

pytestmark = pytest.mark.on_demand
PICTURES = Path(__file__).parents[2] / "docs" / "clients"
BY_GENDER = """SELECT gender, unnest(priv.reconstructed_interval('visits_public', noisy_disease, 'flu'))
FROM visits_public WHERE age > 30 GROUP BY gender ORDER BY gender"""


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with duckdb_priv.connect("hospital.duckdb", secret=bytes(range(32))) as publisher:
        for statement in publisher.extract_statements(templates.read("examples", "1_publisher")):
            publisher.execute(statement).fetchall()
    return tmp_path / "visits_public.duckdb"


def test_picture_of_the_shell(release: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    arguments = ["-readonly", release.name, "-c", BY_GENDER]
    shown = pexpect.run(
        " ".join([on_path("duckdb"), "-init", os.devnull, "-dark-mode"]) + " " + _quoted(arguments),
        env={**os.environ, "PATH": PATH, "TERM": "xterm-256color"}, encoding="utf-8", dimensions=(40, 110),
    )  # fmt: skip
    assert "estimate" in shown
    paper = Console(record=True, width=110, file=io.StringIO(), force_terminal=True)
    paper.print(Text(f"$ duckdb {_quoted(arguments)}", style="bold"))
    paper.print(Text.from_ansi(shown.replace("\r\n", "\n")))
    paper.save_svg(str(PICTURES / "shell.svg"), title="DuckDB shell")


def _quoted(arguments: list[str]) -> str:
    return " ".join(f'"{each}"' if " " in each else each for each in arguments)


def test_picture_of_harlequin(release: Path) -> None:
    picture = PICTURES / "harlequin.svg"
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "ask_harlequin.py"), str(picture)],
        input=json.dumps([job(release, [BY_GENDER])]),
        capture_output=True, text=True, timeout=600, check=True, env=with_packages(),
    )  # fmt: skip
    assert "answers" in json.loads(done.stdout)[0]


@pytest.fixture
def dashboard(release: Path) -> Iterator[str]:
    """The address of the dashboard on Streamlit's own server."""
    port = free_port()
    python = environment("streamlit", *STREAMLIT)
    server = subprocess.Popen(
        [
            str(python), "-I", "-m", "streamlit", "run", str(PROGRAMS / "dashboard.py"),
            "--server.headless=true", f"--server.port={port}", "--server.address=127.0.0.1",
            "--browser.gatherUsageStats=false", "--client.toolbarMode=minimal", "--", str(release),
        ],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    assert any("http://" in line for line in server.stdout)
    yield f"http://127.0.0.1:{port}"
    server.terminate()
    server.communicate()


class Frame(BaseHTTPRequestHandler):
    """A page around a page that talks on after it has loaded: this one has loaded when that has drawn."""

    around: str
    size: tuple[int, int]
    cookies: Sequence[str]
    """What the page around which this one is needs. Cookies are a machine's, whatever the port."""
    patience: int

    def do_GET(self) -> None:
        width, height = self.size
        content = (
            f"<body style='margin:0'><iframe src='{self.around}' width={width} height={height} frameborder=0></iframe>"
            "<img src=/later hidden>"
        )
        if self.path == "/later":
            time.sleep(self.patience)
            content = ""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        for cookie in self.cookies:
            self.send_header("Set-Cookie", f"{cookie}; Path=/; SameSite=Lax")
        self.end_headers()
        self.wfile.write(content.encode())


def photograph(
    address: str,
    picture: Path,
    profile: Path,
    size: tuple[int, int],
    *,
    patience: int,
    cookies: Sequence[str] = (),
) -> None:
    """Take a picture of a page after some seconds."""
    before = time.time()
    Frame.around, Frame.size, Frame.patience, Frame.cookies = address, size, patience, cookies
    with ThreadingHTTPServer(("127.0.0.1", 0), Frame) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        frame = f"http://127.0.0.1:{server.server_port}"
        width, height = size
        headless(on_path(*CHROMIUM), frame, profile, picture=picture, width=width, height=height)
        server.shutdown()
    assert picture.stat().st_mtime >= before


def test_picture_of_streamlit(dashboard: str, tmp_path: Path) -> None:
    photograph(dashboard, PICTURES / "streamlit.png", tmp_path, (960, 900), patience=15)


def test_picture_of_superset(release: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with serve(tmp_path_factory.mktemp("superset")) as superset:
        _, dataset = superset.register(release, "visits_public")
        chart = superset.draw(
            dataset,
            "Flu by gender, over 30",
            "echarts_timeseries_bar",
            x_axis="gender",
            x_axis_sort="gender",
            metrics=[
                {
                    "expressionType": "SQL",
                    "sqlExpression": "priv.reconstructed_count('visits_public', noisy_disease, 'flu')",
                    "label": "people with flu",
                }
            ],
            adhoc_filters=[
                {
                    "clause": "WHERE",
                    "expressionType": "SIMPLE",
                    "subject": "age",
                    "operator": ">",
                    "operatorId": "GREATER_THAN",
                    "comparator": "30",
                }
            ],
            show_value=True,
            y_axis_format=",.0f",
        )
        photograph(
            f"{superset.address}/explore/?slice_id={chart}",
            PICTURES / "superset.png",
            tmp_path_factory.mktemp("profile"),
            (1400, 800),
            patience=30,
            cookies=superset.cookies(),
        )


def test_picture_of_a_browser(release: Path) -> None:
    (reply,) = ask_page([job(release, [BY_GENDER])], picture=PICTURES / "browser.png", height=330)
    assert "answers" in reply


@pytest.mark.parametrize(("width", "name"), [(1280, "explorer"), (390, "explorer_phone")])
def test_picture_of_the_explorer(release: Path, width: int, name: str) -> None:
    engine()
    question = "of=disease&value=flu&show=percent&by=age&step=5&and=gender&chart=trend"
    with served(release) as server, Tab() as tab:
        shown = tab.do("visit", address=server.address(question), width=width)
        assert shown["panels"] == ["gender: f", "gender: m"]
        tab.do("picture", path=str(PICTURES / f"{name}.png"))
