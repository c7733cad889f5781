"""Turn answers into ranks and counts."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from mem_opensearch.demo.results import ScoredHit, Summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mem_opensearch.demo.results import Asked, Stored

COSINE = "cosine"


def parse_hit(result: Mapping[str, Any]) -> ScoredHit:
    """Return one item of mem0's ``search(explain=True)["results"]`` as a value."""
    details = result["score_details"]
    return ScoredHit(
        id=result["id"],
        text=result["memory"],
        semantic=details["semantic_score"] or 0.0,
        bm25=details["bm25_score"] or 0.0,
        entity=details["entity_boost"] or 0.0,
        final=details["final_score"],
    )


def rank_of(wanted: str, ids: Iterable[str]) -> int | None:
    """Return the place of `wanted` in `ids`, from 1, or None.

    >>> rank_of("b", ["a", "b"])
    2
    """
    return next((place for place, found in enumerate(ids, start=1) if found == wanted), None)


def meaning_rank(wanted: str, cosines: Mapping[str, float]) -> int:
    """Return the place of `wanted` when only the cosine counts, from 1; equals stand before it.

    >>> meaning_rank("b", {"a": 0.9, "b": 0.5, "c": 0.5})
    3
    """
    mine = cosines[wanted]
    return sum(cosine >= mine for cosine in cosines.values())


def summarise(asked: Sequence[Asked], stored: Sequence[Stored]) -> tuple[Summary, ...]:
    """Return one line per system, and one for meaning alone, which has no server to measure."""
    lines = []
    for place, store in enumerate(stored):
        answers = [item.answers[place] for item in asked]
        first, top3 = _count([answer.rank for answer in answers])
        lines.append(
            Summary(
                system=store.system,
                first=first,
                top3=top3,
                milliseconds=median(figure for answer in answers for figure in answer.milliseconds),
                requests=sum(answer.requests for answer in answers) / len(answers),
                seconds=store.seconds,
            )
        )
    first, top3 = _count([item.meaning_rank for item in asked])
    return (*lines, Summary(system=COSINE, first=first, top3=top3, milliseconds=None, requests=None, seconds=None))


def _count(ranks: Sequence[int | None]) -> tuple[int, int]:
    """Return how many ranks are 1, and how many are at most 3."""
    return sum(rank == 1 for rank in ranks), sum(rank is not None and rank <= 3 for rank in ranks)  # noqa: PLR2004
