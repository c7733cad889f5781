"""Ask a system every query of a data set, and note what came back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mem_opensearch.evaluate import metrics
from mem_opensearch.evaluate.misses import explain_miss
from mem_opensearch.evaluate.report import Outcome
from mem_opensearch.evaluate.seen import Explaining

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from mem_opensearch.evaluate.datasets import Dataset, Query
    from mem_opensearch.evaluate.misses import Miss
    from mem_opensearch.evaluate.runner import Progress
    from mem_opensearch.evaluate.seen import Library, Seen
    from mem_opensearch.evaluate.systems import System
    from mem_opensearch.evaluate.vectors import CachingEmbedder, Vectors

WARM_UP_QUERIES = 10  # the first searches on a new index load it, and are many times slower than those after


def depth_of(top_k: int) -> int:
    """Return how many rows are asked for: the measures look at ten."""
    return max(top_k, metrics.DEEPEST_RANK)


def ask_all(
    system: System,
    dataset: Dataset,
    vectors: Vectors,
    *,
    library: Library,
    top_k: int,
    embedder: CachingEmbedder,
    is_detailed: bool,
    progress: Progress,
) -> dict[str, Outcome]:
    """Return query id -> what came back, in the data set's order.

    What a missed query's reason needs is asked for after its search, and not timed; with `is_detailed` the signals are
    noted for every query.
    """
    depth = depth_of(top_k)
    asked = list(zip(dataset.queries, vectors, strict=True))
    for query, vector in asked[:WARM_UP_QUERIES]:
        system.search(query, vector, top_k=depth)
    outcomes = {}
    for done, (query, vector) in enumerate(asked, start=1):
        requests, embedding, begun = system.requests, embedder.seconds, time.perf_counter()
        ranking = system.search(query, vector, top_k=depth)
        seconds = time.perf_counter() - begun - (embedder.seconds - embedding)
        requests = system.requests - requests
        is_missed = metrics.is_missed(ranking, relevant=query.relevant, top_k=top_k)
        seen = None
        if (is_missed or is_detailed) and isinstance(system, Explaining):
            seen = system.explain(query, vector, top_k=depth)
        miss = _miss(system, query, vector, ranking, seen, library=library, depth=depth) if is_missed else None
        outcomes[query.id] = Outcome(
            ranking=tuple(ranking),
            seconds=seconds,
            requests=requests,
            reciprocal_rank=metrics.reciprocal_rank(ranking, relevant=query.relevant),
            owner=query.user_id,
            failure=None if miss is None else miss.failure,
            miss=miss,
            seen=seen if is_detailed else None,
        )
        progress(f"{dataset.name}: ask {system.name}", done, len(asked))
    return outcomes


def _miss(
    system: System,
    query: Query,
    vector: Any,  # noqa: ANN401 - a row of an array
    ranking: Sequence[str],
    seen: Seen | None,
    *,
    library: Library,
    depth: int,
) -> Miss:
    candidates = system.candidates(query, vector, top_k=depth)
    return explain_miss(
        candidates, ranking=ranking, relevant=query.relevant, library=library, query_id=query.id, seen=seen
    )
