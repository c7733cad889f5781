"""What a search returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.search_options import Mode


@dataclass(frozen=True, slots=True)
class Found:
    """One memory that answers.

    Attributes:
        id: the memory's id.
        score: in [0, 1], of all signals; comparable within one search.
        payload: exactly as it was stored.
        details: where the score comes from, see `fusion.score_details`; None unless asked for.
        rerank_score: of the reranker, on its own scale; None where there was none, or it did not score this one.
    """

    id: str
    score: float
    payload: Mapping[str, Any]
    details: Mapping[str, Any] | None = None
    rerank_score: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of one search, and what has to be known about them.

    Attributes:
        results: best first, at most as many as were asked for.
        mode: how they were ranked.
        degraded: signals that are missing in it, one sentence each; empty where all is well.
        empty: why there is no result, in one sentence; None where there is one.
        pool: ids of all that was looked at.
        gated: ids of those that had too little evidence.
    """

    results: tuple[Found, ...]
    mode: Mode
    degraded: tuple[str, ...] = ()
    empty: str | None = None
    pool: frozenset[str] = field(default_factory=frozenset)
    gated: frozenset[str] = field(default_factory=frozenset)


Reason = Literal[
    "found", "ranked_low", "below_threshold", "not_in_pool", "expired", "not_yet", "filtered", "not_stored"
]
"""Why a memory is, or is not, among the results of a search."""


@dataclass(frozen=True, slots=True)
class Why:
    """What became of one memory in a search.

    Attributes:
        id: the memory's id.
        reason: in one word.
        sentence: in words for people.
        rank: its place among all that passed the gate, 1 for the best; None where it did not.
        details: its signals, see `fusion.score_details`; None where it was not looked at.
    """

    id: str
    reason: Reason
    sentence: str
    rank: int | None = None
    details: Mapping[str, Any] | None = None
