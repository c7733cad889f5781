"""Change or delete the rows that pass a filter, on the server, and see that none has slipped through."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

from mem_opensearch import queries
from mem_opensearch.client import failures
from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import BackendUnavailable
from mem_opensearch.store import paging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mem_opensearch.client import SearchClient
    from mem_opensearch.models import Clause

PAGE = 5000  # rows of one delete-by-query: a few seconds on a busy server, far from the time-out
TIMEOUT = 300.0  # seconds of one such request
ROUNDS = 30  # a row that changes between being found and being deleted is left for the next round
ROUND_WAIT = (0.02, 0.3)  # seconds, so that two processes don't meet again
_FORBIDDEN = 403


def delete_pages(client: SearchClient, alias: str, filters: Sequence[Clause]) -> Iterator[list[str]]:
    """Delete the rows that pass `filters` when this begins; yield the ids that are gone, page by page.

    The rows are listed from one point in time, so what others write meanwhile is neither touched nor waited for. Each
    page is deleted by a delete-by-query for its ids *and* the filter: a row that somebody changes meanwhile is deleted
    in its new form if it still passes, and is spared if it does not. A page is done when the server finds none of it
    any more. A request whose answer was lost may be sent again: the ids are counted, not what the server says it did.

    Args:
        client: the server; it must have been refreshed, or rows just written are not found.
        alias: the collection.
        filters: which rows; never empty.

    Raises:
        BackendError: the server failed, or rows changed faster than they could be deleted. What was yielded is gone,
            and a second call deletes the rest.
    """
    for page in paging.pages(client, alias, filters, size=PAGE, source=False):
        ids = [hit["_id"] for hit in page]
        _delete(client, alias, [*filters, _having(ids)])
        survivors = set(_find(client, alias, [_having(ids)]))
        yield [row_id for row_id in ids if row_id not in survivors]


def _having(ids: Sequence[str]) -> Clause:
    return {"ids": {"values": list(ids)}}


def _delete(client: SearchClient, alias: str, wanted: Sequence[Clause]) -> None:
    """Repeat the delete-by-query until nothing is left to delete."""
    body = {"query": queries.matching(wanted)}
    settle(client, alias, "_delete_by_query", body, size=PAGE, is_done=lambda _: not _find(client, alias, wanted))


def settle(
    client: SearchClient,
    alias: str,
    operation: str,
    body: Mapping[str, Any],
    *,
    size: int,
    is_done: Callable[[Mapping[str, Any]], bool],
) -> None:
    """Repeat an operation by query until it has got them all; a roll's write block is waited out.

    Args:
        client: the server; it must have been refreshed, or rows just written are not found.
        alias: the collection.
        operation: ``"_delete_by_query"`` or ``"_update_by_query"``.
        body: which rows, and what becomes of them.
        size: rows that the server holds at once.
        is_done: told the answer; whether no row is left that somebody else was writing.

    Raises:
        BackendError: the server failed, or rows changed faster than they could be written.
    """
    action = f"POST {path_of(alias, operation)}"
    blocked_since: float | None = None
    rounds = 0
    while rounds < ROUNDS:
        answer = client.request(
            "POST",
            path_of(alias, operation),
            params={"conflicts": "proceed", "refresh": "true", "scroll_size": size},
            body=body,
            accept=(_FORBIDDEN,),
            timeout=TIMEOUT,
        )
        refused = _refusal(answer)
        if refused is None:
            if is_done(answer):
                return
            rounds += 1
            time.sleep(random.uniform(*ROUND_WAIT))  # noqa: S311 - jitter
            # The operation refreshes only what it has written; the rows that it has not would be met as they were.
            client.request("POST", path_of(alias, "_refresh"))
            continue
        blocked_since = blocked_since or time.monotonic()
        waited = time.monotonic() - blocked_since
        if not failures.is_write_block(refused) or waited >= failures.BLOCK_SECONDS:
            raise failures.from_status(int(answer.get("status") or 500), refused, action=action)
        time.sleep(random.uniform(*ROUND_WAIT))  # noqa: S311 - jitter
    raise BackendUnavailable(
        f"{action} met rows that somebody else was writing, {ROUNDS} times in a row; call it again for the rest"
    )


def _refusal(answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the refusal in the form of other answers; an operation by query lists it with the row."""
    if listed := answer.get("failures"):
        return {"error": listed[0].get("cause") or listed[0].get("reason")}
    return dict(answer) if answer.get("status") == _FORBIDDEN else None


def _find(client: SearchClient, alias: str, wanted: Sequence[Clause]) -> list[str]:
    answer = client.request(
        "POST",
        path_of(alias, "_search"),
        params={"allow_partial_search_results": "false"},  # a shard that is away is no proof that its rows are gone
        body={"size": PAGE, "query": queries.matching(wanted), "_source": False, "track_total_hits": False},
    )
    return [hit["_id"] for hit in answer["hits"]["hits"]]
