"""Search by this package's own store: by meaning, by words, or by every signal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import BackendError
from mem_opensearch.evaluate.metrics import Candidates
from mem_opensearch.evaluate.seen import Seen
from mem_opensearch.queries import BM25_B, BM25_K1
from mem_opensearch.search import Searcher
from mem_opensearch.store import EntityLinker, EntityStore, MemoryText
from mem_opensearch.store.annotations import moment_of
from mem_opensearch.store.vector_store import OpenSearchVectorStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.entities import Extractor
    from mem_opensearch.evaluate.datasets import Dataset, Memory, Query
    from mem_opensearch.evaluate.vectors import CachingEmbedder, Vectors
    from mem_opensearch.rerank import Reranker
    from mem_opensearch.search import Answer, Mode, SearchOptions

Tick = Callable[[int, int], None]
"""Called with how much is done, and how much there is."""

CHUNK_ROWS = 250  # rows between two ticks


def pool_size(top_k: int) -> int:
    """Return how many rows count as looked at: mem0's own over-fetch, so that failure classes compare.

    >>> pool_size(10), pool_size(50)
    (60, 200)
    """
    return max(4 * top_k, 60)


SIMILARITY = "memory"
"""Name that `index_templates/common.json` gives to the BM25 of the fields of words."""


class OwnIndex:
    """One collection of this package's store, filled once and shared by the systems over it.

    Args:
        url: the server.
        collection: its name.
        embedder: of texts, and of names of entities.
        analyzer: as `StoreConfig.analyzer`.
        annotate: whether memories are stored with all that a search by every signal needs.
        extractor: finds the names that memories are linked to; None links nothing.
        options: of the search by every signal.
    """

    def __init__(
        self,
        *,
        url: str,
        collection: str,
        embedder: CachingEmbedder,
        analyzer: str = "auto",
        annotate: bool = False,
        extractor: Extractor | None = None,
        options: SearchOptions | None = None,
    ) -> None:
        self.store = OpenSearchVectorStore(
            url=url,
            collection_name=collection,
            embedding_model_dims=embedder.dims,
            analyzer=analyzer,
            annotate=annotate,
        )
        self.entities = EntityStore.beside(self.store, embed=embedder.embed_documents)
        self._embedder = embedder
        self._options = options
        self._linker = EntityLinker(self.entities, extractor=extractor) if extractor is not None else None
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
            self._link(rows)
            tick(start + len(rows), total)
        stored = self.store.col_info()["count"]  # refreshes too, so that no query has to
        if stored != total:
            raise BackendError(f"'{self.store.collection_name}' holds {stored} memories after {total} were written")
        self.entities.col_info()  # refreshes
        self._is_filled = True

    def score_words_by(self, *, k1: float = BM25_K1["text"], b: float = BM25_B) -> None:
        """Score the fields of words by BM25 with other parameters; what is stored is the same for all.

        The collection is closed for it, and open again when this returns.

        Raises:
            BackendError: the server can't.
        """
        client, name = self.store.client, self.store.collection_name
        client.request("POST", path_of(name, "_close"))
        try:
            similarity = {f"index.similarity.{SIMILARITY}": {"type": "BM25", "k1": k1, "b": b}}
            client.request("PUT", path_of(name, "_settings"), body=similarity)
        finally:
            client.request("POST", path_of(name, "_open"))
            client.request("GET", path_of("_cluster", "health", name), params={"wait_for_status": "yellow"})

    @cached_property
    def searcher(self) -> Searcher:
        """What searches it by every signal."""
        return Searcher(self.store, embedder=self._embedder, entities=self.entities, options=self._options)

    @property
    def options(self) -> SearchOptions:
        """Those of the search by every signal."""
        return self._options or self.store.config.search

    @property
    def requests(self) -> int:
        """HTTP requests sent so far, to memories and entities."""
        return self.store.client.requests + self.entities.client.requests

    def _link(self, rows: Sequence[Memory]) -> None:
        """Link memories to what they name; one that is nobody's has no scope, and no links."""
        if self._linker is not None:
            self._linker.link(
                MemoryText(memory.id, memory.text, {"user_id": memory.user_id}, memory.entities)
                for memory in rows
                if memory.user_id is not None
            )

    def drop(self) -> None:
        """Delete both collections, and close the connections; each of the systems over it asks for that."""
        if self._is_dropped:
            return
        with ExitStack() as stack:
            for collection in (self.store, self.entities):
                stack.callback(collection.close)
                stack.callback(collection.delete_col)
        self._is_dropped = True


def payload_of(memory: Memory) -> dict[str, Any]:
    """Return the payload that a memory is stored with."""
    payload: dict[str, Any] = {"data": memory.text}
    if memory.user_id is not None:
        payload["user_id"] = memory.user_id
    if memory.created_at is not None:
        payload["created_at"] = memory.created_at
    if memory.expiration_date is not None:
        payload["expiration_date"] = memory.expiration_date
    if memory.entities:
        payload["entities"] = list(memory.entities)
    return payload


def _scope_of(query: Query) -> dict[str, Any] | None:
    return None if query.user_id is None else {"user_id": query.user_id}


class _OwnSystem:
    """What the systems have in common: the index."""

    def __init__(self, index: OwnIndex) -> None:
        self._index = index

    @property
    def requests(self) -> int:
        """HTTP requests that the shared index has caused so far."""
        return self._index.requests

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


class SearcherSystem(_OwnSystem):
    """Every signal, in one of the modes of `Searcher`.

    Args:
        index: what is searched.
        mode: how signals become one ranking.
        is_as_of: whether each query searches what was there when it was asked, and not all there is.
        reranker: the second stage; None searches without one.
    """

    def __init__(self, index: OwnIndex, mode: Mode, *, is_as_of: bool, reranker: Reranker | None = None) -> None:
        super().__init__(index)
        self.name: str = mode if reranker is None else f"{mode}+{reranker.scorer.name}"
        self._mode = mode
        self._is_as_of = is_as_of
        self._reranker = reranker

    def search(self, query: Query, vector: Any, *, top_k: int) -> list[str]:  # noqa: ANN401 - a row of an array
        """Return ids by score; what lies below the threshold is left out."""
        return [found.id for found in self._ask(query, vector, top_k=top_k).results]

    def candidates(self, query: Query, vector: Any, *, top_k: int) -> Candidates:  # noqa: ANN401 - a row of an array
        """Return what the search itself says it looked at, and left out."""
        answer = self._ask(query, vector, top_k=top_k)
        return Candidates(pool=answer.pool, gated=answer.gated, threshold=self._index.options.threshold)

    def explain(self, query: Query, vector: Any, *, top_k: int) -> Seen:  # noqa: ANN401 - a row of an array
        """Return where the scores of what was looked at come from, those below the threshold included."""
        options = self._index.options
        # As many results as there are candidates leave the pool as it is; mode mem0 would widen it with them.
        wide = {} if self._mode == "mem0" else {"top_k": max(options.pool, top_k), "threshold": 0.0}
        searcher, asked = self._index.searcher, self._arguments(query, vector, top_k=top_k)
        details: dict[str, Mapping[str, Any]] = {}
        ranks: dict[str, int] = {}
        for found in searcher.search(query.text, **(asked | wide | {"explain": True})).results:
            own = dict(found.details or {}) | {"threshold": options.threshold}
            details[found.id] = own
            if own.get("evidence", 1.0) >= options.threshold:
                ranks[found.id] = len(ranks) + 1
        reasons: dict[str, str] = {}
        sentences: dict[str, str] = {}
        for memory_id in query.relevant:
            if memory_id in details:
                continue
            why = searcher.why(query.text, memory_id, **asked)
            reasons[memory_id], sentences[memory_id] = why.reason, why.sentence
            if why.details is not None:
                details[memory_id] = why.details
            if why.rank is not None:
                ranks[memory_id] = why.rank
        return Seen(details, ranks, reasons, sentences, is_reranked=self._reranker is not None)

    def filters_for(self, query: Query) -> dict[str, Any] | None:
        """Return which memories a query is searched in: its user's."""
        return _scope_of(query)

    def _ask(self, query: Query, vector: Any, *, top_k: int) -> Answer:  # noqa: ANN401 - a row of an array
        asked = self._arguments(query, vector, top_k=top_k)
        answer = self._index.searcher.search(query.text, **asked, rerank=self._reranker)
        if answer.degraded:  # a number measured without a signal would be taken for one measured with it
            raise BackendError(f"query '{query.id}' was answered without a signal: {'; '.join(answer.degraded)}")
        return answer

    def _arguments(self, query: Query, vector: Any, *, top_k: int) -> dict[str, Any]:  # noqa: ANN401 - as above
        asked_at = moment_of(query.asked_at)
        return {
            "vector": vector,
            "filters": self.filters_for(query),
            "top_k": top_k,
            "mode": self._mode,
            "asked_at": asked_at,
            "as_of": asked_at if self._is_as_of else None,
        }
