"""Count what goes over the wire: requests and bytes of every opensearch-py connection, ours and mem0's alike."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import opensearchpy

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONNECTIONS = (opensearchpy.Urllib3HttpConnection, opensearchpy.RequestsHttpConnection)
_METHOD = "perform_request"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it was sent.

    Attributes:
        method: HTTP method.
        path: with the parameters.
        body: as it was sent; empty where there was none.
        answered: bytes of the answer, decompressed.
    """

    method: str
    path: str
    body: bytes
    answered: int


@dataclass(slots=True)
class Wire:
    """What has been sent since it was opened."""

    requests: list[Request] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def per_call(self, calls: int) -> dict[str, float]:
        """Return requests, and bytes sent and received, for each of so many calls."""
        return {
            "requests": round(len(self.requests) / calls, 2),
            "bytes_sent": round(sum(len(each.body) for each in self.requests) / calls),
            "bytes_received": round(sum(each.answered for each in self.requests) / calls),
        }


@contextmanager
def watching() -> Iterator[Wire]:
    """Note every request of this process until the end of the with statement. Not for what is timed: it costs time."""
    wire = Wire()
    originals = {kind: kind.perform_request for kind in _CONNECTIONS}

    def noting(original: Any) -> Any:  # noqa: ANN401 - a method
        def perform_request(self, method, url, params=None, body=None, *rest, **options):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN202 - as it is there
            answer = original(self, method, url, params, body, *rest, **options)
            sent = body.encode() if isinstance(body, str) else body or b""
            received = answer[2].encode() if isinstance(answer[2], str) else answer[2] or b""
            path = f"{url}?{urlencode(params)}" if params else url
            with wire.lock:
                wire.requests.append(Request(method, path, sent, len(received)))
            return answer

        return perform_request

    for kind, original in originals.items():
        setattr(kind, _METHOD, noting(original))
    try:
        yield wire
    finally:
        for kind, original in originals.items():
            setattr(kind, _METHOD, original)
