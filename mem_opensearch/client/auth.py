"""Say who is asking: the authorization header, or a signature made anew for each request."""

from __future__ import annotations

import base64
import logging
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from mem_opensearch.errors import AuthenticationError, ConfigError
from mem_opensearch.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mem_opensearch.config import StoreConfig


def authorization_of(config: StoreConfig) -> str | None:
    """Return the ``Authorization`` header that the options make, or None when something else says who is asking.

    User and password are sent as UTF-8 (RFC 7617, 2.1), as the security plugin reads them; HTTP packages take Latin-1,
    which has no Chinese.
    """
    if config.user is not None and config.password is not None:
        pair = f"{config.user}:{config.password.get_secret_value()}"
        return f"Basic {base64.b64encode(pair.encode()).decode()}"
    if config.api_key is not None:
        return f"ApiKey {config.api_key.get_secret_value()}"
    if config.bearer_token is not None:
        return f"Bearer {config.bearer_token.get_secret_value()}"
    return None


def secrets_of(config: StoreConfig) -> tuple[str, ...]:
    """Return what must not be shown even if a server repeats it, longest first."""
    kept = [each.get_secret_value() for each in (config.password, config.api_key, config.bearer_token) if each]
    kept += (authorization_of(config) or "").split()[1:]
    return tuple(sorted(filter(None, kept), key=len, reverse=True))


class _Credentials(Protocol):
    """What botocore's chain finds."""

    def get_frozen_credentials(self) -> Any:  # noqa: ANN401 - botocore has no types
        """Return key, secret and token that belong together, refreshed if they end soon."""


class AwsSigner:
    """Sign requests by AWS Signature Version 4, with the credentials that botocore's chain finds.

    Environment, profile, web identity, container and instance are looked at in botocore's order. Credentials that end
    are refreshed by botocore when they are about to. One object may be used by many threads.

    Args:
        region: such as ``eu-central-1``.
        service: ``es`` for a domain, ``aoss`` for a serverless collection.
        credentials: instead of those of the chain.

    Raises:
        MissingExtraError: botocore is not installed.
        ConfigError: the chain finds no credentials.
    """

    def __init__(self, region: str, service: str, credentials: _Credentials | None = None) -> None:
        session = require("botocore.session", extra="aws", purpose="'aws_region'")
        self._region = region
        self._service = service
        self._credentials = credentials or _find(session)
        _keep_quiet()

    def __call__(self, method: str, url: str, body: bytes | None) -> dict[str, str]:
        """Return the headers that sign a request: date, hash of the body, session token and signature.

        Args:
            method: HTTP method.
            url: the whole URL as it is sent.
            body: as it is sent, compressed if it is.

        Raises:
            AuthenticationError: the credentials can't be refreshed.
        """
        from botocore.exceptions import BotoCoreError
        from opensearchpy.helpers.signer import AWSV4Signer

        with _signing():
            try:
                frozen = self._credentials.get_frozen_credentials()
            except BotoCoreError as error:
                raise AuthenticationError(
                    f"the AWS credentials can't be refreshed ({type(error).__name__}); see that the profile, the "
                    "role or the instance that gives them still does",
                    reason=type(error).__name__,
                ) from None
            headers: dict[str, str] = AWSV4Signer(frozen, self._region, self._service).sign(method, url, body)
        return headers


def _find(session: Any) -> _Credentials:  # noqa: ANN401 - a module without types
    from botocore.exceptions import BotoCoreError

    reason = ""
    try:
        found: _Credentials | None = session.Session().get_credentials()
    except BotoCoreError as error:  # such as a profile that does not exist
        found, reason = None, f" ({error})"
    if found is None:
        raise ConfigError(
            f"'aws_region' is given and no AWS credentials are found{reason}: set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this machine a role"
        )
    return found


_here = threading.local()


@contextmanager
def _signing() -> Iterator[None]:
    _here.signing = True
    try:
        yield
    finally:
        _here.signing = False


def _drop_while_signing(_record: logging.LogRecord) -> bool:
    return not getattr(_here, "signing", False)


def _keep_quiet() -> None:
    """Keep botocore from logging what it signs: at debug level that holds the session token."""
    logging.getLogger("botocore.auth").addFilter(_drop_while_signing)  # adding it again changes nothing
