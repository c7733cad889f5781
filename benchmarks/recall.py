"""How many of the exactly nearest a search by meaning finds, by size and filter; and what parameters change."""

from __future__ import annotations

import statistics
import time
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from benchmarks import machine
from benchmarks.contenders import ExactScan, OurCollection, segments
from benchmarks.data import Memories, id_of
from benchmarks.raw import RawClient, all_blocks, load
from benchmarks.vectorindex import KINDS, Kind, VectorIndex, reason_of
from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import BackendError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.contenders import Tick
    from benchmarks.data import Question

POOL: Final = 60
"""The nearest that a search always looks at: `SearchOptions.pool`."""

USERS: Final = (1, 10, 1000)
"""Numbers of users, so that a filter lets pass all memories, a tenth, or a thousandth."""

EF_SEARCH: Final = (None, 120, 240, 480)

Near = dict[int, list[set[str]]]
"""Number of users -> the exactly nearest ids of each question."""


def run(
    url: str, make: Callable[[int], Memories], *, sizes: Sequence[int], kinds_at: int, tick: Tick
) -> dict[str, Any]:
    """Measure.

    Args:
        url: the server.
        make: makes memories of a size, divided by `USERS`.
        sizes: numbers of memories.
        kinds_at: number of memories at which parameters and quantisation are compared; 0 leaves that out.
        tick: told what is done.
    """
    about = machine.facts(url)
    by_size = {}
    for size in sizes:
        memories = make(size)
        by_size[str(size)] = _as_we_search(url, memories, tick)
    result: dict[str, Any] = {
        "benchmark": "recall",
        "recall_at": POOL,
        "by_size": by_size,
        "selectivity": {str(users): 1 / users for users in USERS},
        "questions": len(memories.questions),
        "data": memories.facts(),
        "machine": about,
    }
    if kinds_at:
        memories = make(kinds_at)
        near = _exactly_nearest(memories)
        result["kinds_at"] = kinds_at
        result["kinds"] = []
        for number, kind in enumerate(KINDS):
            result["kinds"].append(_of_kind(url, memories, near, kind))
            tick("parameters and quantisation", number + 1, len(KINDS))
    return result


def _exactly_nearest(memories: Memories) -> Near:
    exact = ExactScan(memories)
    for block in memories.blocks():
        exact.take(block)
    return {
        users: [
            {id_of(row) for row in exact.nearest(each, memories.rows_for(each, users), POOL)}
            for each in memories.questions
        ]
        for users in USERS
    }


def _as_we_search(url: str, memories: Memories, tick: Tick) -> dict[str, Any]:
    """Return recall and time of the store's own search, as the index comes from a load, and merged into one segment."""
    near = _exactly_nearest(memories)
    name = f"bench-{uuid.uuid4().hex[:8]}"
    with OurCollection(url, name, memories) as ours:
        ours.store.create_col()
        load(url, name, all_blocks(memories, partial(tick, f"loading {memories.size}")))
        client = ours.store.client
        client.request("POST", path_of(name, "_refresh"))

        def ask(question: Question, users: int) -> list[str]:
            filters = memories.filter_for(question, users) if users > 1 else None
            return [hit.id for hit in ours.store.search("", question.vector, top_k=POOL, filters=filters)]

        found = {"as_loaded": _measured(memories, near, ask) | {"segments": segments(ours.store, name)}}
        with RawClient(url) as raw:
            raw.merge(name)
        found["merged"] = _measured(memories, near, ask) | {"segments": segments(ours.store, name)}
    return found


def _measured(memories: Memories, near: Near, ask: Callable[[Question, int], list[str]]) -> dict[str, Any]:
    """Return recall and the median time, by number of users."""
    recalls, times = {}, {}
    for users in USERS:
        shares, seconds = [], []
        for question, right in zip(memories.questions, near[users], strict=True):
            ask(question, users)
            start = time.perf_counter()
            ids = ask(question, users)
            seconds.append(time.perf_counter() - start)
            shares.append(len(right & set(ids)) / len(right))
        recalls[str(users)] = round(statistics.mean(shares), 4)
        times[str(users)] = round(statistics.median(seconds) * 1000, 2)
    return {"recall": recalls, "medians_ms": times}


def _of_kind(url: str, memories: Memories, near: Near, kind: Kind) -> dict[str, Any]:
    if kind.why_not:
        return {"kind": kind.name, "why_not": kind.why_not}
    try:
        with VectorIndex(url, f"bench-{uuid.uuid4().hex[:8]}", memories.dims, kind) as index:
            seconds = index.fill(memories.blocks())
            by_ef = {}
            for ef_search in EF_SEARCH:

                def ask(question: Question, users: int, ef_search: int | None = ef_search) -> list[str]:
                    filters = memories.filter_for(question, users) if users > 1 else {}
                    return index.nearest(question.vector, filters, POOL, ef_search=ef_search)

                by_ef["default" if ef_search is None else str(ef_search)] = _measured(memories, near, ask)
            return {
                "kind": kind.name,
                "size_mb": index.size_mb(),
                "seconds_to_write_and_merge": round(seconds, 1),
                "by_ef_search": by_ef,
            }
    except BackendError as error:
        return {"kind": kind.name, "why_not": reason_of(error)}
