"""Stand between a store and a real node, and refuse what Amazon OpenSearch Serverless refuses.

A vector search collection of the service, in its strictest public description: `docs/serverless.md` says where each
refusal comes from, and which of the wordings were read in reports and which are only likely. Two things a node of ours
can't do are put right on the way: it has no native library, so `faiss` becomes `lucene` towards the node and `faiss`
again towards the store; and it shows every write by id at once, so reads by id are told to show what searches show.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import aoss_rules as rules
import urllib3


@dataclass
class Knobs:
    """What a test turns.

    Attributes:
        delay: seconds until searches see a write; the refresh interval of the indices that are made.
        signed: whether requests have to be signed for the service `aoss`.
        throttle: how many of the next write requests are answered 429 as a whole.
        throttle_items: how many of the next bulk requests have 429 for every second item.
        lose_answers: how many of the next write requests are carried out and then not answered.
        cold: seconds that the next request waits, as after a scale to zero.
    """

    delay: float = 0.3
    signed: bool = False
    throttle: int = 0
    throttle_items: int = 0
    lose_answers: int = 0
    cold: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, name: str) -> bool:
        """Count one of `name` down; return whether there was one."""
        with self.lock:
            left = getattr(self, name)
            setattr(self, name, max(0, left - 1))
            return left > 0


class ServerlessServer:
    """The proxy, on a port of its own.

    Args:
        upstream: URL of the node behind it.
        knobs: what tests turn.

    Attributes:
        url: where stores reach it.
        seen: (method, path) of every request, refused ones too.
        refused: (method, path, reason) of every refusal.
    """

    def __init__(self, upstream: str, **knobs: object) -> None:
        self.upstream = upstream.rstrip("/")
        self.knobs = Knobs(**knobs)
        self.seen: list[tuple[str, str]] = []
        self.refused: list[tuple[str, str, str]] = []
        self.pool = urllib3.PoolManager(maxsize=64, retries=False)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def show(self, index: str) -> None:
        """Let searches see what was written, as the service does when it likes to."""
        self.pool.request("POST", f"{self.upstream}/{index}/_refresh", timeout=60)

    def close(self) -> None:
        """Stop serving."""
        self._http.shutdown()
        self._http.server_close()
        self.pool.clear()

    def refusals(self) -> list[str]:
        """Return the refusals as text, without those that say nothing bad: a probe of what is not there."""
        probes = {("GET", "/"), ("GET", "/_cluster/health"), ("POST", "/_analyze")}
        return [f"{method} {path}: {reason}" for method, path, reason in self.refused if (method, path) not in probes]


def _handler_of(server: ServerlessServer) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        owner = server

    return Handler


class _Handler(BaseHTTPRequestHandler):
    owner: ServerlessServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_any(self) -> None:
        """Refuse the request, or hand it on."""
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = urlsplit(self.path)
        params = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.owner.seen.append((self.command, parts.path))
        knobs = self.owner.knobs
        if cold := knobs.cold:
            knobs.cold = 0.0
            time.sleep(cold)
        try:
            if knobs.signed:
                self._check_signature(body)
            route = rules.check_route(self.command, parts.path)
            rules.check_params(route, params)
            rules.check_body(route, body)
            self._check_pressure(route)
        except rules.RefusedError as refusal:
            self.owner.refused.append((self.command, parts.path, refusal.reason))
            self._answer(refusal.status, refusal.body())
            return
        if route.kind == "bulk":
            self._bulk(parts.path, params, body)
            return
        body = rules.translate_request(route, body, delay=knobs.delay)
        if route.kind == "get":
            params["realtime"] = "false"
        status, data = self._ask(parts.path, params, body)
        if route.writes and knobs.take("lose_answers"):
            self.close_connection = True
            return
        self._answer(status, rules.translate_answer(route, data))

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_any  # noqa: N815 - the names are http.server's

    def _bulk(self, path: str, params: dict[str, str], body: bytes) -> None:
        """Refuse single items, and hand the others on."""
        actions = list(rules.actions_of(body))
        throttled = self.owner.knobs.take("throttle_items")
        results: list[dict | None] = []
        kept = []
        for position, (verb, about, lines) in enumerate(actions):
            reason = rules.REASON_ID if verb in {"index", "create"} and "_id" in about else None
            reason = rules.REASON_UPDATE if verb == "update" else reason
            if reason is not None:
                error = {"type": "illegal_argument_exception", "reason": reason}
                item = {"_index": about.get("_index", ""), "_id": about.get("_id"), "status": 400, "error": error}
                results.append({verb: item})
                self.owner.refused.append(("POST", path, reason))
            elif throttled and position % 2:
                error = {"type": "rejected_execution_exception", "reason": "Request throttled"}
                results.append({verb: {"_index": "", "_id": None, "status": 429, "error": error}})
            else:
                results.append(None)
                kept.append(b"".join(lines))
        answer = {"took": 0, "errors": False, "items": []}
        if kept:
            status, data = self._ask(path, params, b"".join(kept))
            if self.owner.knobs.take("lose_answers"):
                self.close_connection = True
                return
            if status >= 300:
                self._answer(status, data)
                return
            answer = json.loads(data)
        done = iter(answer["items"])
        answer["items"] = [refused or next(done) for refused in results]
        answer["errors"] = any(item["status"] >= 300 for each in answer["items"] for item in each.values())
        self._answer(200, json.dumps(answer).encode())

    def _ask(self, path: str, params: dict[str, str], body: bytes) -> tuple[int, bytes]:
        kind = {"content-type": self.headers.get("content-type", "application/json")}
        url = f"{self.owner.upstream}{path}" + (f"?{urlencode(params)}" if params else "")
        answer = self.owner.pool.request(self.command, url, body=body or None, headers=kind, timeout=120)
        return answer.status, answer.data

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("server", "aoss-amazon")
        self.send_header("x-request-id", str(uuid.uuid4()))
        self.send_header("content-type", "application/json; charset=UTF-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            with suppress(BrokenPipeError):  # the client did not wait for it
                self.wfile.write(body)

    def _check_pressure(self, route: rules.Route) -> None:
        if route.writes and self.owner.knobs.take("throttle"):
            raise rules.RefusedError(429, "rejected_execution_exception", "Request throttled")

    def _check_signature(self, body: bytes) -> None:
        """Check the form of a signature, not its secret: the service, and the sum of the body, that it must cover."""
        auth = self.headers.get("authorization", "")
        if not auth.startswith("AWS4-HMAC-SHA256 "):
            raise rules.RefusedError(401, "", "no signature")
        given = self.headers.get("x-amz-content-sha256", "")
        right = given in {hashlib.sha256(body).hexdigest(), "UNSIGNED-PAYLOAD"}
        if "/aoss/aws4_request" not in unquote(auth) or not right:
            raise rules.RefusedError(403, "Forbidden", "403 Forbidden")
