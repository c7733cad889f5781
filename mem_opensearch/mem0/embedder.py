"""An embedder of this package as mem0 calls one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem0.embeddings.base import EmbeddingBase

from mem_opensearch.embed import load_embedder
from mem_opensearch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.embed import Embedder

DEFAULT_MODEL = "use"


class Mem0Embedder(EmbeddingBase):  # type: ignore[misc] # mem0 has no types
    """What ``{"embedder": {"provider": "mem_opensearch", "config": {"model": ..., "embedding_dims": ...}}}`` builds.

    `model` is a name for `load_embedder`: ``"use"`` (default) or ``"module:callable"``. `embedding_dims` may be left
    out; given, it must be the model's. mem0's action ``"search"`` embeds as a query, all others as a document.

    Raises:
        ConfigError: the model is unknown, or `embedding_dims` is not its length.
    """

    def __init__(self, config: Any = None, *, embedder: Embedder | None = None) -> None:  # noqa: ANN401 - mem0's own class
        super().__init__(config)
        self._embedder = embedder or load_embedder(self.config.model or DEFAULT_MODEL)
        given = self.config.embedding_dims
        if given is not None and given != self._embedder.dims:
            raise ConfigError(
                f"embedder '{self._embedder.name}' makes vectors of {self._embedder.dims} dimensions, not {given}; "
                f"set embedder.config.embedding_dims and vector_store.config.embedding_model_dims to "
                f"{self._embedder.dims}"
            )
        self.config.embedding_dims = self._embedder.dims

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of `text`.

        Args:
            text: a text that is not blank.
            memory_action: ``"search"`` for a query; ``"add"``, ``"update"`` or None for a document.
        """
        return self.embed_batch([text], memory_action)[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = "add") -> list[list[float]]:
        """Return one vector per text, in order; see `embed`."""
        as_vectors = self._embedder.embed_queries if memory_action == "search" else self._embedder.embed_documents
        vectors: list[list[float]] = as_vectors(texts).tolist()
        return vectors
