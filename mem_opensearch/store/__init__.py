"""The store: what mem0 expects of a vector store, on an index made for Chinese, and the entities that link memories."""

from mem_opensearch.store.entities import EntityStore
from mem_opensearch.store.entity_rows import Entity, Link
from mem_opensearch.store.linker import EntityLinker, MemoryText
from mem_opensearch.store.vector_store import OpenSearchVectorStore

__all__ = ["Entity", "EntityLinker", "EntityStore", "Link", "MemoryText", "OpenSearchVectorStore"]
