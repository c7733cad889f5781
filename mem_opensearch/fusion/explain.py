"""Say where a score comes from: mem0's keys and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.fusion.union import Scored

_MEM0_PARTS: Final = {"semantic_score": "meaning", "bm25_score": "words", "entity_boost": "entity"}


def score_details(scored: Sequence[Scored], *, threshold: float) -> dict[str, dict[str, Any]]:
    """Return memory id -> details, for all that `fuse` returned.

    The keys `semantic_score` (the cosine, clamped to [0, 1]), `bm25_score` (BM25 on the normaliser's scale),
    `entity_boost`, `raw_score`, `max_possible_score`, `final_score` and `threshold` are mem0's. The others:

    - `parts`: signal -> what it added to `raw_score`; their sum is `raw_score`.
    - `bm25`: raw BM25, and by field where it was kept.
    - `evidence`, `gate`: what was held against the threshold, and what kind it is; None where it was too little.
    - `ranks`: signal -> rank among all candidates by what it added, 1 for the best.
    - `follows`: the earlier turn that it inherits from, and how much.
    - `replaces`, `superseded_by`: ids, where one memory replaced another.

    What was not measured is None.
    """
    ranks = _ranks(scored)
    return {one.id: _details(one, ranks[one.id], threshold) for one in scored}


def _details(one: Scored, ranks: dict[str, int], threshold: float) -> dict[str, Any]:
    candidate = one.candidate
    return {
        "semantic_score": None if candidate.cosine is None else min(1.0, max(0.0, candidate.cosine)),
        "bm25_score": None if candidate.words is None else one.words_share,
        "entity_boost": None if candidate.entity is None else one.parts.get("entity", 0.0),
        "raw_score": one.raw,
        "max_possible_score": one.most,
        "final_score": one.score,
        "threshold": threshold,
        "parts": dict(one.parts),
        "bm25": {
            "words": candidate.words,
            "identifiers": candidate.identifiers,
            "fields": dict(candidate.per_field),
        },
        "evidence": one.evidence,
        "gate": one.gate,
        "ranks": ranks,
        "follows": None if one.follows is None else {"id": one.follows, "score": one.parts["context"]},
        "replaces": one.replaces,
        "superseded_by": one.superseded_by,
    }


def _ranks(scored: Sequence[Scored]) -> dict[str, dict[str, int]]:
    ranks: dict[str, dict[str, int]] = {one.id: {} for one in scored}
    for signal in sorted({signal for one in scored for signal in one.parts}):
        added = sorted((one.parts[signal] for one in scored if one.parts.get(signal, 0.0) > 0), reverse=True)
        first = {value: rank for rank, value in reversed(list(enumerate(added, start=1)))}  # ties share the first
        for one in scored:
            if one.parts.get(signal, 0.0) > 0:
                ranks[one.id][signal] = first[one.parts[signal]]
    return ranks


def parts_of(details: Mapping[str, Any]) -> dict[str, float]:
    """Return signal -> what it added, of the details that any mode gives.

    >>> parts_of({"semantic_score": 0.5, "bm25_score": 0.0, "entity_boost": 0.25})
    {'meaning': 0.5, 'entity': 0.25}
    """
    if "parts" in details:
        return dict(details["parts"])
    return {name: details[key] for key, name in _MEM0_PARTS.items() if details.get(key)}


def why_empty(scored: Sequence[Scored], *, threshold: float) -> str | None:
    """Return why a search has no results, in one sentence; None where it has some.

    >>> why_empty([], threshold=0.1)
    'nothing that matches is stored in this scope'
    """
    if not scored:
        return "nothing that matches is stored in this scope"
    if any(one.gate is not None for one in scored):
        return None
    best = max(one.evidence for one in scored)
    noun = "candidate" if len(scored) == 1 else "candidates"
    return f"{len(scored)} {noun} below the threshold {threshold:g}, best {best:.2f}"
