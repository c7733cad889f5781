"""Let the page's connection send nothing that writes, and keep what was sent for a search."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from mem_opensearch.client.transport import NoAnswer
from mem_opensearch.errors import PermissionDenied

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mem_opensearch.client.transport import Answer, Transport

_READS: Final = frozenset({"_search", "_msearch", "_count", "_mget", "_analyze", "_refresh", "point_in_time", "_pit"})
"""Last parts of the paths that a POST may have; those of a point in time may be deleted too. A refresh, which follows a
write of this process, changes what is seen and nothing that is stored."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer. Headers are not kept: they hold the credentials.

    Attributes:
        method: of the request.
        path: of the request, with its parameters.
        sent: the body, as it went out; None where there is none.
        status: of the answer.
        got: the body of the answer.
    """

    method: str
    path: str
    sent: bytes | None
    status: int
    got: str | bytes


class ReadingTransport:
    """A transport that refuses whatever is no read.

    Args:
        inner: what sends.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._kept: list[Exchange] | None = None

    @property
    def hosts(self) -> list[str]:
        """The hosts that requests go to, without credentials."""
        return self._inner.hosts

    def send(
        self, method: str, path: str, *, params: Mapping[str, object], body: bytes | None, timeout: float
    ) -> Answer:
        """Send one request that reads.

        Raises:
            NoAnswer: it is no read, and was not sent; or nothing whole came back.
        """
        if not is_read(method, path):
            said = PermissionDenied(f"this page only reads: {method} {path} was not sent")
            raise NoAnswer("not sent", "the page only reads", passing=False, known=said)
        answer = self._inner.send(method, path, params=params, body=body, timeout=timeout)
        if self._kept is not None:
            shown = "&".join(f"{name}={value}" for name, value in params.items())
            self._kept.append(Exchange(method, path + ("?" if shown else "") + shown, body, answer.status, answer.body))
        return answer

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()

    @contextmanager
    def keeping(self) -> Iterator[list[Exchange]]:
        """Give the list that everything sent meanwhile is kept in, by whatever thread; one caller at a time."""
        kept: list[Exchange] = []
        self._kept = kept
        try:
            yield kept
        finally:
            self._kept = None


def is_read(method: str, path: str) -> bool:
    """Whether a request changes nothing.

    >>> is_read("POST", "/mem0/_search"), is_read("POST", "/mem0/_doc"), is_read("PUT", "/mem0/_mapping")
    (True, False, False)
    """
    if method in {"GET", "HEAD"}:
        return True
    parts = path.partition("?")[0].strip("/").split("/")
    if method == "DELETE":
        return parts[-1] in {"point_in_time", "_pit"}
    return method == "POST" and parts[-1] in _READS


def shown_body(body: bytes | str | None) -> str:
    """Return a body as indented JSON; of a list of more than eight numbers, a vector, the first four and how many.

    Lines of JSON are shown one after the other; what is none, as it is.
    """
    if not body:
        return ""
    raw = body.encode() if isinstance(body, str) else body
    try:
        values = [orjson.loads(raw)]
    except orjson.JSONDecodeError:
        try:
            values = [orjson.loads(line) for line in raw.splitlines() if line.strip()]
        except orjson.JSONDecodeError:
            return raw.decode(errors="replace")
    return "\n".join(orjson.dumps(shortened(value), option=orjson.OPT_INDENT_2).decode() for value in values)


def shortened(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return JSON with its vectors cut.

    >>> shortened({"vector": [0.5] * 512})
    {'vector': [0.5, 0.5, 0.5, 0.5, '… 508 more']}
    """
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > 8 and all(isinstance(item, int | float) for item in value):  # noqa: PLR2004 - see above
        return [*value[:4], f"… {len(value) - 4} more"]
    return [shortened(item) for item in value]
