"""Run the Elasticsearch emulator `noida-db`, and mend on the way what it gets wrong.

It is no Elasticsearch: a small program (PyPI, MIT) that speaks the REST API of Elasticsearch 8.15. What a test shows on
it holds for the shape of requests and answers, not for ranking or for faults. `MENDED` names what it answers otherwise
than the documentation says; a small proxy stands in front of it and puts that right, so that our code is
tested as it is.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import subprocess
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

import noida_db

if TYPE_CHECKING:
    from collections.abc import Iterator

MENDED = {
    "version": "With a client of major 9 it is made to say that it is 9.2.0: to a server 8 such a client is not let",
    "bulk by alias": "`POST /ALIAS/_bulk?require_alias=true` is refused: it looks at the index behind the alias. The "
    "proxy writes the alias into the lines instead, which means the same and which it takes",
}
REAL = os.environ.get("ELASTICSEARCH_URL")
"""URL of a real server; without it, the tests run on the emulator."""

START_SECONDS = 60
_OWN = frozenset({"host", "connection", "content-length", "date", "server"})  # what each leg says for itself


@contextlib.contextmanager
def run_emulator(folder: Path, *, says: str | None = None) -> Iterator[str]:
    """Start the emulator; give the URL of the proxy in front of it.

    Args:
        folder: for its data and its log.
        says: the version that it is to say; its own when not given.
    """
    port = _free_port()
    binary = Path(noida_db.__file__).parent / "noida-db"  # not the script of that name, which would leave it running
    binary.chmod(0o755)  # a wheel need not keep it executable; the script does the same
    command = [binary, "start", "--data-dir", folder, "--only", "elasticsearch", "--elasticsearch-port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        _wait_until_up(port, process, folder / "log")
        with proxy_to(port, says=says) as url:
            yield url
    finally:
        process.terminate()
        process.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_up(port: int, process: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the emulator did not come up:\n{log.read_text(errors='replace')}")


@contextlib.contextmanager
def proxy_to(port: int, *, says: str | None = None) -> Iterator[str]:
    """Start the proxy; give its URL."""

    class Handler(_Mending):
        upstream = port
        version = says

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Mending(BaseHTTPRequestHandler):
    """Pass a request on, mended where `MENDED` says so."""

    protocol_version = "HTTP/1.1"
    upstream: int
    version: str | None

    def setup(self) -> None:
        super().setup()
        self._connection = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=120)

    def finish(self) -> None:
        self._connection.close()
        super().finish()

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path, body = mend(self.command, self.path, body)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OWN}
        self._connection.request(self.command, path, body=body or None, headers=headers)
        answer = self._connection.getresponse()
        data = answer.read()
        if self.version is not None and self.command == "GET" and self.path == "/":
            data = re.sub(rb'"number":"[^"]+"', f'"number":"{self.version}"'.encode(), data)
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _OWN:
                self.send_header(name, value)
        length = answer.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(data))
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass_on  # noqa: N815 - names of the base class

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def mend(method: str, target: str, body: bytes) -> tuple[str, bytes]:
    """Return the target and the body as the emulator understands them."""
    parts = urlsplit(target)
    bulk = re.fullmatch(r"/([^/]+)/_bulk", parts.path)
    if method == "POST" and bulk and dict(parse_qsl(parts.query)).get("require_alias") == "true":
        lines = body.split(b"\n")
        for number, line in enumerate(lines):
            found = re.match(rb'\{"(index|create|update|delete)":\{', line)
            if found and not line.startswith(b'{"index":{"_index'):
                lines[number] = line[: found.end()] + f'"_index":"{bulk[1]}",'.encode() + line[found.end() :]
        return f"/_bulk?{urlencode(parse_qsl(parts.query))}", b"\n".join(lines)
    return target, body
