"""Check server URLs, and credentials for the header they travel in."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, SecretStr

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TOKEN = re.compile(r"[\x21-\x7e]+")  # what a header carries as it is (RFC 9110, 5.5), without blanks


def complete_url(url: str, *, default_port: int, local: str) -> str:
    """Return a URL with its port, checked.

    Args:
        url: as given.
        default_port: the port where `url` has none.
        local: the word that means the local node, for the message.

    Raises:
        ValueError: it is no URL of a server; the message holds no credentials that stand in it.

    >>> complete_url("https://search.example/base/", default_port=9200, local="local")
    'https://search.example:9200/base'
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"'{without_credentials(url)}' is not a server URL: {error}") from None
    if parts.username is not None or parts.password is not None or "@" in url:
        raise ValueError("credentials don't belong in the URL, where logs show them: use 'user' and 'password'")
    if parts.scheme not in {"http", "https"} or not parts.hostname or _CONTROL.search(url) or " " in url:
        raise ValueError(f"'{url}' is not a server URL: write http://host:port, https://host:port or \"{local}\"")
    if parts.query or parts.fragment:
        raise ValueError(f"'{url.partition('?')[0].partition('#')[0]}' must end there: a server URL has no '?' or '#'")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port or default_port}{parts.path.rstrip('/')}"


def without_credentials(url: str) -> str:
    """Return `url` without what stands before an ``@``.

    >>> without_credentials("https://me:secret@search.example:x")
    'https://...@search.example:x'
    """
    head, at, tail = url.rpartition("@")
    scheme, colons, _ = head.partition("://")
    return f"{scheme + colons if colons else ''}...@{tail}" if at else url


def leaves_this_machine(url: str) -> bool:
    """Whether requests to `url` go to another machine.

    >>> leaves_this_machine("http://127.0.0.1:9200"), leaves_this_machine("http://10.0.0.7:9200")
    (False, True)
    """
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):  # RFC 6761, 6.3
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True


def check_token(token: SecretStr) -> SecretStr:
    """Return a key or token, if a header can carry it.

    Raises:
        ValueError: without the token.
    """
    if not _TOKEN.fullmatch(token.get_secret_value()):
        raise ValueError(
            "is empty or holds a blank, a line break or another character that no header can carry; "
            "one that is read from a file often ends in a line break"
        )
    return token


def check_password(password: SecretStr) -> SecretStr:
    """Return a password, if it has no control character, such as the line break at the end of a file.

    Raises:
        ValueError: without the password.
    """
    if _CONTROL.search(password.get_secret_value()):
        raise ValueError("holds a line break or another control character; one that is read from a file often does")
    return password


def check_user(user: str) -> str:
    """Return a user name, if basic authentication can carry it (RFC 7617, 2).

    Raises:
        ValueError: says why.
    """
    if not user or ":" in user or _CONTROL.search(user):
        raise ValueError("is empty, or holds a colon or a control character")
    return user


Token = Annotated[SecretStr, AfterValidator(check_token)]
Password = Annotated[SecretStr, AfterValidator(check_password)]
User = Annotated[str, AfterValidator(check_user)]
