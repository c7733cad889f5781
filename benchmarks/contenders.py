"""This package as users use it, by its searcher and as mem0's Memory; and the floors under it."""

from __future__ import annotations

import statistics
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from benchmarks.data import SCOPES, id_of
from benchmarks.raw import RawClient, all_blocks, load
from benchmarks.wire import watching
from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.client.encoding import path_of
from mem_opensearch.entities import Extractor
from mem_opensearch.search import Searcher
from mem_opensearch.store import EntityLinker, EntityStore, MemoryText

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.data import Block, Memories, Question, Vectors
    from benchmarks.wire import Request
    from mem_opensearch.embed import Embedder
    from mem_opensearch.search import Mode

    Tick = Callable[[str, int, int], None]


class Prepared:
    """An embedder that embeds each text once: after a round of warming up, no system is timed with embedding.

    Args:
        inner: embeds what is not known, such as the names in a question.
        questions: whose vectors are known.

    Attributes:
        inner: as given.
    """

    def __init__(self, inner: Embedder, questions: Sequence[Question]) -> None:
        self.name, self.dims = inner.name, inner.dims
        self.inner = inner
        self._queries = {question.text: question.vector for question in questions}
        self._documents: dict[str, Any] = {}

    def embed_queries(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - an array
        """Return a row per text, float32, shape (len(texts), dims)."""
        return _kept(texts, self._queries, self.inner.embed_queries)

    def embed_documents(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - an array
        """Return a row per text, float32, shape (len(texts), dims)."""
        return _kept(texts, self._documents, self.inner.embed_documents)


def _kept(texts: Sequence[str], known: dict[str, Any], embed: Callable[[list[str]], Any]) -> Any:  # noqa: ANN401
    if new := [text for text in dict.fromkeys(texts) if text not in known]:
        known.update(zip(new, embed(new), strict=True))
    return np.stack([known[text] for text in texts])


class OurCollection:
    """A collection of this package with its entities; removed at the end of the with statement.

    Args:
        url: the server.
        name: of the collection.
        memories: what it is filled with.
        options: of `StoreConfig`.
    """

    def __init__(self, url: str, name: str, memories: Memories, **options: Any) -> None:  # noqa: ANN401 - checked there
        self.url, self.memories = url, memories
        self.store = OpenSearchVectorStore(url=url, collection_name=name, embedding_model_dims=memories.dims, **options)
        self.entities = EntityStore.beside(self.store, embed=memories.embedder.embed_documents)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:
            for collection in (self.store, self.entities):
                stack.callback(collection.close)
                stack.callback(collection.delete_col)

    def fill(self, tick: Tick) -> None:
        """Load all memories into one segment, and link those that answer a question to what they name."""
        self.load(tick)
        self.settle()

    def load(self, tick: Tick) -> None:
        """Load all memories in bulk, with the notes that searches read."""
        self.store.create_col()
        blocks = all_blocks(self.memories, lambda done, total: tick("loading ours", done, total))
        load(self.url, self.store.collection_name, blocks, noted=True)
        refresh(self.store)

    def settle(self) -> None:
        """Merge into one segment, and link the memories that answer a question; for all, it would take too long."""
        with RawClient(self.url) as client:
            client.merge(self.store.collection_name)
        rows = sorted({question.row for question in self.memories.questions})
        linker = EntityLinker(self.entities, extractor=Extractor())
        linker.link(MemoryText.of(id_of(row), self._payload(row)) for row in rows)
        self.entities.create_col()
        refresh(self.entities)

    def _payload(self, row: int) -> dict[str, Any]:
        (block,) = self.memories.blocks(1, first=row, last=row + 1)
        return block.payloads[0]


def refresh(store: Any) -> None:  # noqa: ANN401 - a store of memories or entities
    """Make every write searchable."""
    store.client.request("POST", path_of(store.collection_name, "_refresh"))


def segments(store: OpenSearchVectorStore, index: str) -> int:
    """Return how many segments an index has."""
    answer = store.client.request("GET", path_of(index, "_segments"))
    return sum(
        len(copy["segments"])
        for each in answer["indices"].values()
        for shard in each["shards"].values()
        for copy in shard
        if copy["routing"]["primary"]
    )


class OurSearcher:
    """`Searcher.search`, with the vector of the question."""

    def __init__(self, collection: OurCollection, mode: Mode) -> None:
        self.name = f"ours_{mode}" if mode != "mem0" else "ours_mem0_mode"
        self._mode: Mode = mode
        embedder = Prepared(collection.memories.embedder, collection.memories.questions)
        self._searcher = Searcher(collection.store, embedder=embedder, entities=collection.entities)

    def search(self, question: Question, filters: Mapping[str, Any], top_k: int) -> list[str]:
        """Return ids, best first."""
        answer = self._searcher.search(
            question.text, filters=filters, top_k=top_k, mode=self._mode, vector=question.vector
        )
        if answer.degraded:
            raise RuntimeError(f"a search went without a signal: {answer.degraded}")
        return [found.id for found in answer.results]


class RawFloor:
    """The very requests that a search of ours sends, sent again by a bare client.

    Args:
        url: the server.
        source: the system whose requests they are.
        only_memories: leave out the request that looks names and dates up.
    """

    def __init__(self, url: str, source: OurSearcher, *, only_memories: bool = False) -> None:
        self.name = "raw_floor_search_alone" if only_memories else "raw_floor"
        self._client, self._source, self._alone = RawClient(url), source, only_memories
        self._noted: dict[tuple[str, str], list[Request]] = {}
        self.took: list[int] = []

    def search(self, question: Question, filters: Mapping[str, Any], top_k: int) -> list[str]:
        """Return ids as the server orders them; the first time, the requests are noted."""
        key = (question.text, str(filters))
        if key not in self._noted:
            self._source.search(question, filters, top_k)  # what is asked once in a process has been asked by then
            with watching() as wire:
                self._source.search(question, filters, top_k)
            self._noted[key] = [each for each in wire.requests if not self._alone or "/_search" in each.path]
        answers = self._client.replay(self._noted[key])
        self.took.append(sum(answer["took"] for answer in answers))
        return [hit["_id"] for hit in answers[-1]["hits"]["hits"]]

    def took_ms(self) -> float:
        """Return the median of what the server says that it took."""
        return statistics.median(self.took)

    def close(self) -> None:
        """Close the connection."""
        self._client.__exit__()


class ExactScan:
    """All vectors of the user against the question's, in memory: what any search by meaning has to do at least."""

    name = "numpy_exact"

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._vectors: Vectors = np.empty((memories.size, memories.dims), dtype=np.float32)

    def take(self, block: Block) -> None:
        """Keep the vectors of a block."""
        self._vectors[block.first : block.first + len(block.texts)] = block.vectors

    def nearest(self, question: Question, rows: slice, k: int) -> list[int]:
        """Return the positions of the k nearest among some rows, the nearest first."""
        cosines = self._vectors[rows] @ question.vector
        positions = np.arange(self._memories.size)[rows]
        best = np.argpartition(-cosines, min(k, len(cosines)) - 1)[:k]
        return [int(position) for position in positions[best[np.argsort(-cosines[best])]]]

    def search(self, question: Question, filters: Mapping[str, Any], top_k: int) -> list[str]:
        """Return ids by cosine."""
        (key,) = filters
        rows = self._memories.rows_for(question, self._memories.users[SCOPES.index(key)])
        return [id_of(position) for position in self.nearest(question, rows, top_k)]
