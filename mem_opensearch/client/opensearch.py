"""Carry requests to OpenSearch through opensearch-py."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from mem_opensearch.client.base import SearchClient
from mem_opensearch.client.transport import Answer, NoAnswer
from mem_opensearch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import opensearchpy

    from mem_opensearch.config import StoreConfig

_EVERY_STATUS = range(300, 600)


class OpenSearchTransport:
    """A `Transport` over an opensearch-py client.

    The client's connections are used, not its `perform_request`, which retries without a pause and keeps an answer's
    status and headers to itself.

    Args:
        raw: the client.
    """

    def __init__(self, raw: opensearchpy.OpenSearch) -> None:
        self.raw = raw

    @property
    def hosts(self) -> list[str]:
        """The hosts that requests go to, without credentials."""
        return [connection.host for connection in self.raw.transport.connection_pool.connections]

    def send(
        self, method: str, path: str, *, params: Mapping[str, object], body: bytes | None, timeout: float
    ) -> Answer:
        """Send one request to one host; a host that gives no answer is left out for a while, if there are others."""
        import opensearchpy.exceptions as raised

        transport = self.raw.transport
        connection = transport.get_connection()
        try:
            status, headers, data = connection.perform_request(
                method, path, params=dict(params), body=body, timeout=timeout, ignore=_EVERY_STATUS
            )
        except raised.SSLError as error:
            raise NoAnswer("TLS failure", str(error), passing=False) from error
        except raised.ConnectionError as error:  # ConnectionTimeout is one
            transport.mark_dead(connection)
            note = "time-out" if isinstance(error, raised.ConnectionTimeout) else "no connection"
            raise NoAnswer(note, str(error), passing=True) from error
        except raised.OpenSearchException as error:
            raise NoAnswer("failure", str(error), passing=False) from error
        transport.connection_pool.mark_live(connection)
        return Answer(status, {name.lower(): value for name, value in headers.items()}, data)

    def close(self) -> None:
        """Close the connections."""
        self.raw.close()


def open_client(config: StoreConfig, urls: Sequence[str]) -> SearchClient:
    """Return a client for `urls`, made from the connection options; nothing is sent.

    Args:
        config: where the options come from; with `config.client` that client is used.
        urls: server URLs, as `config.urls` or the local node gives them.

    Raises:
        ConfigError: an option that the transport can't honour.
    """
    import opensearchpy

    engine = None if config.engine == "auto" else config.engine
    if config.client is not None:
        if not hasattr(config.client, "transport"):
            raise ConfigError(f"'client' is a {type(config.client).__name__}; give an opensearchpy.OpenSearch")
        given = OpenSearchTransport(config.client)
        return SearchClient(given, timeout=config.timeout, max_tries=config.max_tries, owned=False, engine=engine)
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
    )
    return SearchClient(
        OpenSearchTransport(raw), timeout=config.timeout, max_tries=config.max_tries, owned=True, engine=engine
    )


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
