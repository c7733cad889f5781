"""Draw what was measured: charts by name, as SVG and PNG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.evaluate.comparing import COMPARED
from mem_opensearch.evaluate.metrics import FAILURES
from mem_opensearch.extras import require
from mem_opensearch.fusion import parts_of
from mem_opensearch.fusion.calibration import EDGE, REFERENCE, REFERENCE_DEVIATION, WORDS_FULL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mem_opensearch.evaluate.datasets import Dataset
    from mem_opensearch.evaluate.report import Outcome, Report, Result

    Rows = list[dict[str, Any]]

FONTS: Final = '"Noto Sans CJK SC", "Noto Sans TC", "PingFang SC", "Microsoft YaHei", sans-serif'
"""Fonts with Chinese, of Linux, macOS and Windows."""

MOST_POINTS: Final = 2000
"""Points of a scatter plot; of more, evenly spaced ones are drawn, and all the relevant ones."""

WIDTH: Final = 620
_INK = "currentColor"  # a picture by itself is black on white; in a page it has the page's colours
_CONFIG = {
    "font": FONTS,
    "background": None,
    "view": {"stroke": None},
    "axis": {"labelColor": _INK, "titleColor": _INK, "gridOpacity": 0.25, "domainColor": _INK, "tickColor": _INK},
    "legend": {"labelColor": _INK, "titleColor": _INK},
    "header": {"labelColor": _INK, "titleColor": _INK, "labelAngle": 0, "labelAlign": "left"},
    "title": {"color": _INK},
    "range": {"category": {"scheme": "tableau10"}},
}


def load_altair() -> Any:  # noqa: ANN401 - a module
    """Return `altair`.

    Raises:
        MissingExtraError: it, or what renders its charts, is not installed.
    """
    require("vl_convert", extra="report", purpose="a report with pictures")
    return require("altair", extra="report", purpose="a report with pictures")


def charts_of(report: Report, datasets: Sequence[Dataset], tuned: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return name -> chart, in the order of the page.

    Args:
        report: of an evaluation with `is_detailed`; without it, there is no scatter plot.
        datasets: those of the report.
        tuned: the result of tuning, with a `grid` of the weights that were tried.
    """
    alt = load_altair()
    charts = {
        "systems": _systems(alt, report),
        "recall": _recall(alt, report),
        "latency": _latency(alt, report),
        "failures": _failures(alt, report),
    }
    if points := _points(report, datasets):
        charts["signals"] = _scatter(alt, points, _gate(report))
    if tuned is not None:
        charts["weights"] = _weights(alt, tuned["grid"])
    return charts


def svg_of(chart: Any) -> str:  # noqa: ANN401 - a chart
    """Return a chart as SVG; texts in it are escaped."""
    svg: str = load_converter().vegalite_to_svg(_spec(chart))
    return svg


def png_of(chart: Any) -> bytes:  # noqa: ANN401 - a chart
    """Return a chart as PNG on white, twice as many pixels as the SVG has."""
    png: bytes = load_converter().vegalite_to_png(_spec(chart) | {"background": "white"}, scale=2)
    return png


COLOURS: Final = {
    "meaning": "#4c78a8",
    "words": "#f58518",
    "identifiers": "#54a24b",
    "context": "#72b7b2",
    "entity": "#b279a2",
    "time": "#e45756",
    "slot": "#9d755d",
    "recency": "#eeca3b",
    "replaces": "#8bc34a",
}
"""Of each signal, the same in every picture; read well on white and on black."""
OTHER: Final = "#9aa5b1"


def load_converter() -> Any:  # noqa: ANN401 - a module
    """Return `vl_convert`, which renders charts."""
    return require("vl_convert", extra="report", purpose="a report with pictures")


def _spec(chart: Any) -> dict[str, Any]:  # noqa: ANN401 - a chart
    return {**chart.to_dict(), "config": _CONFIG}


def _systems(alt: Any, report: Report) -> Any:  # noqa: ANN401 - a module, a chart
    rows = [
        {
            "dataset": result.dataset,
            "system": result.system,
            "value": result.metrics[COMPARED],
            "low": result.interval[0],
            "high": result.interval[1],
        }
        for result in report.results
    ]
    base = alt.Chart().encode(y=alt.Y("system:N", sort=None, title=None))
    scale = alt.Scale(domain=[0, 1])
    bars = base.mark_bar(color="#4c78a8").encode(x=alt.X("value:Q", title=COMPARED, scale=scale))
    ends = base.mark_rule(color="#e45756", strokeWidth=2).encode(x=alt.X("low:Q", title=COMPARED), x2="high:Q")
    return _by_dataset(alt, alt.layer(bars, ends).properties(width=WIDTH), rows)


def _recall(alt: Any, report: Report) -> Any:  # noqa: ANN401 - as above
    rows = [
        {"dataset": result.dataset, "system": result.system, "k": k, "recall": value}
        for result in report.results
        for k, value in result.recall_at.items()
    ]
    lines = (
        alt.Chart()
        .mark_line(point=True)
        .encode(
            x=alt.X("k:Q", title="rows read", axis=alt.Axis(tickMinStep=1, format="d")),
            y=alt.Y("recall:Q", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("system:N", sort=None),
        )
        .properties(width=WIDTH, height=200)
    )
    return _by_dataset(alt, lines, rows)


def _latency(alt: Any, report: Report) -> Any:  # noqa: ANN401 - as above
    rows = [
        {"system": result.system, "ms": outcome.seconds * 1000}
        for result in report.results
        for outcome in result.outcomes.values()
    ]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(color="#4c78a8")
        .encode(
            x=alt.X("ms:Q", bin=alt.Bin(maxbins=40), title="milliseconds of one search"),
            y=alt.Y("count():Q", title="searches"),
            row=alt.Row("system:N", sort=list(dict.fromkeys(row["system"] for row in rows)), title=None),
        )
        .properties(width=WIDTH, height=70)
    )


def _failures(alt: Any, report: Report) -> Any:  # noqa: ANN401 - as above
    rows = [
        {"dataset": result.dataset, "system": result.system, "class": name, "queries": result.failures[name]}
        for result in report.results
        for name in FAILURES
    ]
    bars = (
        alt.Chart()
        .mark_bar()
        .encode(
            x=alt.X("queries:Q", title="missed queries", axis=alt.Axis(tickMinStep=1, format="d")),
            y=alt.Y("system:N", sort=None, title=None),
            color=alt.Color("class:N", sort=list(FAILURES)),
        )
        .properties(width=WIDTH)
    )
    return _by_dataset(alt, bars, rows)


def _by_dataset(alt: Any, chart: Any, rows: Rows) -> Any:  # noqa: ANN401 - as above
    return chart.facet(row=alt.Row("dataset:N", sort=None, title=None), data=alt.Data(values=rows))


def _seen(report: Report) -> Iterator[tuple[Result, str, Outcome]]:
    """Yield the queries of the first system of each data set whose signals are known."""
    done: dict[str, str] = {}
    for result in report.results:
        if done.setdefault(result.dataset, result.system) != result.system:
            continue
        known = [(query_id, outcome) for query_id, outcome in result.outcomes.items() if outcome.seen is not None]
        if not known:
            del done[result.dataset]
        for query_id, outcome in known:
            yield result, query_id, outcome


def _points(report: Report, datasets: Sequence[Dataset]) -> Rows:
    relevant = {(one.name, query.id): set(query.relevant) for one in datasets for query in one.queries}
    points: Rows = []
    for result, query_id, outcome in _seen(report):
        for memory_id, details in outcome.seen.details.items() if outcome.seen else ():
            bm25, cosine = details.get("bm25", {}), details["semantic_score"]
            words = bm25.get("words", bm25.get("raw"))
            if cosine is not None:
                is_right = memory_id in relevant[result.dataset, query_id]
                points.append({"cosine": cosine, "bm25": words or 0.0, "relevant": "yes" if is_right else "no"})
    right = [point for point in points if point["relevant"] == "yes"]
    others = [point for point in points if point["relevant"] == "no"]
    return others[:: max(1, -(-len(others) // MOST_POINTS))] + right  # the relevant ones are drawn last, on top


def _gate(report: Report) -> tuple[float, float] | None:
    """Return the cosine and the BM25 that each alone is enough to pass the threshold."""
    for _, _, outcome in _seen(report):
        for details in outcome.seen.details.values() if outcome.seen else ():
            if "evidence" not in details:
                return details["threshold"], 0.0
            background = details.get("background", {})
            mean = background.get("mean", REFERENCE)
            deviation = background.get("deviation", REFERENCE_DEVIATION)
            return cosine_at(details["threshold"], mean, deviation), details["threshold"] * WORDS_FULL
    return None


def cosine_at(threshold: float, mean: float, deviation: float) -> float:
    """Return the cosine whose evidence is the threshold: `calibration.Background.evidence` the other way round.

    >>> round(cosine_at(0.1, 0.8, 0.1), 9), round(cosine_at(0.55, 0.8, 0.1), 9)
    (0.9, 0.95)
    """
    edge = mean + deviation
    if threshold <= EDGE:
        return mean + deviation * threshold / EDGE
    return edge + (1.0 - edge) * (threshold - EDGE) / (1.0 - EDGE)


def _scatter(alt: Any, points: Rows, gate: tuple[float, float] | None) -> Any:  # noqa: ANN401 - as above
    colours = alt.Scale(domain=["no", "yes"], range=["#9aa5b1", "#e45756"])
    drawn = (
        alt.Chart(alt.Data(values=points))
        .mark_circle(size=22, opacity=0.6)
        .encode(
            x=alt.X("cosine:Q", scale=alt.Scale(zero=False)),
            y=alt.Y("bm25:Q", title="BM25"),
            color=alt.Color("relevant:N", scale=colours),
        )
        .properties(width=WIDTH, height=300)
    )
    if gate is None:
        return drawn
    cosine, words = gate
    lines = [
        alt.Chart(alt.Data(values=[{"x": cosine}]))
        .mark_rule(strokeDash=[5, 4], color="#54a24b")
        .encode(x=alt.X("x:Q", title="cosine"))
    ]
    if words:
        across = alt.Chart(alt.Data(values=[{"y": words}])).mark_rule(strokeDash=[5, 4], color="#54a24b")
        lines.append(across.encode(y=alt.Y("y:Q", title="BM25")))
    return alt.layer(drawn, *lines)


def _weights(alt: Any, grid: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as above
    rows = [{"x": x, "y": y, "value": value} for x, y, value in grid["cells"]]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_rect()
        .encode(
            x=alt.X("x:O", title=grid["x"]),
            y=alt.Y("y:O", title=grid["y"], sort="descending"),
            color=alt.Color("value:Q", title=COMPARED, scale=alt.Scale(scheme="viridis")),
        )
        .properties(width=WIDTH)
    )


def signal_bars(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Any:  # noqa: ANN401 - a chart
    """Return stacked bars of what each signal added to each memory.

    Args:
        rows: (label, details of a memory), in order.
    """
    alt = load_altair()
    values = [
        {"memory": label, "signal": signal, "added": added, "place": place}
        for place, (label, details) in enumerate(rows)
        for signal, added in parts_of(details).items()
        if added
    ]
    signals = list(dict.fromkeys(str(value["signal"]) for value in values))
    colours = alt.Scale(domain=signals, range=[COLOURS.get(signal, OTHER) for signal in signals])
    return (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("added:Q", title="added to the score"),
            y=alt.Y("memory:N", sort=alt.SortField("place"), title=None),
            color=alt.Color("signal:N", scale=colours),
        )
        .properties(width=WIDTH)
    )
