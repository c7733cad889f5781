"""Open the two systems that the demo compares: mem0 over our store, and mem0 over its own provider."""

from __future__ import annotations

import logging
import os
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from mem_opensearch.client.encoding import path_of
from mem_opensearch.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mem_opensearch.client import SearchClient
    from mem_opensearch.demo.load import Memory
    from mem_opensearch.embed import Embedder

OURS: Final = "ours"
BUILTIN: Final = "mem0-builtin"
NAMES: Final = {OURS: "mem_opensearch", BUILTIN: "mem0's own provider"}
"""What people read, by key."""

# Nothing listens on the discard port: mem0's constructor wants a language model, and searching never asks it.
_NO_LANGUAGE_MODEL: Final = {"provider": "vllm", "config": {"vllm_base_url": "http://127.0.0.1:9/v1"}}


class SearchesMemories(Protocol):
    """The one method of `mem0.Memory` that the demo asks."""

    def search(self, query: str, *, top_k: int, filters: dict[str, Any], explain: bool) -> dict[str, Any]:
        """Return ``{"results": [...]}``, best first."""


class RememberedEmbeddings:
    """An embedder of mem0 that embeds each text once, so that a search can be timed without it.

    Args:
        inner: the embedder as mem0 made it.
    """

    def __init__(self, inner: Any) -> None:  # noqa: ANN401 - mem0 has no types
        self._inner = inner
        self._vectors: dict[tuple[str, str | None], list[float]] = {}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of `text`, from memory if it was asked before."""
        key = (text, memory_action)
        if key not in self._vectors:
            self._vectors[key] = self._inner.embed(text, memory_action)
        return self._vectors[key]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = "add") -> list[list[float]]:
        """Return one vector per text, in order."""
        return [self.embed(text, memory_action) for text in texts]


@dataclass(frozen=True, slots=True)
class System:
    """One side of the comparison.

    Attributes:
        key: short name, for data.
        memory: mem0's `Memory`: with our store and read path, or with mem0's own.
        collection: name of its collection on the server.
        insert: stores memories with their vectors.
        refresh: makes what was stored searchable.
        requests: returns the HTTP requests sent so far.
        rows_per_insert: memories per call of `insert`.
    """

    key: str
    memory: SearchesMemories
    collection: str
    insert: Callable[[Sequence[Memory], Any], None]
    refresh: Callable[[], object]
    requests: Callable[[], int]
    rows_per_insert: int


@contextmanager
def quiet_mem0() -> Iterator[None]:
    """Keep mem0 from sending usage data, from writing to the user's home, and from warnings that are no news here.

    All three hold only where mem0 is not yet imported or the user has not said otherwise: variables that are set stay
    as they are.
    """
    logger = logging.getLogger("mem0")
    level = logger.level
    with ExitStack() as stack:
        if "MEM0_DIR" not in os.environ:
            os.environ["MEM0_DIR"] = stack.enter_context(tempfile.TemporaryDirectory(prefix="mem-opensearch-demo-"))
            stack.callback(os.environ.pop, "MEM0_DIR", None)
        if "MEM0_TELEMETRY" not in os.environ:
            os.environ["MEM0_TELEMETRY"] = "False"
            stack.callback(os.environ.pop, "MEM0_TELEMETRY", None)
        stack.callback(logger.setLevel, level)
        logger.setLevel(logging.ERROR)
        yield


@contextmanager
def open_systems(*, url: str, name: str, embedder: Embedder) -> Iterator[tuple[SearchClient, tuple[System, System]]]:
    """Give a connection to the server and both systems, each with an empty collection, and delete these at the end.

    Args:
        url: of the server, or ``"local"`` for the local node, which is started if none runs.
        name: prefix of the collections.
        embedder: makes the vectors on both sides.

    Raises:
        MissingExtraError: mem0 is not installed.
        NodeError: the local node can't be started.
        BackendError: the server can't be reached, or fails.
    """
    from mem_opensearch.store import OpenSearchVectorStore

    with ExitStack() as stack:
        probe = OpenSearchVectorStore(url=url)
        stack.callback(probe.close)
        probe.client.request("GET", "/")  # fails here, before there is anything to clean up
        address = probe.client.hosts[0]
        ours = stack.enter_context(_open_ours(address, f"{name}-ours", embedder))
        theirs = f"{name}-builtin"
        # Before it is opened: mem0 makes its index in a constructor that takes a second, and may be interrupted there.
        stack.callback(_delete_indices, probe.client, (theirs, f"{theirs}_entities"))
        builtin = stack.enter_context(_open_builtin(address, theirs, embedder))
        yield probe.client, (ours, builtin)


def _delete_indices(client: SearchClient, names: Sequence[str]) -> None:
    for name in names:
        client.request("DELETE", path_of(name), accept=(404,))


@contextmanager
def _open_ours(url: str, collection: str, embedder: Embedder) -> Iterator[System]:
    require("mem0", extra="mem0", purpose="the demo")
    from mem_opensearch.mem0 import Memory as OurMemory
    from mem_opensearch.mem0 import is_registered, unregister
    from mem_opensearch.mem0.builtin import mem0_payload

    with ExitStack() as stack:
        if not is_registered():
            stack.callback(unregister)  # our Memory registers by itself
        memory = OurMemory.from_config(
            {
                "vector_store": {
                    "provider": "opensearch",
                    "config": {
                        "url": url,
                        "collection_name": collection,
                        "embedding_model_dims": embedder.dims,
                    },
                },
                "embedder": {
                    "provider": "mem_opensearch",
                    "config": {"model": embedder.name, "embedding_dims": embedder.dims},
                },
                "llm": _NO_LANGUAGE_MODEL,
                "history_db_path": ":memory:",
            }
        )
        stack.callback(memory.close)
        memory.embedding_model = RememberedEmbeddings(memory.embedding_model)
        stores = (memory.vector_store, memory.entity_store)
        for store in stores:
            stack.callback(store.close)
            stack.callback(store.delete_col)
        memory.vector_store.create_col()

        def insert(memories: Sequence[Memory], vectors: Any) -> None:  # noqa: ANN401 - numpy array
            memory.vector_store.insert(
                vectors=list(vectors),
                payloads=[mem0_payload(item.text, item.payload()) for item in memories],
                ids=[item.id for item in memories],
            )

        yield System(
            key=OURS,
            memory=memory,
            collection=collection,
            insert=insert,
            refresh=memory.vector_store.col_info,  # counts, and like every read it refreshes first what was written
            requests=lambda: sum(store.client.requests for store in stores),
            rows_per_insert=250,
        )


@contextmanager
def _open_builtin(url: str, collection: str, embedder: Embedder) -> Iterator[System]:
    from mem_opensearch.mem0.builtin import builtin_memory

    with builtin_memory(url=url, collection=collection, embedder=embedder) as builtin:
        builtin.memory.embedding_model = RememberedEmbeddings(builtin.memory.embedding_model)

        def insert(memories: Sequence[Memory], vectors: Any) -> None:  # noqa: ANN401 - numpy array
            builtin.insert_many(
                [item.id for item in memories],
                [item.text for item in memories],
                vectors,
                [item.payload() for item in memories],
            )

        yield System(
            key=BUILTIN,
            memory=builtin.memory,
            collection=collection,
            insert=insert,
            refresh=builtin.refresh,
            requests=lambda: builtin.requests,
            rows_per_insert=10,  # its own insert sends one request for each, so this only moves the bar
        )
