"""Draw what was measured, in the manner of the evaluation's reports: benchmark -> SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.page import NAMES
from mem_opensearch.evaluate.charts import WIDTH, load_altair, svg_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    Result = Mapping[str, Any]


def pictures_of(results: Mapping[str, Result]) -> dict[str, str]:
    """Return name -> SVG, for the benchmarks that have a picture.

    Raises:
        MissingExtraError: what draws is not installed.
    """
    alt = load_altair()
    drawn = {"search": _search, "ingest": _ingest, "concurrency": _concurrency, "growth": _growth}
    return {name: svg_of(draw(alt, results[name])) for name, draw in drawn.items() if name in results}


def _plain(name: str) -> str:
    return NAMES.get(name, name).replace("`", "")


def _bars(alt: Any, values: Mapping[str, float], title: str, *, logarithmic: bool) -> Any:  # noqa: ANN401 - a module, a chart
    rows = [{"system": _plain(name), "value": value, "ours": name.startswith("ours")} for name, value in values.items()]
    least = min(values.values()) / 2 if logarithmic else 0
    scale = alt.Scale(type="log", domainMin=least, nice=False) if logarithmic else alt.Scale()
    for row in rows:
        row["least"] = least
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("system:N", sort=None, title=None, axis=alt.Axis(labelLimit=330)),
        x=alt.X("value:Q", title=title, scale=scale),
    )
    bars = base.mark_bar(height=14).encode(x2="least:Q", color=alt.Color("ours:N", legend=None))
    return (
        bars + base.mark_text(align="left", dx=4, color="currentColor").encode(text=alt.Text("value:Q", format=",.3~r"))
    ).properties(width=WIDTH - 280, height=22 * len(rows))


def _search(alt: Any, result: Result) -> Any:  # noqa: ANN401 - a module, a chart
    return _bars(alt, result["medians_ms"], "median, milliseconds (logarithmic)", logarithmic=True)


def _ingest(alt: Any, result: Result) -> Any:  # noqa: ANN401 - a module, a chart
    return _bars(alt, result["rates_per_second"], "memories a second", logarithmic=False)


def _concurrency(alt: Any, result: Result) -> Any:  # noqa: ANN401 - a module, a chart
    rows = [
        {"system": _plain(name), "threads": int(number), "rate": rate}
        for name, rates in result["searches_per_second"].items()
        for number, rate in rates.items()
    ]
    return _lines(alt, rows, x=alt.X("threads:Q", title="threads"), y=alt.Y("rate:Q", title="searches a second"))


def _growth(alt: Any, result: Result) -> Any:  # noqa: ANN401 - a module, a chart
    rows = [
        {"system": f"{int(users):,} users", "memories": int(size), "ms": value}
        for (size, users), value in ((key.split("/"), value) for key, value in result["medians_ms"].items())
    ]
    x = alt.X("memories:Q", title="memories (logarithmic)", scale=alt.Scale(type="log"))
    return _lines(alt, rows, x=x, y=alt.Y("ms:Q", title="median, milliseconds"))


def _lines(alt: Any, rows: list[dict[str, Any]], *, x: Any, y: Any) -> Any:  # noqa: ANN401 - a module, a chart
    colour = alt.Color("system:N", title=None, legend=alt.Legend(orient="bottom", columns=1, labelLimit=WIDTH))
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=True)
        .encode(x=x, y=y, color=colour)
        .properties(width=WIDTH - 120, height=220)
    )
