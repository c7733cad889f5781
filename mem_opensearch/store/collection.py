"""One collection on a server: the connection to it, its index, and when its writes are seen."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mem_opensearch.client import SearchClient, open_client
from mem_opensearch.client.failures import from_status
from mem_opensearch.client.opensearch import encode_lines, path_of
from mem_opensearch.config import LOCAL, StoreConfig
from mem_opensearch.errors import ConfigError, IndexStateError, PartialWriteError
from mem_opensearch.index import (
    META_KEY,
    WantedIndex,
    ensure_index,
    find_index,
    list_generations,
    read_spec,
    template_name,
)
from mem_opensearch.index.lease import LEASE_PREFIX
from mem_opensearch.store.visibility import Visibility

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mem_opensearch.models import IndexSpec

_NOT_FOUND = 404


class Collection:
    """The part of a store that has nothing to do with what its rows hold.

    Args:
        config: checked options; or give them as keywords, see `StoreConfig`.
        options: options of `StoreConfig`.

    Raises:
        ConfigError: an option is wrong.
    """

    def __init__(self, config: StoreConfig | None = None, **options: Any) -> None:  # noqa: ANN401 - checked by pydantic
        if config is not None and options:
            raise ConfigError("give either a StoreConfig or its options, not both")
        self.config = config or StoreConfig.build(**options)
        self.collection_name = self.config.collection_name
        self.embedding_model_dims = self.config.embedding_model_dims
        self._lock = threading.RLock()
        self._client: SearchClient | None = None
        self._spec: IndexSpec | None = None
        server = (
            id(self.config.client) if self.config.client is not None else (*self.config.urls, self.config.url == LOCAL)
        )
        self._visibility = Visibility(self.config.refresh, key=(server, self.collection_name))

    # -- the connection

    @property
    def client(self) -> SearchClient:
        """The connection, made on first use.

        Raises:
            NodeError: with ``url="local"``, the local node could not be started.
        """
        with self._lock:
            if self._client is None:
                self._client = open_client(self.config, self._find_urls())
            return self._client

    def _find_urls(self) -> list[str]:
        if not self.config.is_local:
            return self.config.urls
        from mem_opensearch.node import attach_or_start

        return [attach_or_start(version=self.config.node_version, data=self.config.node_data)]

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    # -- the collection

    def create_col(self, name: str | None = None, vector_size: int | None = None, distance: str = "cosine") -> None:
        """Make the index, or check the one that is there.

        Args:
            name: the collection; this store's own when not given.
            vector_size: length of the vectors; this store's own when not given.
            distance: only ``"cosine"`` is supported.

        Raises:
            ConfigError: another distance, or another collection than this store's.
            IndexStateError: the index is there and differs.
        """
        if distance != "cosine":
            raise ConfigError(f"distance '{distance}' is not supported; vectors are compared by cosine")
        if name not in (None, self.collection_name):
            raise ConfigError(f"this store is bound to '{self.collection_name}'; make another store for '{name}'")
        if vector_size not in (None, self.embedding_model_dims):
            raise ConfigError(
                f"this store takes vectors of {self.embedding_model_dims} dimensions, not {vector_size}; "
                "set embedding_model_dims"
            )
        self._ensure()

    def _ensure(self) -> IndexSpec:
        """Make or check the index once in this object's life."""
        with self._lock:
            if self._spec is None:
                self._spec = ensure_index(self.client, WantedIndex.of(self.config))
            return self._spec

    def _is_there(self) -> bool:
        """Whether the index exists and is as wanted; a read makes no index."""
        with self._lock:
            if self._spec is None:
                self._spec = find_index(self.client, WantedIndex.of(self.config))
            return self._spec is not None

    def list_cols(self) -> list[str]:
        """Return the names of all collections on the server that this package made, sorted."""
        metas = self.client.request("GET", "/_mapping", params={"filter_path": f"*.mappings._meta.{META_KEY}.kind"})
        aliases = self.client.request("GET", "/_alias")
        named = {alias for index in metas for alias in aliases.get(index, {}).get("aliases", {})}
        return sorted(alias for alias in named if not alias.startswith(LEASE_PREFIX))

    def col_info(self, name: str | None = None) -> dict[str, Any]:
        """Return how a collection is made and how much it holds.

        Returns:
            ``name, exists, kind, dims, analyzer, engine, count, size_bytes``; all but the first two are None when the
            collection does not exist.
        """
        name = name or self.collection_name
        found = read_spec(self.client, name)
        if found is None:
            return dict.fromkeys(("kind", "dims", "analyzer", "engine", "count", "size_bytes")) | {
                "name": name,
                "exists": False,
            }
        spec, _ = found
        self._visibility.show(self.client, name)
        count = self.client.request("GET", path_of(name, "_count"))["count"]
        stats = self.client.request("GET", path_of(name, "_stats", "store"))
        return {
            "name": name,
            "exists": True,
            "kind": spec.kind,
            "dims": spec.dims,
            "analyzer": spec.profile,
            "engine": spec.engine,
            "count": count,
            "size_bytes": stats["_all"]["primaries"]["store"]["size_in_bytes"],
        }

    def delete_col(self) -> None:
        """Delete the collection with everything in it, and its template; a missing one is no error."""
        with self._lock:
            read_spec(self.client, self.collection_name)  # refuses an index that this package did not make
            for generation in list_generations(self.client, self.collection_name).every:
                self.client.request("DELETE", path_of(generation.name), accept=(_NOT_FOUND,))
            template = template_name(self.collection_name)
            self.client.request("DELETE", path_of("_index_template", template), accept=(_NOT_FOUND,))
            self._spec = None

    def reset(self) -> None:
        """Delete the collection and make it anew, empty."""
        with self._lock:
            self.delete_col()
            self._ensure()

    # -- for the rows

    def _search_all(self, searches: Sequence[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
        """Send searches in one trip; return the hits of each. A missing index has none."""
        if not searches or not self._is_there():
            return [[] for _ in searches]
        with self._watching():
            self._visibility.show(self.client, self.collection_name)
            if len(searches) == 1:
                answer = self.client.request("POST", path_of(self.collection_name, "_search"), body=searches[0])
                return [answer["hits"]["hits"]]
            lines = [line for search in searches for line in ({}, search)]
            answers = self.client.request("POST", path_of(self.collection_name, "_msearch"), body=encode_lines(lines))[
                "responses"
            ]
        for position, answer in enumerate(answers):
            if "error" in answer:
                raise from_status(
                    answer["status"],
                    answer,
                    action=f"search {position + 1} of {len(answers)} in '{self.collection_name}'",
                )
        return [answer["hits"]["hits"] for answer in answers]

    @contextmanager
    def _watching(self) -> Iterator[None]:
        """Look at the index anew after a failure: it may have been deleted or replaced by another process."""
        try:
            yield
        except (IndexStateError, PartialWriteError):
            self._spec = None
            raise
