"""Serves the explorer page and one release to this machine only."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from duckdb_priv.explorer.parts import cache

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".wasm": "application/wasm",
}
HEADERS = {
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
LOOPBACK = "127.0.0.1"


class Explorer(ThreadingHTTPServer):
    """A server on a free port of the loopback address; every path begins with a random token.

    It serves only a fixed list of files, so requests cannot list folders or read other files. The token excludes other
    users of the machine. The check of the ``Host`` header excludes other web sites whose name resolves to this address.
    """

    daemon_threads = True

    def __init__(self, parts: Mapping[str, Path], release: Path | None) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.name = release.name if release else ""
        self.files = {"": parts["index.html"], **parts}
        if release:
            self.files.setdefault(self.name, release)
        self.token = secrets.token_urlsafe(16)
        self.host = f"{LOOPBACK}:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore requests that end early."""

    def address(self, question: str = "") -> str:
        """Return the address of the page that opens the release and shows a question, given as in the page's links."""
        opened = f"?open={quote(self.name, safe='')}" if self.name else ""
        return f"http://{self.host}/{self.token}/{opened}{'#' if question else ''}{question.removeprefix('#')}"


class _Handler(BaseHTTPRequestHandler):
    server: Explorer

    def do_GET(self) -> None:
        try:
            file = self._asked()
        except ValueError:
            # An invalid address, such as //[.
            self.send_error(400)
            return
        if file is None:
            self.send_error(404)
            return
        try:
            with file.open("rb") as content:
                self.send_response(200)
                self.send_header("Content-Type", KINDS.get(file.suffix, "application/octet-stream"))
                self.send_header("Content-Length", str(file.stat().st_size))
                # The engine never changes, but the release may change before the next request.
                kept = file.is_relative_to(cache())
                self.send_header("Cache-Control", "private, max-age=3600" if kept else "no-store")
                for name, value in HEADERS.items():
                    self.send_header(name, value)
                self.end_headers()
                shutil.copyfileobj(content, self.wfile)
        except ConnectionError:
            # The client has closed the connection.
            pass
        except OSError:
            self.send_error(404)

    def _asked(self) -> Path | None:
        """Return the requested file; None unless the request comes from this page and names one of its files."""
        token, _, name = urlsplit(self.path).path.removeprefix("/").partition("/")
        same = self.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
        if self.headers.get("Host") != self.server.host or not same:
            return None
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            return None
        return self.server.files.get(unquote(name))

    def log_message(self, *_: Any) -> None:
        """Print nothing."""
