"""Run systems on data sets: index, search, score, and leave nothing behind."""

from __future__ import annotations

import os
import uuid
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Protocol

from mem_opensearch._version import __version__
from mem_opensearch.config import LOCAL
from mem_opensearch.embed import load_embedder
from mem_opensearch.errors import ConfigError, MemOpenSearchError
from mem_opensearch.evaluate import metrics, significance
from mem_opensearch.evaluate.asking import WARM_UP_QUERIES, ask_all, depth_of
from mem_opensearch.evaluate.comparing import COMPARED, choose_baseline, compare
from mem_opensearch.evaluate.datasets import load_datasets
from mem_opensearch.evaluate.own import CHUNK_ROWS, pool_size
from mem_opensearch.evaluate.report import NEW_OVER_OLD, Report, Result
from mem_opensearch.evaluate.seen import Library
from mem_opensearch.evaluate.summary import summarise
from mem_opensearch.evaluate.systems import (
    ANNOTATED,
    DEFAULT_SYSTEMS,
    WITH,
    Bench,
    System,
    check_systems,
    extractor_for,
    system_for,
)
from mem_opensearch.evaluate.vectors import CachingEmbedder
from mem_opensearch.store.vector_store import OpenSearchVectorStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mem_opensearch.embed import Embedder
    from mem_opensearch.evaluate.datasets import Dataset, EntitiesField
    from mem_opensearch.rerank import Reranker
    from mem_opensearch.search import SearchOptions

AS_OF = "asked_at"
URL_VARIABLE = "MEM_OPENSEARCH_URL"
MAX_TOP_K = 500  # mem0's provider asks the server for 8 x top_k rows, and the server gives 10,000 at most


class Progress(Protocol):
    """Told how far the work is."""

    def __call__(self, label: str, done: int, total: int) -> None:
        """Take note that `done` of `total` steps of the work called `label` are done."""


def evaluate(
    folders: Sequence[Path | str],
    *,
    systems: Sequence[str] = DEFAULT_SYSTEMS,
    embedder: str | Embedder = "use",
    top_k: int = 10,
    url: str | None = None,
    analyzer: str = "auto",
    baseline: str | None = None,
    as_of: str | None = None,
    entities_field: EntitiesField = "entities",
    tagger: str = "auto",
    rerankers: Sequence[Reranker] = (),
    search_options: SearchOptions | None = None,
    is_detailed: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Run every system on every data folder and return what was measured.

    Each folder is indexed into fresh collections, which are removed whatever happens. All input is checked before
    anything is sent. Each system is asked for ``max(top_k, 10)`` rows, since the measures look at ten.

    A query is *missed* if none of its relevant rows is among the first `top_k`; `misses.explain_miss` says why.
    Latency is that of the system's read path as its caller sees it, one query at a time, without the embedding of the
    query, after a few queries that don't count.

    Args:
        folders: data folders, see `datasets`.
        systems: names from `systems.SYSTEMS`.
        embedder: a name for `embed.load_embedder`, or an embedder.
        top_k: how many rows the user of a search reads, 1 to 500.
        url: the server; by default the environment's ``MEM_OPENSEARCH_URL``, else the local node.
        analyzer: Chinese analysis of this package's store; mem0's provider has its own.
        baseline: the system that the others are compared with, see `comparing.choose_baseline`.
        as_of: "asked_at" lets union, rrf and mem0 search what was there when the query was asked; else all there is.
            The dates in a question are relative to its `asked_at` in any case.
        entities_field: where the names are that a memory is said to name, see `datasets.EntitiesField`.
        tagger: what finds further names to link memories to, see `systems.TAGGERS`.
        rerankers: each of union, rrf and mem0 is also measured with each of them, as "union+NAME"; only those that
            `systems` names so, where it does.
        search_options: of union, rrf and mem0, where they differ from the defaults.
        is_detailed: whether the signals of every query are noted, which a page with pictures shows; one more search
            each, not timed.
        progress: told how far the work is.

    Raises:
        ConfigError: an unknown system, baseline, embedder, analyzer or tagger, `top_k` out of range, a missing
            optional package.
        InvalidInputError: a data folder is wrong: names the file and the line.
        NodeError, BackendError: the server can't be reached, or failed.
    """
    stages = {stage.scorer.name: stage for stage in rerankers}
    names = check_systems(systems, tuple(stages))
    if not 1 <= top_k <= MAX_TOP_K:
        raise ConfigError(f"top_k is {top_k}; it is a whole number from 1 to {MAX_TOP_K}")
    baseline = choose_baseline(names, baseline)
    if as_of not in {None, AS_OF}:
        raise ConfigError(f"as_of is {as_of!r}; give '{AS_OF}', or nothing")
    datasets = load_datasets(folders, entities_field=entities_field)
    metrics.load_measures()
    is_annotated = not ANNOTATED.isdisjoint(name.partition(WITH)[0] for name in names)
    extractor = extractor_for(tagger) if is_annotated else None
    cached = CachingEmbedder(load_embedder(embedder) if isinstance(embedder, str) else embedder)
    url = url or os.environ.get(URL_VARIABLE) or LOCAL
    report_step: Progress = progress or (lambda label, done, total: None)  # noqa: ARG005 - names of the protocol
    run = f"evaluate-{uuid.uuid4().hex}"
    results: list[Result] = []
    analyzers: set[str] = set()
    connection = OpenSearchVectorStore(
        url=url, collection_name=run, embedding_model_dims=cached.dims, analyzer=analyzer
    )
    try:
        server = connection.client.request("GET", "/")["version"]  # before the minutes that embedding may take
        for number, dataset in enumerate(datasets, start=1):
            bench = Bench(
                url=url,
                client=connection.client,
                collection=f"{run}-{number}",
                embedder=cached,
                analyzer=analyzer,
                annotate=is_annotated,
                extractor=extractor,
                is_as_of=as_of is not None,
                rerankers=stages,
                search_options=search_options,
            )
            results += _run_dataset(
                dataset,
                bench,
                names=names,
                top_k=top_k,
                is_detailed=is_detailed,
                progress=report_step,
                analyzers=analyzers,
            )
    finally:
        connection.close()
    settings = {
        "top_k": top_k,
        "rows_asked_for": depth_of(top_k),
        "pool": pool_size(depth_of(top_k)),
        "embedder": cached.name,
        "dims": cached.dims,
        "server": f"{server.get('distribution', 'elasticsearch')} {server['number']}",
        "analyzer": ", ".join(sorted(analyzers)) or None,
        "baseline": baseline if len(names) > 1 else None,
        "as_of": as_of,
        "entities_field": entities_field,
        "tagger": tagger,
        "search_options": None if search_options is None else search_options.model_dump(exclude_unset=True),
        "rerankers": {name: _shown(stage) for name, stage in stages.items()},
        "versions": _versions(),
        "latency": f"client side, one query at a time, query embedding not included, {WARM_UP_QUERIES} queries before",
        "missed": f"no relevant row among the first {top_k}",
        NEW_OVER_OLD: "best relevant row above every stale row; no if no relevant row was returned",
        "significance": f"{COMPARED} by query, two-sided paired permutation test of the mean, "
        f"{significance.PERMUTATIONS:,} permutations, Holm over all comparisons of the report",
        "intervals": f"{significance.CONFIDENCE:.0%}, {significance.RESAMPLES:,} bootstrap samples of users",
        "links": f"of memories that have a user, in calls of {CHUNK_ROWS}",
        "mem0-builtin": "mem0's defaults; memories as add(infer=False) writes them, so without entity links",
    }
    comparisons = compare(results, baseline=baseline)
    return Report(results=tuple(results), settings=settings, comparisons=tuple(comparisons))


def _shown(stage: Reranker) -> dict[str, Any]:
    return {"pool": stage.pool, "weight": stage.weight, "deadline_s": stage.deadline}


def _versions() -> dict[str, str]:
    found = {"mem-opensearch": __version__}
    for package in ("mem0ai", "spacy", "ir-measures"):  # spacy: without it, mem0's entities and lemmas are off
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _run_dataset(
    dataset: Dataset,
    bench: Bench,
    *,
    names: Sequence[str],
    top_k: int,
    is_detailed: bool,
    progress: Progress,
    analyzers: set[str],
) -> list[Result]:
    def embedded(done: int, total: int) -> None:
        progress(f"{dataset.name}: embed memories", done, total)

    vectors = bench.embedder.embed_documents([memory.text for memory in dataset.memories], embedded)
    query_vectors = bench.embedder.embed_queries([query.text for query in dataset.queries])
    library = Library(dataset, vectors, query_vectors)
    results = []
    with ExitStack() as stack:
        for name in names:
            system = stack.enter_context(_dropped_at_the_end(system_for(name, bench)))
            label = f"{dataset.name}: index for {name}"
            system.index(dataset, vectors, lambda done, total, label=label: progress(label, done, total))  # type: ignore[misc] # a lambda with a default has no type
            outcomes = ask_all(
                system,
                dataset,
                query_vectors,
                library=library,
                top_k=top_k,
                embedder=bench.embedder,
                is_detailed=is_detailed,
                progress=progress,
            )
            results.append(
                summarise(dataset, system=name, embedder=bench.embedder.name, outcomes=outcomes, depth=depth_of(top_k))
            )
        if "own" in vars(bench):
            analyzers.add(str(bench.own.store.col_info()["analyzer"]))
    return results


@contextmanager
def _dropped_at_the_end(system: System) -> Iterator[System]:
    """Drop the system's collections, also after an error or an interrupt, which is not hidden by a failed drop."""
    try:
        yield system
    except BaseException as error:
        try:
            system.drop()
        except MemOpenSearchError as second:
            error.add_note(f"and what '{system.name}' had indexed could not be removed: {second}")
        raise
    system.drop()
