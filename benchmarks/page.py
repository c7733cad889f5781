"""Write docs/performance.md from what was measured: the same numbers give the same page on any machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.page_scale import growth, recall
from benchmarks.tables import about, machine, memory, ms, ratios, table, wire, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.tables import Result

NAMES: Final = {
    "ours_union": "`Searcher.search`, union",
    "ours_mem0_mode": "`Searcher.search`, mode mem0",
    "ours_memory": "`mem_opensearch.mem0.Memory.search`, union",
    "ours_memory_mem0_mode": "`mem_opensearch.mem0.Memory.search`, mode mem0",
    "mem0_builtin": "mem0 with its own OpenSearch provider",
    "mem0_builtin_enough": "mem0 with it, asked for as many as give the results wanted",
    "mem0_qdrant": "mem0 with Qdrant in the process",
    "raw_floor": "raw: the requests of `Searcher.search`, sent bare",
    "raw_floor_search_alone": "raw: the search alone, without looking names up",
    "numpy_exact": "numpy: all vectors of the user against the question's",
    "ours": "`insert` with annotate=False, refresh=false",
    "ours_with_notes": "`insert` as configured by default",
}
"""What people read, by key."""

_HEAD = """\
# Performance

Made by `python -m benchmarks page` from the files of `docs/performance/`, each written by the benchmark of its name; a
test compares the two. Everything in one table was measured in one run, in turn, in another order each time, so ratios
hold where milliseconds depend on the machine. `p50` is the median of all calls, `CPU` the processor time of the client
for one call (waiting for the server is not in it).

All systems are given the same memories, filter, limit and vector of the question: embedding is not in the times. Each
index has one shard, merged into one segment. mem0's own provider is unchanged but for the name of its kNN engine, and
was loaded in bulk with the rows that it writes. Qdrant runs in the process, as mem0 starts it by default.

```sh
python -m benchmarks search --size 100000 --json docs/performance/search.json   # ingest, concurrency, recall, growth,
python -m benchmarks page                                                       # start and entities likewise
```

`OPENSEARCH_URL` names the server; without it a local node is started. Collections are removed at the end, also after an
interrupt. `--data DIR` takes sentences and questions from a folder of evaluation data.

Seconds are guarded by nobody, since they are the machine's. What an operation costs in requests, bytes, calls and
memory is: tests/guard compares each with `costs.json` and names what has risen; `scripts/measure-costs` writes it anew.
"""


def performance_page(results: Mapping[str, Result]) -> str:
    """Return the page.

    Args:
        results: benchmark -> what it has measured; those that are missing have no section.
    """
    sections = [wrapped(section(results[name])) for name, section in _SECTIONS.items() if name in results]
    return "\n".join([_HEAD, *sections])


def _search(result: Result) -> str:
    rows = [
        [
            NAMES[name],
            ms(result["medians_ms"][name]),
            ms(result["p95_ms"][name]),
            ms(result["client_cpu_ms"][name]),
            *wire(result["per_search"].get(name)),
            f"{result['results_per_search'][name]:g}",
        ]
        for name in result["medians_ms"]
    ]
    head = ["system", "p50 ms", "p95 ms", "CPU ms", "requests", "KB sent", "KB received", "results"]
    users = ", ".join(result["by_users"])
    by_users = [
        [NAMES[name], *(ms(each["medians_ms"][name]) for each in result["by_users"].values())]
        for name in result["medians_ms"]
    ]
    return f"""
## Search

{about(result)} A question is asked in the memories of one of {result["users"]:,} users, for {result["top_k"]}
results; {result["runs"]} rounds of {result["questions"]} questions (a slow system gets fewer). mem0's own provider
filters after it has chosen the nearest, so that few results are left; in the line below it, it is asked for as many as
it takes to get {result["top_k"]} (1,250 at most, which is 10,000 rows of the server; the median of all questions and
users is {result["mem0_builtin_enough_asked_for"]:,}).

![median time of a search](performance/search.svg)

{table(head, rows)}
The server says that it took {ms(result["raw_floor_took_ms"])} ms for the requests of the raw floor. Apart from all
this: embedding a question takes {ms(result["apart_ms"]["embedding"])} ms, and reading names and times off it
{ms(result["apart_ms"]["reading_the_question_cpu"])} ms of processor time, which is in the times of ours. Segments of
the indices: ours {result["segments"]["ours"]}, mem0's {result["segments"]["mem0_builtin"]}. {memory(result)}

{ratios(result["ratios"])}
p50 in milliseconds by the number of users among whom the memories are divided ({users}):

{table(["system", *result["by_users"]], by_users)}"""


def _ingest(result: Result) -> str:
    rows = [
        [
            NAMES.get(name, name) if name != "raw_floor" else "raw: a bulk loop by hand, two threads, orjson",
            f"{rate:,.0f}",
            ms(result["client_cpu_ms_per_memory"][name]),
            f"{result['client_peak_mb_above_start'][name]:g}",
            f"{result['memories_of_a_round'][name]:,}",
        ]
        for name, rate in result["rates_per_second"].items()
    ]
    head = [
        "system",
        "memories a second",
        "CPU ms a memory",
        "client's peak, MB above the start",
        "memories of a round",
    ]
    return f"""
## Ingest

{about(result)} Every round stores all of them in a new collection ({result["runs"]} rounds, medians); mem0's
providers write each by itself and get fewer. The loop by hand writes the same rows as `insert` without notes.

![memories stored a second](performance/ingest.svg)

{table(head, rows)}
{ratios(result["ratios"])}"""


def _concurrency(result: Result) -> str:
    systems = result["searches_per_second"]
    numbers = list(next(iter(systems.values())))
    rows = [[NAMES[name], *(f"{rates[number]:,.0f}" for number in numbers)] for name, rates in systems.items()]
    for peer, name in (("mem0_builtin", "mem0's"), ("mem0_builtin_enough", "mem0's at as many results")):
        shares = [result["ratios"][f"ours_over_{peer}_at_{number}"] for number in numbers]
        rows.append([f"ratio of our Memory to {name}", *(f"{share:g}" for share in shares)])
    results = ", ".join(f"{each} {number:g}" for each, number in result["results_per_search"].items())
    errors, differ = sum(result["errors"].values()), sum(result["answers_unlike_those_of_one_thread"].values())
    return f"""
## Threads

{about(result)} Searches a second by the number of threads, {result["searches"]} searches each, medians of
{result["runs"]} rounds. Results of a search: {results}. Errors: {errors}. Answers unlike those that one thread gets
from the same system: {differ}.

![searches a second by threads](performance/concurrency.svg)

{table(["system", *numbers], rows)}"""


def _start(result: Result) -> str:
    rows = [[f"`{name}`" if "import " in name else name, ms(each)] for name, each in result["medians_ms"].items()]
    sent = ", ".join(map(str, result["requests_of_searches"]))
    return f"""
## Start

{about(result)} Every line is a new process, {result["runs"]} times; the searches are of a process that has imported
`Searcher`, with the vector of the question at hand. Requests of its first searches: {sent}.

{table(["what", "ms"], rows)}"""


def _entities(result: Result) -> str:
    rows = [
        [
            name,
            ms(result["medians_ms"][name]),
            ms(result["p95_ms"][name]),
            ms(result["client_cpu_ms"][name]),
            f"{result['per_call'][name]['requests']:g}",
        ]
        for name in result["medians_ms"]
    ]
    return f"""
## Entities

{result["entities"]:,} entities of {result["data"]["users"]} users with random vectors; `link_many` wrote
{result["links_per_second"]:,.0f} links a second. The read that
follows a new link refreshes the index first, which is in its time.
{machine(result)}

{table(["call", "p50 ms", "p95 ms", "CPU ms", "requests"], rows)}"""


_SECTIONS: Final[Mapping[str, Callable[[Result], str]]] = {
    "search": _search,
    "ingest": _ingest,
    "concurrency": _concurrency,
    "growth": growth,
    "recall": recall,
    "entities": _entities,
    "start": _start,
}
