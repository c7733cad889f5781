"""Carry requests to OpenSearch through opensearch-py."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from mem_opensearch.client import tls
from mem_opensearch.client.auth import secrets_of
from mem_opensearch.client.base import SearchClient
from mem_opensearch.client.connections import connection_options
from mem_opensearch.client.echo import LEFT_OUT
from mem_opensearch.client.elasticsearch import is_official_client, open_elasticsearch
from mem_opensearch.client.per_process import PerProcess
from mem_opensearch.client.transport import Answer, NoAnswer
from mem_opensearch.errors import ConfigError, MemOpenSearchError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import opensearchpy

    from mem_opensearch.config import StoreConfig

_EVERY_STATUS = range(300, 600)


class OpenSearchTransport:
    """A `Transport` over an opensearch-py client.

    The client's connections are used, not its `perform_request`, which retries without a pause and keeps an answer's
    status and headers to itself. A child process makes a client of its own.

    Args:
        raw: the client.
        make: makes another such client, for a child process; None when the caller brought the client.
        has_certificate: whether it shows a client certificate; None when that is not known.
        secrets: what is taken out of error answers; a proxy's page may show the whole request.
    """

    def __init__(
        self,
        raw: opensearchpy.OpenSearch,
        make: Callable[[], opensearchpy.OpenSearch] | None = None,
        *,
        has_certificate: bool | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        self._client = PerProcess(raw, make)
        self._has_certificate = has_certificate
        self._secrets = secrets

    @property
    def raw(self) -> opensearchpy.OpenSearch:
        """The client of this process, see `PerProcess.get`."""
        return self._client.get()

    @property
    def hosts(self) -> list[str]:
        """The hosts that requests go to, without credentials."""
        # Not `.connections`, which lacks those that are left out at the moment.
        return [connection.host for connection, _ in self.raw.transport.connection_pool.connection_opts]

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
        except raised.ConnectionError as error:  # SSLError and ConnectionTimeout are two
            failure = self._explain(error, connection.host)
            if failure.passing:
                transport.mark_dead(connection)
            raise failure from error
        except raised.OpenSearchException as error:
            raise NoAnswer("failure", str(error), passing=False) from error
        transport.connection_pool.mark_live(connection)
        for secret in self._secrets if status in _EVERY_STATUS else ():
            data = data.replace(secret, LEFT_OUT)
        return Answer(status, {name.lower(): value for name, value in headers.items()}, data)

    def _explain(self, error: opensearchpy.ConnectionError, host: str) -> NoAnswer:
        import opensearchpy.exceptions as raised

        if isinstance(error.info, MemOpenSearchError):  # of a signer
            return NoAnswer("failure", str(error.info), passing=False, known=error.info)
        failure = tls.find_failure(error.info)
        known = tls.explain(failure, host=host, has_certificate=self._has_certificate) if failure is not None else None
        if known is not None:
            return NoAnswer("TLS failure", str(error), passing=False, known=known)
        note = "time-out" if isinstance(error, raised.ConnectionTimeout) else "no connection"
        return NoAnswer(note, str(error), passing=True)

    def close(self) -> None:
        """Close the connections of this process."""
        if self._client.current is not None:
            self._client.current.close()


def open_client(config: StoreConfig, urls: Sequence[str]) -> SearchClient:
    """Return a client for `urls`, made from the connection options; nothing is sent.

    Args:
        config: where the options come from; with `config.client` that client is used.
        urls: server URLs, as `config.urls` or the local node gives them.

    Raises:
        ConfigError: an option that the transport can't honour, such as a file that can't be read.
    """
    import opensearchpy

    if config.engine == "elasticsearch" or is_official_client(config.client):
        return open_elasticsearch(config, urls)
    if config.client is not None:
        if not hasattr(config.client, "transport"):
            raise ConfigError(f"'client' is a {type(config.client).__name__}; give an opensearchpy.OpenSearch")
        given = OpenSearchTransport(config.client)
        return _client(given, config, owned=False)
    if not config.verify_certs and any(url.startswith("https:") for url in urls):
        warnings.warn(
            "verify_certs=False: the server's certificate is not checked, so anyone on the way can read and change "
            "what is sent",
            stacklevel=3,
        )

    def make() -> opensearchpy.OpenSearch:
        return opensearchpy.OpenSearch(hosts=list(urls), **connection_options(config, urls))

    transport = OpenSearchTransport(
        make(), make, has_certificate=config.client_cert is not None, secrets=secrets_of(config)
    )
    return _client(transport, config, owned=True)


def _client(transport: OpenSearchTransport, config: StoreConfig, *, owned: bool) -> SearchClient:
    return SearchClient(
        transport,
        timeout=config.timeout,
        max_tries=config.max_tries,
        max_retry_seconds=config.max_retry_seconds,
        owned=owned,
        engine=None if config.engine == "auto" else config.engine,
    )
