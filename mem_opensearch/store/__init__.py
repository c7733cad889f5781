"""The store: what mem0 expects of a vector store, on an index made for Chinese."""

from mem_opensearch.store.vector_store import OpenSearchVectorStore

__all__ = ["OpenSearchVectorStore"]
