"""What a large entity collection costs: looking names up, and adding links."""

from __future__ import annotations

import itertools
import time
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks import machine
from benchmarks.contenders import refresh
from benchmarks.measure import interleave, on_the_wire
from mem_opensearch.store import EntityStore, Link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.contenders import Tick
    from benchmarks.measure import Call

DIMS: Final = 512
USERS: Final = 100
CHUNK: Final = 1000
QUESTIONS: Final = 40
_SURNAMES = "王李張劉陳楊黃趙吳周徐孫馬朱胡林郭何高羅"
_GIVEN = "雅婷志明怡君俊傑淑芬建宏美玲家豪詩涵冠宇欣怡承翰佩珊宗翰雨彤子軒思妤浩然"


def run(url: str, *, size: int, rounds: int, tick: Tick, seed: int = 7) -> dict[str, Any]:
    """Measure.

    Args:
        url: the server.
        size: entities, of `USERS` users, each with one memory; names of three characters and a number, vectors random.
        rounds: interleaved rounds of all operations.
        tick: told what is done.
        seed: of names and vectors.
    """
    about = machine.facts(url)
    store = EntityStore(url=url, collection_name=f"bench-{uuid.uuid4().hex[:8]}_entities", embedding_model_dims=DIMS)
    try:
        store.create_col()
        start = time.perf_counter()
        for first in range(0, size, CHUNK):
            store.link_many(_links(range(first, min(first + CHUNK, size)), seed))
            tick("linking", min(first + CHUNK, size), size)
        seconds = time.perf_counter() - start
        refresh(store)
        stored = store.col_info()["count"]
        calls = _calls(store, size, seed)
        times = interleave(calls, rounds=rounds, tick=partial(tick, "asking"))
        return {
            "benchmark": "entities",
            "entities": stored,
            "links_per_second": round(size / seconds, 1),
            "medians_ms": {name: each.p50_ms() for name, each in times.items()},
            "p95_ms": {name: each.p95_ms() for name, each in times.items()},
            "client_cpu_ms": {name: each.cpu_ms() for name, each in times.items()},
            "found_per_call": {name: round(sum(each.found) / len(each.found), 2) for name, each in times.items()},
            "per_call": on_the_wire(calls),
            "runs": rounds,
            "data": {"entities": size, "users": USERS, "vectors": f"random, {DIMS} dimensions", "seed": seed},
            "machine": about,
        }
    finally:
        store.delete_col()
        store.close()


def name_of(position: int) -> str:
    """Return the name of an entity, which no other has.

    >>> name_of(0), name_of(123456)
    ('王雅婷', '郭思婷19')
    """
    number, surname = divmod(position, len(_SURNAMES))
    number, first = divmod(number, len(_GIVEN) // 2)
    number, second = divmod(number, len(_GIVEN) // 2)
    return f"{_SURNAMES[surname]}{_GIVEN[2 * first]}{_GIVEN[2 * second + 1]}{number or ''}"


def _scope(position: int) -> dict[str, str]:
    return {"user_id": f"u{position % USERS}"}


def _vector(position: int, seed: int) -> Any:  # noqa: ANN401 - an array
    drawn = np.random.default_rng([seed, position]).standard_normal(DIMS, dtype=np.float32)
    return drawn / np.linalg.norm(drawn)


def _links(positions: range, seed: int) -> list[Link]:
    return [
        Link(name_of(row), f"m{row}", _scope(row), entity_type="person", vector=_vector(row, seed)) for row in positions
    ]


def _calls(store: EntityStore, size: int, seed: int) -> dict[str, Sequence[Call]]:
    asked = [int(row) for row in np.random.default_rng(seed).integers(0, size, QUESTIONS)]
    new = itertools.count()

    def link(row: int) -> list[str]:
        return [store.link(name_of(row), f"n{next(new)}", _scope(row), entity_type="person")]

    def ids(method: Any, *given: Any) -> list[str]:  # noqa: ANN401 - any of the store's
        return [entity.id for entity in method(*given)]

    return {
        "find a name": [partial(ids, store.find, name_of(row), _scope(row)) for row in asked],
        "find the names of a question": [
            partial(ids, store.find_named, f"{name_of(row)}住在哪裡？", _scope(row)) for row in asked
        ],
        "find by memory": [partial(ids, store.find_by_memory, f"m{row}", _scope(row)) for row in asked],
        "find similar": [partial(ids, store.find_similar, _vector(row, seed), _scope(row)) for row in asked],
        "add a link": [partial(link, row) for row in asked],
    }
