"""The pictures of docs/clients.md, taken of the real programs: pytest -m on_demand tests/clients/test_pictures.py."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

import duckdb_priv
from clients.asking import job
from clients.browser import ask_page, headless
from clients.installation import PATH, PROGRAMS, SCRIPTS, environment, on_path
from duckdb_priv import sqlfiles

pytestmark = pytest.mark.on_demand
PICTURES = Path(__file__).parents[2] / "docs" / "clients"
BY_GENDER = """SELECT gender, unnest(priv.reconstructed_interval('visits_public', disease, 'flu'))
FROM visits_public WHERE age > 30 GROUP BY gender ORDER BY gender"""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with duckdb_priv.connect("hospital.duckdb", secret=bytes(range(32))) as publisher:
        for statement in publisher.extract_statements(sqlfiles.read("examples", "1_publisher")):
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
    python = environment("scripts", *SCRIPTS)
    picture = PICTURES / "harlequin.svg"
    done = subprocess.run(
        [str(python), "-I", str(PROGRAMS / "ask_harlequin.py"), str(picture)],
        input=json.dumps([job(release, [BY_GENDER])]),
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "answers" in json.loads(done.stdout)[0]


@pytest.fixture
def dashboard(release: Path) -> Iterator[str]:
    """The address of the dashboard on Streamlit's own server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    python = environment("scripts", *SCRIPTS)
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

    def do_GET(self) -> None:
        content = (
            f"<body style='margin:0'><iframe src='{self.around}' width=1100 height=900 frameborder=0></iframe>"
            "<img src=/later hidden>"
        )
        if self.path == "/later":
            time.sleep(15)
            content = ""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(content.encode())


def test_picture_of_streamlit(dashboard: str, tmp_path: Path) -> None:
    picture = PICTURES / "streamlit.png"
    before = time.time()
    Frame.around = dashboard
    with ThreadingHTTPServer(("127.0.0.1", 0), Frame) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        headless(on_path(*CHROMIUM), address, tmp_path, picture=picture, height=900)
        server.shutdown()
    assert picture.stat().st_mtime >= before


def test_picture_of_a_browser(release: Path) -> None:
    (reply,) = ask_page([job(release, [BY_GENDER])], picture=PICTURES / "browser.png", height=330)
    assert "answers" in reply
