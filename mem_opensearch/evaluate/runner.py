"""Run systems on data sets: index, search, score, and leave nothing behind."""

from __future__ import annotations

import os
import time
import uuid
from collections import Counter
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Protocol

from mem_opensearch._version import __version__
from mem_opensearch.config import LOCAL
from mem_opensearch.embed import load_embedder
from mem_opensearch.errors import ConfigError, MemOpenSearchError
from mem_opensearch.evaluate import metrics, significance
from mem_opensearch.evaluate.comparing import COMPARED, choose_baseline, compare
from mem_opensearch.evaluate.datasets import load_datasets
from mem_opensearch.evaluate.own import CHUNK_ROWS, pool_size
from mem_opensearch.evaluate.report import NEW_OVER_OLD, Outcome, Report, Result
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
    from mem_opensearch.evaluate.datasets import Dataset, EntitiesField, Query
    from mem_opensearch.evaluate.vectors import Vectors
    from mem_opensearch.rerank import Reranker
    from mem_opensearch.search import SearchOptions

AS_OF = "asked_at"
URL_VARIABLE = "MEM_OPENSEARCH_URL"
WARM_UP_QUERIES = 10  # the first searches on a new index load it, and are many times slower than those after
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
    progress: Progress | None = None,
) -> Report:
    """Run every system on every data folder and return what was measured.

    Each folder is indexed into fresh collections, which are removed whatever happens. All input is checked before
    anything is sent. Each system is asked for ``max(top_k, 10)`` rows, since the measures look at ten.

    A query is *missed* if none of its relevant rows is among the first `top_k`; `metrics.classify_miss` says why.
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
            results += _run_dataset(dataset, bench, names=names, top_k=top_k, progress=report_step, analyzers=analyzers)
    finally:
        connection.close()
    settings = {
        "top_k": top_k,
        "rows_asked_for": _depth(top_k),
        "pool": pool_size(_depth(top_k)),
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


def _depth(top_k: int) -> int:
    return max(top_k, metrics.DEEPEST_RANK)


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
    progress: Progress,
    analyzers: set[str],
) -> list[Result]:
    def embedded(done: int, total: int) -> None:
        progress(f"{dataset.name}: embed memories", done, total)

    vectors = bench.embedder.embed_documents([memory.text for memory in dataset.memories], embedded)
    query_vectors = bench.embedder.embed_queries([query.text for query in dataset.queries])
    results = []
    with ExitStack() as stack:
        for name in names:
            system = stack.enter_context(_dropped_at_the_end(system_for(name, bench)))
            label = f"{dataset.name}: index for {name}"
            system.index(dataset, vectors, lambda done, total, label=label: progress(label, done, total))  # type: ignore[misc]
            outcomes = _ask_all(system, dataset, query_vectors, top_k=top_k, bench=bench, progress=progress)
            results.append(_summarise(dataset, name, bench.embedder.name, outcomes))
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


def _ask_all(
    system: System, dataset: Dataset, vectors: Vectors, *, top_k: int, bench: Bench, progress: Progress
) -> dict[str, Outcome]:
    depth = _depth(top_k)
    asked = list(zip(dataset.queries, vectors, strict=True))
    for query, vector in asked[:WARM_UP_QUERIES]:
        system.search(query, vector, top_k=depth)
    outcomes = {}
    for done, (query, vector) in enumerate(asked, start=1):
        requests, embedding, begun = system.requests, bench.embedder.seconds, time.perf_counter()
        ranking = system.search(query, vector, top_k=depth)
        seconds = time.perf_counter() - begun - (bench.embedder.seconds - embedding)
        requests = system.requests - requests
        failure = None
        if metrics.is_missed(ranking, relevant=query.relevant, top_k=top_k):
            candidates = system.candidates(query, vector, top_k=depth)
            failure = metrics.classify_miss(candidates, relevant=query.relevant)
        outcomes[query.id] = _outcome(query, ranking, seconds=seconds, requests=requests, failure=failure)
        progress(f"{dataset.name}: ask {system.name}", done, len(asked))
    return outcomes


def _outcome(query: Query, ranking: Sequence[str], *, seconds: float, requests: int, failure: str | None) -> Outcome:
    return Outcome(
        ranking=tuple(ranking),
        seconds=seconds,
        requests=requests,
        reciprocal_rank=metrics.reciprocal_rank(ranking, relevant=query.relevant),
        owner=query.user_id,
        failure=failure,
    )


def _summarise(dataset: Dataset, system: str, embedder: str, outcomes: dict[str, Outcome]) -> Result:
    rankings = {query_id: outcome.ranking for query_id, outcome in outcomes.items()}
    scores: dict[str, Any] = metrics.rank_metrics(rankings, {query.id: query.relevant for query in dataset.queries})
    judged = [query for query in dataset.queries if query.stale]
    if judged:
        right = sum(
            metrics.is_new_over_old(rankings[query.id], relevant=query.relevant, stale=query.stale) for query in judged
        )
        scores[NEW_OVER_OLD] = right / len(judged)
    classes = Counter(outcome.failure for outcome in outcomes.values())
    milliseconds = [outcome.seconds * 1000 for outcome in outcomes.values()]
    return Result(
        dataset=dataset.name,
        system=system,
        embedder=embedder,
        metrics=scores,
        latency_ms={"p50": metrics.percentile(milliseconds, 0.5), "p95": metrics.percentile(milliseconds, 0.95)},
        failures={name: classes[name] for name in metrics.FAILURES},
        requests_per_query=sum(outcome.requests for outcome in outcomes.values()) / len(outcomes),
        outcomes=outcomes,
    )
