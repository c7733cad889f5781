"""One collection on a server: the connection to it, its index, and when its writes are seen."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mem_opensearch import forks, turns
from mem_opensearch.client import SearchClient, open_client
from mem_opensearch.client.encoding import path_of
from mem_opensearch.client.failures import from_shape
from mem_opensearch.config import LOCAL, StoreConfig, check_collection_name
from mem_opensearch.errors import BackendError, ConfigError, IndexStateError, PartialWriteError
from mem_opensearch.index import (
    META_KEY,
    WantedIndex,
    ensure_index,
    find_index,
    list_generations,
    read_spec,
    template_name,
)
from mem_opensearch.index.dictionary import dictionary_difference, refuse_other_dictionary
from mem_opensearch.index.lease import LEASE_PREFIX
from mem_opensearch.profiles import WordField, word_field
from mem_opensearch.queries import boosts_for
from mem_opensearch.store.recent import recent_of
from mem_opensearch.store.rows import Rows, RowsById
from mem_opensearch.store.rows_by_field import RowsByField
from mem_opensearch.store.vectors import Vector, check_vector
from mem_opensearch.store.visibility import Visibility

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from mem_opensearch.models import IndexSpec

_NOT_FOUND = 404
_BAD_REQUEST = 400
_logger = logging.getLogger("mem_opensearch.store")


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
        self._wanted = WantedIndex.of(self.config)
        self._lock = forks.RLock()
        self._client: SearchClient | None = None
        self._reached: Rows | None = None
        self._spec: IndexSpec | None = None
        server = (
            id(self.config.client) if self.config.client is not None else (*self.config.urls, self.config.url == LOCAL)
        )
        self._key = (server, self.collection_name)
        self._visibility = Visibility(self.config.refresh, key=self._key)

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

    @property
    def _rows(self) -> Rows:
        """How single rows are reached on this server."""
        with self._lock:
            if self._reached is None:
                client, name = self.client, self.collection_name
                limits = {"max_bytes": self.config.bulk_max_bytes, "max_items": self.config.bulk_max_items}
                self._reached = (
                    RowsById(client, name, **limits)
                    if client.dialect.takes_ids
                    else RowsByField(client, name, recent=recent_of(self._key), **limits)
                )
            return self._reached

    def _find_urls(self) -> list[str]:
        if not self.config.is_local:
            return self.config.urls
        from mem_opensearch.node import attach_or_start

        dictionary = self._dictionary_file()
        with turns.waiting():
            return [
                attach_or_start(version=self.config.node_version, data=self.config.node_data, dictionary=dictionary)
            ]

    def _dictionary_file(self) -> str | Path | None:
        """Return the file that a local node is given: the user's own, or one with the words of a list."""
        given = self.config.dictionary
        if self._wanted.dictionary is None or not isinstance(given, list):
            return None if isinstance(given, list) else given
        from mem_opensearch.node.dictionary import keep_words

        return keep_words(self._wanted.dictionary)

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = self._reached = None

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
        if str(distance) != "cosine":
            raise ConfigError(f"distance '{distance}' is not supported; vectors are compared by cosine")
        if name is not None and check_collection_name(name) != self.collection_name:
            raise ConfigError(f"this store is bound to '{self.collection_name}'; make another store for '{name}'")
        if vector_size is not None and str(vector_size) != str(self.embedding_model_dims):
            raise ConfigError(
                f"this store takes vectors of {self.embedding_model_dims} dimensions, not {vector_size}; "
                "set embedding_model_dims"
            )
        self._ensure()

    def _ensure(self) -> IndexSpec:
        """Make or check the index once in this object's life."""
        with self._lock:
            if self._spec is None:
                self._spec = ensure_index(self.client, self._wanted)
            refuse_other_dictionary(self._spec, self._wanted.dictionary)  # a read may have found the index first
            return self._spec

    def _is_there(self) -> bool:
        """Whether the index exists and is as wanted; a read makes no index."""
        with self._lock:
            if self._spec is None:
                self._spec = find_index(self.client, self._wanted)
                if self._spec is not None and (changed := dictionary_difference(self._spec, self._wanted.dictionary)):
                    _logger.warning("some words may not be found: %s", changed)
            return self._spec is not None

    def _found(self) -> IndexSpec | None:
        """Return how the index is made, or None when there is none."""
        with self._lock:
            return self._spec if self._is_there() else None

    def _words_of(self, spec: IndexSpec) -> WordField:
        """Return how the words of an index are made."""
        return word_field(spec.profile, self._wanted.dictionary)

    def _field_boosts(self) -> Mapping[str, float]:
        """Return the weights of the fields, as the server's BM25 needs them."""
        return boosts_for(legacy_bm25=self.client.dialect.has_legacy_bm25)

    def _follow(self, spec: IndexSpec, indices: Iterable[str]) -> IndexSpec | None:
        """Return how the index is made by now, if the server has named another one than that of `spec`; else None."""
        if all(index in {"", spec.index} for index in indices):
            return None
        with self._lock:
            if self._spec is not None and self._spec.index == spec.index:
                self._spec = None
            return self._found()

    def list_cols(self) -> list[str]:
        """Return the names of all collections on the server that this package made, sorted."""
        metas = self.client.request(
            "GET", "/_mapping", params=self.client.dialect.only(f"*.mappings._meta.{META_KEY}.kind")
        )
        aliases = self.client.request("GET", "/_alias")
        if not all(isinstance(each, dict) for each in (*metas.values(), *aliases.values())):
            raise from_shape("they are no indices", action="GET /_alias")
        ours = [name for name, each in metas.items() if META_KEY in each.get("mappings", {}).get("_meta", {})]
        named = {alias for index in ours for alias in aliases.get(index, {}).get("aliases", {})}
        return sorted(alias for alias in named if not alias.startswith(LEASE_PREFIX))

    def col_info(self, name: str | None = None) -> dict[str, Any]:
        """Return how a collection is made and how much it holds.

        Returns:
            ``name, exists, kind, dims, analyzer, engine, count, size_bytes``; all but the first two are None when the
            collection does not exist, and the size where the server does not tell it.

        Raises:
            ConfigError: no collection can have that name.
        """
        name = self.collection_name if name is None else check_collection_name(name)
        found = read_spec(self.client, name)
        if found is None:
            return dict.fromkeys(("kind", "dims", "analyzer", "engine", "count", "size_bytes")) | {
                "name": name,
                "exists": False,
            }
        spec, _ = found
        if name == self.collection_name:
            self._visibility.show(self._rows.refresh)
        count = self.client.request("GET", path_of(name, "_count"))["count"]
        return {
            "name": name,
            "exists": True,
            "kind": spec.kind,
            "dims": spec.dims,
            "analyzer": spec.profile,
            "engine": spec.engine,
            "count": count,
            "size_bytes": self._size_of(name),
        }

    def _size_of(self, name: str) -> int | None:
        if not self.client.dialect.has_cluster:
            return None
        stats = self.client.request("GET", path_of(name, "_stats", "store"))
        return int(stats["_all"]["primaries"]["store"]["size_in_bytes"])

    def delete_col(self) -> None:
        """Delete the collection with everything in it, and its template; a missing one is no error."""
        with self._lock:
            read_spec(self.client, self.collection_name)  # refuses an index that this package did not make
            for generation in list_generations(self.client, self.collection_name).every:
                self.client.request("DELETE", path_of(generation.name), accept=(_NOT_FOUND,))
            template = template_name(self.collection_name)
            self.client.request("DELETE", path_of("_index_template", template), accept=(_NOT_FOUND,))
            self._rows.forget()
            self._spec = None

    def reset(self) -> None:
        """Delete the collection and make it anew, empty."""
        with self._lock:
            self.delete_col()
            self._ensure()

    # -- for the rows

    def _check_vector(self, vector: Vector, *, owner: str) -> Vector:
        return check_vector(vector, dims=self.embedding_model_dims, index=self.collection_name, owner=owner)

    @contextmanager
    def _watching(self) -> Iterator[None]:
        """Look at the index anew after a failure: it may have been deleted or replaced by another process."""
        try:
            yield
        except (IndexStateError, PartialWriteError) as error:
            self._spec = None
            if isinstance(error, IndexStateError):
                self._rows.forget()
            raise
        except BackendError as error:
            if error.status == _BAD_REQUEST:  # such as a field that an index of another profile has and this one lacks
                self._spec = None
            raise
