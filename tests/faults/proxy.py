"""Stand between a client and a real server: let requests through, or spoil them before or after the server's work."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import socket
import socketserver
import struct
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Seen:
    """One request that arrived, and when (seconds of a monotonic clock)."""

    method: str
    path: str
    moment: float


class Exchange:
    """One request at the proxy, for a fault to deal with."""

    def __init__(self, handler, body, proxy):
        self.body = body
        self._handler = handler
        self._proxy = proxy

    def forward(self, body=None):
        """Have the real server do the work; return (status, headers, body) of its answer."""
        handler = self._handler
        connection = http.client.HTTPConnection(*self._proxy.target, timeout=120)
        try:
            headers = {"content-type": handler.headers.get("content-type", "application/json")}
            connection.request(handler.command, handler.path, self.body if body is None else body, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def answer(self, status, body, headers=(), *, length=None):
        """Give an answer; `length` is what it says of its length, if not the truth; -1 says nothing and hangs up."""
        handler = self._handler
        handler.send_response_only(status)
        for name, value in dict(headers).items():
            handler.send_header(name, value)
        if length == -1:
            handler.send_header("connection", "close")
        else:
            handler.send_header("content-length", str(len(body) if length is None else length))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)
        handler.close_connection = handler.close_connection or length is not None

    def relay(self, status, headers, body):
        """Give the real server's answer as it is."""
        kept = {name: value for name, value in headers.items() if name.lower() in {"content-type", "retry-after"}}
        length = int(headers.get("content-length", 0)) if self._handler.command == "HEAD" else None
        self.answer(status, body, kept, length=length)

    def hang(self):
        """Say nothing until the client has gone, or the proxy ends."""
        while not self._proxy.closing.wait(0.05):
            self._handler.connection.settimeout(0.01)
            try:
                if not self._handler.connection.recv(1, socket.MSG_PEEK):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self._handler.close_connection = True

    def hang_up(self):
        """Close the connection in good order."""
        self._handler.close_connection = True

    def reset(self):
        """Close the connection with a reset."""
        connection = self._handler.connection
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(connection.detach())
        self._handler.close_connection = True


class FaultProxy:
    """A proxy in front of the server at `url`.

    Attributes:
        url: where it listens.
        seen: requests that arrived, oldest first.
    """

    def __init__(self, url, *, port=0):
        parts = urlsplit(url)
        self.target = (parts.hostname, parts.port)
        self.closing = threading.Event()
        self.seen = []
        self._lock = threading.Lock()
        self._fault, self._on, self._left = None, None, 0
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                exchange = Exchange(self, body, proxy)
                fault = proxy._arrived(self.command, self.path)
                if fault is None:
                    exchange.relay(*exchange.forward())
                else:
                    fault(exchange)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = serve  # noqa: N815 - the base class's own names

            def log_message(self, *_):
                """Say nothing."""

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_):
                """A client that has gone is no error here."""

        self._server = Server(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def strike(self, fault, *, on=None, times=10**9):
        """Let `fault` deal with the next `times` requests of which `on(method, path)` holds."""
        with self._lock:
            self._fault, self._on, self._left = fault, on, times

    def calm(self):
        """Let everything through again."""
        self.strike(None, times=0)

    def count(self, on=None, *, since=0):
        """How many requests arrived after the first `since`, of which `on` holds."""
        return sum(on is None or on(each.method, each.path) for each in self.seen[since:])

    def _arrived(self, method, path):
        with self._lock:
            self.seen.append(Seen(method, path, time.monotonic()))
            if self._left <= 0 or (self._on is not None and not self._on(method, path)):
                return None
            self._left -= 1
            return self._fault


# -- faults: each deals with one exchange


def before(status, body=b'{"error": {"type": "busy", "reason": "queue full"}}', **headers):
    """Answer in the server's place; it never hears of the request."""
    content = headers.pop("content_type", "application/json")
    named = {"content-type": content} | {name.replace("_", "-"): value for name, value in headers.items()}

    def fault(exchange):
        exchange.answer(status, body, {name: value() if callable(value) else value for name, value in named.items()})

    return fault


def after(status, body, content_type="application/json"):
    """Answer so after the server has done the work."""

    def fault(exchange):
        exchange.forward()
        exchange.answer(status, body, {"content-type": content_type})

    return fault


def broken(how, *, worked):
    """End the connection by `how`, a method of `Exchange`, before or after the server has done the work."""

    def fault(exchange):
        if worked:
            exchange.forward()
        getattr(exchange, how)()

    return fault


def cut(*, length):
    """Give half of the real answer; `length="true"` announces the whole, "none" nothing."""

    def fault(exchange):
        status, headers, body = exchange.forward()
        kept = {"content-type": headers.get("content-type", "application/json")}
        exchange.answer(status, body[: len(body) // 2], kept, length=len(body) if length == "true" else -1)

    return fault


def refuse_items(status, kind, positions=(0,)):
    """Store all rows of a bulk body but those at `positions`, and say of these that they were refused."""

    def fault(exchange):
        lines = exchange.body.splitlines(keepends=True)
        pairs = [lines[number : number + 2] for number in range(0, len(lines), 2)]
        kept = [pair for number, pair in enumerate(pairs) if number not in positions]
        answer = {"took": 1, "errors": True, "items": []}
        if kept:
            answer = json.loads(exchange.forward(b"".join(line for pair in kept for line in pair))[2])
        for number, pair in enumerate(pairs):
            if number in positions:
                row_id = json.loads(pair[0])["index"]["_id"]
                refusal = {"_id": row_id, "status": status, "error": {"type": kind, "reason": "queue full"}}
                answer["items"].insert(number, {"index": refusal})
        exchange.answer(200, json.dumps(answer).encode(), {"content-type": "application/json"})

    return fault


def in_turn(*faults):
    """Be one of several faults after the other, round and round."""
    turns = itertools.cycle(faults)

    def fault(exchange):
        next(turns)(exchange)

    return fault
