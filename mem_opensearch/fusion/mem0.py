"""Score as mem0 does, bit for bit: the mode "mem0"."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mem_opensearch.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ENTITY_WEIGHT = 0.5
"""The most that an entity can add to a score."""

MAX_ENTITIES = 8
"""Entities of a query that are looked up."""

MIN_SIMILARITY = 0.5
"""Similarity from which a stored entity counts as the one that was asked for."""

LINK_DECAY = 0.001
"""How fast an entity loses weight with the number of memories that it links."""

_SIGMOIDS = ((3, 5.0, 0.7), (6, 7.0, 0.6), (9, 9.0, 0.5), (15, 10.0, 0.5))
_LONGEST = (12.0, 0.5)


def sigmoid_of(terms: int) -> tuple[float, float]:
    """Return midpoint and steepness of mem0's sigmoid for a query of so many analysed terms.

    mem0 counts the words between blanks, which makes one of any Chinese sentence; count what the analyser makes of it.

    Raises:
        InvalidInputError: a negative number.

    >>> sigmoid_of(3), sigmoid_of(16)
    ((5.0, 0.7), (12.0, 0.5))
    """
    if terms < 0:
        raise InvalidInputError(f"a query can't have {terms} terms")
    for most, midpoint, steepness in _SIGMOIDS:
        if terms <= most:
            return midpoint, steepness
    return _LONGEST


def normalise_bm25(raw: float, *, midpoint: float, steepness: float) -> float:
    """Return a raw BM25 score as a number in [0, 1].

    >>> round(normalise_bm25(8, midpoint=5.0, steepness=0.7), 2)
    0.89
    """
    return 1.0 / (1.0 + math.exp(-steepness * (raw - midpoint)))


def link_weight(links: int) -> float:
    """Return what one link of an entity weighs that has `links` of them, in (0, 1]; 0 counts as 1.

    >>> [round(link_weight(links), 3) for links in (1, 5, 20, 200)]
    [1.0, 0.984, 0.735, 0.025]
    """
    return 1.0 / (1.0 + LINK_DECAY * ((max(links, 1) - 1) ** 2))


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """A stored entity that is near one of the query's.

    Attributes:
        similarity: cosine of the two names.
        memory_ids: the memories that it links.
    """

    similarity: float
    memory_ids: Sequence[str]


def entities_to_look_up(entities: Iterable[str]) -> list[str]:
    """Return the query's entities that mem0 looks up: of the first eight, each name once.

    >>> entities_to_look_up(["Alice", " alice", "Bob"])
    ['Alice', 'Bob']
    """
    kept: dict[str, str] = {}
    for _, entity in zip(range(MAX_ENTITIES), entities, strict=False):
        key = " ".join(entity.strip().lower().split())
        if key:
            kept.setdefault(key, entity)
    return list(kept.values())


def entity_boosts(matches: Iterable[EntityMatch]) -> dict[str, float]:
    """Return memory id -> boost in (0, 0.5]: the largest of its entities, not their sum."""
    boosts: dict[str, float] = {}
    for match in matches:
        if match.similarity < MIN_SIMILARITY:
            continue
        boost = match.similarity * ENTITY_WEIGHT * link_weight(len(match.memory_ids))
        for memory_id in match.memory_ids:
            if memory_id:
                boosts[memory_id] = max(boosts.get(memory_id, 0.0), boost)
    return boosts


@dataclass(frozen=True, slots=True)
class Mem0Score:
    """A memory with mem0's score, and where it comes from.

    Attributes:
        id: the memory's id.
        semantic_score: cosine.
        bm25_score: normalised BM25, 0 where no word matched.
        entity_boost: 0 where no entity links it.
        raw_score: the sum of the three.
        max_possible_score: what the sum is divided by: 1, 1.5, 2 or 2.5, by the signals that any memory has.
        final_score: the quotient, at most 1.
        threshold: the gate that `semantic_score` has passed.
    """

    id: str
    semantic_score: float
    bm25_score: float
    entity_boost: float
    raw_score: float
    max_possible_score: float
    final_score: float
    threshold: float


def score_and_rank(
    cosines: Mapping[str, float | None],
    *,
    bm25: Mapping[str, float],
    boosts: Mapping[str, float],
    threshold: float,
    limit: int,
) -> list[Mem0Score]:
    """Return at most `limit` memories, best first; equal scores keep the order of `cosines`.

    Args:
        cosines: the candidates, which is what the search by meaning found; None counts as 0. The cosine alone decides
            who passes the gate, whatever words and entities say.
        bm25: normalised BM25 by id.
        boosts: what `entity_boosts` returned.
        threshold: least cosine.
        limit: most results.
    """
    most = 1.0 + (1.0 if bm25 else 0.0) + (ENTITY_WEIGHT if boosts else 0.0)
    scores = []
    for memory_id, given in cosines.items():
        cosine = given or 0.0
        if cosine < threshold:
            continue
        words, boost = bm25.get(memory_id, 0.0), boosts.get(memory_id, 0.0)
        total = cosine + words + boost
        scores.append(Mem0Score(memory_id, cosine, words, boost, total, most, min(total / most, 1.0), threshold))
    return sorted(scores, key=lambda score: score.final_score, reverse=True)[:limit]
