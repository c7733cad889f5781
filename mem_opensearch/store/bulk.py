"""Write many rows in few requests, and account for each of them."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import tenacity

from mem_opensearch.client import failures
from mem_opensearch.client.base import BACKOFF_LIMIT, BACKOFF_SECONDS, BLOCK_WAIT
from mem_opensearch.client.echo import cleaned
from mem_opensearch.client.encoding import encode_lines, path_of
from mem_opensearch.client.failures import RETRIABLE_STATUS, is_write_block
from mem_opensearch.errors import BackendError, MemOpenSearchError, PartialWriteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mem_opensearch.client import SearchClient

_ERROR_STATUS = 300
_DENIED = 403


class Line(NamedTuple):
    """One row on its way: the id and its two lines of the bulk body."""

    id: str
    data: bytes


def to_lines(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[Line]:
    """Yield each (id, row) encoded as an `index` action: the same id twice is one document."""
    for row_id, row in rows:
        yield Line(row_id, encode_lines([{"index": {"_id": row_id}}, row]))


def chunks(lines: Iterable[Line], *, max_bytes: int, max_items: int) -> Iterator[list[Line]]:
    """Yield lines in groups, in order; a line larger than `max_bytes` travels alone."""
    group: list[Line] = []
    size = 0
    for line in lines:
        if group and (len(group) >= max_items or size + len(line.data) > max_bytes):
            yield group
            group, size = [], 0
        group.append(line)
        size += len(line.data)
    if group:
        yield group


def write_bulk(
    client: SearchClient,
    alias: str,
    groups: Iterable[Sequence[Line]],
    *,
    refresh: str,
    max_tries: int,
    landed: set[str] | None = None,
) -> list[str]:
    """Write all groups; return the stored ids in the order given.

    An item that the server pushes back (429, 503, or the write block that a roll has for a moment) is sent again alone,
    with jittered backoff. A group whose request fails as a whole counts as failed, and the groups after it are still
    tried.

    Args:
        client: the server.
        alias: the collection.
        groups: lines, as `chunks` makes them.
        refresh: when the rows are seen by searches.
        max_tries: tries of one item.
        landed: takes the names of the indices behind the alias that rows went to.

    Raises:
        PartialWriteError: names the stored ids, and the failed ones with the reason.
        BackendError: nothing was stored, and one reason holds for everything.
    """
    stored: list[str] = []
    failed: dict[str, str] = {}
    whole: MemOpenSearchError | None = None
    for group in groups:
        try:
            done, lost = _write_group(
                client,
                alias,
                group,
                refresh=refresh,
                max_tries=max_tries,
                landed=landed if landed is not None else set(),
            )
        except BackendError as error:
            whole = error
            failed.update({line.id: str(error) for line in group})
            continue
        stored.extend(done)
        failed.update(lost)
    if whole is not None and not stored:
        raise whole
    if failed:
        row_id, reason = next(iter(failed.items()))
        raise PartialWriteError(
            f"{len(failed)} of {len(failed) + len(stored)} rows were not stored in '{alias}'; "
            f"first: '{row_id}': {reason}",
            stored=stored,
            failed=failed,
        )
    return stored


def _write_group(
    client: SearchClient, alias: str, group: Sequence[Line], *, refresh: str, max_tries: int, landed: set[str]
) -> tuple[list[str], dict[str, str]]:
    waits = tenacity.wait_random_exponential(multiplier=BACKOFF_SECONDS, max=BACKOFF_LIMIT)
    outcome: dict[int, str | None] = {}
    denied: Mapping[str, Any] = {}
    pending = list(range(len(group)))
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    tries, blocked_since = 0, None
    while pending:
        answer = client.request(
            "POST",
            path_of(alias, "_bulk"),
            # A missing alias is an error; otherwise the server would make an index of that name with a guessed mapping.
            params={"refresh": refresh, "require_alias": "true"},
            body=b"".join(group[position].data for position in pending),
        )
        again, is_blocked = [], False
        for position, item in zip(pending, answer["items"], strict=True):
            (result,) = item.values()
            if result["status"] >= _ERROR_STATUS:
                result = {**result, "error": cleaned(result.get("error"), group[position].data)}
            landed.add(result.get("_index", ""))
            denied = result if result["status"] == _DENIED else denied
            outcome[position] = None if result["status"] < _ERROR_STATUS else _reason(result)
            item_blocked = is_write_block(result)
            is_blocked = is_blocked or item_blocked
            if item_blocked or result["status"] in RETRIABLE_STATUS:
                again.append(position)
        pending = again
        if is_blocked:
            blocked_since = blocked_since or time.monotonic()
            if time.monotonic() - blocked_since >= failures.BLOCK_SECONDS:
                break
        else:
            tries += 1
            if tries >= max_tries:
                break
        if not pending:
            break
        time.sleep(random.uniform(*BLOCK_WAIT) if is_blocked else waits(state))  # noqa: S311 - jitter
        state.attempt_number += not is_blocked
    if denied and None not in outcome.values() and not is_write_block(denied):
        # The security plugin lets a bulk request pass and refuses row by row.
        raise failures.from_status(_DENIED, denied, action=f"POST {path_of(alias, '_bulk')}")
    stored = [line.id for position, line in enumerate(group) if outcome[position] is None]
    failed = {line.id: reason for position, line in enumerate(group) if (reason := outcome[position]) is not None}
    return stored, failed


def _reason(result: Mapping[str, Any]) -> str:
    error = result.get("error", {})
    cause = error.get("caused_by", {})
    parts = [f"{error.get('type')}: {error.get('reason')}"]
    if cause:
        parts.append(f"{cause.get('type')}: {cause.get('reason')}")
    # What follows is a piece of the row itself.
    return f"status {result['status']}: " + "; ".join(part.split(" Preview of field's value:")[0] for part in parts)
