"""Annotate a whole collection: note with its memories what searches need to know of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mem_opensearch.errors import ConfigError, IndexStateError
from mem_opensearch.index import read_spec
from mem_opensearch.store import OpenSearchVectorStore

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class AnnotateReport:
    """What was annotated.

    Attributes:
        collection: the collection.
        memories: how many memories.
    """

    collection: str
    memories: int


def annotate_collection(
    collection: str,
    *,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,  # noqa: ANN401 - checked by pydantic
) -> AnnotateReport:
    """Annotate the memories of a collection, see `OpenSearchVectorStore.annotate`; doing it twice changes nothing.

    Args:
        collection: a collection of memories.
        progress: told the stage, and how many of how many memories are done.
        options: options of `StoreConfig` for the server; the dimension is the collection's own.

    Raises:
        IndexStateError: there is no such collection.
        ConfigError: it holds entities, or an option is wrong.
        PartialWriteError: names the ids of those that could not be annotated.
    """
    store = OpenSearchVectorStore(collection_name=collection, **options)
    try:
        found = read_spec(store.client, collection)
        if found is None:
            raise IndexStateError(f"there is no collection '{collection}' to annotate")
        spec, _ = found
        if spec.kind != "memory":
            raise ConfigError(f"'{collection}' holds {spec.kind}, and only memories are annotated")
    finally:
        store.close()
    sized = OpenSearchVectorStore(collection_name=collection, **(options | {"embedding_model_dims": spec.dims}))
    try:
        done = sized.annotate(progress=progress and (lambda part, whole: progress("annotating", part, whole)))
    finally:
        sized.close()
    return AnnotateReport(collection, done)
