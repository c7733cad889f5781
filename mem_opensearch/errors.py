"""Every error that this package raises.

MemOpenSearchError
├─ ConfigError            an option that is unknown, contradictory or without effect
│  └─ MissingExtraError   an optional package is not installed: names the install command
├─ InvalidInputError      caught before the request
│  ├─ VectorError         dimension, NaN, zero vector: names the index, the id, expected and given
│  ├─ FilterError         unknown operator or key shape: lists what is supported
│  ├─ LineError           a line of a file that is imported: names the file, the line, and what is stored before it
│  └─ ScopeError          missing or wild scope where isolation needs one
├─ MemoryNotFoundError    an update of an id that is not stored
├─ IndexStateError        missing, foreign, wrong schema version or dimension: says the command that mends it
│  └─ IndexBlocked        closed, read-only, or its disk is full: says what takes the block off
├─ PartialWriteError      stored ids, failed ids with reasons
├─ NodeError              the local node
│  ├─ ArtifactError       a file could not be fetched or does not match its checksum
│  ├─ JavaError           no Java that runs this version was found
│  ├─ NodeStartError      the node did not come up: reason and last log lines
│  └─ NodeDiedError       a node that was running is gone
├─ RerankError            a reranker gave no usable scores: names it, and whether another try may help
└─ BackendError           carries status and the server's own reason
   ├─ BackendUnavailable  after retries; lists the tries
   ├─ Throttled           retry_after
   ├─ TLSError            no trusted connection: nothing was sent, another try would not mend it
   │  ├─ UntrustedCertificateError  unknown authority, or self-signed
   │  ├─ ExpiredCertificateError    or not yet valid
   │  ├─ HostNameError              the certificate is for other names
   │  └─ ClientCertificateError     the server wants one, or refuses the one given
   ├─ AuthenticationError
   └─ PermissionDenied

Messages say what, where and what to do next. They hold ids, never memory text or vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class MemOpenSearchError(Exception):
    """Base of all errors of this package."""


class ConfigError(MemOpenSearchError, ValueError):
    """An option is unknown, contradictory or without effect."""


class MissingExtraError(ConfigError, ImportError):
    """An optional package is needed and not installed.

    Attributes:
        extra: name of the extra that brings the package.
    """

    def __init__(self, extra: str, package: str, purpose: str) -> None:
        self.extra = extra
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed; "
            f"run: pip install 'mem-opensearch[{extra}]'"
        )


class InvalidInputError(MemOpenSearchError, ValueError):
    """An argument was refused before anything was sent."""


class VectorError(InvalidInputError):
    """A vector has the wrong dimension, holds NaN or infinity, or is all zero."""


class FilterError(InvalidInputError):
    """A filter holds an operator or a shape that is not understood."""


class LineError(InvalidInputError):
    """A line of a file can't be imported; the rows of the lines before it are stored.

    Attributes:
        file: the file, or ``-``.
        line: number of the line, 1 for the first.
        stored: rows that were stored before it.
    """

    def __init__(self, file: str, line: int, reason: str, *, stored: int) -> None:
        self.file = file
        self.line = line
        self.stored = stored
        super().__init__(
            f"{file}, line {line:,}: {reason}. The {stored:,} rows of the lines before it are stored, none after it; "
            "mend the line and import the file again: rows are replaced by id"
        )


class ScopeError(InvalidInputError):
    """A scope identity (user, agent, run) is missing or wild where isolation needs one."""


class MemoryNotFoundError(MemOpenSearchError, LookupError):
    """An update named a memory that is not stored."""


class IndexStateError(MemOpenSearchError):
    """An index is missing, foreign, or not as the configuration wants it."""


class IndexBlocked(IndexStateError):  # noqa: N818 - the field's own term
    """The server refuses requests to an index, or to all, until somebody takes a block off.

    Attributes:
        blocks: the server's names of the blocks, such as ``FORBIDDEN/5`` (read-only), ``TOO_MANY_REQUESTS/12`` (the
            disk is full) or ``FORBIDDEN/4`` (closed).
    """

    def __init__(self, message: str, *, blocks: Sequence[str]) -> None:
        self.blocks = list(blocks)
        super().__init__(message)


class PartialWriteError(MemOpenSearchError):
    """Some items of a bulk write were stored and some were not.

    Attributes:
        stored: ids that are stored, in the order given.
        failed: id -> reason, for the rest.
    """

    def __init__(self, message: str, *, stored: Sequence[str], failed: Mapping[str, str]) -> None:
        self.stored = list(stored)
        self.failed = dict(failed)
        super().__init__(message)


class NodeError(MemOpenSearchError):
    """The local node can't do what was asked."""


class ArtifactError(NodeError):
    """A file of the node could not be fetched, or its checksum is wrong."""


class JavaError(NodeError):
    """No Java runtime that can run the asked version was found."""


class NodeStartError(NodeError):
    """The node did not come up.

    Attributes:
        log_tail: the last lines of its log, oldest first.
    """

    def __init__(self, message: str, *, log_tail: Sequence[str] = ()) -> None:
        self.log_tail = list(log_tail)
        tail = "".join(f"\n  | {line}" for line in self.log_tail)
        super().__init__(message + tail)


class NodeDiedError(NodeError):
    """A node that was running is gone."""


class RerankError(MemOpenSearchError):
    """A reranker failed, was too slow, or gave scores that are none.

    Attributes:
        scorer: name of what was to score.
        retryable: whether another try may help, as after a timeout or an overloaded service.
        retry_after: seconds that the service asks to wait; None where it does not say.
    """

    def __init__(self, message: str, *, scorer: str, retryable: bool = False, retry_after: float | None = None) -> None:
        self.scorer = scorer
        self.retryable = retryable
        self.retry_after = retry_after
        super().__init__(message)


class BackendError(MemOpenSearchError):
    """The server answered with an error.

    Attributes:
        status: HTTP status, or None when no answer came.
        reason: the server's own words.
    """

    def __init__(self, message: str, *, status: int | None = None, reason: str = "") -> None:
        self.status = status
        self.reason = reason
        super().__init__(message)


class BackendUnavailable(BackendError):  # noqa: N818 - the field's own term
    """No usable answer came, after all retries.

    Attributes:
        tries: what each try met, oldest first.
        retry_after: seconds that the server asked to wait, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        reason: str = "",
        tries: Sequence[str] = (),
        retry_after: float | None = None,
    ) -> None:
        self.tries = list(tries)
        self.retry_after = retry_after
        super().__init__(message, status=status, reason=reason)


class Throttled(BackendError):  # noqa: N818 - the field's own term
    """The server asked to slow down (429), after all retries.

    Attributes:
        retry_after: seconds that the server asked to wait, or None.
    """

    def __init__(self, message: str, *, reason: str = "", retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message, status=429, reason=reason)


class TLSError(BackendError):
    """There is no trusted connection to the server; trying again would not mend that."""


class UntrustedCertificateError(TLSError):
    """The server's certificate is self-signed, or of an authority that is not trusted."""


class ExpiredCertificateError(TLSError):
    """The server's certificate is no longer valid, or not yet."""


class HostNameError(TLSError):
    """The server's certificate is for other names than the one in the URL."""


class ClientCertificateError(TLSError):
    """The server wants a client certificate and got none, or refuses the one that it got."""


class AuthenticationError(BackendError):
    """The credentials are not accepted by the server (401), or can't be had."""


class PermissionDenied(BackendError):  # noqa: N818 - the field's own term
    """The credentials are known and may not do this (403)."""
