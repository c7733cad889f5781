"""mem0's `Memory` and `AsyncMemory` over our store and our read path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mem0

from mem_opensearch.mem0 import reading
from mem_opensearch.mem0.registration import register

if TYPE_CHECKING:
    from mem_opensearch.search import Why


class Memory(mem0.Memory):  # type: ignore[misc] # mem0 has no types
    """`mem0.Memory` with the same constructor and methods, whose searches use every signal.

    Its provider ``opensearch`` is this package's. `search` takes three more keywords:

    - `mode`: "union", "rrf" or "mem0"; see docs/ranking.md;
    - `as_of`: a datetime, or one in ISO 8601: what was true then;
    - `asked_at`: the same: what dates in the question are relative to.

    Its answer has ``results`` as in mem0; beside them `degraded`, where a signal is missing in it, and `empty`, which
    says why there is no result. Filters mean what docs/filters.md says, whatever mem0 would have made of them.

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

    def why(self, query: str, memory_id: str, **options: Any) -> Why:  # noqa: ANN401 - those of `search`
        """Return what becomes of one memory in a search, and why; see `mem_opensearch.Searcher.why`."""
        return reading.why(self, query, memory_id, options)

    def search(self, query: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - mem0's and ours
        """Return the memories that answer a question; see the class."""
        return reading.search(super().search, self, query, options)

    def _search_vector_store(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - mem0's own
        return reading.search_vector_store(super()._search_vector_store, self, args, options)


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

    async def why(self, query: str, memory_id: str, **options: Any) -> Why:  # noqa: ANN401 - those of `search`
        """Return what becomes of one memory in a search, and why; see `mem_opensearch.Searcher.why`."""
        import asyncio

        return await asyncio.to_thread(reading.why, self, query, memory_id, options)

    def close(self) -> None:
        """Close what mem0 closes, and end the threads of searches."""
        reading.stop_threads(self)
        super().close()

    async def search(self, query: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - mem0's and ours
        """Return the memories that answer a question; see `Memory`."""
        return await reading.search_async(super().search, self, query, options)

    async def _search_vector_store(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - mem0's own
        return await reading.search_vector_store_async(super()._search_vector_store, self, args, options)
