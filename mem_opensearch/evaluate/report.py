"""The result of an evaluation: as values, as JSON, and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mem_opensearch.evaluate.metrics import FAILURES, MEASURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

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
        failure: one of `FAILURES` if the query was missed, else None.
    """

    ranking: tuple[str, ...]
    seconds: float
    requests: int
    failure: str | None = None


@dataclass(frozen=True, slots=True)
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
    """

    dataset: str
    system: str
    embedder: str
    metrics: Mapping[str, float]
    latency_ms: Mapping[str, float]
    failures: Mapping[str, int]
    requests_per_query: float
    outcomes: Mapping[str, Outcome]

    @property
    def queries(self) -> int:
        """Number of queries."""
        return len(self.outcomes)

    def to_json(self) -> dict[str, Any]:
        """Return the row of the JSON report; what came back for each query is not in it."""
        return {
            "dataset": self.dataset,
            "system": self.system,
            "embedder": self.embedder,
            "queries": self.queries,
            "metrics": {name: round(value, 6) for name, value in self.metrics.items()},
            "latency_ms": {name: round(value, 3) for name, value in self.latency_ms.items()},
            "failures": {name: self.failures[name] for name in FAILURES},
            "requests_per_query": round(self.requests_per_query, 3),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """Every system on every data set, and how it was measured.

    Attributes:
        results: data set by data set, in the order asked for.
        settings: everything that a number here depends on.
    """

    results: tuple[Result, ...]
    settings: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {"results": [result.to_json() for result in self.results], "settings": dict(self.settings)}

    def to_table(self) -> Table:
        """Return the report as a table for the terminal, about 115 columns wide."""
        from rich import box
        from rich.table import Table

        has_stale = any(NEW_OVER_OLD in result.metrics for result in self.results)
        shown = [*MEASURES, *([NEW_OVER_OLD] if has_stale else [])]
        table = Table(title=_title(self.settings), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name in ("dataset", "system"):
            table.add_column(name, no_wrap=True)
        heads = [HEADS.get(name, name) for name in shown]
        for name in ("queries", *heads, "p50\nms", "p95\nms", "requests\nper query", "missed"):
            table.add_column(name, justify="right", no_wrap=True)
        before = None
        for result in self.results:
            if before not in {None, result.dataset}:
                table.add_row()
            table.add_row(*self._cells(result, shown, first=before != result.dataset))
            before = result.dataset
        return table

    def _cells(self, result: Result, shown: list[str], *, first: bool) -> list[str]:
        metrics = [f"{result.metrics[name]:.3f}" if name in result.metrics else "" for name in shown]
        return [
            result.dataset if first else "",
            result.system,
            str(result.queries),
            *metrics,
            f"{result.latency_ms['p50']:.1f}",
            f"{result.latency_ms['p95']:.1f}",
            f"{result.requests_per_query:.1f}",
            str(sum(result.failures.values())),
        ]


def _title(settings: Mapping[str, Any]) -> str:
    parts = (f"embedder {settings['embedder']}", f"top {settings['top_k']}", str(settings["server"]))
    return ", ".join(parts)
