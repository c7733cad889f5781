"""Turn what the server or the socket said into this package's errors."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from mem_opensearch.client import states
from mem_opensearch.errors import (
    AuthenticationError,
    BackendError,
    BackendUnavailable,
    IndexBlocked,
    IndexStateError,
    InvalidInputError,
    MemOpenSearchError,
    PermissionDenied,
    Throttled,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What Amazon's gateway says of a signature, a key or a token, with status 403; and of a request that has none.
_AWS_REFUSAL = re.compile(
    r"(?P<signed>signature|credential|security token|access key|token included)|anonymous|missing authentication token",
    re.IGNORECASE,
)
_PASSING_STATUS = frozenset({429, 502, 503, 504})
_SERVER_FAILURE = 500
_TOO_LARGE = 413
_REASON_LIMIT = 400  # characters; a mapping failure may quote the document after that
_MISSING_INDEX = "index_not_found_exception"
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


def _blocks_of(info: object) -> dict[str, str]:
    error = info.get("error") if isinstance(info, dict) else None
    index = str(error.get("index") or "") if isinstance(error, dict) else ""
    return states.blocks_of(error_type(info), reason_of(info), index=index)


def is_write_block(info: object) -> bool:
    """Whether an answer, or one item of a bulk answer, says that writes to the index are blocked, and nothing worse."""
    return set(_blocks_of(info)) == {states.WRITE_BLOCK}


def is_passing(status: int, info: object) -> bool:
    """Whether what an answer, or one item of a bulk answer, says may be over in a moment, so that another try is right.

    It is for 429, 502, 503 and 504, unless the cause is a block that somebody has to take off, such as a full disk's. A
    500 is a failure of this very request and would be one again, unless it names a node that has just gone.
    """
    if _blocks_of(info):
        return False
    return status in _PASSING_STATUS or (status == _SERVER_FAILURE and states.is_node_gone(_all_causes(info)))


def _all_causes(info: object) -> str:
    """Return the names of an error, of its causes and of the shards' failures, as one text."""
    if not isinstance(info, dict):
        return ""
    names = [str(info.get("type", ""))]
    names += [_all_causes(info.get(key)) for key in ("error", "caused_by", "reason")]
    for key in ("root_cause", "failed_shards"):
        found = info.get(key)
        names += [_all_causes(item) for item in found] if isinstance(found, list) else []
    return " ".join(name for name in names if name)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait (RFC 9110, 10.2.3: a number or a date), or None.

    >>> retry_after({"retry-after": "3"})
    3.0
    >>> retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}), retry_after({"retry-after": "soon"})
    (0.0, None)
    """
    given = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", given):
        return float(given)
    try:
        when = parsedate_to_datetime(given)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def is_cut_off(headers: Mapping[str, str], body: str | bytes) -> bool:
    """Whether a body that is no JSON was meant to be: then it was spoilt on the way, and another try is right."""
    return bool(body) and "json" in headers.get("content-type", "").lower()


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
    if status != 403 or error_type(info) in states.BLOCKED:  # noqa: PLR2004
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


def from_status(
    status: int, info: object, *, action: str, tries: Sequence[str] = (), retry_after: float | None = None
) -> MemOpenSearchError:
    """Return the error for an HTTP answer, or for one item of a bulk answer.

    Args:
        status: HTTP status, 300 or above.
        info: the decoded body.
        action: what was tried, such as ``"POST /memories/_search"``.
        tries: what each try met, when there were several.
        retry_after: seconds that the server asked to wait.
    """
    reason = reason_of(info)
    said = f"{action} failed with status {status}: {reason or 'no reason given'}"
    if len(tries) > 1:
        said += f" (after {len(tries)} tries: {', '.join(tries)})"
    if retry_after is not None:
        said += f"; the server asks to wait {retry_after:.0f} s"
    if blocks := _blocks_of(info):
        return _from_blocks(blocks, status, said, reason, tries)
    if error_type(info) == _MISSING_INDEX:
        return IndexStateError(f"{said}; create it with: python -m mem_opensearch.init --collection NAME --dims N")
    if refused := _refused(status, info, said=said, reason=reason):
        return refused
    if advice := _advice(status, f"{_all_causes(info)} {reason}"):
        said += f"; {advice}"
    if is_passing(status, info):
        if status == 429:  # noqa: PLR2004
            return Throttled(said, reason=reason, retry_after=retry_after)
        return BackendUnavailable(said, status=status, reason=reason, tries=tries, retry_after=retry_after)
    return BackendError(said, status=status, reason=reason)


def _from_blocks(
    blocks: Mapping[str, str], status: int, said: str, reason: str, tries: Sequence[str]
) -> MemOpenSearchError:
    if set(blocks) != {states.WRITE_BLOCK}:
        return IndexBlocked("; ".join((said.removesuffix(";"), *blocks.values())), blocks=list(blocks))
    said += (
        f"; it stayed so for {BLOCK_SECONDS:.0f} s. A roll that was interrupted leaves such a block: run it again "
        "(python -m mem_opensearch.init --collection NAME --roll), which ends it and takes the block off"
    )
    return BackendUnavailable(said, status=status, reason=reason, tries=tries)


def _advice(status: int, reason: str) -> str:
    if status == _TOO_LARGE:
        return (
            "the body is larger than the server, or a proxy before it, takes (http.max_content_length; in nginx "
            "client_max_body_size): lower bulk_max_bytes"
        )
    advice = states.limit_advice(reason)
    return advice or ("lower the write rate or raise max_tries" if status == 429 else "")  # noqa: PLR2004


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


def from_shape(what: str, *, action: str) -> BackendError:
    """Return the error for an answer that is JSON and lacks what a search server would say.

    Args:
        what: what is wrong with it, such as ``"'hits' is missing"``.
        action: what was tried.
    """
    return BackendError(
        f"{action} was answered by something that does not speak as a search server does ({what}); is 'url' a proxy or "
        "another service?",
        reason=what,
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
