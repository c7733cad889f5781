"""The sections of docs/performance.md on size: recall and growth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.tables import about, ms, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.tables import Result


def recall(result: Result) -> str:
    """Return the section on recall."""
    users = list(result["selectivity"])
    head = ["memories", "index", *(f"recall, filter {result['selectivity'][each]:g}" for each in users)]
    head += [f"ms, {result['selectivity'][each]:g}" for each in users]
    rows = [
        [
            f"{int(size):,}",
            f"{state.replace('_', ' ')} ({each['segments']} segments)",
            *(f"{each['recall'][user]:.3f}" for user in users),
            *(ms(each["medians_ms"][user]) for user in users),
        ]
        for size, states in result["by_size"].items()
        for state, each in states.items()
    ]
    text = f"""
## Recall of the search by meaning

{about(result)} How many of the {result["recall_at"]} exactly nearest the store's own search finds, by how many
memories the filter lets pass (1: no filter); {result["questions"]} questions.

{table(head, rows)}"""
    return text + (_kinds(result, users) if result.get("kinds") else "")


def _kinds(result: Result, users: Sequence[str]) -> str:
    def shown(measured: Result) -> str:
        return " / ".join(f"{measured['recall'][user]:.3f}" for user in users)

    efs = next(list(each["by_ef_search"]) for each in result["kinds"] if "by_ef_search" in each)
    rows, left_out = [], []
    for each in result["kinds"]:
        if "why_not" in each:
            left_out.append(f"* {each['kind']}: {each['why_not']}.")
            continue
        by_ef = each["by_ef_search"]
        times = f"{ms(by_ef['default']['medians_ms'][users[0]])} / {ms(by_ef[efs[-1]]['medians_ms'][users[0]])}"
        cells = [each["kind"], f"{each['size_mb']:g}", f"{each['seconds_to_write_and_merge']:g}"]
        rows.append([*cells, *(shown(by_ef[ef]) for ef in efs), times])
    head = ["vectors", "MB on disk", "s to write and merge", *(f"recall, ef_search {ef}" for ef in efs)]
    head.append(f"ms unfiltered, ef_search {efs[0]} / {efs[-1]}")
    selectivities = " / ".join(f"{result['selectivity'][user]:g}" for user in users)
    return f"""
Parameters and quantisation, {result["kinds_at"]:,} memories in an index of vectors alone, one segment; recall with
filters of {selectivities}:

{table(head, rows)}
Not measured:

{chr(10).join(left_out)}
"""


def growth(result: Result) -> str:
    """Return the section on growth."""
    keys = [key.split("/") for key in result["medians_ms"]]
    sizes, users = list(dict.fromkeys(size for size, _ in keys)), list(dict.fromkeys(user for _, user in keys))
    rows = [
        [
            f"{int(size):,}",
            *(
                f"{ms(result['medians_ms'][f'{size}/{user}'])} ({ms(result['p95_ms'][f'{size}/{user}'])})"
                for user in users
            ),
            str(result["loads"][size]["segments"]),
            f"{result['loads'][size]['client_peak_mb_above_start']:g}",
        ]
        for size in sizes
    ]
    head = [
        "memories",
        *(f"{int(user):,} users" for user in users),
        "segments",
        "client's peak in the load, MB above the start",
    ]
    return f"""
## Growth

{about(result, size=False)} p50 (p95) in milliseconds of `Searcher.search` in the memories of one user; all sizes
were there at the same time and were searched in turn, {result["runs"]} rounds.

![p50 by memories and users](performance/growth.svg)

{table(head, rows)}"""


def _p50_and_p95(result: Result, key: str) -> str:
    return f"{ms(result['medians_ms'][key])} ({ms(result['p95_ms'][key])})"
