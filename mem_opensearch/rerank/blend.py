"""Make one order of the fused scores and those of a reranker."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def is_constant(scores: Sequence[float | None]) -> bool:
    """Whether a reranker gave the same score to all that it scored, which says nothing about their order.

    >>> is_constant([0.5, None, 0.5]), is_constant([0.5]), is_constant([])
    (True, False, False)
    """
    known = [score for score in scores if score is not None]
    return len(known) > 1 and max(known) - min(known) <= 1e-9 * max(1.0, abs(max(known)))


def blended(fused: Sequence[float], scores: Sequence[float | None], *, weight: float) -> list[float | None]:
    """Return fused^(1 - weight) * score^weight for each memory, None where it was not scored.

    A weighted geometric mean: no scale of the reranker's scores changes the order, and what has little of either
    stays low. Scores outside [0, 1], as the logits of a model, go through a sigmoid first, all or none.

    Args:
        fused: in [0, 1], best first.
        scores: of the reranker, in the same order.
        weight: 0 leaves the fused order, 1 takes the reranker's.

    >>> blended([0.8, 0.5], [0.5, 1.0], weight=0.5)
    [0.6324555320336759, 0.7071067811865476]
    """
    known = [score for score in scores if score is not None]
    if any(not 0.0 <= score <= 1.0 for score in known):
        scores = [None if score is None else _sigmoid(score) for score in scores]
    return [
        None if score is None else own ** (1.0 - weight) * score**weight
        for own, score in zip(fused, scores, strict=True)
    ]


def order_of(fused: Sequence[float], scores: Sequence[float | None], *, weight: float) -> list[int]:
    """Return the positions of the memories in their new order.

    What was not scored keeps its place, and the scored ones are sorted among theirs: a missing score neither lifts nor
    sinks. Equal ones stay in the fused order.

    Args:
        fused: in [0, 1], best first.
        scores: of the reranker, in the same order.
        weight: see `blended`.

    >>> order_of([0.9, 0.8, 0.7], [0.1, None, 0.9], weight=1.0)
    [2, 1, 0]
    """
    # By the reranker alone, its own scale is kept: a sigmoid makes large logits equal.
    values = list(scores) if weight == 1.0 else blended(fused, scores, weight=weight)
    places = [place for place, value in enumerate(values) if value is not None]
    ranked = sorted(places, key=lambda place: -_known(values[place]))
    order = list(range(len(fused)))
    for place, taken in zip(places, ranked, strict=True):
        order[place] = taken
    return order


def _known(value: float | None) -> float:
    assert value is not None  # noqa: S101 - only places that have one are asked
    return value


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value)) if value >= 0 else math.exp(value) / (1.0 + math.exp(value))
