"""Check the options of a store against each other: what contradicts, and what would have no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from mem_opensearch.addresses import check_password, check_user, leaves_this_machine
from mem_opensearch.environment import LOCAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.config import StoreConfig

_TLS_OPTIONS: Final = ("ca_certs", "client_cert", "client_key")
_NOT_LOCAL: Final = (
    "user", "password", "api_key", "bearer_token", "aws_region", "http_auth", "verify_certs", *_TLS_OPTIONS,
)  # fmt: skip
_CONNECTION_OPTIONS: Final = (
    "url", "host", "port", "use_ssl", *_NOT_LOCAL, "allow_insecure", "pool_maxsize", "http_compress",
    "connection_class",
)  # fmt: skip


def check_combinations(config: StoreConfig) -> None:
    """Refuse options that don't go together, and give those that say one thing in two ways one form.

    Afterwards a pair in `http_auth` is in `user` and `password`, and `auto_refresh` in `refresh`.

    Args:
        config: each option is right by itself.

    Raises:
        ValueError: names the options, and says what to do.
    """
    _refuse_contradictions(config)
    _refuse_without_effect(config)
    _take_apart_http_auth(config)
    if (config.user is None) != (config.password is None):
        raise ValueError("'user' and 'password' go together: give both or neither")
    _take_over_auto_refresh(config)
    _check_urls(config)


def _refuse_contradictions(config: StoreConfig) -> None:
    if config.url is not None and config.host is not None:
        raise ValueError("'url' and 'host' both say where the server is: give one")
    if config.url is not None and (config.port is not None or config.use_ssl):
        raise ValueError("'port' and 'use_ssl' go with 'host'; write them into 'url' instead")
    if config.url == []:
        raise ValueError("'url' is an empty list: give at least one")
    who = ("user", "api_key", "bearer_token", "aws_region", "http_auth")
    if len(given := [name for name in who if getattr(config, name) is not None]) > 1:
        message = f"{_quoted(given)} exclude each other: give one"
        raise ValueError(message)


def _refuse_without_effect(config: StoreConfig) -> None:
    for name, needed in (("client_key", "client_cert"), ("aws_service", "aws_region")):
        if getattr(config, name) is not None and getattr(config, needed) is None:
            message = f"'{name}' has no effect without '{needed}': give both"
            raise ValueError(message)
    if config.ca_certs is not None and not config.verify_certs:
        raise ValueError("'ca_certs' has no effect with verify_certs=False: give one")
    if config.dictionary is not None and config.analyzer in {"smartcn", "bigram"}:
        raise ValueError(f"'dictionary' has no effect with analyzer={config.analyzer}: use ik or jieba")
    if config.client is not None and (clash := _changed(config, _CONNECTION_OPTIONS)):
        raise ValueError(f"with 'client' given, {', '.join(clash)} would have no effect: leave them out")
    if config.is_local and (clash := _changed(config, _NOT_LOCAL)):
        raise ValueError(f'with url="{LOCAL}", {", ".join(clash)} would have no effect: leave them out')
    if not config.is_local and (clash := _changed(config, ("node_version", "node_data"))):
        raise ValueError(f'{_quoted(clash)} would have no effect: they go with url="{LOCAL}"')


def _take_apart_http_auth(config: StoreConfig) -> None:
    """Keep the password of a pair as a secret; an auth object stays as it is."""
    auth = config.http_auth
    if auth is None or callable(auth):
        return
    pair = auth.split(":", 1) if isinstance(auth, str) else auth
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(each, str) for each in pair)):  # noqa: PLR2004
        message = f"'http_auth' is a {type(auth).__name__}; give (user, password), or an auth object that is called"
        raise ValueError(message)
    user, password = pair
    _set(config, "user", check_user(user))
    _set(config, "password", check_password(SecretStr(password)))
    _set(config, "http_auth", None)


def _take_over_auto_refresh(config: StoreConfig) -> None:
    if config.auto_refresh is None:
        return
    if "refresh" in config.model_fields_set:
        raise ValueError("'auto_refresh' and 'refresh' say the same thing: give one")
    _set(config, "refresh", "true" if config.auto_refresh else "false")
    _set(config, "auto_refresh", None)


def _check_urls(config: StoreConfig) -> None:
    urls = config.urls
    if config.has_credentials and not config.allow_insecure:
        for url in urls:
            if url.startswith("http:") and leaves_this_machine(url):
                message = (
                    f"credentials would travel unencrypted to {url.removeprefix('http://')}: use https "
                    "(use_ssl=true), or set allow_insecure=true if the network is trusted"
                )
                raise ValueError(message)
    tls = [name for name in _TLS_OPTIONS if getattr(config, name) is not None]
    if tls and config.client is None and not any(url.startswith("https:") for url in urls):
        message = f"{_quoted(tls)} would have no effect over http: use https (use_ssl=true)"
        raise ValueError(message)


def _changed(config: StoreConfig, names: Sequence[str]) -> list[str]:
    return [name for name in names if getattr(config, name) != type(config).model_fields[name].default]


def _set(config: StoreConfig, name: str, value: object) -> None:
    object.__setattr__(config, name, value)  # without it counting as given


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
