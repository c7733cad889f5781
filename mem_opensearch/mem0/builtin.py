"""mem0's own OpenSearch provider and read path, for a comparison side by side on one node.

Unchanged but for one word: its index asks for the kNN engine ``nmslib``, which OpenSearch 3 refuses, and gets
``lucene``. The word is changed in the request that the provider itself sends, so the mapping is mem0's, whatever
version is installed. Nothing is registered anywhere: it works while `register` is active and when it isn't.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self
from urllib.parse import urlsplit

from mem0 import Memory
from mem0.configs.base import MemoryConfig
from mem0.memory.storage import SQLiteManager
from mem0.utils.lemmatization import lemmatize_for_bm25
from mem0.vector_stores.configs import VectorStoreConfig
from mem0.vector_stores.opensearch import OpenSearchConfig, OpenSearchDB

from mem_opensearch import forks
from mem_opensearch.errors import ConfigError, InvalidInputError
from mem_opensearch.mem0.embedder import Mem0Embedder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.embed import Embedder

REFUSED_ENGINE: Final = "nmslib"
ENGINE: Final = "lucene"
INSERT_THREADS: Final = 8  # 600 rows on a busy two-core machine: 7.3 s with 1, 3.3 s with 4, 2.6 s with 8


class _Requests:
    """Count requests, from any thread."""

    def __init__(self) -> None:
        self._lock = forks.Lock()
        self.total = 0

    def add(self) -> None:
        with self._lock:
            self.total += 1


class LuceneOpenSearchDB(OpenSearchDB):  # type: ignore[misc] # mem0 has no types
    """mem0's provider with another engine name in the body that creates its index, and its requests counted."""

    def __init__(self, *, requests: _Requests, **options: Any) -> None:  # noqa: ANN401 - mem0 checks its own options
        self._requests = requests
        self._options = options
        self._is_watched = False
        super().__init__(**options)

    def create_col(self, name: str, vector_size: int) -> None:
        """Create the index as mem0 does; called by mem0's constructor as soon as its client exists."""
        if not self._is_watched:
            self._watch_client()
            self._is_watched = True
        super().create_col(name, vector_size)

    def mem0_config(self) -> OpenSearchConfig:
        """Return the options as mem0's own config object."""
        return OpenSearchConfig(**self._options)

    def sibling(self, collection: str) -> LuceneOpenSearchDB:
        """Return the same provider over another collection; the two share the count of requests."""
        return LuceneOpenSearchDB(requests=self._requests, **{**self._options, "collection_name": collection})

    def _watch_client(self) -> None:
        send = self.client.transport.perform_request

        def perform_request(method: str, url: str, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - a pass-through
            self._requests.add()
            body = options.get("body")
            if method == "PUT" and isinstance(body, dict) and "mappings" in body:
                options["body"] = with_engine(body, ENGINE)
            return send(method, url, *args, **options)

        self.client.transport.perform_request = perform_request


def with_engine(body: Mapping[str, Any], engine: str) -> dict[str, Any]:
    """Return a create-index body with the kNN engine of each vector field replaced where it is the refused one.

    >>> field = {"type": "knn_vector", "dimension": 2, "method": {"engine": "nmslib", "name": "hnsw"}}
    >>> with_engine({"mappings": {"properties": {"v": field}}}, "lucene")["mappings"]["properties"]["v"]["method"]
    {'engine': 'lucene', 'name': 'hnsw'}
    """
    fields = {}
    for name, field in body["mappings"]["properties"].items():
        method = field.get("method", {})
        swap = method.get("engine") == REFUSED_ENGINE
        fields[name] = {**field, "method": {**method, "engine": engine}} if swap else field
    return {**body, "mappings": {**body["mappings"], "properties": fields}}


class _NoLanguageModel:
    """Stands where mem0 keeps its language model, which reading and ``add(infer=False)`` never call."""

    def generate_response(self, *_: object, **__: object) -> NoReturn:
        raise ConfigError("this memory has no language model: add with infer=False")


class _Mem0ReadPath(Memory):  # type: ignore[misc] # mem0 has no types
    """mem0's `Memory` with its parts given instead of looked up by provider name.

    The constructor sets what `Memory.__init__` sets (a test compares the two), without the registry, which may point
    to this package's store, and without the telemetry store, which would be a stray index on the server. Everything
    else is mem0's code.
    """

    def __init__(self, *, store: LuceneOpenSearchDB, embedder: Embedder, history_db_path: str) -> None:
        self.config = MemoryConfig(history_db_path=history_db_path)
        self.config.vector_store = VectorStoreConfig.model_construct(  # validation would make a config of ours of it
            provider="opensearch", config=store.mem0_config()
        )
        self.embedding_model = Mem0Embedder(embedder=embedder)
        self.vector_store = store
        self.llm = _NoLanguageModel()
        self.db = SQLiteManager(history_db_path)
        self.collection_name = store.collection_name
        self.api_version = self.config.version
        self.custom_instructions = self.config.custom_instructions
        self.reranker = None
        self._entity_store: LuceneOpenSearchDB | None = None
        self._entity_lock = forks.Lock()

    @property
    def entity_store(self) -> LuceneOpenSearchDB:
        """The provider over ``<collection>_entities``, made at first use as in mem0."""
        with self._entity_lock:
            if self._entity_store is None:
                self._entity_store = self.vector_store.sibling(f"{self.collection_name}_entities")
            return self._entity_store


class BuiltinMemory:
    """mem0 over its own OpenSearch provider; made by `builtin_memory`.

    Attributes:
        memory: the `mem0.Memory`; search it with
            ``memory.search(query, filters={"user_id": ...}, top_k=..., explain=True)``. `reset` and
            ``add(infer=False)`` work as well; ``add(infer=True)`` has no language model to ask.
    """

    def __init__(self, memory: Memory, requests: _Requests) -> None:
        self.memory = memory
        self._requests = requests

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def requests(self) -> int:
        """HTTP requests sent so far, those of the entity collection and of `refresh` included."""
        return self._requests.total

    def insert_many(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        vectors: Sequence[Sequence[float]],
        payloads: Sequence[Mapping[str, Any]],
    ) -> None:
        """Write memories with given ids through the provider's own `insert`, which sends one request each.

        Several threads call it, for the server writes a batch of single requests faster when they come side by side;
        the order in which rows are written is therefore open.

        Args:
            ids: memory ids; the provider does not replace an id that is stored, it adds a second row.
            texts: memory texts, not blank.
            vectors: one per text, shape ``(len(ids), dims)``; a numpy array will do.
            payloads: scope (mem0 searches only within a `user_id`, `agent_id` or `run_id`) and metadata. `data`,
                `hash`, `created_at`, `updated_at` and `text_lemmatized` are added as mem0 makes them; `created_at`
                and `updated_at` are kept where given.

        Raises:
            InvalidInputError: the four differ in length.
        """
        lengths = {len(ids), len(texts), len(vectors), len(payloads)}
        if len(lengths) > 1:
            raise InvalidInputError(
                f"ids, texts, vectors and payloads differ in length: "
                f"{len(ids)}, {len(texts)}, {len(vectors)}, {len(payloads)}"
            )
        rows = list(zip(ids, texts, vectors, payloads, strict=True))

        def insert_every_nth(first: int) -> None:
            mine = rows[first::INSERT_THREADS]
            if mine:
                self.memory.vector_store.insert(
                    vectors=[[float(component) for component in vector] for _, _, vector, _ in mine],
                    ids=[row_id for row_id, _, _, _ in mine],
                    payloads=[mem0_payload(text, payload) for _, text, _, payload in mine],
                )

        with ThreadPoolExecutor(INSERT_THREADS) as pool:
            list(pool.map(insert_every_nth, range(INSERT_THREADS)))  # the list raises what a thread raised

    def refresh(self) -> None:
        """Make every write searchable."""
        self.memory.vector_store.client.indices.refresh(index=self._indices(), ignore_unavailable=True)

    def drop(self) -> None:
        """Delete the index of the memories and, if there is one, that of the entities."""
        self.memory.vector_store.client.indices.delete(index=self._indices(), ignore_unavailable=True)

    def close(self) -> None:
        """Close the history database and the connections; the indices stay."""
        self.memory.close()
        self.memory.vector_store.client.close()
        if self.memory._entity_store is not None:  # noqa: SLF001 - the property would make it
            self.memory.entity_store.client.close()

    def _indices(self) -> str:
        name = self.memory.collection_name
        return f"{name},{name}_entities"


def builtin_memory(
    *, url: str, collection: str, embedder: Embedder, history_db_path: str = ":memory:"
) -> BuiltinMemory:
    """Return mem0 over its own OpenSearch provider at `url`.

    The index is created at once, as mem0's provider does in its constructor. An index of that name that exists is used
    as it is.

    Args:
        url: ``http://host:port`` or ``https://host:port``, without credentials. Certificates are not verified, which
            is mem0's default.
        collection: name of the index.
        embedder: makes the vectors of `search` and `add`; its `dims` are the index's.
        history_db_path: SQLite file of mem0's history.

    Raises:
        ConfigError: `url` is no such URL, or `collection` is a pattern.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
        raise ConfigError("the URL of mem0's own provider must be http://host:port or https://host:port")
    if not collection or set(collection) & set("*?,"):
        raise ConfigError(f"'{collection}' names no single index")  # `drop` would delete all that it matches
    requests = _Requests()
    store = LuceneOpenSearchDB(
        requests=requests,
        collection_name=collection,
        host=parts.hostname,
        port=parts.port or 9200,
        use_ssl=parts.scheme == "https",
        embedding_model_dims=embedder.dims,
    )
    return BuiltinMemory(_Mem0ReadPath(store=store, embedder=embedder, history_db_path=history_db_path), requests)


def mem0_payload(text: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload that mem0's `_create_memory` writes for `text`.

    Args:
        text: the memory.
        payload: scope and metadata; its `created_at` and `updated_at` are kept.
    """
    now = datetime.now(UTC).isoformat()
    written = {"created_at": now, **payload, "data": text}
    written.setdefault("updated_at", written["created_at"])
    written["hash"] = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    written["text_lemmatized"] = lemmatize_for_bm25(text)
    return written
