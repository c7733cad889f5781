"""Sum up what a system returned: measures over all queries, and over those of each kind."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.evaluate import metrics
from mem_opensearch.evaluate.report import NEW_OVER_OLD, Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.evaluate.datasets import Dataset, Query
    from mem_opensearch.evaluate.report import Outcome

KINDS: Final = ("type", "variant")
"""Keys of a query that say what kind it is."""

OTHERS: Final = "(none)"
"""What queries without the key are called, in a set where others have it."""


@dataclass(frozen=True, slots=True)
class Group:
    """Queries of one kind.

    Attributes:
        queries: how many.
        metrics: as `Result.metrics`, over them.
        missed: how many of them were missed.
    """

    queries: int
    metrics: Mapping[str, float]
    missed: int

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "queries": self.queries,
            "metrics": {name: round(value, 6) for name, value in self.metrics.items()},
            "missed": self.missed,
        }


def summarise(dataset: Dataset, *, system: str, embedder: str, outcomes: Mapping[str, Outcome], depth: int) -> Result:
    """Return one system's row.

    Args:
        dataset: the queries that were asked.
        system: its name.
        embedder: its name.
        outcomes: query id -> what came back, for every query.
        depth: how many rows were asked for.
    """
    rankings = {query_id: outcome.ranking for query_id, outcome in outcomes.items()}
    relevant = {query.id: query.relevant for query in dataset.queries}
    classes = Counter(outcome.failure for outcome in outcomes.values())
    milliseconds = [outcome.seconds * 1000 for outcome in outcomes.values()]
    return Result(
        dataset=dataset.name,
        system=system,
        embedder=embedder,
        metrics=_measure(dataset.queries, outcomes),
        latency_ms={"p50": metrics.percentile(milliseconds, 0.5), "p95": metrics.percentile(milliseconds, 0.95)},
        failures={name: classes[name] for name in metrics.FAILURES},
        requests_per_query=sum(outcome.requests for outcome in outcomes.values()) / len(outcomes),
        outcomes=outcomes,
        recall_at=metrics.recall_curve(rankings, relevant, depth=depth),
        groups={kind: groups for kind in KINDS if (groups := _group(kind, dataset.queries, outcomes))},
    )


def _group(kind: str, queries: Sequence[Query], outcomes: Mapping[str, Outcome]) -> dict[str, Group]:
    """Return value of the key -> its queries, by name; nothing where no query has the key."""
    members: dict[str | None, list[Query]] = {}
    for query in queries:
        members.setdefault(getattr(query, kind), []).append(query)
    if set(members) == {None}:
        return {}
    named = {OTHERS if value is None else value: those for value, those in members.items()}
    return {
        value: Group(
            queries=len(those),
            metrics=_measure(those, outcomes),
            missed=sum(outcomes[query.id].failure is not None for query in those),
        )
        for value, those in sorted(named.items())
    }


def _measure(queries: Sequence[Query], outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    rankings = {query.id: outcomes[query.id].ranking for query in queries}
    scores = metrics.rank_metrics(rankings, {query.id: query.relevant for query in queries})
    judged = [query for query in queries if query.stale]
    if judged:
        right = sum(
            metrics.is_new_over_old(rankings[query.id], relevant=query.relevant, stale=query.stale) for query in judged
        )
        scores[NEW_OVER_OLD] = right / len(judged)
    return scores
