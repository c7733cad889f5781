"""Turn the options into what opensearch-py's connections are made with."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.auth import AwsSigner, authorization_of
from mem_opensearch.client.tls import make_context
from mem_opensearch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import opensearchpy

    from mem_opensearch.config import StoreConfig

AVOID_SECONDS = 2
"""How long a host that gave no answer is left out, if there are others; doubled at each failure in a row."""
AVOID_DOUBLINGS = 4
"""At most 32 s: a server that starts again is asked soon. The package's own limit is 32 minutes."""


def connection_options(config: StoreConfig, urls: Sequence[str]) -> dict[str, Any]:
    """Return the keyword arguments of `opensearchpy.OpenSearch`, without the hosts.

    Args:
        config: the options.
        urls: where the requests go.

    Raises:
        ConfigError: a file of the options can't be used, or no AWS credentials are found.
    """
    connection = _connection_class(config)
    authorization = authorization_of(config)
    options: dict[str, Any] = {
        "connection_class": connection,
        "http_auth": _signer_of(config, connection),
        "headers": {"authorization": authorization} if authorization is not None else None,
        "timeout": config.timeout,
        "pool_maxsize": config.pool_maxsize,
        "http_compress": config.http_compress,
        "dead_timeout": AVOID_SECONDS,
        "timeout_cutoff": AVOID_DOUBLINGS,
    }
    if any(url.startswith("https:") for url in urls):
        options |= _tls_options(config, connection)
    return options


def _tls_options(config: StoreConfig, connection: type[opensearchpy.Connection]) -> dict[str, Any]:
    from opensearchpy import Urllib3HttpConnection

    context = make_context(config, connection.default_ca_certs())  # also where only its errors are of use
    if not config.verify_certs:
        from urllib3.exceptions import InsecureRequestWarning

        warnings.simplefilter(
            "ignore", InsecureRequestWarning
        )  # said once, in our own words, when the client is opened
    if issubclass(connection, Urllib3HttpConnection):
        # With a context of ours: the package itself leaves out the client certificate when it verifies nothing.
        return {"ssl_context": context}
    return {
        "verify_certs": config.verify_certs,
        "ssl_show_warn": False,
        "ca_certs": config.ca_certs,
        "client_cert": config.client_cert,
        "client_key": config.client_key,
    }


def _signer_of(config: StoreConfig, connection: type[opensearchpy.Connection]) -> object:
    if config.aws_region is None:
        return config.http_auth
    from opensearchpy import RequestsHttpConnection

    signer = AwsSigner(config.aws_region, config.aws_service or "es")
    return _as_requests_auth(signer) if issubclass(connection, RequestsHttpConnection) else signer


def _as_requests_auth(signer: AwsSigner) -> object:
    import requests

    class _Auth(requests.auth.AuthBase):
        def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
            body = request.body if isinstance(request.body, bytes) else None  # opensearch-py gives bytes or nothing
            request.headers.update(signer(str(request.method), str(request.url), body))
            return request

    return _Auth()


def _connection_class(config: StoreConfig) -> type[opensearchpy.Connection]:
    import opensearchpy

    given = config.connection_class
    known: dict[str, type[opensearchpy.Connection]] = {"Urllib3HttpConnection": opensearchpy.Urllib3HttpConnection}
    if given == "RequestsHttpConnection" or _needs_requests(config.http_auth):
        known["RequestsHttpConnection"] = opensearchpy.RequestsHttpConnection
        given = given or "RequestsHttpConnection"
    if isinstance(given, type) and issubclass(given, opensearchpy.Connection):
        plain = given
    else:
        try:
            plain = known[str(given or "Urllib3HttpConnection")]
        except KeyError:
            names = "Urllib3HttpConnection, RequestsHttpConnection"
            raise ConfigError(f"connection_class '{given}' is unknown; known are: {names}, or a class") from None
    manners: tuple[type, ...] = (_Quiet,)
    if issubclass(plain, opensearchpy.Urllib3HttpConnection):
        manners = (_Quiet, _Bounded)
    elif issubclass(plain, opensearchpy.RequestsHttpConnection):
        manners = (_Quiet, _Strict)
    return type(f"Quiet{plain.__name__}", (*manners, plain), {})


def _needs_requests(auth: object) -> bool:
    """Whether an auth object signs `requests` requests, as requests-aws4auth and opensearch-py's AWSV4SignerAuth do."""
    return any(base.__module__.startswith("requests.") for base in type(auth).__mro__)


class _Quiet:
    """Keep the transport from logging: at debug level it would write memory text, and a 404 is often an answer."""

    def log_request_success(self, *_: object) -> None:
        """Log nothing."""

    def log_request_fail(self, *_: object, **__: object) -> None:
        """Log nothing; the failure is raised, with all that it says."""


class _Bounded:
    """Let threads wait for one of the connections; without it each opens one more, for one request."""

    def _create_urllib3_pool(self) -> None:
        super()._create_urllib3_pool()  # type: ignore[misc] # of Urllib3HttpConnection
        self.pool.block = True  # type: ignore[attr-defined] # made by that


class _Strict:
    """Let the options alone decide what `requests` does.

    By itself it takes passwords from ``~/.netrc``, another CA bundle or a proxy from the environment, even against the
    options, and follows a redirect, with the body, to another host.
    """

    def __init__(self, *, pool_maxsize: int, **options: Any) -> None:  # noqa: ANN401 - of RequestsHttpConnection
        super().__init__(pool_maxsize=pool_maxsize, **options)  # type: ignore[call-arg] # of RequestsHttpConnection
        import requests

        adapter = requests.adapters.HTTPAdapter(pool_maxsize=pool_maxsize, pool_block=True)
        self.session: requests.Session
        self.session.trust_env = False
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, adapter)

    def perform_request(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - of RequestsHttpConnection
        """Send a request, and leave a redirect as it is."""
        return super().perform_request(*arguments, **options, allow_redirects=False)  # type: ignore[misc] # as above
