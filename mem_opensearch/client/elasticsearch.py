"""Carry requests to Elasticsearch through the connections of its official client, of major 8 or 9."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import orjson

from mem_opensearch import forks
from mem_opensearch.client import tls
from mem_opensearch.client.auth import authorization_of, secrets_of
from mem_opensearch.client.base import SearchClient
from mem_opensearch.client.echo import LEFT_OUT
from mem_opensearch.client.per_process import PerProcess
from mem_opensearch.client.transport import Answer, NoAnswer
from mem_opensearch.dialects import ElasticsearchDialect, version_of
from mem_opensearch.errors import ConfigError
from mem_opensearch.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import elasticsearch

    from mem_opensearch.config import StoreConfig

_PLAIN = "application/json"
_OK, _REDIRECT = 200, 300
_SILENT = frozenset({401, 403, 404})  # a server, or a proxy, that does not tell this caller what it is
_LINES = ("/_bulk", "/_msearch")


class ElasticsearchTransport:
    """A `Transport` over an official client.

    The client's nodes and its pool of them are used, not its `perform_request`, which decodes, retries and logs. Before
    the first request it asks the server who it is: a client of another major gets only refusals that don't say so, and
    what is no Elasticsearch is no server of this engine.

    Args:
        raw: the client.
        make: makes another such client, for a child process; None when the caller brought the client.
        has_certificate: whether it shows a client certificate; None when that is not known.
        secrets: what is taken out of error answers; a proxy's page may show the whole request.
    """

    def __init__(
        self,
        raw: elasticsearch.Elasticsearch,
        make: Callable[[], elasticsearch.Elasticsearch] | None = None,
        *,
        has_certificate: bool | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        package = require("elasticsearch", extra="elasticsearch", purpose="engine='elasticsearch'")
        self._client = PerProcess(raw, make)
        self._has_certificate = has_certificate
        self._secrets = [secret.encode() for secret in secrets]
        self._client_version: str = package.__versionstr__
        self._major = version_of(self._client_version)[0]
        self._lock = forks.Lock()
        self._is_checked = False

    @property
    def raw(self) -> elasticsearch.Elasticsearch:
        """The client of this process, see `PerProcess.get`."""
        return self._client.get()

    @property
    def hosts(self) -> list[str]:
        """The hosts that requests go to, without credentials."""
        return [node.base_url for node in self.raw.transport.node_pool.all()]

    def send(
        self, method: str, path: str, *, params: Mapping[str, object], body: bytes | None, timeout: float
    ) -> Answer:
        """Send one request to one host; a host that gives no answer is left out for a while, if there are others.

        Raises:
            NoAnswer: nothing, or nothing whole, came back.
            ConfigError: the server is no Elasticsearch, or of a major that the installed client can't talk to.
        """
        self._check_server(timeout)
        target = f"{path}?{urlencode(params)}" if params else path
        kind = "x-ndjson" if path.endswith(_LINES) else "json"
        return self._send(
            method,
            target,
            body,
            accept=self._media_type("json"),
            content_type=self._media_type(kind) if body is not None else None,
            timeout=timeout,
        )

    def _media_type(self, kind: str) -> str:
        """Return the media type by which a server answers as servers of the client's major do."""
        return f"application/vnd.elasticsearch+{kind}; compatible-with={self._major}"

    def _send(
        self, method: str, target: str, body: bytes | None, *, accept: str, content_type: str | None, timeout: float
    ) -> Answer:
        import elastic_transport as raised

        raw = self.raw
        pool = raw.transport.node_pool
        node = pool.get()
        # Where a client keeps its credentials, in both majors; there is no public way to them.
        headers = raw._headers.copy()  # noqa: SLF001
        headers["accept"] = accept
        if content_type is not None:
            headers["content-type"] = content_type
        try:
            meta, data = node.perform_request(method, target, body=body, headers=headers, request_timeout=timeout)
        except (raised.ConnectionError, raised.ConnectionTimeout) as error:  # TlsError is one
            failure = self._explain(error, node.base_url)
            if failure.passing:
                pool.mark_dead(node)
            raise failure from error
        pool.mark_live(node)
        for secret in self._secrets if meta.status >= _REDIRECT else ():
            data = data.replace(secret, LEFT_OUT.encode())
        return Answer(meta.status, {name.lower(): value for name, value in meta.headers.items()}, data)

    def _explain(self, error: Exception, host: str) -> NoAnswer:
        from elastic_transport import ConnectionTimeout

        failure = tls.find_failure(error)
        known = tls.explain(failure, host=host, has_certificate=self._has_certificate) if failure is not None else None
        if known is not None:
            return NoAnswer("TLS failure", str(error), passing=False, known=known)
        note = "time-out" if isinstance(error, ConnectionTimeout) else "no connection"
        return NoAnswer(note, str(error), passing=True)

    def _check_server(self, timeout: float) -> None:
        """Ask once who the server is, in the plain media type that every major takes."""
        if self._is_checked:
            return
        with self._lock:
            if self._is_checked:
                return
            answer = self._send("GET", "/", None, accept=_PLAIN, content_type=None, timeout=timeout)
            if _OK <= answer.status < _REDIRECT:
                self._check_product(answer)
            elif answer.status not in _SILENT:
                return  # it has trouble of its own now, which the request will meet too
            self._is_checked = True

    def _check_product(self, answer: Answer) -> None:
        where = ", ".join(self.hosts)
        if answer.headers.get("x-elastic-product") != "Elasticsearch":
            raise ConfigError(
                f"engine is 'elasticsearch', but what answers at {where} does not say that it is Elasticsearch 8 or "
                "later; set engine=auto, or give the 'url' of another server"
            )
        number = _number_in(answer.body)
        if number is None:
            return
        server = version_of(number)[0]
        if server - self._major not in {0, 1}:  # a server understands the major before its own, and none after it
            ours = f"the installed client 'elasticsearch' is {self._client_version}"
            raise ConfigError(
                f"the server at {where} is Elasticsearch {number} and {ours}, which servers of major {server} refuse; "
                f"run: pip install {_wanted(server)}; or set engine=auto, which needs no such client"
            )

    def close(self) -> None:
        """Close the connections of this process."""
        if self._client.current is not None:
            self._client.current.close()


def _number_in(body: str | bytes) -> str | None:
    try:
        number = orjson.loads(body)["version"]["number"]
    except (ValueError, KeyError, TypeError):
        return None
    return str(number)


def _wanted(major: int) -> str:
    """Return the requirement of a client for a server of this major.

    >>> _wanted(8), _wanted(9)
    ("'elasticsearch>=8.15,<9'", "'elasticsearch>=9,<10'")
    """
    oldest = ElasticsearchDialect.oldest
    least = f"{oldest[0]}.{oldest[1]}" if major == oldest[0] else str(major)
    return f"'elasticsearch>={least},<{major + 1}'"


def is_official_client(client: object) -> bool:
    """Whether an object that a caller gave is a client of the package `elasticsearch`."""
    return any(base.__module__.partition(".")[0] == "elasticsearch" for base in type(client).__mro__)


def open_elasticsearch(config: StoreConfig, urls: Sequence[str]) -> SearchClient:
    """Return a client for `urls`, made from the connection options; nothing is sent.

    Args:
        config: where the options come from; with `config.client` that client is used.
        urls: server URLs.

    Raises:
        MissingExtraError: the package `elasticsearch` is not installed.
        ConfigError: an option that its client can't honour.
    """
    if config.client is not None:
        if not is_official_client(config.client):
            raise ConfigError(
                f"engine is 'elasticsearch' and 'client' is a {type(config.client).__name__}; give an "
                "elasticsearch.Elasticsearch, or set engine=auto"
            )
        transport = ElasticsearchTransport(config.client)
    else:
        _refuse_options_of_the_other(config)
        if not config.verify_certs and any(url.startswith("https:") for url in urls):
            warnings.warn(
                "verify_certs=False: the server's certificate is not checked, so anyone on the way can read and change "
                "what is sent",
                stacklevel=4,
            )

        def make() -> elasticsearch.Elasticsearch:
            return _make_client(config, urls)

        transport = ElasticsearchTransport(
            make(), make, has_certificate=config.client_cert is not None, secrets=secrets_of(config)
        )
    return SearchClient(
        transport,
        timeout=config.timeout,
        max_tries=config.max_tries,
        max_retry_seconds=config.max_retry_seconds,
        owned=config.client is None,
        engine="elasticsearch",
    )


def _refuse_options_of_the_other(config: StoreConfig) -> None:
    if config.connection_class is not None:
        raise ConfigError("'connection_class' is opensearch-py's and has no effect with engine=elasticsearch")
    if config.aws_region is not None:
        raise ConfigError("'aws_region' signs requests to Amazon OpenSearch, not with engine=elasticsearch")
    if config.http_auth is not None and not isinstance(config.http_auth, list | tuple):
        raise ConfigError(
            f"'http_auth' is a {type(config.http_auth).__name__}, which signs requests of opensearch-py; with "
            "engine=elasticsearch give a (user, password) pair, 'api_key' or 'bearer_token'"
        )


def _make_client(config: StoreConfig, urls: Sequence[str]) -> elasticsearch.Elasticsearch:
    package = require("elasticsearch", extra="elasticsearch", purpose="engine='elasticsearch'")
    options: dict[str, Any] = {
        "node_class": _quiet_node(),
        "request_timeout": config.timeout,
        "connections_per_node": config.pool_maxsize,
        "http_compress": config.http_compress,
    }
    if (authorization := authorization_of(config)) is not None:
        options["headers"] = {"authorization": authorization}
    elif config.http_auth is not None:
        options["basic_auth"] = tuple(config.http_auth)
    if any(url.startswith("https:") for url in urls):
        tls.make_context(config, None)  # for its errors: given a context, the package would trust other authorities too
        named = {"ca_certs": config.ca_certs, "client_cert": config.client_cert, "client_key": config.client_key}
        options |= {"verify_certs": config.verify_certs, "ssl_show_warn": False}
        options |= {name: value for name, value in named.items() if value is not None}
    made: elasticsearch.Elasticsearch = package.Elasticsearch(list(urls), **options)
    return made


def _quiet_node() -> type:
    from elastic_transport import Urllib3HttpNode

    class QuietNode(Urllib3HttpNode):
        """A node that never logs: at debug level it would write memory text."""

        def _log_request(self, *_: object, **__: object) -> None:
            """Log nothing; a failure is raised, with all that it says."""

    return QuietNode
