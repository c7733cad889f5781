"""mem0's `search` over our read path: what is taken from its caller, what is asked, and what mem0's callers get."""

from __future__ import annotations

import functools
import inspect
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch import forks, turns
from mem_opensearch.errors import InvalidInputError
from mem_opensearch.mem0 import threads
from mem_opensearch.mem0.extraction import in_our_store
from mem_opensearch.mem0.reranking import foreign_stage, stage_of
from mem_opensearch.search import Searcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mem_opensearch.search import Answer, Found, Why

_Memory = Any  # mem0's Memory or AsyncMemory, which have no types
_Method = Any

OURS: Final = ("mode", "as_of", "asked_at")
"""What `search` takes beside mem0's own arguments."""

FOREIGN_POOL: Final = 4
"""How many times the results that are wanted a reranker sees that is not ours; ours says it itself."""

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
        with turns.waiting():
            if len(texts) == 1:
                return [self._model.embed(texts[0], "search")]
            return self._model.embed_batch(list(texts), "search")

    def embed_documents(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - a list of vectors
        with turns.waiting():
            return self._model.embed_batch(list(texts), "add")


@dataclass
class _Call:
    """One search, from its caller to our read path, past mem0, which knows nothing of it.

    Attributes:
        memory: whose search it is.
        options: those of `OURS`, and the threshold where the caller gave one.
        rerank: whether the memory's reranker comes after.
        why_id: the memory that `why` asks about; None in a search.
        taken: whether our read path has begun with it. What searches meanwhile, as a reranker may, is another.
        said: what ours says beside the results, by name.
        why: what ours says of `why_id`.
    """

    memory: _Memory
    options: dict[str, Any] = field(default_factory=dict)
    rerank: bool = False
    why_id: str | None = None
    taken: bool = False
    said: dict[str, Any] = field(default_factory=dict)
    why: Why | None = None

    @classmethod
    def taken_from(cls, memory: _Memory, options: dict[str, Any], *, why_id: str | None) -> _Call:
        """Take what is ours out of the arguments of a search.

        The reranking is ours too: mem0 hands its reranker what is left after the cut, and in `AsyncMemory` runs it in
        the default executor.
        """
        ours: dict[str, Any] = {name: options.pop(name) for name in OURS if name in options}
        for name in ("as_of", "asked_at"):
            ours[name] = _moment(name, ours.get(name))
        if options.get("threshold") is not None:
            ours["threshold"] = options["threshold"]
        return cls(memory, ours, bool(options.pop("rerank", False)), why_id)


_call: ContextVar[_Call | None] = ContextVar("mem_opensearch_search", default=None)
_searchers = forks.Lock()


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
def _calling(memory: _Memory, options: dict[str, Any], *, why_id: str | None = None) -> Iterator[_Call | None]:
    """Keep what is ours of a search while mem0 does its part.

    It is None where the store is not ours, and in mem0's own search, patched, that our class has called.
    """
    outer = _call.get()
    if outer is not None and outer.memory is memory and not outer.taken:
        yield None
        return
    if not in_our_store(memory):
        if given := [name for name in OURS if options.pop(name, None) is not None]:
            raise InvalidInputError(f"{', '.join(given)} need a memory in mem_opensearch's store")
        yield None
        return
    call = _Call.taken_from(memory, options, why_id=why_id)
    token = _call.set(call)
    try:
        yield call
    finally:
        _call.reset(token)


def searcher_of(memory: _Memory) -> Searcher:
    """Return the read path over the store of a memory object; made once for each store that it has."""
    with _searchers:  # many threads may ask at once, and each searcher measures the embedder's background
        known: Searcher | None = getattr(memory, "_mem_opensearch_searcher", None)
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
    call = _call.get()
    if call is None or call.memory is not memory or call.taken:
        call = _Call(memory, {} if threshold is None else {"threshold": threshold})
    call.taken = True
    searcher = searcher_of(memory)
    asked: dict[str, Any] = {"filters": filters, "show_expired": show_expired, **call.options}
    if call.why_id is not None:
        call.why = searcher.why(query, call.why_id, top_k=limit, **asked)
        return []
    if limit == 0:
        call.said["empty"] = "no result was asked for: top_k is 0"
        return []
    answer, results = _found(searcher, query, memory, call, limit=limit, explain=explain, **asked)
    said = {"degraded": list(answer.degraded), "empty": answer.empty}
    call.said |= {name: value for name, value in said.items() if value}
    return results


def _found(
    searcher: Searcher,
    query: str,
    memory: _Memory,
    call: _Call,
    *,
    limit: int,
    **asked: Any,  # noqa: ANN401 - arguments of `Searcher.search`
) -> tuple[Answer, list[dict[str, Any]]]:
    """Return the answer of a search and its results with mem0's keys, after the memory's reranker if it is wanted."""
    reranker = getattr(memory, "reranker", None) if call.rerank else None
    stage = stage_of(reranker)
    if reranker is None or stage is not None:
        answer = searcher.search(query, top_k=limit, rerank=stage, **asked)
        if call.rerank and stage is None:
            answer = replace(answer, degraded=(*answer.degraded, "rerank: the memory has no reranker"))
        return answer, [_result(found) for found in answer.results if found.payload.get("data")]
    answer = searcher.search(query, top_k=max(limit, min(limit * FOREIGN_POOL, MOST)), **asked)
    results = [_result(found) for found in answer.results if found.payload.get("data")]
    reranking = foreign_stage(reranker, results).run(query, results, limit)
    shown = [
        one.result if one.rerank_score is None else {**one.result, "rerank_score": one.rerank_score}
        for one in reranking.results
    ]
    return replace(answer, degraded=(*answer.degraded, *reranking.degraded)), shown


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
    if found.rerank_score is not None:
        result["rerank_score"] = found.rerank_score
    return result if found.details is None else {**result, "score_details": dict(found.details)}


# -- the methods; `original` is mem0's, bound to the memory


def search(original: _Method, memory: _Memory, query: str, options: dict[str, Any]) -> dict[str, Any]:
    """Do what `Memory.search` does, with our keywords and our answer."""
    with _calling(memory, options) as call:
        found: dict[str, Any] = original(query, **options)
    return found if call is None else {**found, **call.said}


async def search_async(original: _Method, memory: _Memory, query: str, options: dict[str, Any]) -> dict[str, Any]:
    """Do what `AsyncMemory.search` does, with our keywords and our answer."""
    with _calling(memory, options) as call:
        found: dict[str, Any] = await original(query, **options)
    return found if call is None else {**found, **call.said}


def why(original: _Method, memory: _Memory, query: str, memory_id: str, options: dict[str, Any]) -> Why:
    """Return what became of one memory in a search, which mem0 checks as it does any other."""
    with _calling(memory, options, why_id=memory_id) as call:
        if call is not None:
            original(query, **options)
    return _told(call)


async def why_async(original: _Method, memory: _Memory, query: str, memory_id: str, options: dict[str, Any]) -> Why:
    """Do what `why` does, for an `AsyncMemory`."""
    with _calling(memory, options, why_id=memory_id) as call:
        if call is not None:
            await original(query, **options)
    return _told(call)


def _told(call: _Call | None) -> Why:
    if call is None or call.why is None:
        raise InvalidInputError("why() needs a memory in mem_opensearch's store")
    return call.why


def search_vector_store(original: _Method, memory: _Memory, args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401 - a list
    """Do what `Memory._search_vector_store` does, by our read path where the store is ours."""
    return read(memory, *args, **options) if in_our_store(memory) else original(*args, **options)


async def search_vector_store_async(
    original: _Method, memory: _Memory, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:  # noqa: ANN401 - a list
    """Do what `AsyncMemory._search_vector_store` does, by our read path, in threads of its own."""
    if not in_our_store(memory):
        return await original(*args, **options)
    return await threads.run(memory, read, memory, *args, **options)


def patched(original: _Method) -> _Method:
    """Return what takes the place of a method of mem0's, with ``register(patch=True)``.

    Args:
        original: `search` or `_search_vector_store` of `Memory` or `AsyncMemory`.
    """
    is_async = inspect.iscoroutinefunction(original)
    if original.__name__ == "search":
        ours: _Method = search_async if is_async else search

        @functools.wraps(original)
        def searching(self: _Memory, query: str, **options: Any) -> Any:  # noqa: ANN401 - mem0's own arguments
            return ours(functools.partial(original, self), self, query, options)

        return searching
    inner: _Method = search_vector_store_async if is_async else search_vector_store

    @functools.wraps(original)
    def method(self: _Memory, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - mem0's own arguments
        return inner(functools.partial(original, self), self, args, options)

    return method
