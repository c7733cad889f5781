"""Read options from the environment, where arguments leave room for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_settings import EnvSettingsSource

if TYPE_CHECKING:
    from collections.abc import Mapping

LOCAL = "local"
"""The value of `url` that means the local node."""

_PLACE = frozenset({"url", "host", "port", "use_ssl"})
_CREDENTIALS = (
    frozenset({"user", "password"}),
    frozenset({"api_key"}),
    frozenset({"bearer_token"}),
    frozenset({"http_auth"}),
    frozenset({"aws_region", "aws_service"}),
)
_TLS_FILES = frozenset({"client_cert", "client_key", "ca_certs"})
_TLS = _TLS_FILES | {"verify_certs", "allow_insecure"}
_REFRESH = frozenset({"refresh", "auto_refresh"})


class Environment(EnvSettingsSource):
    """Environment variables that don't contradict an argument.

    A URL in the environment gives way to a host in the arguments, and a password there to an API key here. A password
    there and a URL here go together; certificates there are not for plain http here. Where the arguments name the local
    node or give a client, the environment says nothing about the connection: its credentials are for another server.
    """

    def __call__(self) -> dict[str, Any]:
        """Return the options that the environment gives."""
        return agreeing(super().__call__(), self.current_state)


def agreeing(environment: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the environment that the arguments leave room for.

    >>> agreeing({"url": "https://a", "password": "x"}, {"host": "b"})
    {'password': 'x'}
    """
    given = {name for name, value in arguments.items() if value is not None}
    displaced = set[str]()
    if given & {"url", "host"}:
        displaced |= _PLACE
    if given & _REFRESH:
        displaced |= _REFRESH
    if any(given & kind for kind in _CREDENTIALS):
        displaced |= set[str]().union(*(kind for kind in _CREDENTIALS if not given & kind))
    if _is_plain(arguments.get("url")):
        displaced |= _TLS_FILES
    if arguments.get("url") == LOCAL or "client" in given:
        displaced |= _PLACE.union(_TLS, *_CREDENTIALS)
    return {name: value for name, value in environment.items() if name not in displaced}


def _is_plain(url: object) -> bool:
    urls = url if isinstance(url, list) else [url]
    return bool(urls) and all(isinstance(each, str) and each.startswith("http:") for each in urls)
