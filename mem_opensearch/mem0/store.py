"""The store as mem0 holds it: with mem0's base class, and with mem0's ways of asking for rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mem0.vector_stores.base import VectorStoreBase

from mem_opensearch.store import OpenSearchVectorStore

if TYPE_CHECKING:
    import builtins
    from collections.abc import Mapping

    from mem_opensearch.models import Hit

MOST_ROWS: Final = 10_000  # of one search; the server's own limit
OVERFETCH: Final = 4  # mem0's `internal_limit = max(limit * 4, 60)`


class Mem0VectorStore(OpenSearchVectorStore, VectorStoreBase):  # type: ignore[misc] # mem0 has no types
    """`OpenSearchVectorStore`, also by ``isinstance(store, VectorStoreBase)``.

    The base class stands last, so its defaults are never reached. Two numbers that mem0 computes are mended here,
    because the store itself rightly refuses them: mem0 asks for four times the rows that its caller wants, which may
    be more than the server gives, and for 0 rows when its caller wants none.
    """

    def search(
        self,
        query: str,
        vectors: Any,  # noqa: ANN401 - a list or an array, as the store takes it
        top_k: int = 5,
        filters: Mapping[str, Any] | None = None,
    ) -> builtins.list[Hit]:
        """Return the rows nearest in meaning; see `OpenSearchVectorStore.search`.

        Args:
            query: as there.
            vectors: as there.
            top_k: up to 40,000, which is mem0's over-fetch of 10,000; 10,000 rows are returned at most.
            filters: as there.
        """
        return super().search(query, vectors, top_k=within_reach(top_k), filters=filters)

    def keyword_search(
        self, query: str, top_k: int = 5, filters: Mapping[str, Any] | None = None
    ) -> builtins.list[Hit]:
        """Return the rows that share words with the query; see `OpenSearchVectorStore.keyword_search` and `search`."""
        return super().keyword_search(query, top_k=within_reach(top_k), filters=filters)

    def list(
        self, filters: Mapping[str, Any] | None = None, top_k: int | None = None
    ) -> builtins.list[builtins.list[Hit]]:
        """Return rows, newest first; none for ``top_k=0``; see `OpenSearchVectorStore.list`."""
        return [[]] if top_k == 0 else super().list(filters=filters, top_k=top_k)


def within_reach(top_k: int) -> int:
    """Return the most rows that one search gives, where `top_k` is mem0's over-fetch of what it gives."""
    return MOST_ROWS if MOST_ROWS < top_k <= MOST_ROWS * OVERFETCH else top_k
