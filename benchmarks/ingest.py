"""How many memories a second are stored: this package, mem0's own provider, mem0 with Qdrant, and a loop by hand."""

from __future__ import annotations

import statistics
import time
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from benchmarks import machine
from benchmarks.contenders import OurCollection, refresh
from benchmarks.measure import rotated
from benchmarks.peers import Mem0Builtin, Mem0Qdrant
from benchmarks.raw import load
from benchmarks.wire import watching
from mem_opensearch.errors import BackendError

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.contenders import Tick
    from benchmarks.data import Block, Memories

PEER_ROWS: Final = 500
"""Rows of a round of mem0's providers, which write each by itself: it is a rate that is measured, not a whole load."""

CHUNK: Final = 1000  # of one `insert` of ours


def run(url: str, memories: Memories, *, rounds: int, tick: Tick, qdrant: bool = True) -> dict[str, Any]:
    """Measure; in each round every system stores all memories in a collection of its own, which is then removed.

    Args:
        url: the server.
        memories: what is stored; the vectors are made before.
        rounds: interleaved rounds, after one of a tenth of the memories that does not count.
        tick: told what is done.
        qdrant: whether mem0's default takes part.
    """
    about = machine.facts(url)
    systems: dict[str, Callable[[str, Memories, list[Block]], dict[str, float]]] = {
        "ours": partial(_ours, annotate=False, refresh="false"),
        "ours_with_notes": partial(_ours),
        "raw_floor": _by_hand,
        "mem0_builtin": _builtin,
    }
    if qdrant:
        systems["mem0_qdrant"] = _qdrant
    blocks = list(memories.blocks())  # made outside of what is timed, and the same objects for all
    warm = blocks[: max(1, len(blocks) // 10)]
    for store in systems.values():
        store(url, memories, warm)
    rounds_of: dict[str, list[dict[str, float]]] = {name: [] for name in systems}
    for number in range(rounds):
        for place, name in enumerate(rotated(list(systems), number)):
            rounds_of[name].append(systems[name](url, memories, blocks))
            tick("storing", number * len(systems) + place + 1, rounds * len(systems))
    rates = {name: [each["rate"] for each in found] for name, found in rounds_of.items()}
    medians = {name: statistics.median(found) for name, found in rates.items()}
    return {
        "benchmark": "ingest",
        "ratios": _ratios(medians),
        "rates_per_second": {name: round(rate, 1) for name, rate in medians.items()},
        "medians_ms": {name: round(1000 / rate, 3) for name, rate in medians.items()},
        "of_rounds_per_second": {name: [round(rate, 1) for rate in found] for name, found in rates.items()},
        "client_cpu_ms_per_memory": _median_of(rounds_of, "cpu_ms"),
        "client_peak_mb_above_start": _median_of(rounds_of, "peak_mb"),
        "requests_per_1000": _median_of(rounds_of, "requests_per_1000"),
        "memories_of_a_round": {name: int(found[0]["stored"]) for name, found in rounds_of.items()},
        "runs": rounds,
        "memory": {"client": machine.client_memory(), "node": machine.node_memory(url)},
        "data": memories.facts(),
        "machine": about,
    }


def _ratios(rates: dict[str, float]) -> dict[str, float]:
    pairs = {
        "ours_over_mem0_builtin": ("ours", "mem0_builtin"),
        "ours_over_raw_floor": ("ours", "raw_floor"),
        "ours_over_mem0_qdrant": ("ours", "mem0_qdrant"),
        "ours_with_notes_over_mem0_builtin": ("ours_with_notes", "mem0_builtin"),
        "ours_with_notes_over_raw_floor": ("ours_with_notes", "raw_floor"),
    }
    return {
        name: round(rates[one] / rates[other], 2)
        for name, (one, other) in pairs.items()
        if {one, other} <= rates.keys()
    }


def _median_of(rounds_of: dict[str, list[dict[str, float]]], key: str) -> dict[str, float]:
    return {name: round(statistics.median(each[key] for each in found), 3) for name, found in rounds_of.items()}


def _timed(store: Callable[[], object], rows: int, *, count_requests: bool = True) -> dict[str, float]:
    """Return rate, processor time, peak of memory and requests of one load."""
    machine.forget_peak()
    before = machine.client_memory()["rss_mb"]
    with watching() as wire:  # a hundred requests or so, in seconds
        cpu, start = time.process_time(), time.perf_counter()
        store()
        seconds, used = time.perf_counter() - start, time.process_time() - cpu
    return {
        "rate": rows / seconds,
        "cpu_ms": used / rows * 1000,
        "peak_mb": max(0, machine.client_memory()["peak_rss_mb"] - before),
        "requests_per_1000": len(wire.requests) / rows * 1000 if count_requests else 0.0,
        "stored": rows,
    }


def _check(count: int, wanted: int, name: str) -> None:
    if count != wanted:
        raise BackendError(f"'{name}' holds {count} memories after {wanted} were stored")


def _ours(url: str, memories: Memories, blocks: list[Block], **options: Any) -> dict[str, float]:  # noqa: ANN401
    rows = sum(len(block.texts) for block in blocks)
    with OurCollection(url, _name(), memories, **options) as ours:
        ours.store.create_col()

        def store() -> None:
            for block in blocks:
                for start in range(0, len(block.texts), CHUNK):
                    part = slice(start, start + CHUNK)
                    ours.store.insert(list(block.vectors[part]), block.payloads[part], block.ids[part])

        measured = _timed(store, rows)
        refresh(ours.store)
        _check(ours.store.col_info()["count"], rows, "ours")
    return measured


def _by_hand(url: str, memories: Memories, blocks: list[Block]) -> dict[str, float]:
    rows, name = sum(len(block.texts) for block in blocks), _name()
    with OurCollection(url, name, memories) as ours:
        ours.store.create_col()
        measured = _timed(lambda: load(url, name, blocks), rows, count_requests=False)
        refresh(ours.store)
        _check(ours.store.col_info()["count"], rows, "by hand")
    return measured


def _builtin(url: str, memories: Memories, blocks: list[Block]) -> dict[str, float]:
    name = _name()
    (block,) = memories.blocks(min(PEER_ROWS, len(blocks[0].texts)), last=PEER_ROWS)
    with Mem0Builtin(url, name, memories) as builtin:
        measured = _timed(lambda: builtin.insert(block), len(block.texts))
        builtin.ready()
        client = builtin.builtin.memory.vector_store.client
        _check(client.count(index=name)["count"], len(block.texts), "mem0_builtin")
    return measured


def _qdrant(url: str, memories: Memories, blocks: list[Block]) -> dict[str, float]:  # noqa: ARG001 - it needs no server
    (block,) = memories.blocks(min(PEER_ROWS, len(blocks[0].texts)), last=PEER_ROWS)
    with Mem0Qdrant(memories, on_disk=True) as local:
        measured = _timed(lambda: local.take(block), len(block.texts), count_requests=False)
        store = local.memory.vector_store
        _check(store.client.count(store.collection_name).count, len(block.texts), "mem0_qdrant")
    return measured


def _name() -> str:
    return f"bench-{uuid.uuid4().hex[:8]}"
