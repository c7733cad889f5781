"""Put the answer of a search into a reranker's order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mem_opensearch.rerank import Reranker
    from mem_opensearch.search.results import Answer, Found


def reranked(answer: Answer, reranker: Reranker, *, query: str, top_k: int) -> Answer:
    """Return the best of an answer, in the reranker's order, with what it says of itself.

    The details of each result, where they were asked for, have what `rerank.Reranked` says under "rerank".

    Args:
        answer: of as many results as the reranker wants to see.
        reranker: the second stage.
        query: what was asked.
        top_k: how many results are wanted.

    Raises:
        RerankError: it failed, and is strict.
    """
    reranking = reranker.run(query, answer.results, top_k)
    results = []
    for one in reranking.results:
        found: Found = one.result
        details = None if found.details is None else {**found.details, "rerank": dict(one.details)}
        results.append(replace(found, rerank_score=one.rerank_score, details=details))
    return replace(answer, results=tuple(results), degraded=(*answer.degraded, *reranking.degraded))
