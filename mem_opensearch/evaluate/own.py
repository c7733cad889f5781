"""Search by meaning, or by words, over this package's own store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mem_opensearch.errors import BackendError
from mem_opensearch.evaluate.metrics import Candidates
from mem_opensearch.store.vector_store import OpenSearchVectorStore

if TYPE_CHECKING:
    from mem_opensearch.evaluate.datasets import Dataset, Memory, Query
    from mem_opensearch.evaluate.vectors import Vectors

Tick = Callable[[int, int], None]
"""Called with how much is done, and how much there is."""

CHUNK_ROWS = 250  # rows between two ticks


def pool_size(top_k: int) -> int:
    """Return how many rows count as looked at: mem0's own over-fetch, so that failure classes compare.

    >>> pool_size(10), pool_size(50)
    (60, 200)
    """
    return max(4 * top_k, 60)


class OwnIndex:
    """One collection of this package's store, filled once and shared by the systems over it."""

    def __init__(self, *, url: str, collection: str, dims: int, analyzer: str = "auto") -> None:
        self.store = OpenSearchVectorStore(
            url=url, collection_name=collection, embedding_model_dims=dims, analyzer=analyzer
        )
        self._is_filled = False
        self._is_dropped = False

    def fill(self, dataset: Dataset, vectors: Vectors, tick: Tick) -> None:
        """Store every memory and check that the server has them all."""
        if self._is_filled:
            return
        total = len(dataset.memories)
        for start in range(0, total, CHUNK_ROWS):
            rows = dataset.memories[start : start + CHUNK_ROWS]
            self.store.insert(
                list(vectors[start : start + CHUNK_ROWS]),
                payloads=[payload_of(memory) for memory in rows],
                ids=[memory.id for memory in rows],
            )
            tick(start + len(rows), total)
        stored = self.store.col_info()["count"]  # refreshes too, so that no query has to
        if stored != total:
            raise BackendError(f"'{self.store.collection_name}' holds {stored} memories after {total} were written")
        self._is_filled = True

    def drop(self) -> None:
        """Delete the collection, and close the connections; each of the systems over it asks for that."""
        if self._is_dropped:
            return
        try:
            self.store.delete_col()
        finally:
            self.store.close()
        self._is_dropped = True


def payload_of(memory: Memory) -> dict[str, Any]:
    """Return the payload that a memory is stored with."""
    payload: dict[str, Any] = {"data": memory.text}
    if memory.user_id is not None:
        payload["user_id"] = memory.user_id
    if memory.created_at is not None:
        payload["created_at"] = memory.created_at
    if memory.entities:
        payload["entities"] = list(memory.entities)
    return payload


def _scope_of(query: Query) -> dict[str, str] | None:
    return None if query.user_id is None else {"user_id": query.user_id}


class _OwnSystem:
    """What the two systems have in common: the index."""

    def __init__(self, index: OwnIndex) -> None:
        self._index = index

    @property
    def requests(self) -> int:
        """HTTP requests that the shared store has sent so far."""
        return self._index.store.client.requests

    def index(self, dataset: Dataset, vectors: Vectors, tick: Tick) -> None:
        """Fill the shared index."""
        self._index.fill(dataset, vectors, tick)

    def drop(self) -> None:
        """Delete the shared index."""
        self._index.drop()


class SemanticSystem(_OwnSystem):
    """Nearest vectors, by cosine."""

    name = "semantic"

    def search(self, query: Query, vector: Any, *, top_k: int) -> list[str]:  # noqa: ANN401 - a row of an array
        """Return ids by cosine."""
        hits = self._index.store.search(query.text, vector, top_k=top_k, filters=_scope_of(query))
        return [hit.id for hit in hits]

    def candidates(self, query: Query, vector: Any, *, top_k: int) -> Candidates:  # noqa: ANN401 - a row of an array
        """Return the pool that a search over this signal would draw from."""
        return Candidates(pool=frozenset(self.search(query, vector, top_k=pool_size(top_k))))


class Bm25System(_OwnSystem):
    """Shared words, by BM25."""

    name = "bm25"

    def search(self, query: Query, vector: Any, *, top_k: int) -> list[str]:  # noqa: ANN401, ARG002 - words only
        """Return ids by BM25."""
        hits = self._index.store.keyword_search(query.text, top_k=top_k, filters=_scope_of(query))
        return [hit.id for hit in hits]

    def candidates(self, query: Query, vector: Any, *, top_k: int) -> Candidates:  # noqa: ANN401 - a row of an array
        """Return the pool that a search over this signal would draw from."""
        return Candidates(pool=frozenset(self.search(query, vector, top_k=pool_size(top_k))))
