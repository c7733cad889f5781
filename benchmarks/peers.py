"""mem0's Memory: over this package, over its own OpenSearch provider, and over its default, Qdrant in the process."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, Final, Self

# Read once, when mem0 is imported; a benchmark is not to touch the user's own history, nor to report home.
os.environ.setdefault("MEM0_DIR", tempfile.mkdtemp(prefix="mem0-benchmarks-"))
os.environ.setdefault("MEM0_TELEMETRY", "False")

from benchmarks.contenders import Prepared
from benchmarks.raw import RawClient, bulk_body
from mem_opensearch.mem0.builtin import builtin_memory, mem0_payload
from mem_opensearch.mem0.embedder import Mem0Embedder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.contenders import OurCollection
    from benchmarks.data import Block, Memories, Question
    from mem_opensearch.search import Mode

MOST_ASKED: Final = 1250
"""mem0 asks its provider for four times as many, and that one asks for twice as many: 10,000, the server's limit."""

_NO_MODEL = {"provider": "vllm"}  # a language model that nothing asks


def _ids(answer: Mapping[str, Any]) -> list[str]:
    return [row["id"] for row in answer["results"]]


class OurMemory:
    """`mem_opensearch.mem0.Memory` over a collection that is there."""

    def __init__(self, collection: OurCollection, mode: Mode) -> None:
        from mem_opensearch.mem0 import Memory

        self.name = "ours_memory" if mode == "union" else f"ours_memory_{mode}_mode"
        self._mode: Mode = mode
        config = collection.store.config
        self.memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "opensearch",
                    "config": {
                        "url": collection.url,
                        "collection_name": config.collection_name,
                        "embedding_model_dims": config.embedding_model_dims,
                    },
                },
                "embedder": {"provider": "mem_opensearch", "config": {"embedding_dims": collection.memories.dims}},
                "llm": _NO_MODEL,
                "history_db_path": ":memory:",
            }
        )
        prepared = Prepared(collection.memories.embedder, collection.memories.questions)
        self.memory.embedding_model = Mem0Embedder(embedder=prepared)

    def search(self, question: Question, filters: Mapping[str, Any], top_k: int) -> list[str]:
        """Return ids, best first."""
        return _ids(self.memory.search(question.text, filters=dict(filters), top_k=top_k, mode=self._mode))

    def close(self) -> None:
        """Close the connections."""
        self.memory.close()


class Mem0Builtin:
    """mem0's Memory over its own OpenSearch provider; removed at the end of the with statement.

    Its provider makes one shard, as this package does.
    """

    name = "mem0_builtin"

    def __init__(self, url: str, index: str, memories: Memories) -> None:
        logging.getLogger("mem0").setLevel(logging.ERROR)
        self._url, self._index = url, index
        self._embedder = Prepared(memories.embedder, memories.questions)
        self._raw = RawClient(url)

    def __enter__(self) -> Self:
        try:
            self.builtin = builtin_memory(url=self._url, collection=self._index, embedder=self._embedder)
        except BaseException:  # an interrupt: its constructor makes the index, and then sleeps for a second
            self._raw.remove(self._index)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._raw.remove(self._index, f"{self._index}_entities")
            self.builtin.close()
        finally:
            self._raw.__exit__()

    def take(self, block: Block) -> None:
        """Write a block in bulk, each row as the provider's own `insert` makes it: that one sends a request a row."""
        rows = zip(block.ids, block.vectors, block.payloads, strict=True)
        lines = [
            (row_id, {"vector_field": vector, "payload": mem0_payload(payload["data"], payload), "id": row_id})
            for row_id, vector, payload in rows
        ]
        for start in range(0, len(lines), 500):
            self._raw.write(self._index, bulk_body(lines[start : start + 500], with_ids=False))

    def insert(self, block: Block) -> None:
        """Write a block by the provider's own `insert`, in one thread, as mem0 does."""
        payloads = [mem0_payload(payload["data"], payload) for payload in block.payloads]
        self.builtin.memory.vector_store.insert(vectors=block.vectors.tolist(), ids=block.ids, payloads=payloads)

    def ready(self) -> None:
        """Make every write searchable, in one segment, and the entity collection, which mem0 makes at first use."""
        _ = self.builtin.memory.entity_store
        self._raw.merge(self._index)

    def search(self, question: Question, filters: Mapping[str, Any], top_k: int) -> list[str]:
        """Return ids, best first."""
        return _ids(self.builtin.memory.search(question.text, filters=dict(filters), top_k=top_k))


class Mem0Enough:
    """mem0 over its own provider, asked for as many results as it takes to get those that are wanted.

    Its filter comes after the nearest are chosen: of memories of many users, few are the right one's. So each question
    is asked with `top_k` doubled until there are enough results, or no more with twice as many; the first call finds
    that out, and the others ask so at once.
    """

    name = "mem0_builtin_enough"

    def __init__(self, builtin: Mem0Builtin) -> None:
        self._builtin = builtin
        self.asked_for: dict[tuple[str, str], int] = {}

    def search(self, question: Question, filters: Mapping[str, Any], top_k: int) -> list[str]:
        """Return ids, best first."""
        key = (question.text, str(filters))
        if key not in self.asked_for:
            self.asked_for[key] = self._enough(question, filters, top_k)
        return self._builtin.search(question, filters, self.asked_for[key])[:top_k]

    def _enough(self, question: Question, filters: Mapping[str, Any], top_k: int) -> int:
        wanted = top_k
        while wanted < MOST_ASKED and len(self._builtin.search(question, filters, wanted)) < top_k:
            wanted = min(2 * wanted, MOST_ASKED)
        return wanted


class Mem0Qdrant:
    """mem0's Memory over Qdrant in this process, its default; what it has written is removed at the end.

    Args:
        memories: what is to be stored, and the questions.
        on_disk: whether each row is also written to a file, as by default. Searches read the copy in memory only, so
            that for them nothing is lost without the file, whose writes may take minutes.
    """

    name = "mem0_qdrant"

    def __init__(self, memories: Memories, *, on_disk: bool) -> None:
        from mem0 import Memory
        from qdrant_client import QdrantClient

        logging.getLogger("mem0").setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", module=r"(mem0|qdrant_client)\.")  # that it is not for many rows
        self._folder = tempfile.mkdtemp(prefix="qdrant-benchmarks-")
        where = {"path": self._folder} if on_disk else {"client": QdrantClient(":memory:")}
        store = {"collection_name": "memories", "embedding_model_dims": memories.dims, **where}
        from mem_opensearch import register

        register()  # for the embedder alone; the provider is qdrant
        self.memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": {"provider": "mem_opensearch", "config": {"embedding_dims": memories.dims}},
                "llm": _NO_MODEL,
                "history_db_path": ":memory:",
            }
        )
        self.memory.embedding_model = Mem0Embedder(embedder=Prepared(memories.embedder, memories.questions))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.memory.close()
            self.memory.vector_store.client.close()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def take(self, block: Block) -> None:
        """Write a block by the provider's own `insert`."""
        payloads = [mem0_payload(payload["data"], payload) for payload in block.payloads]
        self.memory.vector_store.insert(vectors=block.vectors.tolist(), ids=block.ids, payloads=payloads)

    def search(self, question: Question, filters: Mapping[str, Any], top_k: int) -> list[str]:
        """Return ids, best first."""
        return _ids(self.memory.search(question.text, filters=dict(filters), top_k=top_k))
