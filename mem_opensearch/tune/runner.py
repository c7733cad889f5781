"""Tune a search on labelled data: index once, search once, rank many times, and leave nothing behind."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING

from mem_opensearch._version import __version__
from mem_opensearch.config import LOCAL
from mem_opensearch.embed import load_embedder
from mem_opensearch.errors import ConfigError, InvalidInputError
from mem_opensearch.evaluate import metrics
from mem_opensearch.evaluate.datasets import load_datasets
from mem_opensearch.evaluate.own import OwnIndex
from mem_opensearch.evaluate.runner import AS_OF, URL_VARIABLE
from mem_opensearch.evaluate.systems import extractor_for
from mem_opensearch.evaluate.vectors import CachingEmbedder
from mem_opensearch.tune.folds import SEED, folds_of
from mem_opensearch.tune.looking import Question, Rankings
from mem_opensearch.tune.outcome import grid_of, report_of, row_of
from mem_opensearch.tune.study import (
    TRIALS,
    Objective,
    choose_together,
    load_optuna,
    validate,
)
from mem_opensearch.tune.variables import variables_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mem_opensearch.embed import Embedder
    from mem_opensearch.evaluate.datasets import Dataset, EntitiesField
    from mem_opensearch.rerank import Reranker
    from mem_opensearch.tune.report import TuneReport

    Progress = Callable[[str, int, int], None]

DEFAULT_METRIC = "mrr@10"
FOLDS = 5


def tune(
    folders: Sequence[Path | str],
    *,
    metric: str = DEFAULT_METRIC,
    folds: int = FOLDS,
    trials: int = TRIALS,
    seed: int = SEED,
    thorough: bool = False,
    reranker: Reranker | None = None,
    embedder: str | Embedder = "use",
    url: str | None = None,
    analyzer: str = "auto",
    as_of: str | None = None,
    entities_field: EntitiesField = "entities",
    tagger: str = "auto",
    progress: Progress | None = None,
) -> TuneReport:
    """Choose the options of a search by labelled queries, cross-validated by user.

    Each folder is indexed into fresh collections, which are removed whatever happens. Every query is searched once;
    what only ranks the candidates is tried on what that search found. Each variable is varied by itself, then those
    that change most together. Values are chosen by the queries of some users and judged by those of the others. Each
    data set counts the same, whatever its size.

    Args:
        folders: data folders, see `evaluate.datasets`; one choice is made for all of them.
        metric: what is to be large, one of `evaluate.metrics.MEASURES`.
        folds: most folds, 2 or more; there are no more than users.
        trials: combinations that the joint search tries for each fold, 1 or more.
        seed: of folds and joint search; the same data and seed give the same outcome.
        thorough: also vary what needs searches of its own: pool, mode "mem0".
        reranker: the second stage, whose weight and pool are varied too.
        embedder: a name for `embed.load_embedder`, or an embedder.
        url: the server; by default the environment's ``MEM_OPENSEARCH_URL``, else the local node.
        analyzer: as `StoreConfig.analyzer`.
        as_of: "asked_at" searches what was there when a query was asked, else all there is.
        entities_field: where the names are that a memory is said to name.
        tagger: what finds further names to link memories to.
        progress: told the stage, how much of it is done, and how much there is.

    Raises:
        ConfigError: an unknown metric, embedder, analyzer or tagger, a number out of its range, a missing package.
        InvalidInputError: a data folder is wrong, or there are too few queries to split.
        NodeError, BackendError: the server can't be reached, or failed.
    """
    if metric not in metrics.MEASURES:
        raise ConfigError(f"metric '{metric}' is unknown; known are: {', '.join(metrics.MEASURES)}")
    if trials < 1:
        raise ConfigError(f"{trials} trials were asked for, expected 1 or more")
    if as_of not in {None, AS_OF}:
        raise ConfigError(f"as_of is {as_of!r}; give '{AS_OF}', or nothing")
    datasets = load_datasets(folders, entities_field=entities_field)
    split, is_one_user = _split(datasets, folds, seed)
    metrics.load_measures()
    load_optuna()
    extractor = extractor_for(tagger)
    cached = CachingEmbedder(load_embedder(embedder) if isinstance(embedder, str) else embedder)
    report_step: Progress = progress or (lambda *_: None)
    run = f"tune-{uuid.uuid4().hex}"
    with ExitStack() as stack:
        questions: list[Question] = []
        for number, dataset in enumerate(datasets, start=1):
            index = OwnIndex(
                url=url or os.environ.get(URL_VARIABLE) or LOCAL,
                collection=f"{run}-{number}",
                embedder=cached,
                analyzer=analyzer,
                annotate=True,
                extractor=extractor,
            )
            stack.callback(index.drop)
            questions += _fill(index, dataset, cached, report_step)
        rankings = Rankings(
            questions,
            embedder=cached,
            depth=metrics.DEEPEST_RANK,
            is_as_of=as_of is not None,
            reranker=reranker,
            tell=lambda done, total: report_step("search", done, total),
        )
        judge = _judge(questions, metric)
        sizes = Counter(question.dataset for question in questions)
        objective = Objective(
            lambda choice: judge(rankings.ids(choice)), [1 / sizes[question.dataset] for question in questions]
        )
        variables = variables_for(
            thorough=thorough,
            rerank=None if reranker is None else (reranker.weight, reranker.pool),
            similarity=_changeable(questions[0].index),
        )
        rows = []
        for done, variable in enumerate(variables, start=1):
            rows.append(row_of(variable, objective, split))
            report_step("one variable at a time", done, len(variables))
        tried = iter(range(1, (len(split) + 1) * trials + 1))
        tuned = validate(
            objective,
            split,
            lambda places: choose_together(
                variables,
                objective,
                places,
                trials=trials,
                seed=seed,
                tell=lambda: report_step("together", next(tried), (len(split) + 1) * trials),
            ),
        )
        grid = grid_of(variables, objective)
    settings = {
        "folds": len(split),
        "folds_by": "query" if is_one_user else "user",
        "trials": trials,
        "seed": seed,
        "thorough": thorough,
        "embedder": cached.name,
        "analyzer": analyzer,
        "as_of": as_of,
        "entities_field": entities_field,
        "tagger": tagger,
        "reranker": None if reranker is None else reranker.scorer.name,
        "searches": rankings.searches,
        "choices_measured": objective.evaluations,
        "version": __version__,
    }
    return report_of(
        metric, questions, objective, tuned, rows=rows, grid=grid, settings=settings, is_one_user=is_one_user
    )


def _changeable(index: OwnIndex) -> tuple[str, ...]:
    """Return the parameters of BM25 that can be varied on the server.

    Where it multiplies BM25 by k1 + 1, another k1 would also be another weight of all words.
    """
    dialect = index.store.client.dialect
    if not dialect.has_cluster:
        return ()
    return ("b",) if dialect.has_legacy_bm25 else ("k1", "b")


def _split(datasets: Sequence[Dataset], folds: int, seed: int) -> tuple[list[list[int]], bool]:
    """Return the folds, and whether they are by query because there is a single user."""
    queries = [(dataset.name, query) for dataset in datasets for query in dataset.queries]
    owners = [query.user_id or f"{name}/{query.id}" for name, query in queries]
    if len(queries) < 2:  # noqa: PLR2004 - one to choose by, one to judge by
        raise InvalidInputError("there is only one query; tuning needs 2 or more, and 30 to be of use")
    is_one_user = len(set(owners)) == 1
    if is_one_user:
        owners = [f"{name}/{query.id}" for name, query in queries]
    return folds_of(owners, most=folds, seed=seed), is_one_user


def _fill(index: OwnIndex, dataset: Dataset, embedder: CachingEmbedder, progress: Progress) -> list[Question]:
    vectors = embedder.embed_documents(
        [memory.text for memory in dataset.memories],
        lambda done, total: progress(f"{dataset.name}: embed", done, total),
    )
    asked = embedder.embed_queries([query.text for query in dataset.queries])
    index.fill(dataset, vectors, lambda done, total: progress(f"{dataset.name}: index", done, total))
    return [Question(dataset.name, query, vector, index) for query, vector in zip(dataset.queries, asked, strict=True)]


def _judge(questions: Sequence[Question], metric: str) -> Callable[[Sequence[Sequence[str]]], list[float]]:
    """Return what gives the metric of each query from its ranking."""
    library = metrics.load_measures()
    measure = library.parse_measure(metrics.MEASURES[metric])
    qrels = [
        library.Qrel(str(place), row, 1) for place, question in enumerate(questions) for row in question.query.relevant
    ]

    def judge(rankings: Sequence[Sequence[str]]) -> list[float]:
        run = [
            library.ScoredDoc(str(place), row, 1.0 / rank)
            for place, rows in enumerate(rankings)
            for rank, row in enumerate(rows, start=1)
        ]
        found = [0.0] * len(rankings)
        for value in library.iter_calc([measure], qrels, run) if run else ():
            found[int(value.query_id)] = float(value.value)
        return found

    return judge
