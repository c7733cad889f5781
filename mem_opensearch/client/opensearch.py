"""Send one request to OpenSearch: encoded, retried with jitter, counted, every failure typed."""

from __future__ import annotations

import itertools
import random
import time
import warnings
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import orjson
import tenacity

from mem_opensearch.client import failures
from mem_opensearch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import opensearchpy

    from mem_opensearch.config import StoreConfig
    from mem_opensearch.errors import MemOpenSearchError

BACKOFF_SECONDS = (
    0.25  # doubled at each try, with full jitter (AWS Architecture Blog, "Exponential Backoff and Jitter")
)
BACKOFF_LIMIT = 5.0
BLOCK_WAIT = (0.05, 0.5)  # between two looks at a write block, which a roll takes off within a second or so


class _Retry(Exception):  # noqa: N818 - a signal between two functions of this file
    """One try failed in a way that another may mend."""

    def __init__(self, note: str, cause: Exception, *, blocked: bool = False) -> None:
        self.note = note
        self.cause = cause
        self.blocked = blocked
        super().__init__(note)


def encode(body: object) -> bytes:
    """Return `body` as JSON; numpy vectors are written without a copy to lists.

    Raises:
        TypeError: the body holds something that JSON has no form for.
    """
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def encode_lines(bodies: Iterable[object]) -> bytes:
    """Return `bodies` as newline-delimited JSON, as `_bulk` and `_msearch` want it."""
    return b"".join(
        orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE) for body in bodies
    )


def path_of(*parts: str) -> str:
    """Return a URL path of escaped parts: ids and names are only ever data.

    >>> path_of("memories", "_doc", "a/b?c")
    '/memories/_doc/a%2Fb%3Fc'
    """
    return "/" + "/".join(quote(part, safe="") for part in parts)


class SearchClient:
    """A connection to one OpenSearch cluster, safe to share between threads.

    Attributes:
        requests: HTTP requests sent so far, retries included.
    """

    def __init__(self, raw: opensearchpy.OpenSearch, *, timeout: float, max_tries: int, owned: bool) -> None:
        self._raw = raw
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
            self._raw.close()

    @property
    def hosts(self) -> list[str]:
        """The hosts that requests go to, without credentials."""
        return [connection.host for connection in self._raw.transport.connection_pool.connections]

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
        sent_params = {**(params or {}), "request_timeout": timeout or self._timeout}
        tries: list[str] = []
        retrying = tenacity.Retrying(
            stop=_Stop(self._max_tries),
            wait=_wait,
            retry=tenacity.retry_if_exception_type(_Retry),
            reraise=True,
        )
        try:
            return retrying(self._send, method, path, params=sent_params, data=data, accept=accept, tries=tries)
        except _Retry as last:
            raise self._give_up(last.cause, action, tries) from last.cause

    def _send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any],
        data: bytes | None,
        accept: Sequence[int],
        tries: list[str],
    ) -> dict[str, Any]:
        import opensearchpy.exceptions as raised

        action = f"{method} {path}"
        self.requests = next(self._counter)
        try:
            answer = self._raw.transport.perform_request(method, path, params=dict(params), body=data)
        except raised.SSLError as error:
            tries.append("TLS failure")
            raise self._give_up(error, action, tries) from error
        except raised.ConnectionError as error:  # ConnectionTimeout is one
            note = "time-out" if isinstance(error, raised.ConnectionTimeout) else "no connection"
            tries.append(note)
            raise _Retry(note, error) from error
        except raised.TransportError as error:
            status = error.status_code if isinstance(error.status_code, int) else 0
            info = failures.decode(error.info or error.error)  # a body that is no JSON stands where the type would
            if status in accept:
                return {**(info if isinstance(info, dict) else {"error": info}), "status": status}
            tries.append(str(status))
            if failures.is_write_block(info):
                tries[:] = list(dict.fromkeys(tries))  # hundreds of equal ones say no more
                raise _Retry("write block", error, blocked=True) from error
            if status in failures.RETRIABLE_STATUS:
                raise _Retry(str(status), error) from error
            raise failures.from_status(status, info, action=action, tries=tries) from error
        except raised.OpenSearchException as error:  # SerializationError is one
            raise failures.from_body(error, action=action) from error
        if method == "HEAD":
            return {"exists": bool(answer)}
        if not isinstance(answer, dict):
            raise failures.from_body(TypeError(type(answer).__name__), action=action)
        return answer

    def _give_up(self, error: Exception, action: str, tries: list[str]) -> MemOpenSearchError:
        status = getattr(error, "status_code", None)
        if isinstance(status, int):
            info = failures.decode(getattr(error, "info", None))
            return failures.from_status(status, info, action=action, tries=tries)
        return failures.from_socket(error, action=action, hosts=self.hosts, tries=tries)


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


def open_client(config: StoreConfig, urls: Sequence[str]) -> SearchClient:
    """Return a client for `urls`, made from the connection options; nothing is sent.

    Args:
        config: where the options come from; with `config.client` that client is used.
        urls: server URLs, as `config.urls` or the local node gives them.

    Raises:
        ConfigError: an option that the transport can't honour.
    """
    import opensearchpy

    if config.client is not None:
        if not hasattr(config.client, "transport"):
            raise ConfigError(f"'client' is a {type(config.client).__name__}; give an opensearchpy.OpenSearch")
        return SearchClient(config.client, timeout=config.timeout, max_tries=config.max_tries, owned=False)
    if not config.verify_certs and any(url.startswith("https:") for url in urls):
        warnings.warn(
            "verify_certs=False: the server's certificate is not checked, so anyone on the way can read and change "
            "what is sent",
            stacklevel=3,
        )
    headers = {"authorization": f"ApiKey {config.api_key.get_secret_value()}"} if config.api_key else None
    raw = opensearchpy.OpenSearch(
        hosts=list(urls),
        http_auth=_auth_of(config),
        headers=headers,
        verify_certs=config.verify_certs,
        ssl_show_warn=False,  # said above, once, in our own words
        ca_certs=config.ca_certs,
        timeout=config.timeout,
        pool_maxsize=config.pool_maxsize,
        http_compress=config.http_compress,
        connection_class=_connection_class(config),
        max_retries=0,  # retried here, with a pause; the transport's own retries never sleep
    )
    return SearchClient(raw, timeout=config.timeout, max_tries=config.max_tries, owned=True)


def _auth_of(config: StoreConfig) -> object:
    if config.user is not None and config.password is not None:
        return (config.user, config.password.get_secret_value())
    return tuple(config.http_auth) if isinstance(config.http_auth, list) else config.http_auth


def _connection_class(config: StoreConfig) -> type[opensearchpy.Connection]:
    import opensearchpy

    given = config.connection_class
    known: dict[str, type[opensearchpy.Connection]] = {"Urllib3HttpConnection": opensearchpy.Urllib3HttpConnection}
    if given == "RequestsHttpConnection" or _needs_requests(config.http_auth):
        known["RequestsHttpConnection"] = opensearchpy.RequestsHttpConnection
        given = given or "RequestsHttpConnection"
    if isinstance(given, type):
        return given
    try:
        plain = known[str(given or "Urllib3HttpConnection")]
    except KeyError:
        names = "Urllib3HttpConnection, RequestsHttpConnection"
        raise ConfigError(f"connection_class '{given}' is unknown; known are: {names}, or a class") from None
    return type(f"Quiet{plain.__name__}", (_Quiet, plain), {})


class _Quiet:
    """Keep the transport from logging: at debug level it would write memory text, and a 404 is often an answer."""

    def log_request_success(self, *_: object) -> None:
        """Log nothing."""

    def log_request_fail(self, *_: object, **__: object) -> None:
        """Log nothing; the failure is raised, with all that it says."""


def _needs_requests(auth: object) -> bool:
    """Whether an auth object signs `requests` requests, as requests-aws4auth and opensearch-py's AWSV4SignerAuth do."""
    return any(base.__module__.startswith("requests.") for base in type(auth).__mro__)
