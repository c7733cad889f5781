"""Copy the rows of one index into another on the server, in steps that can be told apart afterwards."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.opensearch import encode_lines, path_of
from mem_opensearch.errors import BackendError, IndexStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mem_opensearch.client import SearchClient

STEP_TIMEOUT = 600.0  # seconds that one step may take on the server
STEP_FIRST, STEP_LEAST, STEP_MOST = 2_000, 200, 200_000  # sequence numbers
STEP_SECONDS = (1.0, 5.0)  # a step faster than the first is doubled, slower than the second halved
ID_PAGE = 10_000  # the server's own limit of one page
VECTOR_TOLERANCE = 1e-6  # float32 has seven digits
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


def refresh(client: SearchClient, index: str) -> None:
    """Show searches all that was written to `index`."""
    client.request("POST", path_of(index, "_refresh"))


def count_rows(client: SearchClient, index: str, *, after: int | None = None) -> int:
    """Return how many rows `index` has, or how many were written after the sequence number `after`."""
    body = None if after is None else {"query": {"range": {"_seq_no": {"gt": after}}}}
    return int(client.request("POST", path_of(index, "_count"), body=body)["count"])


def copy_between(
    client: SearchClient, source: str, target: str, *, after: int, upto: int, on_step: Callable[[int, Copied], None]
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
    """
    total = Copied()
    size = STEP_FIRST
    while after < upto:
        end = min(after + size, upto)
        started = time.monotonic()
        done = _copy_step(client, source, target, after=after, upto=end)
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


def _copy_step(client: SearchClient, source: str, target: str, *, after: int, upto: int) -> Copied:
    answer = client.request(
        "POST",
        "/_reindex",
        body={
            "conflicts": "proceed",
            "source": {"index": source, "query": {"range": {"_seq_no": {"gt": after, "lte": upto}}}},
            "dest": {"index": target},
        },
        timeout=STEP_TIMEOUT,
        accept=(400, 500),
    )
    if failures := answer.get("failures"):
        first = failures[0]
        cause = first.get("cause") or first.get("reason") or {}
        # What follows is a piece of the row itself.
        said = str(cause.get("reason")).split(" Preview of field's value:")[0]
        raise IndexStateError(
            f"{len(failures)} rows of '{source}' can't be copied into '{target}'; first: '{first.get('id')}': "
            f"{cause.get('type')}: {said}. The collection is as it was; mend or delete those rows, then roll again"
        )
    if "created" not in answer:
        reason = answer.get("error", {})
        raise BackendError(
            f"copying from '{source}' into '{target}' failed: {reason.get('type')}: {reason.get('reason')}",
            status=answer.get("status"),
            reason=str(reason.get("reason")),
        )
    return Copied(answer["created"], answer["updated"], answer["version_conflicts"])


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


def delete_what_is_gone(client: SearchClient, source: str, target: str) -> int:
    """Delete the rows of `target` that `source` no longer has; return how many.

    Both are read in pages of ids; a page of the target is compared row by row only where the counts differ.
    """
    gone = 0
    before: str | None = None
    for page in _pages_of_ids(client, target):
        bounds = {"lte": page[-1]} | ({} if before is None else {"gt": before})
        within = {"range": {"id": bounds}}
        held = client.request("POST", path_of(source, "_count"), body={"query": within})["count"]
        if held != len(page):
            kept = {row_id for ids in _pages_of_ids(client, source, within) for row_id in ids}
            extra = [row_id for row_id in page if row_id not in kept]
            _delete_rows(client, target, extra)
            gone += len(extra)
        before = page[-1]
    return gone


def _pages_of_ids(client: SearchClient, index: str, query: dict[str, Any] | None = None) -> Iterator[list[str]]:
    body: dict[str, Any] = {
        "size": ID_PAGE,
        "query": query or {"match_all": {}},
        "sort": [{"id": "asc"}],
        "_source": False,
        "track_total_hits": False,
    }
    while True:
        hits = client.request("POST", path_of(index, "_search"), body=body)["hits"]["hits"]
        if not hits:
            return
        yield [hit["_id"] for hit in hits]
        if len(hits) < ID_PAGE:
            return
        body["search_after"] = hits[-1]["sort"]


def _delete_rows(client: SearchClient, index: str, ids: Sequence[str]) -> None:
    if ids:
        body = encode_lines({"delete": {"_id": row_id}} for row_id in ids)
        answer = client.request("POST", path_of(index, "_bulk"), params={"refresh": "true"}, body=body)
        left = [item["delete"]["_id"] for item in answer["items"] if item["delete"]["status"] not in {200, 404}]
        if left:
            raise BackendError(f"{len(left)} rows could not be deleted from '{index}'; first: '{left[0]}'")


def compare_sample(client: SearchClient, source: str, target: str, *, size: int) -> int:
    """Compare rows of both indices field by field: random ones, and those that were written last.

    Returns:
        How many were compared.

    Raises:
        IndexStateError: one differs; names it and the field.
    """
    bodies = [
        {"size": size, "query": {"function_score": {"query": {"match_all": {}}, "random_score": {}}}},
        {"size": size, "sort": [{"_seq_no": "desc"}]},
    ]
    rows = {}
    for body in bodies:
        hits = client.request("POST", path_of(source, "_search"), body=body)["hits"]["hits"]
        rows.update({hit["_id"]: hit["_source"] for hit in hits})
    if not rows:
        return 0
    answer = client.request("POST", path_of(target, "_mget"), body={"ids": list(rows)})
    for copy in answer["docs"]:
        row_id = copy["_id"]
        fields = _fields_that_differ(rows[row_id], copy.get("_source") or {})
        if fields:
            raise IndexStateError(
                f"row '{row_id}' differs between '{source}' and '{target}' in: {', '.join(fields)}. The collection is "
                f"as it was; roll again, and if it says so again, report it"
            )
    return len(rows)


def _fields_that_differ(row: dict[str, Any], copy: dict[str, Any]) -> list[str]:
    names = sorted(row.keys() | copy.keys())
    return [name for name in names if not _is_same(row.get(name), copy.get(name), is_vector=name == "vector")]


def _is_same(one: Any, other: Any, *, is_vector: bool) -> bool:  # noqa: ANN401 - any JSON
    if not (is_vector and isinstance(one, list) and isinstance(other, list)):
        return bool(one == other)
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=VECTOR_TOLERANCE, abs_tol=1e-9) for a, b in zip(one, other, strict=True)
    )
