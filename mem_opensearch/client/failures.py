"""Turn what the server or the socket said into this package's errors."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mem_opensearch.errors import (
    AuthenticationError,
    BackendError,
    BackendUnavailable,
    IndexStateError,
    InvalidInputError,
    MemOpenSearchError,
    PermissionDenied,
    Throttled,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RETRIABLE_STATUS = frozenset({429, 502, 503, 504})
# What Amazon's gateway says of a signature, a key or a token, with status 403; and of a request that has none.
_AWS_REFUSAL = re.compile(
    r"(?P<signed>signature|credential|security token|access key|token included)|anonymous|missing authentication token",
    re.IGNORECASE,
)
_REASON_LIMIT = 400  # characters; a mapping failure may quote the document after that
_MISSING_INDEX = "index_not_found_exception"
_FOREIGN_BLOCK = "cluster_block_exception"
_WRITE_BLOCK = {"FORBIDDEN/8"}  # index.blocks.write; a full disk is TOO_MANY_REQUESTS/12, a read-only index FORBIDDEN/5
BLOCK_SECONDS = 120.0
"""How long a write waits for a write block to be taken off: a roll needs one for a moment, before the alias moves."""


def reason_of(info: object) -> str:
    """Return the server's own reason in one line: type, reason and the innermost cause."""
    error = info.get("error") if isinstance(info, dict) else None
    if isinstance(error, dict):
        return _shorten(_describe(error))
    said = error or _of_aws(info) or info or ""
    return _shorten(str(said))


def _of_aws(info: object) -> str:
    """Return what the gateway of a managed service says; it answers before the search server does, in its own form.

    >>> _of_aws({"Message": "User: anonymous is not authorized to perform: es:ESHttpGet"})
    'User: anonymous is not authorized to perform: es:ESHttpGet'
    """
    said = (info.get("message") or info.get("Message")) if isinstance(info, dict) else None
    # What follows is the request as it should have been signed, session token and all.
    return said.partition("The Canonical String")[0].strip() if isinstance(said, str) else ""


def _describe(error: Mapping[str, Any]) -> str:
    parts = [f"{error.get('type')}: {error.get('reason')}"]
    cause = error.get("caused_by")
    while isinstance(cause, dict):
        parts.append(f"{cause.get('type')}: {cause.get('reason')}")
        cause = cause.get("caused_by")
    # The server repeats a memory's text in such previews.
    return "; ".join(dict.fromkeys(part.split(" Preview of field's value:")[0] for part in parts))


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _REASON_LIMIT else line[:_REASON_LIMIT] + "..."


def error_type(info: object) -> str:
    """Return the server's name of an error, or ''."""
    error = info.get("error") if isinstance(info, dict) else None
    return str(error.get("type", "")) if isinstance(error, dict) else ""


def is_write_block(info: object) -> bool:
    """Whether an answer, or one item of a bulk answer, says that writes to the index are blocked, and nothing worse."""
    if error_type(info) != _FOREIGN_BLOCK:
        return False
    return set(re.findall(r"\[([A-Z_]+/\d+)/", reason_of(info))) == _WRITE_BLOCK


def _lacking(reason: str) -> str:
    """Return the permission that the security plugin, or Amazon's gateway, says is missing, or ''.

    >>> _lacking("security_exception: no permissions for [indices:admin/create] and User [name=x]")
    'the permission indices:admin/create'
    >>> _lacking("no permissions for [indices:data/write/bulk[s]] and User [name=x]")
    'the permission indices:data/write/bulk[s]'
    """
    found = re.search(r"no permissions for \[(.+?)\] and (?:associated roles|User)", reason) or re.search(
        r"not authorized to perform: (\S+)", reason
    )
    return f"the permission {found[1].strip()}" if found else ""


def _refused(status: int, info: object, *, said: str, reason: str) -> AuthenticationError | PermissionDenied | None:
    """Return the error when it is the credentials that are at fault, or None."""
    if status == 401:  # noqa: PLR2004
        mend = "check the credentials: 'user' and 'password', 'api_key', 'bearer_token' or 'client_cert'"
        return AuthenticationError(f"{said}; {mend}", status=status, reason=reason)
    if status != 403 or error_type(info) == _FOREIGN_BLOCK:  # noqa: PLR2004
        return None
    if bad := _AWS_REFUSAL.search(_of_aws(info)):
        mend = (
            "check 'aws_region', 'aws_service', this machine's clock, and that the credentials are still valid"
            if bad["signed"]
            else "requests are not signed: give 'aws_region'"
        )
        return AuthenticationError(f"{said}; {mend}", status=status, reason=reason)
    mend = f"the credentials lack {_lacking(reason) or 'a permission for it'}: give it to a role of the user"
    return PermissionDenied(f"{said}; {mend}", status=status, reason=reason)


def from_status(status: int, info: object, *, action: str, tries: Sequence[str] = ()) -> MemOpenSearchError:
    """Return the error for an HTTP answer.

    Args:
        status: HTTP status, 400 or above.
        info: the decoded body.
        action: what was tried, such as ``"POST /memories/_search"``.
        tries: what each try met, when there were several.
    """
    reason = reason_of(info)
    said = f"{action} failed with status {status}: {reason or 'no reason given'}"
    if len(tries) > 1:
        said += f" (after {len(tries)} tries: {', '.join(tries)})"
    kind = error_type(info)
    if kind == _MISSING_INDEX:
        return IndexStateError(f"{said}; create it with: python -m mem_opensearch.init --collection NAME --dims N")
    if refused := _refused(status, info, said=said, reason=reason):
        return refused
    if status == 429:  # noqa: PLR2004
        return Throttled(f"{said}; lower the write rate or raise max_tries", reason=reason)
    if is_write_block(info):
        said += (
            f"; it stayed so for {BLOCK_SECONDS:.0f} s. A roll that was interrupted leaves such a block: run it again "
            "(python -m mem_opensearch.init --collection NAME --roll), which ends it and takes the block off"
        )
    if status in RETRIABLE_STATUS or is_write_block(info):
        return BackendUnavailable(said, status=status, reason=reason, tries=tries)
    return BackendError(said, status=status, reason=reason)


def from_socket(error: Exception, *, action: str, hosts: Sequence[str], tries: Sequence[str]) -> BackendUnavailable:
    """Return the error for a request that got no answer."""
    where = ", ".join(hosts) or "the server"
    detail = _shorten(str(error))
    return BackendUnavailable(
        f"{action} got no answer from {where} in {len(tries)} tries ({', '.join(tries)}); last: {detail}. "
        "Check that the server runs there and that 'url' (http or https) and 'timeout' are right",
        reason=detail,
        tries=tries,
    )


def from_body(error: Exception, *, action: str) -> BackendError:
    """Return the error for an answer that is not what a search server says."""
    return BackendError(
        f"{action} was answered by something that does not speak the search server's JSON "
        f"({type(error).__name__}); is 'url' a proxy or another service?",
        reason=type(error).__name__,
    )


def from_encoding(error: Exception, *, action: str) -> InvalidInputError:
    """Return the error for a body that can't be written as JSON."""
    return InvalidInputError(f"the body of {action} can't be written as JSON: {error}")


def decode(raw: object) -> object:
    """Return a JSON body decoded, or the text itself when it is not JSON."""
    if not isinstance(raw, str | bytes):
        return raw
    try:
        return json.loads(raw)
    except ValueError:
        return raw if isinstance(raw, str) else raw.decode(errors="replace")
