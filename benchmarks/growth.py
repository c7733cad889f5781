"""How the time of a filtered search grows with memories and users."""

from __future__ import annotations

import uuid
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from benchmarks import machine
from benchmarks.contenders import OurCollection, OurSearcher, segments
from benchmarks.measure import interleave, ratio
from benchmarks.search import TOP_K, calls_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.contenders import Tick
    from benchmarks.data import Memories
    from benchmarks.measure import Call, Times

USERS: Final = (1, 100, 10_000)
"""Numbers of users among whom the memories are divided; a search is in those of one."""

_BASE: Final = (10_000, 100)  # memories and users that the largest are compared with


def run(url: str, make: Callable[[int], Memories], *, sizes: Sequence[int], rounds: int, tick: Tick) -> dict[str, Any]:
    """Measure; all sizes are there at the same time, and are searched in turn.

    Args:
        url: the server.
        make: makes memories of a size, divided by `USERS`.
        sizes: numbers of memories.
        rounds: interleaved rounds.
        tick: told what is done.
    """
    about = machine.facts(url)
    calls: dict[str, list[Call]] = {}
    loads: dict[str, dict[str, int]] = {}
    with ExitStack() as stack:
        for size in sizes:
            memories = make(size)
            name = f"bench-{uuid.uuid4().hex[:8]}"
            ours = stack.enter_context(OurCollection(url, name, memories))
            machine.forget_peak()
            before = machine.client_memory()["rss_mb"]
            ours.load(partial(_named, tick, size))
            peak = machine.client_memory()["peak_rss_mb"]
            ours.settle()
            loads[str(size)] = {
                "client_peak_mb_above_start": max(0, peak - before),
                "segments": segments(ours.store, name),
            }
            searcher = OurSearcher(ours, "union")
            for users in USERS:
                calls[_key(size, users)] = [*calls_of(searcher, memories, users)]
        times = interleave(calls, rounds=rounds, tick=partial(tick, "searching"))
        node = machine.node_memory(url)
    return {
        "benchmark": "growth",
        "ratios": _ratios(times, sizes),
        "medians_ms": {name: each.p50_ms() for name, each in times.items()},
        "p95_ms": {name: each.p95_ms() for name, each in times.items()},
        "client_cpu_ms": {name: each.cpu_ms() for name, each in times.items()},
        "calls": {name: len(each.found) for name, each in times.items()},
        "loads": loads,
        "runs": rounds,
        "top_k": TOP_K,
        "memory": {"client": machine.client_memory(), "node": node},
        "data": memories.facts(),
        "machine": about,
    }


def _key(size: int, users: int) -> str:
    return f"{size}/{users}"


def _named(tick: Tick, size: int, stage: str, done: int, total: int) -> None:
    tick(f"{stage}, {size}", done, total)


def _ratios(times: dict[str, Times], sizes: Sequence[int]) -> dict[str, float]:
    """Return how each compares with 10,000 memories of 100 users, or of the smallest size where that is not there."""
    base = _key(*_BASE) if _key(*_BASE) in times else _key(min(sizes), _BASE[1])
    return {f"{name} over {base}": ratio(each, times[base]) for name, each in times.items() if name != base}
