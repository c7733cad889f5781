"""Send one request to a search server: encoded, retried with jitter, counted, every failure typed."""

from __future__ import annotations

import itertools
import random
import time
from typing import TYPE_CHECKING, Any, Self

import orjson
import tenacity

from mem_opensearch.client import failures
from mem_opensearch.client.detect import detect_dialect
from mem_opensearch.client.echo import cleaned
from mem_opensearch.client.encoding import encode
from mem_opensearch.client.transport import NoAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.client.transport import Answer, Transport
    from mem_opensearch.dialects import Dialect
    from mem_opensearch.errors import MemOpenSearchError
    from mem_opensearch.models import Engine

BACKOFF_SECONDS = (
    0.25  # doubled at each try, with full jitter (AWS Architecture Blog, "Exponential Backoff and Jitter")
)
BACKOFF_LIMIT = 5.0
BLOCK_WAIT = (0.05, 0.5)  # between two looks at a write block, which a roll takes off within a second or so
_ERROR_STATUS = 300


class _Retry(Exception):  # noqa: N818 - a signal between two functions of this file
    """One try failed in a way that another may mend; `error` is what to raise when none does."""

    def __init__(self, error: MemOpenSearchError, *, blocked: bool = False) -> None:
        self.error = error
        self.blocked = blocked
        super().__init__()


class SearchClient:
    """A connection to one cluster, safe to share between threads.

    Args:
        transport: what carries the requests.
        timeout: seconds that one request may take, unless the call says otherwise.
        max_tries: tries of one request, the first included.
        owned: whether `close` closes the transport; not when the caller brought it.
        engine: the kind of the server, where the configuration says it.

    Attributes:
        requests: HTTP requests sent so far, retries included.
    """

    def __init__(
        self, transport: Transport, *, timeout: float, max_tries: int, owned: bool, engine: Engine | None = None
    ) -> None:
        self.transport = transport
        self._engine = engine
        self._dialect: Dialect | None = None
        self._timeout = timeout
        self._max_tries = max_tries
        self._owned = owned
        self._counter = itertools.count(1)
        self.requests = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, unless the caller brought the client."""
        if self._owned:
            self.transport.close()

    @property
    def hosts(self) -> list[str]:
        """The hosts that requests go to, without credentials."""
        return self.transport.hosts

    @property
    def dialect(self) -> Dialect:
        """What the server speaks; it is asked the first time, see `detect_dialect`."""
        if self._dialect is None:  # `cached_property` has a lock in Python 3.11, which a fork may leave closed
            self._dialect = detect_dialect(self, self._engine)
        return self._dialect

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: object = None,
        accept: Sequence[int] = (),
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Send one request and return the decoded answer.

        Every request of this package may be sent twice without harm (writes carry their id), so time-outs, resets and
        429/502/503/504 are retried with jittered backoff. So is a write that meets a write block, for up to
        `failures.BLOCK_SECONDS`, however many tries that takes: a roll has one for a moment.

        Args:
            method: HTTP method.
            path: absolute path, made by `path_of`.
            params: URL parameters.
            body: JSON value, or bytes that are sent as they are.
            accept: error statuses that the caller treats as an answer; their body is returned with ``"status"`` in it.
            timeout: seconds for this request, instead of the configured ones.

        Raises:
            InvalidInputError: the body can't be written as JSON.
            IndexStateError: the index does not exist.
            BackendError: and its kinds, for everything else.
        """
        action = f"{method} {path}"
        try:
            data = body if body is None or isinstance(body, bytes) else encode(body)
        except TypeError as error:
            raise failures.from_encoding(error, action=action) from None
        tries: list[str] = []
        retrying = tenacity.Retrying(
            stop=_Stop(self._max_tries),
            wait=_wait,
            retry=tenacity.retry_if_exception_type(_Retry),
            reraise=True,
        )
        try:
            return retrying(
                self._try,
                method,
                path,
                params=params or {},
                data=data,
                accept=accept,
                timeout=timeout or self._timeout,
                tries=tries,
            )
        except _Retry as last:
            raise last.error from last.__cause__

    def _try(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any],
        data: bytes | None,
        accept: Sequence[int],
        timeout: float,
        tries: list[str],
    ) -> dict[str, Any]:
        action = f"{method} {path}"
        self.requests = next(self._counter)
        try:
            answer = self.transport.send(method, path, params=params, body=data, timeout=timeout)
        except NoAnswer as error:
            if error.known is not None:
                raise error.known from None
            tries.append(error.note)
            given_up = failures.from_socket(error, action=action, hosts=self.hosts, tries=tries)
            if not error.passing:
                raise given_up from error
            raise _Retry(given_up) from error
        if method == "HEAD" and answer.status in {200, 404}:
            return {"exists": answer.status != 404}  # noqa: PLR2004
        if answer.status >= _ERROR_STATUS:
            return self._refused(answer, data, action=action, accept=accept, tries=tries)
        try:
            decoded = orjson.loads(answer.body)
        except ValueError as error:
            raise failures.from_body(error, action=action) from None  # the error would quote the body
        if not isinstance(decoded, dict):
            raise failures.from_body(TypeError(type(decoded).__name__), action=action)
        return decoded

    def _refused(
        self, answer: Answer, sent: bytes | None, *, action: str, accept: Sequence[int], tries: list[str]
    ) -> dict[str, Any]:
        """Return an error answer that the caller accepts, or raise what it means."""
        info = cleaned(failures.decode(answer.body), sent)
        if answer.status in accept:
            return {**(info if isinstance(info, dict) else {"error": info}), "status": answer.status}
        tries.append(str(answer.status))
        blocked = failures.is_write_block(info)
        if blocked:
            tries[:] = list(dict.fromkeys(tries))  # hundreds of equal ones say no more
        error = failures.from_status(answer.status, info, action=action, tries=tries)
        if blocked or answer.status in failures.RETRIABLE_STATUS:
            raise _Retry(error, blocked=blocked)
        raise error


class _Stop:
    """End the tries of one request: after so many failures, or after so long a wait for a write block."""

    def __init__(self, max_tries: int) -> None:
        self._left = max_tries
        self._blocked_since: float | None = None

    def __call__(self, state: tenacity.RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, _Retry) and error.blocked:
            self._blocked_since = self._blocked_since or time.monotonic()
            return time.monotonic() - self._blocked_since >= failures.BLOCK_SECONDS
        self._left -= 1
        return self._left <= 0


def _wait(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _Retry) and error.blocked:
        return random.uniform(*BLOCK_WAIT)  # noqa: S311 - jitter
    return tenacity.wait_random_exponential(multiplier=BACKOFF_SECONDS, max=BACKOFF_LIMIT)(state)
