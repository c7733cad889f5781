"""Write an evaluation as one HTML file that needs nothing else: no network, no script."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.evaluate.charts import FONTS, charts_of, signal_bars, svg_of
from mem_opensearch.evaluate.comparing import COMPARED
from mem_opensearch.evaluate.report import NEW_OVER_OLD, shown_p
from mem_opensearch.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.evaluate.datasets import Dataset
    from mem_opensearch.evaluate.report import Outcome, Report, Result

WORST: Final = 10
"""Queries whose signals are shown, of the first system of each data set that tells them."""

RESULTS_SHOWN: Final = 3

CAPTIONS: Final[Mapping[str, str]] = {
    "systems": f"{COMPARED} of each system. Red: the interval that holds it with a probability of 95 %.",
    "recall": "Share of the relevant memories among the first k rows.",
    "latency": "Time of one search, as its caller sees it.",
    "failures": "Missed queries by class.",
    "signals": "Cosine against BM25 of what was looked at. Right of, or above, a dashed line a memory passes the gate "
    "by that signal alone; others of its signals may let it pass too.",
    "weights": f"{COMPARED} by two options, most often weights.",
}


def html_page(report: Report, datasets: Sequence[Dataset], tuned: Mapping[str, Any] | None = None) -> str:
    """Return the page. It shows the texts of the worst queries and of their memories, escaped.

    Args:
        report: of an evaluation with `is_detailed`.
        datasets: those of the report.
        tuned: as in `charts.charts_of`.

    Raises:
        MissingExtraError: what draws is not installed.
    """
    jinja2 = require("jinja2", extra="report", purpose="a report with pictures")
    loader = jinja2.PackageLoader("mem_opensearch.evaluate")
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    raw = jinja2.utils.markupsafe.Markup  # for what is SVG already
    style = environment.get_template("report.css").render(fonts=raw(FONTS))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    charts = charts_of(report, datasets, tuned)
    page: str = environment.get_template("report.html").render(
        style=raw(style),
        style_hash=digest,
        report=report,
        rows=[_row(report, result) for result in report.results],
        has_stale=any(NEW_OVER_OLD in result.metrics for result in report.results),
        compared=COMPARED,
        charts=[(name, raw(svg_of(chart)), CAPTIONS[name]) for name, chart in charts.items()],
        worst=[one | {"svg": raw(one["svg"])} for one in _worst(report, datasets)],
    )
    return page


def _row(report: Report, result: Result) -> dict[str, Any]:
    comparison = report.comparison_of(result)
    return {
        "result": result,
        "missed": sum(result.failures.values()),
        "p": "" if comparison is None else shown_p(comparison.p_holm),
    }


def _worst(report: Report, datasets: Sequence[Dataset]) -> list[dict[str, Any]]:
    found = []
    for dataset in datasets:
        explained = [
            (result, ranked)
            for result in report.results
            if result.dataset == dataset.name
            and (ranked := [(key, one) for key, one in result.outcomes.items() if one.seen and one.reciprocal_rank < 1])
        ]
        if not explained:
            continue
        result, ranked = explained[0]
        texts = {memory.id: memory.text for memory in dataset.memories}
        queries = {query.id: query for query in dataset.queries}
        for query_id, outcome in sorted(ranked, key=lambda item: item[1].reciprocal_rank)[:WORST]:
            query = queries[query_id]
            rows = _memories(outcome, query.relevant, texts)
            drawn = [(row["label"], row["details"]) for row in rows if row["details"] is not None]
            found.append(
                {
                    "dataset": dataset.name,
                    "system": result.system,
                    "query": query,
                    "miss": outcome.miss,
                    "rank": round(1 / outcome.reciprocal_rank) if outcome.reciprocal_rank else None,
                    "rows": rows,
                    "svg": svg_of(signal_bars(drawn)) if drawn else "",
                }
            )
    return found


def _memories(outcome: Outcome, relevant: Sequence[str], texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the best results and the relevant memories, with their places and signals."""
    places = {memory_id: place for place, memory_id in enumerate(outcome.ranking, start=1)}
    shown = dict.fromkeys([*outcome.ranking[:RESULTS_SHOWN], *relevant])
    details = outcome.seen.details if outcome.seen else {}
    return [
        {
            "label": f"{'✓ ' if memory_id in relevant else ''}{memory_id}",
            "place": places.get(memory_id),
            "is_relevant": memory_id in relevant,
            "text": texts[memory_id],
            "details": details.get(memory_id),
        }
        for memory_id in shown
    ]
