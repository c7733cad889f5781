"""Notice the answer that only some shards have given: its status is 200, and it would be a wrong answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem_opensearch.client import failures
from mem_opensearch.errors import BackendUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SERVER_FAILURE = 500
_READS = frozenset({"_search", "_msearch", "_mget", "_count", "_refresh", "point_in_time"})
_OF_A_ROW = frozenset({"_doc", "_create", "_update", "_source"})  # what follows these in a path is an id, and only data


def missing(path: str, answer: Mapping[str, Any]) -> str:
    """Return why a reading answer is not whole, or '': a search of which a shard failed has status 200 and fewer hits.

    Args:
        path: where the request went.
        answer: the decoded answer.
    """
    *_, before, last = path.split("/")
    if last not in _READS or before in _OF_A_ROW:
        return ""
    is_refresh = last == "_refresh"
    for part in answer.get("responses") or answer.get("docs") or (answer,):
        if "error" in part and failures.is_passing(
            part.get("status", _SERVER_FAILURE), part
        ):  # a row's error has no status
            return failures.reason_of(part)
        shards = part.get("_shards", {})
        # A shard that is nowhere is neither successful nor failed; a refresh counts copies, and those may be nowhere.
        lacking = shards.get("failed", 0) if is_refresh else shards.get("total", 0) - shards.get("successful", 0)
        if lacking:
            named = [each["reason"] for each in shards.get("failures", ()) if each.get("reason")]
            why = failures.reason_of({"error": named[0]}) if named else "none is there at the moment"
            return f"{lacking} of {shards['total']} shards failed: {why}"
    return ""


def from_missing(why: str, *, action: str, tries: Sequence[str]) -> BackendUnavailable:
    """Return the error for a search that only some shards have answered: fewer hits would be a wrong answer."""
    return BackendUnavailable(
        f"{action} was not answered by all shards in {len(tries)} tries: {why}; look at GET /_cluster/health",
        status=200,
        reason=why,
        tries=tries,
    )
