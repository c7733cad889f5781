"""How long a search takes: this package, mem0's own provider, mem0 with Qdrant, and the floors under all of them."""

from __future__ import annotations

import statistics
import time
import uuid
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from benchmarks import machine
from benchmarks.contenders import ExactScan, OurCollection, OurSearcher, RawFloor, segments
from benchmarks.measure import interleave, on_the_wire, ratio
from benchmarks.peers import Mem0Builtin, Mem0Enough, Mem0Qdrant, OurMemory
from benchmarks.raw import all_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.contenders import Tick
    from benchmarks.data import Memories
    from benchmarks.measure import Contender, Times

TOP_K: Final = 20
"""What `search` of mem0 gives where nothing else is said."""

_OURS, _MEMORY = "ours_union", "ours_memory"
_LOCAL: Final = {"mem0_qdrant", "numpy_exact"}  # they send nothing


def run(url: str, memories: Memories, *, rounds: int, tick: Tick, qdrant: bool = True) -> dict[str, Any]:
    """Measure; return the report of docs/performance.md.

    Args:
        url: the server.
        memories: what is searched, and the questions.
        rounds: interleaved rounds, in each of which every question is asked once.
        tick: told what is done.
        qdrant: whether mem0's default takes part; it loads a thousand memories a second and reads all in a search.
    """
    name = f"bench-{uuid.uuid4().hex[:8]}"
    about = machine.facts(url)
    with ExitStack() as stack:
        ours = stack.enter_context(OurCollection(url, name, memories))
        builtin = stack.enter_context(Mem0Builtin(url, f"{name}-mem0", memories))
        exact = ExactScan(memories)
        local = stack.enter_context(Mem0Qdrant(memories, on_disk=False)) if qdrant else None
        ours.fill(tick)
        for block in all_blocks(memories, partial(tick, "loading the others")):
            builtin.take(block)
            exact.take(block)
            if local is not None:
                local.take(block)
        builtin.ready()
        searcher = OurSearcher(ours, "union")
        memory, memory_mem0 = OurMemory(ours, "union"), OurMemory(ours, "mem0")
        floor, alone = RawFloor(url, searcher), RawFloor(url, searcher, only_memories=True)
        for each in (memory, memory_mem0, floor, alone):
            stack.callback(each.close)
        enough = Mem0Enough(builtin)
        contenders: list[Contender] = [
            searcher,
            OurSearcher(ours, "mem0"),
            memory,
            memory_mem0,
            builtin,
            enough,
            floor,
            alone,
            exact,
            *([local] if local else []),
        ]
        machine.forget_peak()
        by_users = {users: _measured(contenders, memories, users, rounds, tick) for users in memories.users}
        first = by_users[memories.users[0]]
        return {
            "benchmark": "search",
            **first,
            "by_users": {
                str(users): {
                    key: each[key] for key in ("ratios", "medians_ms", "p95_ms", "client_cpu_ms", "of_rounds_ms")
                }
                for users, each in by_users.items()
            },
            "mem0_builtin_enough_asked_for": round(statistics.median(enough.asked_for.values())),
            "raw_floor_took_ms": floor.took_ms(),
            "apart_ms": apart(memories),
            "runs": rounds,
            "questions": len(memories.questions),
            "top_k": TOP_K,
            "segments": {"ours": segments(ours.store, name), "mem0_builtin": segments(ours.store, f"{name}-mem0")},
            "shards": {"ours": 1, "mem0_builtin": 1},
            "memory": {"client": machine.client_memory(), "node": machine.node_memory(url)},
            "data": memories.facts(),
            "machine": about,
        }


def calls_of(contender: Contender, memories: Memories, users: int) -> list[Callable[[], list[str]]]:
    """Return one call for each question, in its user's memories."""
    return [partial(contender.search, each, memories.filter_for(each, users), TOP_K) for each in memories.questions]


def _measured(contenders: list[Contender], memories: Memories, users: int, rounds: int, tick: Tick) -> dict[str, Any]:
    calls = {each.name: calls_of(each, memories, users) for each in contenders}
    times = interleave(calls, rounds=rounds, tick=partial(tick, f"searching, {users} users"))
    sending = {name: todo for name, todo in calls.items() if name not in _LOCAL and not name.startswith("raw")}
    return {
        "ratios": ratios_of(times),
        "medians_ms": {name: each.p50_ms() for name, each in times.items()},
        "p95_ms": {name: each.p95_ms() for name, each in times.items()},
        "of_rounds_ms": {name: each.of_rounds_ms() for name, each in times.items()},
        "client_cpu_ms": {name: each.cpu_ms() for name, each in times.items()},
        "per_search": on_the_wire(sending),
        "calls": {name: len(each.found) for name, each in times.items()},
        "results_per_search": {name: round(statistics.mean(each.found), 2) for name, each in times.items()},
        "users": users,
    }


def ratios_of(times: dict[str, Times]) -> dict[str, float]:
    """Return how the medians compare.

    Memory is compared with Memory, and our searcher with the requests that it sends.
    """
    pairs = {
        "mem0_builtin_over_ours": ("mem0_builtin", _MEMORY),
        "mem0_builtin_over_ours_mem0_mode": ("mem0_builtin", "ours_memory_mem0_mode"),
        "mem0_builtin_over_ours_searcher": ("mem0_builtin", _OURS),
        "mem0_builtin_enough_over_ours": ("mem0_builtin_enough", _MEMORY),
        "mem0_qdrant_over_ours": ("mem0_qdrant", _MEMORY),
        "ours_over_raw_floor": (_OURS, "raw_floor"),
        "ours_memory_over_raw_floor": (_MEMORY, "raw_floor"),
        "ours_over_raw_floor_search_alone": (_OURS, "raw_floor_search_alone"),
        "ours_over_numpy_exact": (_OURS, "numpy_exact"),
    }
    return {
        name: ratio(times[one], times[other]) for name, (one, other) in pairs.items() if {one, other} <= times.keys()
    }


def apart(memories: Memories) -> dict[str, float]:
    """Return what goes before a search and is not in its times: the vector; and what is: reading the question."""
    from datetime import UTC, datetime

    from mem_opensearch.search.question import Asked

    embedder = getattr(memories.embedder, "inner", memories.embedder)
    embedding, reading = [], []
    for question in memories.questions:
        start = time.perf_counter()
        embedder.embed_queries([question.text])
        embedding.append(time.perf_counter() - start)
        cpu = time.process_time()
        Asked.of(question.text, datetime.now(UTC))
        reading.append(time.process_time() - cpu)
    return {
        "embedding": round(statistics.median(embedding) * 1000, 3),
        "reading_the_question_cpu": round(statistics.median(reading) * 1000, 3),
    }
