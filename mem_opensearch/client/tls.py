"""Make the TLS side of a connection, and say what is wrong with a handshake."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from mem_opensearch.errors import (
    ClientCertificateError,
    ConfigError,
    ExpiredCertificateError,
    HostNameError,
    TLSError,
    UntrustedCertificateError,
)

if TYPE_CHECKING:
    from mem_opensearch.config import StoreConfig

# Numbers of OpenSSL's x509_vfy.h.
_NOT_YET_VALID, _EXPIRED = 9, 10
_SELF_SIGNED = 18
_UNKNOWN_AUTHORITY = frozenset({2, 19, 20, 21})
_OTHER_NAME = frozenset({62, 64})
# Alerts of RFC 8446, 6.2, in OpenSSL's words. By the last a server that speaks TLS 1.2 answers a missing certificate.
_ABOUT_THE_CLIENT = (
    "CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "ALERT_UNKNOWN_CA", "ALERT_CERTIFICATE", "HANDSHAKE_FAILURE",
)  # fmt: skip
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNEXPECTED_MESSAGE")


def make_context(config: StoreConfig, default_authorities: str | None) -> ssl.SSLContext:
    """Return the context of connections to the server, with all that the options ask for.

    Args:
        config: the options.
        default_authorities: file or folder of the authorities that are trusted without `config.ca_certs`; the
            system's own when None.

    Raises:
        ConfigError: a file can't be read, or does not hold what it should.
    """
    context = _trusting(config.ca_certs, default_authorities)
    if not config.verify_certs:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if config.client_cert is not None:
        _load_client_certificate(context, config.client_cert, config.client_key)
    return context


def _trusting(bundle: str | None, default: str | None) -> ssl.SSLContext:
    path = bundle or default
    if path is None:
        return ssl.create_default_context()
    try:
        if Path(path).is_dir():
            return ssl.create_default_context(capath=path)
        return ssl.create_default_context(cafile=path)
    except ssl.SSLError as error:
        what = "'ca_certs'" if bundle else "SSL_CERT_FILE"
        raise ConfigError(f"{what}: {path} holds no certificates in PEM form ({error.reason or error})") from None
    except OSError as error:
        what = "'ca_certs'" if bundle else "SSL_CERT_FILE"
        raise ConfigError(f"{what}: {path} can't be read: {error.strerror}") from None


def _load_client_certificate(context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    for name, path in (("client_cert", certificate), ("client_key", key)):
        if path is not None and not Path(path).is_file():
            raise ConfigError(f"'{name}': {path} is no file")
    try:
        context.load_cert_chain(certificate, key, password=_refuse_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise ConfigError(f"'client_key': {key} is not the key of the certificate {certificate}") from None
        raise ConfigError(
            f"'client_cert': {certificate} and its key ({key or 'in the same file'}) can't be used: both must be in "
            f"PEM form ({error.reason or error})"
        ) from None
    except OSError as error:
        raise ConfigError(f"'client_cert': {error.filename or certificate} can't be read: {error.strerror}") from None


def _refuse_password() -> NoReturn:  # OpenSSL would ask for it on the terminal
    raise ConfigError("'client_key' is encrypted: give a key without a password, in a file that only you can read")


def find_failure(error: object) -> ssl.SSLError | None:
    """Return the TLS failure that an HTTP package has wrapped, however deep, or None."""
    seen: set[int] = set()
    left: list[object] = [error]
    while left:
        each = left.pop(0)
        if not isinstance(each, BaseException) or id(each) in seen:
            continue
        if isinstance(each, ssl.SSLError):
            return each
        seen.add(id(each))
        left += [*each.args, getattr(each, "reason", None), each.__cause__, each.__context__]
    return None


def explain(failure: ssl.SSLError, *, host: str, has_certificate: bool | None) -> TLSError | None:
    """Return the error for a failed handshake, or None when the connection just broke off and may be tried again.

    Args:
        failure: as Python's ssl raised it.
        host: scheme, host and port.
        has_certificate: whether a client certificate is configured; None when that is not known.
    """
    if isinstance(failure, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return None
    if isinstance(failure, ssl.SSLCertVerificationError):
        return _explain_certificate(failure, host)
    reason = failure.reason or str(failure)
    if any(alert in reason for alert in _ABOUT_THE_CLIENT):
        if has_certificate is False:
            mend = "it wants a client certificate: give 'client_cert' and 'client_key'"
        else:
            mend = "check that 'client_cert' is of an authority that the server trusts and has not expired"
        return ClientCertificateError(f"{host} ended the TLS handshake ({reason}); {mend}", reason=reason)
    if any(sign in reason for sign in _NO_TLS):
        return TLSError(
            f"{host} does not answer in TLS ({reason}); write http:// if it is a plain server, or mend the port",
            reason=reason,
        )
    return TLSError(f"no TLS connection to {host}: {reason}; check the server's protocol versions", reason=reason)


def _explain_certificate(failure: ssl.SSLCertVerificationError, host: str) -> TLSError:
    code, said = failure.verify_code, failure.verify_message
    what = f"the certificate of {host} is not trusted: {said}"
    if code == _EXPIRED:
        return ExpiredCertificateError(f"{what}; renew it on the server, or mend this machine's clock", reason=said)
    if code == _NOT_YET_VALID:
        return ExpiredCertificateError(f"{what}; mend the clock of this machine or of its maker", reason=said)
    if code in _OTHER_NAME:
        return HostNameError(
            f"{what}; write one of the certificate's own names into 'url', or have one made for this name", reason=said
        )
    if code == _SELF_SIGNED:
        return UntrustedCertificateError(
            f"{what}; if it is the one you expect, give it in 'ca_certs' (a PEM file)", reason=said
        )
    if code in _UNKNOWN_AUTHORITY:
        return UntrustedCertificateError(
            f"{what}; give the certificate of the authority that signed it in 'ca_certs' (a PEM file)", reason=said
        )
    return TLSError(f"{what}; have a right one made", reason=said)
