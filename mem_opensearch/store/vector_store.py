"""Hold memories and entities in OpenSearch, with the methods that mem0 calls on a vector store."""

from __future__ import annotations

from mem_opensearch.store.deleting import DeletingStore
from mem_opensearch.store.reading import ReadingStore
from mem_opensearch.store.writing import WritingStore


class OpenSearchVectorStore(WritingStore, DeletingStore, ReadingStore):
    """A collection of memories, or of the entities that link them.

    Nothing is sent before the first read or write; the first write makes the index if it is missing, and a read of a
    missing index finds nothing. One object may be shared between threads.

    Args:
        config: checked options; or give them as keywords, see `StoreConfig`.
        options: options of `StoreConfig`, among them every key of mem0's own OpenSearch provider.

    Raises:
        ConfigError: an option is wrong.

    >>> store = OpenSearchVectorStore(url="http://localhost:9200", embedding_model_dims=512)
    """
