"""What `SearchClient` needs of an engine's client package: send one request, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.errors import MemOpenSearchError


class Answer(NamedTuple):
    """What a server answered, of whatever status.

    Attributes:
        status: HTTP status.
        headers: names in lower case.
        body: as it came, not decoded.
    """

    status: int
    headers: Mapping[str, str]
    body: str | bytes


class NoAnswer(Exception):  # noqa: N818 - a signal between a transport and `SearchClient`, never seen outside
    """A request got no answer.

    Attributes:
        note: what happened, in two words: ``"time-out"``, ``"no connection"``, ``"TLS failure"``.
        passing: whether another try may mend it.
        known: the error to raise, when the transport knows what it means better than a general one says.
    """

    def __init__(self, note: str, detail: str, *, passing: bool, known: MemOpenSearchError | None = None) -> None:
        self.note = note
        self.passing = passing
        self.known = known
        super().__init__(detail)


class Transport(Protocol):
    """One engine's client package, reduced to what is used of it; safe to share between threads."""

    @property
    def hosts(self) -> list[str]:
        """The hosts that requests go to, without credentials."""

    def send(
        self, method: str, path: str, *, params: Mapping[str, object], body: bytes | None, timeout: float
    ) -> Answer:
        """Send one request to one host, without retries and without logging it.

        Raises:
            NoAnswer: nothing, or nothing whole, came back.
        """

    def close(self) -> None:
        """Close the connections."""
