"""What it costs to see one's own writes: refresh on read, on every write, or waiting for the server's own.

Each round stores one memory and searches for it, once per policy, in turn; then twenty are stored one by one without a
search between, as a loop over `add` of mem0 does.
"""

from __future__ import annotations

import statistics
import time
import uuid
from typing import Any

from mem_opensearch import OpenSearchVectorStore

POLICIES = ("on_read", "wait_for", "true")
LOOP = 20


def run(url: str, *, rounds: int) -> dict[str, Any]:
    """Return medians in milliseconds per policy, and how often a search missed what was just stored."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    stores = {
        policy: OpenSearchVectorStore(
            url=url, collection_name=f"{name}-{policy.replace('_', '-')}", embedding_model_dims=4, refresh=policy
        )
        for policy in POLICIES
    }
    times: dict[str, dict[str, list[float]]] = {p: {"add_and_search": [], "add_loop": []} for p in POLICIES}
    missed = dict.fromkeys(POLICIES, 0)
    try:
        for store in stores.values():
            store.create_col()
        for number in range(rounds):
            for policy, store in stores.items():
                start = time.perf_counter()
                store.insert([[1, 0, 0, 0]], [{"data": f"第{number}条", "user_id": f"u{number}"}])
                found = store.search("", [1, 0, 0, 0], filters={"user_id": f"u{number}"})
                times[policy]["add_and_search"].append(time.perf_counter() - start)
                missed[policy] += not found
        for number in range(max(1, rounds // 10)):
            for policy, store in stores.items():
                start = time.perf_counter()
                for item in range(LOOP):
                    store.insert([[1, 0, 0, 0]], [{"data": f"第{item}条", "user_id": f"loop{number}"}])
                times[policy]["add_loop"].append((time.perf_counter() - start) / LOOP)
    finally:
        for store in stores.values():
            store.delete_col()
    medians = {p: {k: round(statistics.median(v) * 1000, 1) for k, v in kinds.items()} for p, kinds in times.items()}
    return {
        "medians_ms": medians,
        "missed": missed,
        "ratios_to_on_read": {
            p: {k: round(v / medians["on_read"][k], 1) for k, v in kinds.items()} for p, kinds in medians.items()
        },
        "rounds": rounds,
    }
