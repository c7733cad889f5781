"""Search a collection of memories by all signals at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mem_opensearch import forks
from mem_opensearch.beside import Beside
from mem_opensearch.errors import BackendError, ConfigError, InvalidInputError
from mem_opensearch.fusion import Background, UnionWeights
from mem_opensearch.search import ranking, request, signals
from mem_opensearch.search.asking import Asking
from mem_opensearch.search.background import background_for
from mem_opensearch.search.explain import why as explain_why
from mem_opensearch.search.measuring import measure
from mem_opensearch.search.mem0_boosts import boosts_for_question
from mem_opensearch.search.names import Names, look_up
from mem_opensearch.search.question import Asked, Span, scope_in
from mem_opensearch.search.ranking import Looked
from mem_opensearch.search.reranking import reranked
from mem_opensearch.store import EntityStore, OpenSearchVectorStore
from mem_opensearch.store.reading import check_top_k
from mem_opensearch.store.vectors import check_vector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from mem_opensearch.embed import Embedder
    from mem_opensearch.models import Clause, IndexSpec
    from mem_opensearch.rerank import Reranker
    from mem_opensearch.search.results import Answer, Why
    from mem_opensearch.search_options import Mode, SearchOptions
    from mem_opensearch.store.entity_rows import Entity
    from mem_opensearch.store.vectors import Vector
    from mem_opensearch.temporal import Window

MEM0_OVERFETCH, MEM0_LEAST = 4, 60
"""mem0 looks at four times the results that are wanted, and at 60 at least."""

_BROUGHT = 80
"""Room for what names and times bring, which stands before what only shares words."""

_MOST = 10_000  # the server's own limit of one page


class Searcher:
    """Answers questions from a collection; one object may be shared between threads.

    Args:
        store: the memories.
        embedder: makes the vectors of questions; without it, each search has to bring one.
        entities: the collection of their entities; by default the one beside `store`.
        options: see `SearchOptions`; by default those of the store's configuration.

    Raises:
        ConfigError: a weight is unknown or out of its range, or the embedder's vectors have another length.
    """

    def __init__(
        self,
        store: OpenSearchVectorStore,
        *,
        embedder: Embedder | None = None,
        entities: EntityStore | None = None,
        options: SearchOptions | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._entities = entities or EntityStore.beside(store)
        self._options = options or store.config.search
        try:
            self._weights = UnionWeights(**self._options.weights)  # type: ignore[arg-type] # it checks that context_turns is whole
        except TypeError:
            known = ", ".join(UnionWeights.__dataclass_fields__)
            raise ConfigError(f"a weight of {sorted(self._options.weights)} is unknown; known are: {known}") from None
        if embedder is not None and embedder.dims != store.embedding_model_dims:
            raise ConfigError(
                f"embedder '{embedder.name}' makes vectors of {embedder.dims} dimensions, and "
                f"'{store.collection_name}' holds such of {store.embedding_model_dims}"
            )
        self._beside = Beside(store.config.pool_maxsize)
        self._lock = forks.Lock()
        self._backgrounds: dict[str, Background | None] = {}

    def search(
        self,
        query: str,
        *,
        vector: Any = None,  # noqa: ANN401 - list or array
        filters: Mapping[str, Any] | None = None,
        top_k: int = 10,
        threshold: float | None = None,
        mode: Mode | None = None,
        as_of: datetime | None = None,
        asked_at: datetime | None = None,
        show_expired: bool = False,
        explain: bool = False,
        rerank: Reranker | None = None,
    ) -> Answer:
        """Return the memories that answer a question, best first.

        It takes one request to the memories, and one before it that looks up which names of the question are known
        (none where it has no scope). A third one follows on servers that don't tell each signal's score.

        Args:
            query: what is asked, not blank.
            vector: of the question, where there is no embedder or it is known already.
            filters: which memories, see `filters`; a `user_id`, `agent_id` or `run_id` says whose entities count.
            top_k: most results, 1 to 10,000.
            threshold: least evidence, in [0, 1]; the option's where it is not given.
            mode: "union", "rrf" or "mem0"; the option's where it is not given.
            as_of: what was true then: memories of that time or before, unless expired by then. Those without a date are
                left out. A memory whose text was changed since has its text of today.
            asked_at: what dates in the question are relative to; `as_of`, or now, where it is not given.
            show_expired: whether expired memories may be results.
            explain: whether each result has `details`.
            rerank: the second stage, which sees `rerank.pool` times as many results.

        Raises:
            InvalidInputError, VectorError, FilterError, ScopeError: an argument is wrong; nothing was sent.
            BackendError: the server failed. An error is never an empty answer.
            RerankError: the second stage failed, and is strict.
        """
        check_top_k(top_k)
        asked = self._asking(
            query,
            vector=vector,
            filters=filters,
            top_k=top_k if rerank is None else rerank.pool_for(top_k),
            threshold=threshold,
            mode=mode,
            as_of=as_of,
            asked_at=asked_at,
            show_expired=show_expired,
            explain=explain,
        )
        answer = ranking.answer(self._look(asked), asked)
        return answer if rerank is None else reranked(answer, rerank, query=asked.question, top_k=top_k)

    def why(self, query: str, memory_id: str, **options: Any) -> Why:  # noqa: ANN401 - those of `search`
        """Return what becomes of one memory in a search, and why.

        Args:
            query: as in `search`.
            memory_id: the memory.
            options: those of `search`, with the same meaning.

        Raises:
            InvalidInputError: an argument is wrong, or the id is none.
        """
        asked = self._asking(query, **(options | {"explain": True}))
        return explain_why(self._store, self._look(asked), asked, memory_id)

    def look(self, query: str, **options: Any) -> tuple[Looked, Asking]:  # noqa: ANN401 - those of `search`
        """Return all that was found before it is ranked, and what was asked; `ranking.answer` makes results of the two.

        Args:
            query: as in `search`.
            options: those of `search` without `rerank`, with the same meaning.

        Raises:
            InvalidInputError: an argument is wrong.
        """
        asked = self._asking(query, **options)
        return self._look(asked), asked

    @property
    def store(self) -> OpenSearchVectorStore:
        """The memories."""
        return self._store

    @property
    def entities(self) -> EntityStore:
        """The entities that link them."""
        return self._entities

    # -- how

    def _asking(self, query: str, **options: Any) -> Asking:  # noqa: ANN401 - the fields of `Asking`
        asked = Asking.of(query, self._options, **options)
        if asked.vector is not None:
            return replace(asked, vector=self._check_vector(asked.vector))
        if self._embedder is None:
            raise InvalidInputError("this searcher has no embedder: give the question's vector")
        return asked

    def _check_vector(self, vector: Vector) -> Vector:
        store = self._store
        return check_vector(vector, dims=store.embedding_model_dims, index=store.collection_name, owner="the query")

    def _look(self, asked: Asking) -> Looked:
        """Ask the server; return all that was found, before it is ranked."""
        question = Asked.of(asked.question, asked.asked_at)
        if asked.mode == "mem0":  # which knows no times, and compares names by meaning, see `_mem0_boosts`
            question = replace(question, possible_names=(), needs_span=False)
        clauses = [*self._store.clauses_of(asked.filters), *asked.clauses()]
        spec = self._store.spec()
        if spec is None:
            return Looked.nothing(question)
        degraded: list[str] = []
        scope = scope_in(asked.filters)
        vector, (rows, span) = self._embed_and_look_up(question, asked, scope, clauses, degraded)
        names = Names.of(asked.question, rows)
        times = () if asked.mode == "mem0" else question.windows(span)
        windows = [window for choices in times for window in choices]
        wanted = self._wanted(asked, vector, clauses, names, windows)
        measured = measure(self._store, spec, wanted, degraded)
        return Looked(
            question=question,
            names=names,
            rows=measured,
            candidates=signals.candidates_of(measured, question, times=times, names=names),
            weights=self._weights,
            normaliser=self._options.normaliser,
            background=self._background(spec),
            degraded=tuple(degraded),
            boosts=self._mem0_boosts(asked, scope, degraded) if asked.mode == "mem0" else {},
        )

    def _embed_and_look_up(
        self,
        question: Asked,
        asked: Asking,
        scope: Mapping[str, str],
        clauses: Sequence[Clause],
        degraded: list[str],
    ) -> tuple[Any, tuple[list[Entity], Span | None]]:
        """Return the question's vector, and what is known of its names and times; one is made beside the other."""

        def look() -> tuple[list[Entity], Span | None]:
            try:
                return look_up(self._store, self._entities, question, scope=scope, filters=clauses)
            except BackendError as error:
                degraded.append(f"names and dates were not looked up: {error}")
                return [], None

        if asked.vector is not None or self._embedder is None:
            return asked.vector, look()
        looked = self._beside.begin(look)
        try:
            (vector,) = self._embedder.embed_queries([asked.question])
            vector = self._check_vector(vector)
        finally:
            found = looked()  # whatever happened: nothing of this search goes on after it
        return vector, found

    def _wanted(
        self, asked: Asking, vector: Vector, clauses: Sequence[Clause], names: Names, windows: Sequence[Window]
    ) -> request.Wanted:
        pool = max(self._options.pool, asked.top_k)
        if asked.mode == "mem0":
            pool = max(MEM0_OVERFETCH * asked.top_k, MEM0_LEAST)
        linked = names.linked
        brought = _BROUGHT if linked or windows else 0
        return request.Wanted(
            question=asked.question,
            rest=names.rest,
            vector=vector,
            pool=min(pool, _MOST // 2),
            size=min(max(self._options.size, 2 * pool) + brought, _MOST),
            filters=clauses,
            name=" ".join(names.asked) if names.rows else "",
            windows=windows,
            linked=linked,
        )

    def _background(self, spec: IndexSpec) -> Background | None:
        with self._lock:
            if spec.index not in self._backgrounds:
                self._backgrounds[spec.index] = background_for(self._store.client, spec, self._embedder)
            return self._backgrounds[spec.index]

    def _mem0_boosts(self, asked: Asking, scope: Mapping[str, str], degraded: list[str]) -> dict[str, float]:
        try:
            return boosts_for_question(asked.question, self._entities, self._embedder, scope)
        except BackendError as error:
            degraded.append(f"entities were not looked up: {error}")
            return {}
