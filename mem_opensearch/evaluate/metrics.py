"""Score rankings against the right answers.

Measures come from `ir-measures`, which runs the field's reference implementations (trec_eval, MS MARCO). It orders rows
by score and breaks ties by id, so a row's score here is 1/rank: no two are equal, and the order is the one returned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mem_opensearch.extras import require

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from types import ModuleType

MEASURES: Mapping[str, str] = {
    "hit@1": "Success@1",
    "recall@5": "R@5",
    "recall@10": "R@10",
    "mrr@10": "RR@10",
    "ndcg@10": "nDCG@10",
}
"""Our name -> the name in `ir-measures`."""

DEEPEST_RANK = 10
"""The lowest rank that a measure looks at."""

CURVE = (*range(1, 11), 20, 50)
"""Numbers of rows at which recall is drawn."""

FAILURES = ("not_in_pool", "below_threshold", "ranked_low")


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a system looked at for one query.

    Attributes:
        pool: ids of every row that it took into account.
        gated: those of them that its threshold removed.
        scores: row -> what was held against the threshold, where the system tells it.
        threshold: that threshold, where the system tells it.
    """

    pool: frozenset[str]
    gated: frozenset[str] = frozenset()
    scores: Mapping[str, float] = field(default_factory=dict)
    threshold: float | None = None


def load_measures() -> ModuleType:
    """Return `ir_measures`.

    Raises:
        MissingExtraError: it is not installed.
    """
    return require("ir_measures", extra="eval", purpose="the evaluation")


def rank_metrics(rankings: Mapping[str, Sequence[str]], relevant: Mapping[str, Collection[str]]) -> dict[str, float]:
    """Return the mean over all queries of each measure in `MEASURES`, in [0, 1].

    - ``hit@1``: 1 if the first row is relevant.
    - ``recall@k``: share of the relevant rows that are among the first k.
    - ``mrr@10``: 1 / rank of the first relevant row, 0 if it is below rank 10.
    - ``ndcg@10``: sum of 1 / log2(1 + rank) over the relevant rows of the first 10, divided by the most possible.

    Args:
        rankings: query id -> row ids, best first. A query that is missing here, or has no rows, counts 0.
        relevant: query id -> ids of the relevant rows, at least one query, each with at least one id.
    """
    library = load_measures()
    measures = {name: library.parse_measure(name_there) for name, name_there in MEASURES.items()}
    qrels = [library.Qrel(query, row, 1) for query, rows in relevant.items() for row in rows]
    run = [
        library.ScoredDoc(query, row, 1.0 / rank)
        for query, rows in rankings.items()
        for rank, row in enumerate(rows, start=1)
    ]
    totals = dict.fromkeys(MEASURES, 0.0)
    names = {measure: name for name, measure in measures.items()}
    # Summed here and divided by the number of queries: a provider may leave out a query that found nothing.
    for value in library.iter_calc(list(measures.values()), qrels, run) if run else ():
        totals[names[value.measure]] += value.value
    return {name: total / len(relevant) for name, total in totals.items()}


def recall_curve(
    rankings: Mapping[str, Sequence[str]], relevant: Mapping[str, Collection[str]], *, depth: int
) -> dict[int, float]:
    """Return k -> mean recall among the first k rows, for each k of `CURVE` up to `depth`.

    Args:
        rankings: query id -> row ids, best first, each once; a query that is missing counts 0.
        relevant: query id -> ids of the relevant rows, at least one query, each with at least one id.
        depth: how many rows were asked for.

    >>> recall_curve({"q": ["x", "a"]}, {"q": ["a", "b"]}, depth=2)
    {1: 0.0, 2: 0.5}
    """
    return {
        k: sum(len(set(rankings.get(query, ())[:k]) & set(rows)) / len(set(rows)) for query, rows in relevant.items())
        / len(relevant)
        for k in CURVE
        if k <= depth
    }


def reciprocal_rank(ranking: Sequence[str], *, relevant: Collection[str]) -> float:
    """Return 1 / rank of the first relevant row, 0 if none is among the first `DEEPEST_RANK`: one query's ``mrr@10``.

    >>> reciprocal_rank(["a", "b"], relevant=["b"])
    0.5
    """
    for rank, row in enumerate(ranking[:DEEPEST_RANK], start=1):
        if row in relevant:
            return 1 / rank
    return 0.0


def is_new_over_old(ranking: Sequence[str], *, relevant: Collection[str], stale: Collection[str]) -> bool:
    """Return whether the best-placed relevant row stands above every stale row.

    A stale row that was not returned is below all that were. With no relevant row returned the answer is no, even if
    no stale row was returned either: a system does not win by finding nothing.

    >>> is_new_over_old(["new", "old"], relevant=["new"], stale=["old"])
    True
    >>> is_new_over_old(["x"], relevant=["new"], stale=["old"])
    False
    """
    for row in ranking:
        if row in stale:
            return False
        if row in relevant:
            return True
    return False


def is_missed(ranking: Sequence[str], *, relevant: Collection[str], top_k: int) -> bool:
    """Return whether none of the relevant rows is among the first `top_k`."""
    return not any(row in relevant for row in ranking[:top_k])


def classify_miss(candidates: Candidates, *, relevant: Collection[str]) -> str:
    """Return why a query was missed, judged by the relevant row that came farthest.

    Returns:
        ``"ranked_low"``: it was in the pool and passed the threshold, but below top_k.
        ``"below_threshold"``: it was in the pool, and the threshold removed it.
        ``"not_in_pool"``: it was never looked at.
    """
    seen = candidates.pool & frozenset(relevant)
    if seen - candidates.gated:
        return "ranked_low"
    return "below_threshold" if seen else "not_in_pool"


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` of the values lie, interpolated between neighbours.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 0.5)
    2.5
    """
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
