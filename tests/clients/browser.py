"""A page in headless Chromium that asks releases with DuckDB in WebAssembly, all of it from local files."""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from clients.installation import PROGRAMS, node_modules, on_path

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
KINDS = {
    ".html": "text/html",
    ".mjs": "text/javascript",
    ".js": "text/javascript",
    ".wasm": "application/wasm",
}
PATIENCE = 120
"""Seconds until a page that does not reply is given up."""


class PageServer(ThreadingHTTPServer):
    """Gives out the page, its engine, the jobs and their files, and takes the replies."""

    daemon_threads = True

    def __init__(self, jobs: Sequence[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.jobs = jobs
        self.files = {file for job in jobs for file in job["files"]}
        self.modules = node_modules()
        self.replies: list[dict[str, Any]] = []
        self.replied = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        path = unquote(self.path)
        if path == "/jobs":
            self._send(json.dumps(self.server.jobs).encode())
        elif path == "/when-replied":
            self.server.replied.wait(PATIENCE)
            self._send(b"")
        elif path.removeprefix("/files/") in self.server.files:
            self._send_file(Path(path.removeprefix("/files/")))
        elif path.startswith("/node_modules/") and ".." not in path:
            self._send_file(self.server.modules / path[1:])
        else:
            self._send_file(PROGRAMS / Path(path).name)

    def do_POST(self) -> None:
        self.server.replies = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.replied.set()
        self._send(b"")

    def _send_file(self, file: Path) -> None:
        if file.is_file():
            self._send(file.read_bytes(), KINDS.get(file.suffix, "application/octet-stream"))
        else:
            self.send_error(404)

    def _send(self, content: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def free_port() -> int:
    """Find a port of this machine that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def ask_page(
    jobs: Sequence[dict[str, Any]], *, picture: Path | None = None, height: int = 480
) -> list[dict[str, Any]]:
    """Let a page ask; a picture is taken of what it shows at the end."""
    chromium = on_path(*CHROMIUM)
    with PageServer(jobs) as server, tempfile.TemporaryDirectory() as profile:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        seen = headless(
            chromium, f"http://127.0.0.1:{server.server_port}/page.html", Path(profile),
            picture=picture, height=height,
        )  # fmt: skip
        server.shutdown()
        assert server.replied.is_set(), f"the page did not reply: {seen}"
        return server.replies


def headless(
    chromium: str,
    address: str,
    profile: Path,
    *,
    picture: Path | None,
    height: int,
    width: int = 960,
) -> str:
    """Open a page until it has loaded, and return what Chromium wrote."""
    done = subprocess.run(
        [
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--user-data-dir={profile}", f"--window-size={width},{height}",
            f"--screenshot={picture}" if picture else "--dump-dom",
            address,
        ],
        cwd=profile, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
