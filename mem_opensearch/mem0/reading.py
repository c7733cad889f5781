"""mem0's `search` over our read path: what is taken from its caller, what is asked, and what mem0's callers get."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.mem0.extraction import in_our_store
from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.search import Searcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mem_opensearch.search import Answer, Found, Why

_Memory = Any  # mem0's Memory or AsyncMemory, which have no types
_Method = Any

OURS: Final = ("mode", "as_of", "asked_at")
"""What `search` takes beside mem0's own arguments."""

RERANK_POOL: Final = 3
"""How many times the results that are wanted a reranker sees."""

MOST: Final = 10_000
_PROMOTED: Final = ("user_id", "agent_id", "run_id", "actor_id", "role", "attributed_to", "expiration_date")
_CORE: Final = frozenset({"data", "hash", "created_at", "updated_at", "id", "text_lemmatized", *_PROMOTED})
"""Keys of the payload that have a place of their own in a result; all others are `metadata`, as in mem0."""


class _Embedding:
    """mem0's embedding model, as our read path calls one: questions are embedded as such, and all else as memories."""

    def __init__(self, model: Any, dims: int) -> None:  # noqa: ANN401 - any of mem0's
        self._model = model
        self.name = type(model).__name__
        self.dims = dims

    def embed_queries(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - a list of vectors
        if len(texts) == 1:
            return [self._model.embed(texts[0], "search")]
        return self._model.embed_batch(list(texts), "search")

    def embed_documents(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - a list of vectors
        return self._model.embed_batch(list(texts), "add")


@dataclass
class _Call:
    """One search, from its caller to our read path, past mem0, which knows nothing of it.

    Attributes:
        filters: as the caller gave them: mem0 makes one condition of two on the same key.
        options: those of `OURS`, and the threshold where the caller gave one.
        top_k: as the caller gave it; None for mem0's default.
        rerank: whether a reranker comes after.
        answer: what our read path said.
    """

    filters: Mapping[str, Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    top_k: int | None = None
    rerank: bool = False
    answer: Answer | None = None

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> _Call:
        """Take what is ours out of the arguments of a search."""
        ours: dict[str, Any] = {name: options.pop(name) for name in OURS if name in options}
        for name in ("as_of", "asked_at"):
            ours[name] = _moment(name, ours.get(name))
        if options.get("threshold") is not None:
            ours["threshold"] = options["threshold"]
        return cls(options.get("filters"), ours, options.get("top_k"), bool(options.get("rerank")))

    def finish(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return mem0's answer with what ours says beside the results."""
        if self.answer is None:
            return found
        # A reranker that failed leaves mem0 with the whole pool.
        results = found["results"] if self.top_k is None else found["results"][: self.top_k]
        said = {"degraded": list(self.answer.degraded), "empty": self.answer.empty}
        return {**found, "results": results, **{name: value for name, value in said.items() if value}}


_call: ContextVar[_Call | None] = ContextVar("mem_opensearch_search", default=None)


def _moment(name: str, value: object) -> datetime | None:
    """Return a moment given as such, or in ISO 8601; without a zone it is UTC, as in mem0."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInputError(f"'{name}' is {value!r}; give a datetime, or one in ISO 8601") from None
    if value is not None and not isinstance(value, datetime):
        raise InvalidInputError(f"'{name}' is {type(value).__name__}; give a datetime, or one in ISO 8601")
    return value if value is None or value.tzinfo else value.replace(tzinfo=UTC)


@contextmanager
def _calling(memory: _Memory, options: dict[str, Any]) -> Iterator[_Call | None]:
    """Keep what is ours of a search while mem0 does its part; None inside another, or where the store is not ours."""
    if _call.get() is not None:
        yield None
        return
    if not in_our_store(memory):
        if given := [name for name in OURS if name in options]:
            raise InvalidInputError(f"{', '.join(given)} need a memory in mem_opensearch's store")
        yield None
        return
    call = _Call.taken_from(options)
    token = _call.set(call)
    try:
        yield call
    finally:
        _call.reset(token)


def searcher_of(memory: _Memory) -> Searcher:
    """Return the read path over the store of a memory object; made once for each store that it has."""
    known = getattr(memory, "_mem_opensearch_searcher", None)
    if known is None or known.store is not memory.vector_store:
        store = memory.vector_store
        embedder = _Embedding(memory.embedding_model, store.embedding_model_dims)
        known = memory._mem_opensearch_searcher = Searcher(store, embedder=embedder, entities=memory.entity_store)  # noqa: SLF001
    return known


def read(  # noqa: PLR0917 - mem0's signature
    memory: _Memory,
    query: str,
    filters: Mapping[str, Any],
    limit: int,
    threshold: float | None = None,
    explain: bool = False,  # noqa: FBT001, FBT002 - mem0's signature
    show_expired: bool = False,  # noqa: FBT001, FBT002 - mem0's signature
) -> list[dict[str, Any]]:
    """Return results in the shape of mem0's `_search_vector_store`, which this takes the place of."""
    call = _call.get() or _Call(options={} if threshold is None else {"threshold": threshold})
    scope = {key: filters[key] for key in IDENTITY_FIELDS if filters.get(key)}  # mem0 has trimmed them
    wanted = limit * RERANK_POOL if call.rerank and getattr(memory, "reranker", None) else limit
    call.answer = searcher_of(memory).search(
        query,
        filters={**(filters if call.filters is None else call.filters), **scope},
        top_k=min(wanted, MOST),
        explain=explain,
        show_expired=show_expired,
        **call.options,
    )
    return [_result(found) for found in call.answer.results if found.payload.get("data")]


def why(memory: _Memory, query: str, memory_id: str, options: dict[str, Any]) -> Why:
    """Return what became of one memory in a search; see `Searcher.why`."""
    if not in_our_store(memory):
        raise InvalidInputError("why() needs a memory in mem_opensearch's store")
    for name in ("as_of", "asked_at"):
        options[name] = _moment(name, options.get(name))
    return searcher_of(memory).why(query, memory_id, **options)


def _result(found: Found) -> dict[str, Any]:
    """Return a result with mem0's keys."""
    payload = found.payload
    result: dict[str, Any] = {
        "id": found.id,
        "memory": payload["data"],
        "hash": payload.get("hash"),
        "metadata": {key: value for key, value in payload.items() if key not in _CORE} or None,
        "score": found.score,
        "created_at": payload.get("created_at"),
        "updated_at": payload.get("updated_at"),
    }
    result |= {key: payload[key] for key in _PROMOTED if key in payload}
    return result if found.details is None else {**result, "score_details": dict(found.details)}


# -- the methods; `original` is mem0's, bound to the memory


def search(original: _Method, memory: _Memory, query: str, options: dict[str, Any]) -> dict[str, Any]:
    """Do what `Memory.search` does, with our keywords and our answer."""
    with _calling(memory, options) as call:
        found: dict[str, Any] = original(query, **options)
    return found if call is None else call.finish(found)


def search_vector_store(original: _Method, memory: _Memory, args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401 - a list
    """Do what `Memory._search_vector_store` does, by our read path where the store is ours."""
    return read(memory, *args, **options) if in_our_store(memory) else original(*args, **options)


async def search_async(original: _Method, memory: _Memory, query: str, options: dict[str, Any]) -> dict[str, Any]:
    """Do what `AsyncMemory.search` does, with our keywords and our answer."""
    with _calling(memory, options) as call:
        found: dict[str, Any] = await original(query, **options)
    return found if call is None else call.finish(found)


async def search_vector_store_async(
    original: _Method, memory: _Memory, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:  # noqa: ANN401 - a list
    """Do what `AsyncMemory._search_vector_store` does, by our read path, in threads of its own.

    The default executor has a few threads more than the machine has cores, which is fewer than there are connections:
    searches would wait for threads while connections are idle.
    """
    if not in_our_store(memory):
        return await original(*args, **options)
    work = functools.partial(contextvars.copy_context().run, read, memory, *args, **options)
    return await asyncio.get_running_loop().run_in_executor(_threads_of(memory), work)


def _threads_of(memory: _Memory) -> ThreadPoolExecutor:
    threads: ThreadPoolExecutor | None = getattr(memory, "_mem_opensearch_threads", None)
    if threads is None:
        size = memory.vector_store.config.pool_maxsize
        threads = memory._mem_opensearch_threads = ThreadPoolExecutor(size, "mem-opensearch-search")  # noqa: SLF001
    return threads


def stop_threads(memory: _Memory) -> None:
    """End the threads of an `AsyncMemory`, if it has any."""
    threads: ThreadPoolExecutor | None = getattr(memory, "_mem_opensearch_threads", None)
    if threads is not None:
        threads.shutdown(wait=False)
        memory._mem_opensearch_threads = None  # noqa: SLF001


def patched(original: _Method) -> _Method:
    """Return what takes the place of a method of mem0's, with ``register(patch=True)``.

    Args:
        original: `search` or `_search_vector_store` of `Memory` or `AsyncMemory`.
    """
    is_async, is_search = inspect.iscoroutinefunction(original), original.__name__ == "search"
    ours: _Method
    if is_search:
        ours = search_async if is_async else search
    else:
        ours = search_vector_store_async if is_async else search_vector_store

    @functools.wraps(original)
    def method(self: _Memory, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - mem0's own arguments
        bound = functools.partial(original, self)
        return ours(bound, self, *args, options) if is_search else ours(bound, self, args, options)

    return method
