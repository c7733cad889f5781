"""Which names mem0 finds in a text, and what it links a memory to, where the store is ours.

mem0 extracts entities by rules for English, and gives the keyword search lemmas of an English pipeline, which leave
nothing of a Chinese sentence. Where the memories are in our store, names are found by `mem_opensearch.entities`, texts
and questions reach the store as they are, and what was added is linked by `EntityLinker`, aliases included, also with
``infer=False``, where mem0 links nothing. Where they are in another store, mem0 does what it did.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.entities.extraction import default_extractor
from mem_opensearch.errors import MemOpenSearchError
from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.store import EntityLinker, MemoryText
from mem_opensearch.text import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_logger = logging.getLogger("mem_opensearch.mem0")

_Memory = Any  # mem0's Memory or AsyncMemory, which have no types
_Method = Any

_is_ours: ContextVar[bool] = ContextVar("mem_opensearch_store", default=False)
"""Whether the method of mem0 that runs here is of a memory in our store; a thread that it asks inherits it."""


def in_our_store(memory: _Memory) -> bool:
    """Return whether a memory object of mem0's keeps its memories in our store."""
    from mem_opensearch.mem0.store import Mem0VectorStore  # which needs mem0; this module is read without it

    return isinstance(memory.vector_store, Mem0VectorStore)


# -- functions that mem0 calls by name


def _extract(text: str) -> list[tuple[str, str]]:
    """Return (type, name) of each entity, as mem0's `extract_entities`; folded, as names are embedded."""
    return [(str(each.type), fold(each.name)) for each in default_extractor().extract(text)]


def _extract_nothing(texts: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Return nothing for each text: mem0 asks before it links what was added, which `link_added` does then."""
    return [[] for _ in texts]


def _unchanged(text: str) -> str:
    return text


FUNCTIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "extract_entities": _extract,
    "extract_entities_batch": _extract_nothing,
    "lemmatize_for_bm25": _unchanged,
}
"""Function that `mem0.memory.main` has imported -> what is called instead for a memory in our store."""


def chosen(original: Callable[[Any], Any], ours: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that does ours inside a method of a memory in our store, and else what it did."""

    @functools.wraps(original)
    def function(given: Any) -> Any:  # noqa: ANN401 - a text or several
        return (ours if _is_ours.get() else original)(given)

    return function


# -- links


def link_memory(memory: _Memory, memory_id: str, text: str, filters: Mapping[str, Any]) -> None:
    """Link one memory, as mem0 does after its text has changed; the names in its metadata count as well."""
    try:
        stored = memory.vector_store.get(memory_id)
    except MemOpenSearchError as error:
        _tell([memory_id], error)
        return
    _link(memory, [(memory_id, text)], {**(stored.payload if stored else {}), **filters})


def link_added(memory: _Memory, added: object, metadata: Mapping[str, Any]) -> None:
    """Link what mem0 says it has added.

    Args:
        memory: mem0's memory object.
        added: as `_add_to_vector_store` returns it: a list of items with ``id`` and ``memory``.
        metadata: what all of them have in their payload: the scope, and what the caller gave.
    """
    items = added if isinstance(added, list) else []
    texts = [(item["id"], item["memory"]) for item in items if isinstance(item.get("memory"), str)]
    _link(memory, texts, metadata)


def _link(memory: _Memory, texts: Sequence[tuple[str, str]], payload: Mapping[str, Any]) -> None:
    """Link memories of one scope. A failure is told and not raised, as in mem0: the memories are stored."""
    shared = {key: payload[key] for key in (*IDENTITY_FIELDS, "entities") if payload.get(key)}
    memories = [MemoryText.of(memory_id, {**shared, "data": text}) for memory_id, text in texts]
    if not memories:
        return
    try:
        entities = memory.entity_store
        if not entities.keeps_links:
            _tell_that_links_are_not_kept(entities.collection_name)
            return
        embed = functools.partial(_vectors, memory)
        EntityLinker(entities, extractor=default_extractor(), embed=embed).link(memories)
    except Exception as error:  # noqa: BLE001 - whatever it is, a caller who adds again would store it all twice
        _tell([each.id for each in memories], error)


def _vectors(memory: _Memory, names: Sequence[str]) -> Sequence[Any]:
    """Return a vector for each name, or None for each: a link without a vector is better than none."""
    try:
        vectors = list(memory.embedding_model.embed_batch(list(names), "add"))
    except Exception as error:  # noqa: BLE001 - any embedder's own
        _logger.warning("%d names of entities were linked without vectors: %s", len(names), type(error).__name__)
        return [None] * len(names)
    if len(vectors) != len(names):
        _logger.warning("the embedder gave %d vectors for %d names; none is used", len(vectors), len(names))
        return [None] * len(names)
    return vectors


@functools.cache
def _tell_that_links_are_not_kept(collection: str) -> None:
    """Warn once: a server that can't keep links is no news at the second memory."""
    _logger.warning("memories are not linked to what they name: the server of '%s' can't keep links", collection)


def _tell(ids: Sequence[str], error: Exception) -> None:
    """Warn with ids only: a foreign error may quote the text."""
    reason = str(error) if isinstance(error, MemOpenSearchError) else type(error).__name__
    _logger.warning("memories %s were not linked to the entities that they name: %s", ", ".join(ids), reason)


# -- methods around which it is known whose store it is


@contextmanager
def _within(memory: _Memory) -> Iterator[bool]:
    """Say, while a method runs, whether the memory is in our store."""
    ours = in_our_store(memory)
    token = _is_ours.set(ours)
    try:
        yield ours
    finally:
        _is_ours.reset(token)


def _around(original: _Method, *, is_async: bool) -> _Method:
    if not is_async:

        @functools.wraps(original)
        def method(self: _Memory, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - mem0's own arguments
            with _within(self):
                return original(self, *args, **options)

        return method

    @functools.wraps(original)
    async def coroutine(self: _Memory, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - mem0's own arguments
        with _within(self):
            return await original(self, *args, **options)

    return coroutine


def _linking_after(original: _Method, *, is_async: bool) -> _Method:
    """Return `_add_to_vector_store` with links made for what it has added."""
    if not is_async:

        @functools.wraps(original)
        def method(self: _Memory, messages: Any, metadata: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401
            with _within(self) as ours:
                added = original(self, messages, metadata, *args, **options)
            if ours:
                link_added(self, added, metadata)
            return added

        return method

    @functools.wraps(original)
    async def coroutine(self: _Memory, messages: Any, metadata: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401
        with _within(self) as ours:
            added = await original(self, messages, metadata, *args, **options)
        if ours:
            await asyncio.to_thread(link_added, self, added, metadata)
        return added

    return coroutine


SURROUNDED: Final[Mapping[str, Callable[..., _Method]]] = {
    "_add_to_vector_store": _linking_after,
    "_create_memory": _around,
    "_update_memory": _around,
    "_search_vector_store": _around,
}
"""Method of `Memory` and `AsyncMemory`, where it is a coroutine -> what makes the method that takes its place."""
