"""Send one request to a search server: encoded, retried with jitter, counted, every failure typed."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any, Self

import orjson

from mem_opensearch import turns
from mem_opensearch.client import failures, shards
from mem_opensearch.client.detect import detect_dialect
from mem_opensearch.client.echo import cleaned
from mem_opensearch.client.encoding import encode
from mem_opensearch.client.patience import Patience
from mem_opensearch.client.transport import NoAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.client.transport import Answer, Transport
    from mem_opensearch.dialects import Dialect
    from mem_opensearch.errors import MemOpenSearchError
    from mem_opensearch.models import Engine

_ERROR_STATUS = 300


class _Retry(Exception):  # noqa: N818 - a signal between two functions of this file
    """One try failed in a way that another may mend; `error` is what to raise when none does."""

    def __init__(self, error: MemOpenSearchError, *, blocked: bool = False, retry_after: float | None = None) -> None:
        self.error = error
        self.blocked = blocked
        self.retry_after = retry_after
        super().__init__()


class Decoded(dict[str, Any]):
    """A decoded answer. A key that it should have and has not is an error of the server, not of ours."""

    def __init__(self, content: Mapping[str, Any], *, action: str) -> None:
        super().__init__(content)
        self.action = action

    def __missing__(self, key: str) -> Any:  # noqa: ANN401 - as a dict's
        raise failures.from_shape(f"'{key}' is missing", action=self.action)


class SearchClient:
    """A connection to one cluster, safe to share between threads.

    Args:
        transport: what carries the requests.
        timeout: seconds that one request may take, unless the call says otherwise.
        max_tries: tries of one request, the first included.
        max_retry_seconds: seconds in which a failed request may be tried again.
        owned: whether `close` closes the transport; not when the caller brought it.
        engine: the kind of the server, where the configuration says it.

    Attributes:
        requests: HTTP requests sent so far, retries included.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        timeout: float,
        max_tries: int,
        max_retry_seconds: float,
        owned: bool,
        engine: Engine | None = None,
    ) -> None:
        self.transport = transport
        self._engine = engine
        self._dialect: Dialect | None = None
        self._timeout = timeout
        self._max_tries = max_tries
        self._max_retry_seconds = max_retry_seconds
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

    def patience(self) -> Patience:
        """Return the tries and the time that one call has, from now on."""
        return Patience(max_tries=self._max_tries, max_seconds=self._max_retry_seconds)

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: object = None,
        accept: Sequence[int] = (),
        any_body: bool = False,
        timeout: float | None = None,
        patience: Patience | None = None,
    ) -> dict[str, Any]:
        """Send one request and return the decoded answer.

        Every request of this package may be sent twice without harm (writes carry their id), so what may pass is tried
        again, with jittered backoff and never sooner than the server asks for: see `failures.is_passing`. So is a write
        that meets a write block.

        Args:
            method: HTTP method.
            path: absolute path, made by `path_of`.
            params: URL parameters.
            body: JSON value, or bytes that are sent as they are.
            accept: error statuses that the caller treats as an answer; their body is returned with ``"status"`` in it.
            any_body: accept those also from what is no search server, such as a proxy; else only with a JSON object.
            timeout: seconds for each try, instead of the configured ones.
            patience: tries and time that are left of a call of several requests; those of one request if not given.

        Returns:
            The answer's JSON object. A key of it that is missing is a `BackendError` and no `KeyError`.

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
        patience = patience or self.patience()
        while True:
            try:
                return self._try(
                    method,
                    path,
                    params=params or {},
                    data=data,
                    accept=accept,
                    any_body=any_body,
                    timeout=patience.timeout(timeout or self._timeout),
                    tries=tries,
                )
            except _Retry as failed:
                seconds = (
                    patience.pause_for_block() if failed.blocked else patience.pause(retry_after=failed.retry_after)
                )
                if seconds is None:
                    raise failed.error from failed.__cause__
            with turns.waiting():
                time.sleep(seconds)

    def _try(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any],
        data: bytes | None,
        accept: Sequence[int],
        any_body: bool,
        timeout: float,
        tries: list[str],
    ) -> dict[str, Any]:
        action = f"{method} {path}"
        self.requests = next(self._counter)
        try:
            with turns.waiting():
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
            return self._refused(answer, data, action=action, accept=accept, any_body=any_body, tries=tries)
        try:
            decoded = orjson.loads(answer.body)
        except ValueError as error:
            failure = failures.from_body(error, action=action)
            if not failures.is_cut_off(answer.headers, answer.body):
                raise failure from None  # the cause would quote the body
            tries.append("cut-off answer")
            raise _Retry(failure) from None
        if not isinstance(decoded, dict):
            raise failures.from_body(TypeError(type(decoded).__name__), action=action)
        if why := shards.missing(path, decoded):
            tries.append("failed shards")
            raise _Retry(shards.from_missing(why, action=action, tries=tries))
        return Decoded(decoded, action=action)

    def _refused(
        self,
        answer: Answer,
        sent: bytes | None,
        *,
        action: str,
        accept: Sequence[int],
        any_body: bool,
        tries: list[str],
    ) -> dict[str, Any]:
        """Return an error answer that the caller accepts, or raise what it means."""
        info = cleaned(failures.decode(answer.body), sent)
        tries.append(str(answer.status))
        if answer.status in accept:
            if isinstance(info, dict) or any_body:
                content = info if isinstance(info, dict) else {"error": info}
                return Decoded({**content, "status": answer.status}, action=action)
            failure = failures.from_body(ValueError(), action=action)  # a proxy's 404 says nothing of what is stored
            if failures.is_cut_off(answer.headers, answer.body):
                raise _Retry(failure)
            raise failure
        blocked = failures.is_write_block(info)
        if blocked:
            tries[:] = list(dict.fromkeys(tries))  # hundreds of equal ones say no more
        wait = failures.retry_after(answer.headers)
        error = failures.from_status(answer.status, info, action=action, tries=tries, retry_after=wait)
        if blocked or failures.is_passing(answer.status, info):
            raise _Retry(error, blocked=blocked, retry_after=wait)
        raise error
