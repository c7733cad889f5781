"""Copy the rows of one index into another on the server, in steps that can be told apart afterwards."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import encode_lines, path_of
from mem_opensearch.client.failures import reason_of
from mem_opensearch.errors import BackendError, IndexStateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mem_opensearch.client import SearchClient

    Row = dict[str, Any]
    Rewrite = Callable[[Row], Row]
    """Makes the row that is to be stored of the one that is; for fields that only the client can make."""

STEP_TIMEOUT = 600.0  # seconds that one step may take on the server
STEP_FIRST, STEP_LEAST, STEP_MOST = 2_000, 200, 200_000  # sequence numbers
STEP_SECONDS = (1.0, 5.0)  # a step faster than the first is doubled, slower than the second halved
CLIENT_PAGE = 500  # rows, each with its vector
_BAD_REQUEST = 400
_REINDEX = "indices:data/write/reindex"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far the writes of an index had come.

    Attributes:
        low: each write up to this sequence number is done in every shard.
        high: the highest such number of any shard; equal to `low` when there is one shard.
        last: the highest number that was given out; writes up to it may still be under way.
    """

    low: int
    high: int
    last: int


@dataclass(slots=True)
class Copied:
    """What the steps of a copy did.

    Attributes:
        created: rows that the target did not have.
        updated: rows that it had in an older form.
        conflicts: rows that something else wrote to the target in the same moment.
    """

    created: int = 0
    updated: int = 0
    conflicts: int = 0

    @property
    def rows(self) -> int:
        """Rows that were written."""
        return self.created + self.updated


def read_checkpoint(client: SearchClient, index: str) -> Checkpoint:
    """Return how far the writes of `index` have come on all copies of each shard."""
    answer = client.request(
        "GET",
        path_of(index, "_stats", "docs"),
        params={"level": "shards", "filter_path": "indices.*.shards.*.seq_no,indices.*.shards.*.routing.primary"},
    )
    shards = answer["indices"][index]["shards"].values()
    numbers = [
        copy["seq_no"] for copies in shards for copy in copies if copy["routing"]["primary"] and "seq_no" in copy
    ]
    if not numbers:
        raise IndexStateError(f"no primary shard of '{index}' is started; see: GET /_cluster/allocation/explain")
    done = [int(number["global_checkpoint"]) for number in numbers]
    return Checkpoint(low=min(done), high=max(done), last=max(int(number["max_seq_no"]) for number in numbers))


def refuse_where_unsearchable(client: SearchClient, name: str) -> None:
    """Refuse a server that can't search by `_seq_no`, as some that only speak this language can't.

    Args:
        client: the server.
        name: an index or an alias.

    Raises:
        IndexStateError: says what to do instead of a roll.
    """
    asked = {"size": 1, "query": {"range": {"_seq_no": {"gte": 0}}}, "sort": [{"_seq_no": "asc"}], "_source": False}
    answer = client.request("POST", path_of(name, "_search"), body=asked, accept=(_BAD_REQUEST,))
    if answer.get("status") == _BAD_REQUEST:
        raise IndexStateError(
            f"'{name}' can't be rolled: its server can't search by _seq_no, by which a roll copies "
            f"({reason_of(answer)}). Nothing was changed; "
            "instead, export the collection (mem-opensearch export), make a new one and import it"
        )


def refresh(client: SearchClient, index: str) -> None:
    """Show searches all that was written to `index`."""
    client.request("POST", path_of(index, "_refresh"))


def count_rows(client: SearchClient, index: str, *, after: int | None = None) -> int:
    """Return how many rows `index` has, or how many were written after the sequence number `after`."""
    body = None if after is None else {"query": {"range": {"_seq_no": {"gt": after}}}}
    return int(client.request("POST", path_of(index, "_count"), body=body)["count"])


def copy_between(
    client: SearchClient,
    source: str,
    target: str,
    *,
    after: int,
    upto: int,
    on_step: Callable[[int, Copied], None],
    rewrite: Rewrite | None = None,
) -> Copied:
    """Copy the rows of `source` whose last write has a sequence number in (after, upto].

    A row that is written to meanwhile gets a higher number, and is a matter of the next copy.

    Args:
        client: the server.
        source: where the rows are; refreshed by the caller.
        target: where they go; nothing else writes to it.
        after: the number up to which rows are there already.
        upto: the last number to copy.
        on_step: told after each step up to which number rows are there, and what was done so far.
        rewrite: changes each row on its way; the rows then travel through this process.
    """
    total = Copied()
    size = STEP_FIRST
    while after < upto:
        end = min(after + size, upto)
        started = time.monotonic()
        within = {"range": {"_seq_no": {"gt": after, "lte": end}}}
        if rewrite is None:
            done = _copy_on_server(client, source, target, within)
        else:
            done = _copy_through_client(client, source, target, within, rewrite)
        wait_until_idle(client, target)  # of a request that timed out and was sent again, the first may still run
        total.created += done.created
        total.updated += done.updated
        total.conflicts += done.conflicts
        after = end
        on_step(after, total)
        seconds = time.monotonic() - started
        if seconds < STEP_SECONDS[0]:
            size = min(2 * size, STEP_MOST)
        elif seconds > STEP_SECONDS[1]:
            size = max(size // 2, STEP_LEAST)
    return total


def _copy_on_server(client: SearchClient, source: str, target: str, within: dict[str, Any]) -> Copied:
    answer = client.request(
        "POST",
        "/_reindex",
        body={
            "conflicts": "proceed",
            "source": {"index": source, "query": within},
            "dest": {"index": target},
        },
        timeout=STEP_TIMEOUT,
        accept=(400, 500),
    )
    if failures := answer.get("failures"):
        first = failures[0]
        raise _cannot_copy(source, target, len(failures), first.get("id"), first.get("cause") or first.get("reason"))
    if "created" not in answer:
        reason = answer.get("error", {})
        raise BackendError(
            f"copying from '{source}' into '{target}' failed: {reason.get('type')}: {reason.get('reason')}",
            status=answer.get("status"),
            reason=str(reason.get("reason")),
        )
    return Copied(answer["created"], answer["updated"], answer["version_conflicts"])


def _copy_through_client(
    client: SearchClient, source: str, target: str, within: dict[str, Any], rewrite: Rewrite
) -> Copied:
    done = Copied()
    body: dict[str, Any] = {
        "size": CLIENT_PAGE,
        "query": within,
        "sort": [{"_seq_no": "asc"}, {"id": "asc"}],
        "track_total_hits": False,
    }
    while hits := client.request("POST", path_of(source, "_search"), body=body)["hits"]["hits"]:
        lines = [line for hit in hits for line in ({"index": {"_id": hit["_id"]}}, rewrite(hit["_source"]))]
        answer = client.request("POST", path_of(target, "_bulk"), body=encode_lines(lines))
        items = [item["index"] for item in answer["items"]]
        if bad := [item for item in items if "error" in item]:
            raise _cannot_copy(source, target, len(bad), bad[0]["_id"], bad[0]["error"])
        done.created += sum(item["result"] == "created" for item in items)
        done.updated += sum(item["result"] == "updated" for item in items)
        body["search_after"] = hits[-1]["sort"]
    return done


def _cannot_copy(source: str, target: str, count: int, row_id: object, cause: Any) -> IndexStateError:  # noqa: ANN401
    about = cause if isinstance(cause, dict) else {}
    # What follows is a piece of the row itself.
    said = str(about.get("reason")).split(" Preview of field's value:")[0]
    return IndexStateError(
        f"{count} rows of '{source}' can't be copied into '{target}'; first: '{row_id}': {about.get('type')}: {said}. "
        "The collection is as it was; mend or delete those rows, then roll again"
    )


def wait_until_idle(client: SearchClient, target: str, *, cancel: bool = False) -> None:
    """Return when no copy into `target` runs on the server any more.

    Args:
        client: the server.
        target: the index.
        cancel: ask the running ones to end; used for those of a process that is gone.
    """
    while running := _copies_into(client, target):
        if cancel:
            for task in running:
                client.request("POST", path_of("_tasks", task, "_cancel"), accept=(404,))
        time.sleep(0.1)


def _copies_into(client: SearchClient, target: str) -> list[str]:
    answer = client.request("GET", "/_tasks", params={"actions": _REINDEX, "detailed": "true"})
    return [
        task
        for node in answer.get("nodes", {}).values()
        for task, about in node["tasks"].items()
        if f"[{target}]" in about.get("description", "")
    ]
