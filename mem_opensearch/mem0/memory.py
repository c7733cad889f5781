"""mem0's `Memory` and `AsyncMemory` over our store and our read path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mem0

from mem_opensearch.mem0 import reading, threads
from mem_opensearch.mem0.conditions import unfolded
from mem_opensearch.mem0.extraction import in_our_store
from mem_opensearch.mem0.registration import register

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from mem_opensearch.search import Why
    from mem_opensearch.search_options import Mode


class Memory(mem0.Memory):  # type: ignore[misc] # mem0 has no types
    """`mem0.Memory` with the same constructor and methods, whose searches use every signal.

    Its provider ``opensearch`` is this package's. docs/mem0.md tells what its searches take and return.

    >>> from mem_opensearch.mem0 import Memory  # doctest: +SKIP
    >>> memory = Memory.from_config(config)  # doctest: +SKIP
    >>> memory.search("使用者住在哪裡？", filters={"user_id": "lin"}, explain=True)  # doctest: +SKIP
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - mem0's own
        register()
        super().__init__(*args, **options)

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> Any:  # noqa: ANN401 - mem0 has no types
        """Return a memory with the options of a dict; see mem0."""
        register()
        return super().from_config(config_dict)

    def search(
        self,
        query: str,
        *,
        mode: Mode | None = None,
        as_of: datetime | str | None = None,
        asked_at: datetime | str | None = None,
        **options: Any,  # noqa: ANN401 - mem0's own
    ) -> dict[str, Any]:
        """Return the memories that answer a question.

        Args:
            query: what is asked, not blank.
            mode: "union", "rrf" or "mem0", see docs/ranking.md; that of the store's options where it is not given.
            as_of: what was true then: a datetime, or one in ISO 8601; without a zone it is UTC.
            asked_at: what dates in the question are relative to, in the same form; now where it is not given.
            options: mem0's own: `top_k` (20), `filters`, `threshold`, `rerank`, `explain`, `show_expired`.

        Returns:
            ``results`` as in mem0, best first; beside them `degraded`, a list of what is missing in them, where
            something is, and `empty`, which says why there is none, where there is none.

        Raises:
            ValueError: an argument is wrong; mem0's own, or an `InvalidInputError`. Nothing was sent.
            BackendError: the server failed. An error is never an empty answer.
        """
        return reading.search(super().search, self, query, options | _ours(mode, as_of, asked_at))

    def why(
        self,
        query: str,
        memory_id: str,
        *,
        mode: Mode | None = None,
        as_of: datetime | str | None = None,
        asked_at: datetime | str | None = None,
        **options: Any,  # noqa: ANN401 - mem0's own
    ) -> Why:
        """Return what becomes of one memory in a search, and why; all else is as in `search`.

        Args:
            query: as in `search`.
            memory_id: the memory.
            mode: as in `search`.
            as_of: as in `search`.
            asked_at: as in `search`.
            options: as in `search`; a reranker is not asked.
        """
        return reading.why(super().search, self, query, memory_id, options | _ours(mode, as_of, asked_at))

    def _search_vector_store(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - mem0's own
        return reading.search_vector_store(super()._search_vector_store, self, args, options)

    def _process_metadata_filters(self, metadata_filters: Mapping[str, Any]) -> dict[str, Any]:
        if in_our_store(self):
            return unfolded(self, metadata_filters)
        folded: dict[str, Any] = super()._process_metadata_filters(metadata_filters)
        return folded


class AsyncMemory(mem0.AsyncMemory):  # type: ignore[misc] # mem0 has no types
    """`mem0.AsyncMemory` with the same constructor and methods; see `Memory`.

    Searches run in threads of their own, as many as the store has connections (`pool_maxsize`).
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - mem0's own
        register()
        super().__init__(*args, **options)

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> Any:  # noqa: ANN401 - mem0 has no types
        """Return a memory with the options of a dict; see mem0."""
        register()
        return super().from_config(config_dict)

    def close(self) -> None:
        """Close what mem0 closes, and end the threads of searches."""
        threads.stop(self)
        super().close()

    async def search(
        self,
        query: str,
        *,
        mode: Mode | None = None,
        as_of: datetime | str | None = None,
        asked_at: datetime | str | None = None,
        **options: Any,  # noqa: ANN401 - mem0's own
    ) -> dict[str, Any]:
        """Return the memories that answer a question; see `Memory.search`."""
        return await reading.search_async(super().search, self, query, options | _ours(mode, as_of, asked_at))

    async def why(
        self,
        query: str,
        memory_id: str,
        *,
        mode: Mode | None = None,
        as_of: datetime | str | None = None,
        asked_at: datetime | str | None = None,
        **options: Any,  # noqa: ANN401 - mem0's own
    ) -> Why:
        """Return what becomes of one memory in a search, and why; see `Memory.why`."""
        return await reading.why_async(super().search, self, query, memory_id, options | _ours(mode, as_of, asked_at))

    async def _search_vector_store(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - mem0's own
        return await reading.search_vector_store_async(super()._search_vector_store, self, args, options)

    def _process_metadata_filters(self, metadata_filters: Mapping[str, Any]) -> dict[str, Any]:
        if in_our_store(self):
            return unfolded(self, metadata_filters)
        folded: dict[str, Any] = super()._process_metadata_filters(metadata_filters)
        return folded


def _ours(mode: Mode | None, as_of: datetime | str | None, asked_at: datetime | str | None) -> dict[str, Any]:
    return {"mode": mode, "as_of": as_of, "asked_at": asked_at}
