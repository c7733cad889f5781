"""The entity collection as mem0 holds it: what mem0 reads and rewrites becomes a change to what is stored by then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.config import StoreConfig
from mem_opensearch.mem0.store import Mem0VectorStore, within_reach
from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.store import EntityStore
from mem_opensearch.store.entity_rows import LINKS_KEY, links_change

if TYPE_CHECKING:
    import builtins
    from collections.abc import Mapping, Sequence

    from mem_opensearch.models import Hit

READ_KEY: Final = "linked_memory_ids_read"
"""Where a payload that was read keeps the links it had then, as a tuple; it is never stored."""


class Mem0EntityStore(Mem0VectorStore, EntityStore):
    """`EntityStore` for mem0, which reads an entity's links, changes the list and writes it back whole.

    What it reads remembers the links it had. What it writes is compared with that, and the difference is applied to the
    row as it is on the server by then: links that others have added or removed meanwhile stay so.
    """

    def list(
        self, filters: Mapping[str, Any] | None = None, top_k: int | None = None
    ) -> builtins.list[builtins.list[Hit]]:
        """Return the rows whose scope is exactly that of `filters`: a row that mem0 finds here is one that it links to.

        Without a scope in `filters`, rows of every scope are returned; see `OpenSearchVectorStore.list`.
        """
        (hits,) = super().list(filters=filters, top_k=top_k)
        scope = _scope_in(filters or {})
        return [[_remembering(hit) for hit in hits if not scope or _scope_in(hit.payload) == scope]]

    def search(
        self,
        query: str,
        vectors: Any,  # noqa: ANN401 - a list or an array, as the store takes it
        top_k: int = 5,
        filters: Mapping[str, Any] | None = None,
    ) -> builtins.list[Hit]:
        """Return the rows whose names are nearest in meaning; see `Mem0VectorStore.search`."""
        (hits,) = super().search_batch([query], [vectors], top_k=within_reach(top_k), filters=filters)
        return [_remembering(hit) for hit in hits]

    def search_batch(
        self,
        queries: Sequence[str],
        vectors_list: Sequence[Any],
        top_k: int = 1,  # noqa: ARG002 - part of the contract
        filters: Mapping[str, Any] | None = None,  # noqa: ARG002 - part of the contract
    ) -> builtins.list[builtins.list[Hit]]:
        """Return nothing for each query.

        mem0 asks this only before it links, for a row of a similar name (cosine >= 0.95) to link to instead. Names of
        different people are as similar as that, and so is one name of two types; `insert` finds the right row.
        """
        return [[] for _ in zip(queries, vectors_list, strict=True)]

    def get(self, vector_id: str) -> Hit | None:
        """Return a row by id, or None; see `OpenSearchVectorStore.get`."""
        hit = super().get(vector_id)
        return None if hit is None else _remembering(hit)

    def update(
        self,
        vector_id: str,
        vector: Any = None,  # noqa: ANN401 - a list or an array, as the store takes it
        payload: Mapping[str, Any] | None = None,
    ) -> None:
        """Add the links that a payload has gained since it was read, and remove those that it has lost.

        A row that is gone by now is made anew with the links that were gained. A payload that was not read from here
        says what the links shall be; see `EntityStore.update`.
        """
        read = None if payload is None else payload.get(READ_KEY)
        if payload is None or read is None:
            super().update(vector_id, vector, payload)
            return
        before, now = dict.fromkeys(read), dict.fromkeys(payload.get(LINKS_KEY) or [])
        gained, lost = [each for each in now if each not in before], [each for each in before if each not in now]
        if vector is not None:
            self._check_vector(vector, owner=f"entity '{vector_id}'")
        found = self._change(vector_id, links_change(add=gained, remove=lost, vector=vector))
        if not found and gained:
            kept = {key: value for key, value in payload.items() if key != READ_KEY}
            self.insert([vector], [kept | {LINKS_KEY: gained}])


def open_store(**options: Any) -> Mem0VectorStore:  # noqa: ANN401 - checked by pydantic
    """Return the store for a collection of mem0's: of memories, or of their entities.

    Raises:
        ConfigError: an option is wrong.
    """
    config = StoreConfig.build(**options)
    return Mem0EntityStore(config) if config.collection_kind == "entities" else Mem0VectorStore(config)


def _remembering(hit: Hit) -> Hit:
    hit.payload[READ_KEY] = tuple(hit.payload.get(LINKS_KEY) or ())
    return hit


def _scope_in(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: values[key] for key in IDENTITY_FIELDS if values.get(key) is not None}
