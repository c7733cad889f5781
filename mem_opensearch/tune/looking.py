"""Find everything for every query once, and rank it anew for each choice."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from mem_opensearch.errors import BackendError
from mem_opensearch.fusion import UnionWeights
from mem_opensearch.search import Searcher, ranking
from mem_opensearch.search.reranking import reranked
from mem_opensearch.store.annotations import moment_of
from mem_opensearch.tune.variables import (
    BOOST,
    SUPERSESSION,
    WORD_FIELDS,
    fragment_of,
    needs_search,
    options_of,
    rerank_of,
    similarity_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mem_opensearch.embed import Embedder
    from mem_opensearch.evaluate.datasets import Query
    from mem_opensearch.evaluate.own import OwnIndex
    from mem_opensearch.fusion import Candidate
    from mem_opensearch.rerank import Reranker
    from mem_opensearch.rerank.scoring import Scorer
    from mem_opensearch.search.asking import Asking
    from mem_opensearch.search.ranking import Looked
    from mem_opensearch.search_options import SearchOptions
    from mem_opensearch.tune.variables import Choice, Value

_REGIONAL = ".regional"


@dataclass(frozen=True, slots=True)
class Question:
    """A query of one data set, and where it is searched.

    Attributes:
        dataset: the set's name.
        query: what is asked.
        vector: of it.
        index: what is searched; it stays filled for as long as new searches may be needed.
    """

    dataset: str
    query: Query
    vector: Any
    index: OwnIndex

    @property
    def owner(self) -> str:
        """Whose it is; a query that is nobody's is its own."""
        return self.query.user_id or f"{self.dataset}/{self.query.id}"


class Rankings:
    """The ranking that each choice gives for each query; the server is asked only where it has to be.

    Args:
        questions: what is asked.
        embedder: of names.
        depth: how many rows of each ranking count.
        is_as_of: whether each query searches what was there when it was asked.
        reranker: the second stage; None searches without one.
        tell: called with how many queries were searched, and of how many.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        *,
        embedder: Embedder,
        depth: int,
        is_as_of: bool,
        reranker: Reranker | None = None,
        tell: Callable[[int, int], None] | None = None,
    ) -> None:
        self._questions = questions
        self._embedder = embedder
        self._depth = depth
        self._is_as_of = is_as_of
        self._tell = tell or (lambda *_: None)
        self._scorer = None if reranker is None else _RememberingScorer(reranker.scorer)
        self._reranker = reranker
        self._rerankers: dict[tuple[tuple[str, Value], ...], Reranker] = {}
        self._looked: dict[tuple[tuple[str, Value], ...], list[tuple[Looked, Asking]]] = {}

    @property
    def searches(self) -> int:
        """How many searches were sent so far."""
        return sum(len(looked) for looked in self._looked.values())

    def ids(self, choice: Choice) -> list[list[str]]:
        """Return the ids that each query finds, best first, at most `depth`.

        Raises:
            BackendError: the server failed, or a search or the reranker lost a part: its ranking would be taken for
                that of a whole one.
        """
        options = options_of(choice)
        reranker = self._reranker_for(choice)
        found = []
        for question, (looked, asked) in zip(self._questions, self._look_all(choice, options), strict=True):
            ready, wanted = _as_chosen(looked, asked, choice, options)
            if reranker is None:
                found.append([row for row, _ in ranking.rank(ready, wanted).passed[: self._depth]])
                continue
            wanted = replace(wanted, top_k=reranker.pool_for(self._depth))
            answer = reranked(ranking.answer(ready, wanted), reranker, query=wanted.question, top_k=self._depth)
            _check_whole(question.query, answer.degraded)
            found.append([result.id for result in answer.results])
        return found

    def _look_all(self, choice: Choice, options: SearchOptions) -> list[tuple[Looked, Asking]]:
        key = tuple(sorted((name, value) for name, value in fragment_of(choice).items() if needs_search(name)))
        if options.mode == "mem0":
            key = (*key, ("mode", "mem0"))
        similarity = similarity_of(choice)
        key = (*key, *sorted(similarity.items()))
        if key not in self._looked:
            with self._scored_by(similarity):
                self._looked[key] = self._look_anew(options)
        return self._looked[key]

    def _look_anew(self, options: SearchOptions) -> list[tuple[Looked, Asking]]:
        searchers = {
            id(index): Searcher(index.store, embedder=self._embedder, entities=index.entities, options=options)
            for index in self._indices()
        }
        looked = []
        for done, question in enumerate(self._questions, start=1):
            looked.append(self._look(question, searchers[id(question.index)]))
            self._tell(done, len(self._questions))
        return looked

    def _indices(self) -> list[OwnIndex]:
        return list({id(question.index): question.index for question in self._questions}.values())

    @contextmanager
    def _scored_by(self, similarity: Mapping[str, float]) -> Iterator[None]:
        """Have words scored by other parameters of BM25 for what is done within."""
        if not similarity:
            yield
            return
        try:
            for index in self._indices():
                index.score_words_by(**similarity)
            yield
        finally:
            for index in self._indices():
                index.score_words_by()

    def _look(self, question: Question, searcher: Searcher) -> tuple[Looked, Asking]:
        query = question.query
        asked_at = moment_of(query.asked_at)
        looked, asked = searcher.look(
            query.text,
            vector=question.vector,
            filters=None if query.user_id is None else {"user_id": query.user_id},
            top_k=self._depth,
            asked_at=asked_at,
            as_of=asked_at if self._is_as_of else None,
        )
        _check_whole(query, looked.degraded)
        return looked, asked

    def _reranker_for(self, choice: Choice) -> Reranker | None:
        if self._reranker is None or self._scorer is None:
            return None
        given = rerank_of(choice)
        key = tuple(sorted(given.items()))
        if key not in self._rerankers:
            self._rerankers[key] = replace(self._reranker, scorer=self._scorer, **given)
        return self._rerankers[key]


class _RememberingScorer:
    """A scorer that is asked once for the same question and texts, however its scores are weighed afterwards."""

    def __init__(self, inner: Scorer) -> None:
        self.name = inner.name
        self.most_texts = inner.most_texts
        self.most_characters = inner.most_characters
        self._inner = inner
        self._known: dict[tuple[str, tuple[str, ...]], list[float | None]] = {}

    def score(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Return what the inner scorer says."""
        key = (query, tuple(texts))
        if key not in self._known:
            self._known[key] = self._inner.score(query, texts)
        return list(self._known[key])


def _check_whole(query: Query, degraded: Sequence[str]) -> None:
    if degraded:
        raise BackendError(f"query '{query.id}' was answered without a part: {'; '.join(degraded)}")


def _as_chosen(looked: Looked, asked: Asking, choice: Choice, options: SearchOptions) -> tuple[Looked, Asking]:
    """Return what was found and asked, as if it had been with other options."""
    given = {name: getattr(options, name) for name in type(options).model_fields if name != "weights"}
    asked = replace(asked, **{field.name: given[field.name] for field in fields(asked) if field.name in given})
    changed = {field.name: given[field.name] for field in fields(looked) if field.name in given}
    boosts = {name.removeprefix(BOOST): float(value) for name, value in choice.items() if name.startswith(BOOST)}
    candidates = looked.candidates
    if not choice.get(SUPERSESSION, True):
        candidates = [candidate._replace(superseded_by=None) for candidate in candidates]
    if boosts:
        candidates = [
            candidate._replace(words=_boosted(row.scores, candidate, boosts))
            for row, candidate in zip(looked.rows, candidates, strict=True)
        ]
    weights = UnionWeights(**options.weights)  # type: ignore[arg-type] # context_turns is whole
    return replace(looked, weights=weights, candidates=candidates, **changed), asked


def _boosted(scores: Mapping[str, float], candidate: Candidate, boosts: Mapping[str, float]) -> float | None:
    """Return the BM25 of a memory if some fields had a multiple of their boost; it is a sum over fields."""
    fields_of_words = {name: name.removesuffix(_REGIONAL) for name in scores}
    before = {name: scores[name] for name, field in fields_of_words.items() if field in WORD_FIELDS}
    total = sum(before.values())
    if candidate.words is None or not total:
        return candidate.words
    after = sum(score * boosts.get(fields_of_words[name], 1.0) for name, score in before.items())
    return candidate.words * after / total
