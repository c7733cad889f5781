"""Write what was measured as a page of Markdown: the same numbers give the same page on any machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.evaluate.comparing import COMPARED
from mem_opensearch.evaluate.metrics import FAILURES
from mem_opensearch.evaluate.report import NEW_OVER_OLD, shown_p
from mem_opensearch.evaluate.significance import holm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Row = Mapping[str, Any]

CERTAIN: Final = 0.05
"""A corrected p below this is marked."""

UNMEASURED: Final = "-"

_HEAD = """\
# Quality

Made by `scripts/measure-quality` from `docs/quality.json`, which it measures with `mem-opensearch evaluate`; a test
compares the two. Nothing here depends on how fast a machine is. What is measured, and how, is in
[evaluation.md](evaluation.md).

The sets are the development halves: weights and rules of `union` were chosen with these queries in view
([ranking.md](ranking.md)), so its figures are not those of unseen questions, and p says only that a difference on these
queries is no chance.

"""
_ALL = """
## Every system on every set

`difference` is that of MRR@10 to {baseline}; p is that of a paired permutation test by query ({permutations}),
corrected by Holm for all {comparisons} comparisons of this page; the least that is possible is 0.0001 before that.
Intervals hold 95 % of 1,000 bootstrap samples of users. `requests` is the mean and the most of one search. What is
missed has no right row among the first ten, because it was not looked at (pool), lay below the threshold (gate), or
came later (rank).

"""
_REMEDIES = """
## Names in Chinese: the remedies compared

The set entity_zh asks about people, places and things by name, and most answers do not hold the name. What can be done
about it, one thing at a time. p is against the first row, corrected by Holm for this table.

"""


def with_holm(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows of reports with `p_holm` for all of them together: each report knew of its own comparisons only."""
    compared = [row["comparison"] for row in rows if row["comparison"]]
    adjusted = iter(holm([each["p"] for each in compared]))
    return [
        {**row, "comparison": row["comparison"] and {**row["comparison"], "p_holm": next(adjusted)}} for row in rows
    ]


def quality_page(measured: Mapping[str, Any]) -> str:
    """Return the page.

    Args:
        measured: `settings` and `results` as in a report's JSON, and `remedies`: rows of such results, each with
            `remedy` and `variant`; a remedy that could not be measured has no `metrics` and says `why`.
    """
    settings, rows = measured["settings"], with_holm(measured["results"])
    parts = [_HEAD, _how(settings), "\n## MRR@10\n\n", *_matrix(rows), _all_head(settings, rows), *_whole(rows)]
    if measured.get("remedies"):
        parts += [_REMEDIES, *_remedies(measured["remedies"])]
    return "".join(parts)


def _how(settings: Row) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in settings["versions"].items())
    lacks = "" if "spacy" in settings["versions"] else "; spaCy is not installed, so its lemmas and entities are off"
    return (
        f"Embedder `{settings['embedder']}` ({settings['dims']} dimensions), {settings['server']}, analysis "
        f"`{settings['analyzer']}`, one index for all users of a set, {settings['rows_asked_for']} rows; {versions}. "
        f"Names that a set gives with a memory are given (`{settings['entities_field']}`), further ones are found. "
        f"mem0-builtin: {settings['mem0-builtin']}{lacks}.\n"
    )


def _all_head(settings: Row, rows: Sequence[Row]) -> str:
    return _ALL.format(
        baseline=settings["baseline"],
        permutations="10,000 permutations, or all where there are fewer",
        comparisons=sum(1 for row in rows if row["comparison"]),
    )


def _matrix(rows: Sequence[Row]) -> Iterable[str]:
    """Yield one line for each set: its systems side by side, the best in bold."""
    systems = list(dict.fromkeys(row["system"] for row in rows))
    yield f"The best of each set in bold; * differs from the baseline with a corrected p below {CERTAIN:g}.\n\n"
    yield _line(["set", *systems])
    yield _line(["---"] * (len(systems) + 1))
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        here = {row["system"]: row for row in rows if row["dataset"] == dataset}
        best = max(row["metrics"][COMPARED] for row in here.values())
        cells = []
        for system in systems:
            row = here.get(system)
            if row is None:
                cells.append(UNMEASURED)
                continue
            value = row["metrics"][COMPARED]
            text = f"**{value:.3f}**" if value == best else f"{value:.3f}"
            certain = row["comparison"] and row["comparison"]["p_holm"] < CERTAIN
            cells.append(text + ("*" if certain else ""))
        yield _line([dataset, *cells])


def _whole(rows: Sequence[Row]) -> Iterable[str]:
    heads = ["set", "system", "queries", "hit@1", "recall@10", "MRR@10", "interval", "nDCG@10", "new over old"]
    heads += ["difference", "p", "requests", "missed: pool, gate, rank"]
    yield _line(heads)
    yield _line(["---"] * len(heads))
    for row in rows:
        metrics, low_high = row["metrics"], row["intervals"][COMPARED]
        yield _line(
            [
                row["dataset"],
                row["system"],
                f"{row['queries']:,}",
                *(f"{metrics[name]:.3f}" for name in ("hit@1", "recall@10", "mrr@10")),
                "{:.3f} to {:.3f}".format(*low_high),
                f"{metrics['ndcg@10']:.3f}",
                f"{metrics[NEW_OVER_OLD]:.3f}" if NEW_OVER_OLD in metrics else "",
                *_compared(row["comparison"]),
                f"{row['requests_per_query']:.1f}, {row['requests_max']}",
                ", ".join(str(row["failures"][name]) for name in FAILURES),
            ]
        )


def _remedies(rows: Sequence[Row]) -> Iterable[str]:
    heads = ["remedy", "what was done", "system", "hit@1", "MRR@10", "difference", "p"]
    yield _line(heads)
    yield _line(["---"] * len(heads))
    done = iter(with_holm([row for row in rows if "metrics" in row]))
    for row in rows:
        if "metrics" not in row:
            yield _line([row["remedy"], row["variant"], "", row["why"], "", "", ""])
            continue
        row = next(done)  # noqa: PLW2901 - the same row, with its corrected p
        values = [f"{row['metrics'][name]:.3f}" for name in ("hit@1", "mrr@10")]
        yield _line([row["remedy"], row["variant"], row["system"], *values, *_compared(row["comparison"])])


def _compared(comparison: Row | None) -> list[str]:
    return ["", ""] if comparison is None else [f"{comparison['difference']:+.3f}", shown_p(comparison["p_holm"])]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"
