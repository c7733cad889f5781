"""The result of an evaluation: as values, as JSON, and as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mem_opensearch.evaluate.comparing import COMPARED
from mem_opensearch.evaluate.metrics import FAILURES, MEASURES
from mem_opensearch.evaluate.significance import bootstrap_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from mem_opensearch.evaluate.comparing import Comparison
    from mem_opensearch.evaluate.misses import Miss
    from mem_opensearch.evaluate.seen import Seen
    from mem_opensearch.evaluate.summary import Group

NEW_OVER_OLD = "new_over_old"
HEADS = {
    "recall@5": "recall\n@5",
    "recall@10": "recall\n@10",
    "mrr@10": "mrr\n@10",
    "ndcg@10": "ndcg\n@10",
    NEW_OVER_OLD: "new\nover old",
}
"""Measure -> column head, where the name is wider than its numbers."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one system returned for one query.

    Attributes:
        ranking: ids, best first.
        seconds: time of the read path, without the query's embedding.
        requests: HTTP requests sent for it.
        reciprocal_rank: what it adds to ``mrr@10``.
        owner: the user whose memories were searched.
        failure: one of `FAILURES` if the query was missed, else None.
        miss: why it was missed; None if it was not.
        seen: the signals of what was looked at, where they were asked for.
    """

    ranking: tuple[str, ...]
    seconds: float
    requests: int
    reciprocal_rank: float = 0.0
    owner: str | None = None
    failure: str | None = None
    miss: Miss | None = None
    seen: Seen | None = None


@dataclass(frozen=True)
class Result:
    """One system on one data set.

    Attributes:
        dataset: name of the data set.
        system: name of the system.
        embedder: name of the embedder.
        metrics: measure -> mean over the queries, in [0, 1]; `new_over_old` only where the set has stale rows.
        latency_ms: ``p50`` and ``p95``.
        failures: class -> missed queries.
        requests_per_query: mean.
        outcomes: query id -> what came back, in the data set's order.
        recall_at: k -> recall among the first k rows, see `metrics.recall_curve`.
        groups: "type" and "variant", where queries have them -> value -> measures of those queries.
    """

    dataset: str
    system: str
    embedder: str
    metrics: Mapping[str, float]
    latency_ms: Mapping[str, float]
    failures: Mapping[str, int]
    requests_per_query: float
    outcomes: Mapping[str, Outcome]
    recall_at: Mapping[int, float] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, Group]] = field(default_factory=dict)

    @property
    def queries(self) -> int:
        """Number of queries."""
        return len(self.outcomes)

    @property
    def requests_max(self) -> int:
        """Most HTTP requests of one query."""
        return max(outcome.requests for outcome in self.outcomes.values())

    @property
    def owners(self) -> dict[str, str | None]:
        """Query id -> its user."""
        return {query_id: outcome.owner for query_id, outcome in self.outcomes.items()}

    @property
    def misses(self) -> dict[str, Miss]:
        """Missed query -> why."""
        return {query_id: outcome.miss for query_id, outcome in self.outcomes.items() if outcome.miss is not None}

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Of ``mrr@10``, see `significance.bootstrap_interval`."""
        ranks = {query_id: outcome.reciprocal_rank for query_id, outcome in self.outcomes.items()}
        return bootstrap_interval(ranks, self.owners)

    def to_json(self) -> dict[str, Any]:
        """Return the row of the JSON report; of what came back for each query it has why it was missed."""
        return {
            "dataset": self.dataset,
            "system": self.system,
            "embedder": self.embedder,
            "queries": self.queries,
            "metrics": {name: round(value, 6) for name, value in self.metrics.items()},
            "latency_ms": {name: round(value, 3) for name, value in self.latency_ms.items()},
            "failures": {name: self.failures[name] for name in FAILURES},
            "requests_per_query": round(self.requests_per_query, 3),
            "requests_max": self.requests_max,
            "intervals": {COMPARED: [round(end, 6) for end in self.interval]},
            "recall_at": {str(k): round(value, 6) for k, value in self.recall_at.items()},
            "by": {
                kind: {value: group.to_json() for value, group in groups.items()}
                for kind, groups in self.groups.items()
            },
            "misses": [{"query": query_id, **miss.to_json()} for query_id, miss in self.misses.items()],
        }


@dataclass(frozen=True, slots=True)
class Report:
    """Every system on every data set, and how it was measured.

    Attributes:
        results: data set by data set, in the order asked for.
        settings: everything that a number here depends on.
        comparisons: each system that is not the baseline against it.
    """

    results: tuple[Result, ...]
    settings: Mapping[str, Any]
    comparisons: tuple[Comparison, ...] = ()

    def comparison_of(self, result: Result) -> Comparison | None:
        """Return how a result compares with the baseline's; None for the baseline itself."""
        wanted = (result.dataset, result.system)
        return next((each for each in self.comparisons if (each.dataset, each.system) == wanted), None)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        rows = []
        for result in self.results:
            comparison = self.comparison_of(result)
            rows.append(result.to_json() | {"comparison": comparison and comparison.to_json()})
        return {"results": rows, "settings": dict(self.settings)}

    def to_table(self) -> Table:
        """Return the report as a table for the terminal, about 125 columns wide."""
        from rich import box
        from rich.table import Table

        has_stale = any(NEW_OVER_OLD in result.metrics for result in self.results)
        shown = [*MEASURES, *([NEW_OVER_OLD] if has_stale else [])]
        table = Table(title=_title(self.settings), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name in ("dataset", "system"):
            table.add_column(name, no_wrap=True)
        heads = [HEADS.get(name, name) for name in shown]
        for name in ("queries", *heads, "p50\nms", "p95\nms", "requests\nper query", "most", "missed", "p"):
            table.add_column(name, justify="right", no_wrap=True)
        before = None
        for result in self.results:
            if before not in {None, result.dataset}:
                table.add_row()
            table.add_row(*self._cells(result, shown, first=before != result.dataset))
            before = result.dataset
        return table

    def to_kinds_table(self, kind: str) -> Table:
        """Return the measures for each kind of question, of the sets that tell kinds.

        Args:
            kind: "type" or "variant".
        """
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(title=f"by {kind}", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name in ("dataset", "system", kind):
            table.add_column(name, no_wrap=True)
        for name in ("queries", *MEASURES, "missed"):
            table.add_column(HEADS.get(name, name), justify="right", no_wrap=True)
        for result in self.results:
            for value, group in result.groups.get(kind, {}).items():
                numbers = [f"{group.metrics[name]:.3f}" for name in MEASURES]
                table.add_row(
                    Text(result.dataset), result.system, Text(value), str(group.queries), *numbers, str(group.missed)
                )
        return table

    def _cells(self, result: Result, shown: list[str], *, first: bool) -> list[str]:
        metrics = [f"{result.metrics[name]:.3f}" if name in result.metrics else "" for name in shown]
        comparison = self.comparison_of(result)
        return [
            result.dataset if first else "",
            result.system,
            str(result.queries),
            *metrics,
            f"{result.latency_ms['p50']:.1f}",
            f"{result.latency_ms['p95']:.1f}",
            f"{result.requests_per_query:.1f}",
            str(result.requests_max),
            str(sum(result.failures.values())),
            "" if comparison is None else shown_p(comparison.p_holm),
        ]


def shown_p(p: float) -> str:
    """Return a p as tables show it.

    >>> shown_p(0.0004), shown_p(0.0312), shown_p(1.0)
    ('<.001', '.031', '1')
    """
    least = 0.001
    if p < least:
        return "<.001"
    return "1" if p >= 1 - least / 2 else f"{p:.3f}".removeprefix("0")


def _title(settings: Mapping[str, Any]) -> str:
    parts = [f"embedder {settings['embedder']}", f"top {settings['top_k']}", str(settings["server"])]
    if settings["baseline"]:
        parts.append(f"p: {COMPARED} against {settings['baseline']}, by Holm")
    return ", ".join(parts)
