"""A server between client and node: it speaks TLS, checks who asks, notes all that arrives, and passes it on."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

import urllib3

USER, PASSWORD = "geheimnisträger", "秘密-Passwort-§42"  # what a header can't carry in Latin-1


@dataclass(frozen=True)
class Request:
    """One request as it arrived.

    Attributes:
        connection: number of the connection that it came on, 1 for the first.
        host: the ``Host`` header.
        subject: common name of the client certificate, or ''.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    subject: str = ""


Reply = tuple[int, Mapping[str, str], bytes]
Check = Callable[[Request], Reply | None]


def as_json(value: object, status: int = 200) -> Reply:
    return status, {"content-type": "application/json; charset=UTF-8"}, json.dumps(value).encode()


@dataclass
class Users:
    """Who may do what, answered as the security plugin of OpenSearch 2.19 answers (`test_plugin.py` has the real one).

    Attributes:
        accepted: ``Authorization`` header -> name of the user.
        readers: names of those that may only read.
    """

    accepted: dict[str, str] = field(default_factory=dict)
    readers: frozenset[str] = frozenset()

    def add(self, user: str, password: str) -> None:
        self.accepted["Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()] = user

    def __call__(self, request: Request) -> Reply | None:
        user = self.accepted.get(request.headers.get("authorization", ""))
        if user is None:
            challenge = {"WWW-Authenticate": 'Basic realm="OpenSearch Security"'}
            return 401, {**challenge, "content-type": "text/plain; charset=UTF-8"}, b"Unauthorized"
        action = _write_of(request)
        if user in self.readers and action:
            reason = f"no permissions for [{action}] and User [name={user}, backend_roles=[], requestedTenant=null]"
            error = {"type": "security_exception", "reason": reason}
            return as_json({"error": {"root_cause": [error], **error}, "status": 403}, 403)
        return None


def _write_of(request: Request) -> str:
    path = request.target.partition("?")[0]
    if path.endswith("/_bulk"):
        return "indices:data/write/bulk"
    if request.method in {"PUT", "DELETE"} or "/_update/" in path:
        return "indices:admin/create" if request.method == "PUT" else "indices:data/write/delete"
    return ""


class Gateway:
    """A server on a free port of this machine; a context manager.

    Args:
        upstream: URL of the node that requests are passed on to.
        check: gives the answer to a request, or None to pass it on.
        context: TLS side; plain http without one.
    """

    def __init__(
        self, upstream: str | None = None, *, check: Check | None = None, context: ssl.SSLContext | None = None
    ) -> None:
        self.upstream = upstream
        self.check = check
        self.requests: list[Request] = []
        self.connections = 0
        self.lock = threading.Lock()
        self.pool = urllib3.PoolManager(maxsize=32)
        self._context = context
        self._server = _Server(("127.0.0.1", 0), _Handler, self, context)
        scheme = "https" if context else "http"
        self.port = self._server.server_address[1]
        self.url = f"{scheme}://localhost:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, request: Request) -> Reply:
        with self.lock:
            self.requests.append(request)
        if self.check is not None and (answer := self.check(request)) is not None:
            return answer
        if self.upstream is None:
            return as_json({})
        kept = {"content-type", "content-encoding", "accept-encoding", "accept"}
        headers = {name: value for name, value in request.headers.items() if name in kept}
        answer = self.pool.request(
            request.method,
            self.upstream + request.target,
            body=request.body or None,
            headers=headers,
            decode_content=False,
            retries=False,
            timeout=120,
        )
        passed_on = {name: value for name, value in answer.headers.items() if name.lower() not in _BY_US}
        return answer.status, passed_on, answer.data


_BY_US = {"content-length", "transfer-encoding", "connection"}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address, handler, gateway, context) -> None:
        self.gateway = gateway
        self.context = context
        super().__init__(address, handler)

    def handle_error(self, request, client_address) -> None:
        """Say nothing of failed handshakes: they are what is tested."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        gateway = self.server.gateway
        if self.server.context is not None:
            self.request.settimeout(60)
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
        with gateway.lock:
            gateway.connections += 1
            self.number = gateway.connections
        super().setup()

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        subject = ""
        if isinstance(self.request, ssl.SSLSocket) and (shown := self.request.getpeercert()):
            subject = dict(pair for (pair,) in shown["subject"]).get("commonName", "")
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, body, self.number, subject)
        status, headers, body = self.server.gateway.reply(request)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer  # noqa: N815 - http.server's names

    def log_message(self, *_: object) -> None:
        """Log nothing."""
