"""What mem0's `Memory` does for entities where the store is ours: one request each, and no row read to be rewritten.

mem0 looks for an entity by name alone, so that one name of two types is one row; it lists up to 10,000 rows for every
memory that it adds, changes or deletes; and a process that has not linked anything yet removes no links. Where the
memories are in another store, mem0's own methods run, unchanged.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.errors import MemOpenSearchError
from mem_opensearch.mem0.extraction import in_our_store, link_memory
from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.text import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_logger = logging.getLogger("mem_opensearch.mem0")

_Memory = Any  # mem0's Memory or AsyncMemory, which have no types
_Method = Any


def _find_rows(_memory: _Memory, filters: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001 - mem0's signature
    """Find no row to link to, so that mem0 inserts every entity; the insert adds to the row that there is."""
    return {}


def _link(memory: _Memory, entity_text: str, entity_type: str, memory_id: str, filters: Mapping[str, Any]) -> None:
    """Link one entity to a memory. A failure is told and not raised, as in mem0: the memory itself is stored."""
    vector = memory.embedding_model.embed(fold(entity_text), "add")
    scope = {key: filters[key] for key in IDENTITY_FIELDS if filters.get(key)}
    try:
        memory.entity_store.link(entity_text, memory_id, scope, entity_type=entity_type, vector=vector)
    except MemOpenSearchError as error:
        _logger.warning("memory '%s' was not linked to an entity that it names: %s", memory_id, error)


def _unlink(memory: _Memory, memory_id: str, filters: Mapping[str, Any]) -> None:  # noqa: ARG001 - mem0's signature
    """Remove a memory whose text has changed from all entities, also in a process that has linked nothing itself."""
    try:
        if memory.vector_store.get(memory_id) is not None:  # one that was deleted has taken its links along
            memory.entity_store.unlink_memories([memory_id])
    except MemOpenSearchError as error:
        _logger.warning("links to memory '%s' were not removed: %s", memory_id, error)


def _clear(_memory: _Memory, filters: Mapping[str, Any]) -> None:
    """Do nothing: each deleted memory has taken its links along, and links of memories that are left must stay."""


REPLACED: Final[Mapping[str, Mapping[str, tuple[Callable[..., Any], bool]]]] = {
    "Memory": {
        "_existing_entities_by_text": (_find_rows, False),
        "_link_entities_for_memory": (link_memory, False),
        "_upsert_entity": (_link, False),
        "_remove_memory_from_entity_store": (_unlink, False),
    },
    "AsyncMemory": {
        "_existing_entities_by_text": (_find_rows, False),
        "_link_entities_for_memory": (link_memory, True),
        "_upsert_entity_async": (_link, True),
        "_remove_memory_from_entity_store": (_unlink, True),
        "_bulk_clear_entity_store": (_clear, True),
    },
}
"""Class of `mem0.memory.main` -> method -> what takes its place, and whether the method is a coroutine."""


def replacement(original: _Method, ours: Callable[..., Any], *, is_async: bool) -> _Method:
    """Return a method that does ours where the memories are in our store, and else what it did."""
    if not is_async:

        @functools.wraps(original)
        def method(self: _Memory, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - mem0's own arguments
            return (ours if in_our_store(self) else original)(self, *args, **options)

        return method

    @functools.wraps(original)
    async def coroutine(self: _Memory, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - mem0's own arguments
        if not in_our_store(self):
            return await original(self, *args, **options)
        return await asyncio.to_thread(ours, self, *args, **options)

    return coroutine
