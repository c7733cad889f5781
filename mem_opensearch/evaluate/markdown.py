"""Write an evaluation as Markdown: tables, why queries were missed, and pictures where there are some; no texts."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from mem_opensearch.evaluate.comparing import COMPARED
from mem_opensearch.evaluate.metrics import MEASURES
from mem_opensearch.evaluate.report import shown_p

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mem_opensearch.evaluate.report import Report

_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|~-])")


def markdown_page(report: Report, pictures: Mapping[str, str] | None = None) -> str:
    """Return the page.

    Args:
        report: what was measured.
        pictures: name -> path of a picture, as seen from the page.
    """
    heads = ["set", "system", "queries", *MEASURES, "interval", "p50 ms", "missed", "p"]
    parts = ["# Evaluation\n\n", *_table(heads, _summary(report))]
    parts += [f"\n![{name}](<{path}>)\n" for name, path in (pictures or {}).items()]
    for result in report.results:
        for kind, groups in result.groups.items():
            parts.append(f"\n## {escaped(result.dataset)}, {escaped(result.system)}: {kind}\n\n")
            rows = (
                [value, str(group.queries), *(f"{group.metrics[name]:.3f}" for name in MEASURES), str(group.missed)]
                for value, group in groups.items()
            )
            parts += _table([kind, "queries", *MEASURES, "missed"], rows)
    parts.append("\n## Missed queries\n\n")
    missed = (
        [result.dataset, result.system, query_id, miss.failure, miss.memory, miss.sentence, miss.mend]
        for result in report.results
        for query_id, miss in result.misses.items()
    )
    parts += _table(["set", "system", "query", "class", "memory", "why", "mend"], missed)
    return "".join(parts)


def _summary(report: Report) -> Iterable[list[str]]:
    for result in report.results:
        comparison = report.comparison_of(result)
        yield [
            result.dataset,
            result.system,
            str(result.queries),
            *(f"{result.metrics[name]:.3f}" for name in MEASURES),
            "{:.3f} to {:.3f}".format(*result.interval) + f" ({COMPARED})",
            f"{result.latency_ms['p50']:.1f}",
            str(sum(result.failures.values())),
            "" if comparison is None else shown_p(comparison.p_holm),
        ]


def _table(heads: list[str], rows: Iterable[list[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads)]
    return [f"| {' | '.join(line)} |\n" for line in (*lines, *([escaped(cell) for cell in row] for row in rows))]


def escaped(text: str) -> str:
    r"""Return a text that Markdown and HTML show as it is, on one line.

    >>> escaped("<b>|*x*")
    '&lt;b&gt;\\|\\*x\\*'
    """
    return _MARKS.sub(r"\\\1", html.escape(" ".join(text.split()), quote=False))
