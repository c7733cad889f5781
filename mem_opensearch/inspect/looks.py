"""Keep what searches have found, so that it can be ranked again without asking the server."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.search.ranking import Ranking, explained, rank
from mem_opensearch.search.results import Found

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.inspect.asking import SearchBody
    from mem_opensearch.inspect.transport import Exchange
    from mem_opensearch.rerank import Reranker
    from mem_opensearch.search.asking import Asking
    from mem_opensearch.search.ranking import Looked

KEPT = 8
"""Searches that are kept, the latest: as many tabs as somebody compares."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A result in its place.

    Attributes:
        id: the memory's id.
        score: fused, in [0, 1].
        fused: its place before the second stage, 1 for the best.
        rerank_score: the reranker's; None where there is none, or it did not score this one.
    """

    id: str
    score: float
    fused: int
    rerank_score: float | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """What one search is at one threshold.

    Attributes:
        placed: what passed, best first, as many as were asked for.
        passed: how many passed at all.
        below: (id, evidence) of those that have too little evidence, the strongest first.
        evidence: memory id -> what is held against the threshold; the cosine in mode mem0.
        details: memory id -> where its score comes from.
        empty: why nothing passed; None where something did.
        degraded: what is missing, one sentence each.
    """

    placed: Sequence[Placed]
    passed: int
    below: Sequence[tuple[str, float]]
    evidence: Mapping[str, float]
    details: Mapping[str, Mapping[str, Any]]
    empty: str | None
    degraded: tuple[str, ...]


@dataclass(slots=True)
class Look:
    """One search: what was asked, and all that was found for it.

    Attributes:
        body: what the page asked.
        asked: the same, checked.
        looked: every candidate with its signals.
        mem0: the same two for mem0's own ranking, where it is compared.
        reranker: the second stage, where one was asked for.
        exchanges: the requests of the search, with their answers.
        key: by which the page names it.
    """

    body: SearchBody
    asked: Asking
    looked: Looked
    mem0: tuple[Asking, Looked] | None = None
    reranker: Reranker | None = None
    exchanges: Sequence[Exchange] = ()
    key: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    question_tokens: Mapping[str, frozenset[str]] | None = None
    _scored: dict[tuple[str, ...], tuple[list[Placed], tuple[str, ...]]] = field(default_factory=dict)

    def order(self, threshold: float) -> Order:
        """Return the results at a threshold; asks nothing of the search server."""
        asked = replace(self.asked, threshold=threshold)
        ranking = rank(self.looked, asked)
        if asked.mode == "mem0":
            evidence = {row.id: max(0.0, row.cosine or 0.0) for row in self.looked.rows if row.nearest}
        else:
            evidence = {memory_id: each["evidence"] for memory_id, each in ranking.details.items()}
        below = sorted(((one, evidence.get(one, 0.0)) for one in ranking.gated), key=lambda item: (-item[1], item[0]))
        placed = [Placed(one, score, place) for place, (one, score) in enumerate(ranking.passed, start=1)]
        placed, degraded = self._reranked(placed)
        return Order(
            placed=placed[: self.body.top_k],
            passed=len(ranking.passed),
            below=below,
            evidence=evidence,
            details=ranking.details,
            empty=ranking.empty,
            degraded=(*self.looked.degraded, *degraded),
        )

    def order_as_mem0(self, threshold: float) -> Order | None:
        """Return mem0's own order at the same threshold, which is a cosine there; None where it is not compared."""
        if self.mem0 is None:
            return None
        asked, looked = self.mem0
        return Look(self.body, asked, looked).order(threshold)

    def details_of(self, order: Order, memory_id: str) -> dict[str, Any]:
        """Return where the score of one memory comes from, with names and times; empty where it was not looked at."""
        rows = [row for row in self.looked.rows if row.id == memory_id]
        ranking = Ranking((), frozenset(), order.details, None)
        return explained(ranking, replace(self.looked, rows=rows), self.asked).get(memory_id, {})

    def _reranked(self, placed: list[Placed]) -> tuple[list[Placed], tuple[str, ...]]:
        if self.reranker is None or not placed:
            return placed, ()
        pool = placed[: self.reranker.pool_for(self.body.top_k)]
        key = tuple(one.id for one in pool)
        if key not in self._scored:  # the same pool, as on the next page or a little further with the slider
            payloads = {row.id: row.payload for row in self.looked.rows}
            found = [Found(one.id, one.score, payloads[one.id]) for one in pool]
            run = self.reranker.run(self.asked.question, found, self.body.top_k)
            by_id = {one.id: one for one in pool}
            order = [replace(by_id[one.result.id], rerank_score=one.rerank_score) for one in run.results]
            self._scored = {key: (order, run.degraded)}
        return self._scored[key]


class Looks:
    """The latest searches; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Look] = OrderedDict()

    def keep(self, look: Look) -> None:
        """Keep a search, and forget the oldest one beyond `KEPT`."""
        with self._lock:
            self._kept[look.key] = look
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    def get(self, key: str) -> Look:
        """Return a search that was kept.

        Raises:
            InvalidInputError: it is not kept any more.
        """
        with self._lock:
            if key not in self._kept:
                raise InvalidInputError("this search is not kept any more; search again")
            self._kept.move_to_end(key)
            return self._kept[key]
