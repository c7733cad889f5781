"""How long it takes to delete all memories of one user, of many users' on the same index."""

from __future__ import annotations

import time
import uuid
from typing import Any

from mem_opensearch import OpenSearchVectorStore

ROWS = 5000  # of one user, for each round: twenty rounds are 100,000
OTHERS = 1000  # of other users, for each round
DIMS = 8


def run(url: str, *, rounds: int) -> dict[str, Any]:
    """Return the seconds of one `delete_all`, and what was there before and after."""
    store = OpenSearchVectorStore(url=url, collection_name=f"bench-{uuid.uuid4().hex[:8]}", embedding_model_dims=DIMS)
    try:
        for number in range(rounds):
            _fill(store, ROWS, "甲", number)
            _fill(store, OTHERS, f"u{number}", number)
        there = store.count()
        start = time.perf_counter()
        gone = store.delete_all(user_id="甲")
        seconds = time.perf_counter() - start
        return {"rows": there, "gone": gone, "left": store.count(), "seconds": round(seconds, 1)}
    finally:
        store.delete_col()


def _fill(store: OpenSearchVectorStore, count: int, user: str, number: int) -> None:
    vectors = [[1.0, number + 1.0, item + 1.0, *[0.5] * (DIMS - 3)] for item in range(count)]
    store.insert(vectors, [{"data": f"第{number}批第{item}条记忆", "user_id": user} for item in range(count)])
