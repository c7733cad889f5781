"""Rank what was found, in one of the three modes, and say of each result where its score comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mem_opensearch.fusion import Question, fuse, mem0, rrf, score_details, why_empty
from mem_opensearch.search.names import Names
from mem_opensearch.search.results import Answer, Found
from mem_opensearch.text import fold, segmenter, without_question_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.fusion import Background, Candidate, Ranked, Scored, UnionWeights
    from mem_opensearch.search.asking import Asking
    from mem_opensearch.search.question import Asked
    from mem_opensearch.search.signals import Measured
    from mem_opensearch.search_options import Normaliser


@dataclass(frozen=True, slots=True)
class Looked:
    """All that was found for a question.

    Attributes:
        question: what was read off it.
        names: what is known of its names.
        rows: the candidates as the server gave them.
        candidates: their signals, in the same order.
        weights: of the mode "union".
        normaliser: of BM25, in the mode "union".
        background: of the embedder; None where it is not known.
        degraded: signals that are missing, one sentence each.
        boosts: memory id -> mem0's boost by entities; in mode "mem0" only.
    """

    question: Asked
    names: Names
    rows: Sequence[Measured] = ()
    candidates: Sequence[Candidate] = ()
    weights: UnionWeights | None = None
    normaliser: Normaliser = "share"
    background: Background | None = None
    degraded: tuple[str, ...] = ()
    boosts: Mapping[str, float] | None = None

    @classmethod
    def nothing(cls, question: Asked) -> Looked:
        """Return what a collection has that does not exist."""
        return cls(question, Names.none(question.text))


@dataclass(frozen=True, slots=True)
class Ranking:
    """Every candidate in its order.

    Attributes:
        passed: (id, score) of those that have enough evidence, best first.
        gated: ids of those that have not.
        details: memory id -> where its score comes from.
        empty: why nothing passed; None where something did.
    """

    passed: Sequence[tuple[str, float]]
    gated: frozenset[str]
    details: Mapping[str, Mapping[str, Any]]
    empty: str | None


def answer(looked: Looked, asked: Asking) -> Answer:
    """Return the results of a search."""
    ranking = rank(looked, asked)
    rows = {row.id: row for row in looked.rows}
    details = explained(ranking, looked, asked) if asked.explain else {}
    return Answer(
        results=tuple(
            Found(memory_id, score, rows[memory_id].payload, details.get(memory_id))
            for memory_id, score in ranking.passed[: asked.top_k]
        ),
        mode=asked.mode,
        degraded=looked.degraded,
        empty=ranking.empty,
        pool=frozenset(rows),
        gated=ranking.gated,
    )


def rank(looked: Looked, asked: Asking) -> Ranking:
    """Rank all candidates in the mode that is asked for."""
    return _rank_as_mem0(looked, asked) if asked.mode == "mem0" else _rank_union(looked, asked)


def _rank_union(looked: Looked, asked: Asking) -> Ranking:
    question = Question(looked.question.slots, looked.question.about_the_past, asked.asked_at)
    scored = fuse(
        looked.candidates,
        question=question,
        weights=looked.weights,
        background=looked.background,
        threshold=asked.threshold,
        normaliser=looked.normaliser,
    )
    details = score_details(scored, threshold=asked.threshold) if asked.explain else {}
    for shown in details.values():
        shown["normaliser"] = looked.normaliser
    order = [(one.id, one.score) for one in scored if one.gate is not None]
    if asked.mode == "rrf":
        allowed = {memory_id for memory_id, _ in order}
        ranked = rrf(looked.candidates)
        for one in ranked if asked.explain else ():
            details[one.id] |= _by_ranks(one, details[one.id])
        order = [(one.id, one.score) for one in ranked if one.id in allowed]
    return Ranking(order, _gated(scored), details, why_empty(scored, threshold=asked.threshold))


def _by_ranks(ranked: Ranked, union: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the details of mode "rrf" say otherwise than those of mode "union"."""
    return {
        "final_score": ranked.score,
        "raw_score": ranked.score,
        "max_possible_score": 1.0,
        "parts": dict(ranked.parts),
        "ranks": dict(ranked.ranks),
        "union_score": union["final_score"],
    }


def _gated(scored: Sequence[Scored]) -> frozenset[str]:
    return frozenset(one.id for one in scored if one.gate is None)


def _rank_as_mem0(looked: Looked, asked: Asking) -> Ranking:
    """Rank as mem0 does: what is near in meaning, with what words and entities add."""
    pool = max(4 * asked.top_k, 60)
    near = sorted((row for row in looked.rows if row.nearest), key=lambda row: -(row.cosine or 0.0))[:pool]
    terms = len(segmenter().segment(without_question_words(asked.question)))
    midpoint, steepness = mem0.sigmoid_of(terms)
    raw = {row.id: sum(row.scores.values()) for row in looked.rows}
    best = sorted((item for item in raw.items() if item[1] > 0), key=lambda item: -item[1])[:pool]
    words = {memory_id: mem0.normalise_bm25(score, midpoint=midpoint, steepness=steepness) for memory_id, score in best}
    cosines = {row.id: row.cosine for row in near}
    boosts = looked.boosts or {}
    scores = mem0.score_and_rank(cosines, bm25=words, boosts=boosts, threshold=asked.threshold, limit=len(near))
    details = {
        score.id: {
            "semantic_score": score.semantic_score,
            "bm25_score": score.bm25_score,
            "entity_boost": score.entity_boost,
            "raw_score": score.raw_score,
            "max_possible_score": score.max_possible_score,
            "final_score": score.final_score,
            "threshold": score.threshold,
            "gate": "meaning",
            "bm25": {"raw": raw[score.id], "midpoint": midpoint, "steepness": steepness, "terms": terms},
        }
        for score in scores
    }
    gated = frozenset(memory_id for memory_id, cosine in cosines.items() if (cosine or 0.0) < asked.threshold)
    most = max((cosine or 0.0 for cosine in cosines.values()), default=0.0)
    empty = None
    if not scores:
        empty = (
            f"{len(near)} {'candidate' if len(near) == 1 else 'candidates'} below the threshold {asked.threshold:g}, "
            f"best {most:.2f}"
            if near
            else why_empty([], threshold=asked.threshold)
        )
    return Ranking([(score.id, score.final_score) for score in scores], gated, details, empty)


def explained(ranking: Ranking, looked: Looked, asked: Asking) -> dict[str, dict[str, Any]]:
    """Return memory id -> details, with what only the rows and the question can tell.

    Beside what `fusion.score_details` gives: `mode`; `normaliser`, of BM25, in mode union; `tokens`, the words of the
    question that the memory holds; `entities`, the names that link it; `event_date`; `background`, what the embedder
    gives for nothing, or "assumed".
    """
    question = dict.fromkeys(segmenter().segment(without_question_words(asked.question)))
    background = looked.background
    shown = (
        {"mean": background.mean, "deviation": background.deviation, "source": "measured"}
        if background
        else {"source": "assumed"}
    )
    found = {}
    for row in looked.rows:
        if row.id not in ranking.details:
            continue
        text = fold(row.text).lower()
        found[row.id] = {
            **ranking.details[row.id],
            "mode": asked.mode,
            "tokens": [token for token in question if any(map(str.isalnum, token)) and token in text],
            "entities": looked.names.linking(row.id),
            "event_date": row.source.get("event_date"),
            "background": shown,
            "degraded": list(looked.degraded),
        }
    return found
