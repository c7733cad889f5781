"""Fuse by rank alone: reciprocal rank fusion, the mode "rrf"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.fusion.signals import check_candidates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.fusion.signals import Candidate

RRF_K = 60  # Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion Outperforms Condorcet", SIGIR 2009


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory with its fused score and its rank by each signal.

    Attributes:
        id: the memory's id.
        score: in [0, 1]: the sum of 1 / (60 + rank), divided by what being first by each signal would give.
        ranks: signal -> rank, 1 for the best; signals that don't know the memory are missing.
        parts: signal -> what its rank added to the score; their sum is the score.
    """

    id: str
    score: float
    ranks: Mapping[str, int]
    parts: Mapping[str, float]


def rrf(candidates: Sequence[Candidate], *, k: int = RRF_K) -> list[Ranked]:
    """Rank candidates by the ranks that meaning, words, identifiers and entities give them, best first.

    A signal that is None or 0 gives no rank. Ties share a rank.

    Args:
        candidates: the union of what each signal found, each id once.
        k: how little the first ranks differ, >= 0.

    Raises:
        InvalidInputError: an id stands there twice, or `k` is negative.
    """
    check_candidates(candidates)
    if k < 0:
        raise InvalidInputError(f"k is {k}, expected a number from 0; the usual one is {RRF_K}")
    signals = {
        "meaning": {c.id: c.cosine for c in candidates if c.cosine is not None},
        "words": {c.id: c.words for c in candidates if c.words},
        "identifiers": {c.id: c.identifiers for c in candidates if c.identifiers},
        "entity": {c.id: c.entity for c in candidates if c.entity},
    }
    ranks = {name: _ranks(values) for name, values in signals.items() if values}
    most = len(ranks) / (k + 1)
    fused = []
    for candidate in candidates:
        own = {name: by_id[candidate.id] for name, by_id in ranks.items() if candidate.id in by_id}
        parts = {name: 1 / (k + rank) / most for name, rank in own.items()}
        fused.append(Ranked(candidate.id, sum(parts.values()), own, parts))
    return sorted(fused, key=lambda ranked: (-ranked.score, ranked.id))


def _ranks(values: Mapping[str, float]) -> dict[str, int]:
    order = sorted(values.values(), reverse=True)
    first = {value: rank for rank, value in reversed(list(enumerate(order, start=1)))}
    return {name: first[value] for name, value in values.items()}
