"""Search as mem0 does without this package: its own OpenSearch provider and its own read path."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mem_opensearch.client import failures
from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import BackendError, MemOpenSearchError
from mem_opensearch.evaluate.metrics import Candidates
from mem_opensearch.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mem_opensearch.client import SearchClient
    from mem_opensearch.evaluate.datasets import Dataset, Memory, Query
    from mem_opensearch.evaluate.own import Tick
    from mem_opensearch.evaluate.vectors import CachingEmbedder, Vectors
    from mem_opensearch.mem0.builtin import BuiltinMemory

CHUNK_ROWS = 20  # the provider sends one request per row; this is only how often the progress bar moves
EVERYBODY = {"run_id": "everybody"}
"""mem0 refuses to search without a scope: every memory carries this one, and a query without a user asks for it."""

_NOT_FOUND = 404


class Mem0BuiltinSystem:
    """mem0's `Memory.search` with its defaults, over collections of its own layout."""

    name = "mem0-builtin"

    def __init__(self, *, client: SearchClient, collection: str, embedder: CachingEmbedder) -> None:
        require("mem0", extra="mem0", purpose="the system 'mem0-builtin'")
        self._client = client
        self._collection = collection
        self._embedder = embedder
        self._builtin: BuiltinMemory | None = None

    @property
    def requests(self) -> int:
        """HTTP requests that mem0's provider has sent so far."""
        return self._opened.requests

    @property
    def _opened(self) -> BuiltinMemory:
        if self._builtin is None:
            raise RuntimeError("index() comes first")
        return self._builtin

    def index(self, dataset: Dataset, vectors: Vectors, tick: Tick) -> None:
        """Write every memory as mem0's provider does, one request each."""
        if self._builtin is not None:
            return
        from mem_opensearch.mem0.builtin import builtin_memory

        total = len(dataset.memories)
        with _mem0_at_work(f"indexing '{dataset.name}'"):
            self._builtin = builtin_memory(
                url=self._client.hosts[0],
                collection=self._collection,
                embedder=self._embedder,
                history_db_path=":memory:",
            )
            for start in range(0, total, CHUNK_ROWS):
                rows = dataset.memories[start : start + CHUNK_ROWS]
                self._builtin.insert_many(
                    [memory.id for memory in rows],
                    [memory.text for memory in rows],
                    vectors[start : start + CHUNK_ROWS].tolist(),
                    [_payload_of(memory) for memory in rows],
                )
                tick(start + len(rows), total)
            # mem0 makes its entity collection at first use, and sleeps a second over it: not inside a timed query.
            _ = self._builtin.memory.entity_store
            self._builtin.refresh()
        stored = self._client.request("GET", path_of(self._collection, "_count"))["count"]
        if stored != total:
            raise BackendError(f"'{self._collection}' holds {stored} memories after {total} were written")

    def search(self, query: Query, vector: Any, *, top_k: int) -> list[str]:  # noqa: ANN401, ARG002 - mem0 looks it up
        """Return ids as mem0 ranks them; its threshold stays at its default."""
        scope = EVERYBODY if query.user_id is None else {"user_id": query.user_id}
        with _mem0_at_work(f"query '{query.id}'"):
            answer = self._opened.memory.search(query.text, filters=dict(scope), top_k=top_k)
        return [row["id"] for row in answer["results"]]

    def candidates(self, query: Query, vector: Any, *, top_k: int) -> Candidates:  # noqa: ANN401 - a row of an array
        """Return what mem0's own search by meaning found: nothing else can enter its ranking."""
        memory = self._opened.memory
        store = memory.vector_store
        search = store.search
        scores: dict[str, float] = {}

        def watched(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - passed through as it is
            hits = search(*args, **options)
            scores.update({str(hit.id): float(hit.score) for hit in hits})
            return hits

        store.search = watched
        try:
            self.search(query, vector, top_k=top_k)
        finally:
            store.search = search
        threshold = inspect.signature(memory.search).parameters["threshold"].default
        return Candidates(
            pool=frozenset(scores),
            gated=frozenset(row for row, score in scores.items() if score < threshold),
            scores=scores,
            threshold=threshold,
        )

    def drop(self) -> None:
        """Delete both collections by name: mem0 may have been stopped between making one and returning."""
        try:
            for name in (self._collection, f"{self._collection}_entities"):
                self._client.request("DELETE", path_of(name), accept=(_NOT_FOUND,))
        finally:
            if self._builtin is not None:
                self._builtin.close()
                self._builtin = None


def _payload_of(memory: Memory) -> dict[str, Any]:
    """Return scope and date; mem0 adds the rest as it does for every memory."""
    payload: dict[str, Any] = dict(EVERYBODY)
    if memory.user_id is not None:
        payload["user_id"] = memory.user_id
    if memory.created_at is not None:
        payload["created_at"] = memory.created_at
    if memory.expiration_date is not None:
        payload["expiration_date"] = memory.expiration_date
    return payload


@contextmanager
def _mem0_at_work(action: str) -> Iterator[None]:
    """Map whatever mem0 and its client raise: neither knows this package's errors."""
    try:
        yield
    except MemOpenSearchError:
        raise
    except Exception as error:
        action = f"mem0's own OpenSearch provider, {action},"
        status = getattr(error, "status_code", None)
        if isinstance(status, int):  # the server's answer may quote a memory, which that function takes out
            raise failures.from_status(status, failures.decode(getattr(error, "info", None)), action=action) from error
        raise BackendError(f"{action} failed: {type(error).__name__}: {error}") from error
