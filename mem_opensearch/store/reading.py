"""The reading half of a store: by id, by meaning, by words, and listings."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

from mem_opensearch import queries as bodies
from mem_opensearch.errors import InvalidInputError
from mem_opensearch.filters import compile_filter
from mem_opensearch.models import Hit, hit_from
from mem_opensearch.store import documents
from mem_opensearch.store.searching import SearchingStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.models import Clause
    from mem_opensearch.store.vectors import Vector

Hits = list[Hit]  # names, since `list` is a method below
ManyHits = list[Hits]
MaybeHits = list[Hit | None]
_MAX_K = 10_000  # the server's own limits of k and of one page


class ReadingStore(SearchingStore):
    """What finds rows and changes none."""

    def get(self, vector_id: str) -> Hit | None:
        """Return a row by id, or None; a write is seen at once, refreshed or not."""
        documents.check_id(vector_id)
        if not self._is_there():
            return None
        (source,) = self._rows.fetch([vector_id])
        return None if source is None else hit_from(source, vector_id, None)

    def get_many(self, ids: Sequence[str]) -> MaybeHits:
        """Return rows by id, in the order of `ids`, None for one that is not stored; as real-time as `get`."""
        wanted = [documents.check_id(row_id) for row_id in documents.as_list(ids, name="ids")]
        if not wanted or not self._is_there():
            return [None] * len(wanted)
        sources = self._rows.fetch(wanted)
        return [
            None if source is None else hit_from(source, row_id, None)
            for row_id, source in zip(wanted, sources, strict=True)
        ]

    def count(self, filters: Mapping[str, Any] | None = None) -> int:
        """Return how many rows pass a filter; all of them when none is given."""
        return self.count_clauses(compile_filter(filters))

    def count_clauses(self, clauses: Sequence[Clause]) -> int:
        """Return how many rows pass clauses that are compiled already."""
        if not self._is_there():
            return 0
        with self._watching():
            self._visibility.show(self._rows.refresh)
            return self._rows.count(clauses)

    def search(self, query: str, vectors: Vector, top_k: int = 5, filters: Mapping[str, Any] | None = None) -> Hits:
        """Return the rows nearest in meaning, best first.

        Args:
            query: the text behind the vector; not used, it is part of mem0's contract.
            vectors: the query's vector.
            top_k: most rows to return, 1 to 10,000.
            filters: which rows may be returned; applied before the nearest are chosen, see `filters`.

        Returns:
            Hits with the cosine in [0, 1] as score.

        Raises:
            VectorError, FilterError, ScopeError: an argument is wrong; nothing was sent.
            BackendError: the server failed. An error is never an empty answer.
        """
        return self.search_batch([query], [vectors], top_k=top_k, filters=filters)[0]

    def search_batch(
        self,
        queries: Sequence[str],
        vectors_list: Sequence[Vector],
        top_k: int = 1,
        filters: Mapping[str, Any] | None = None,
    ) -> ManyHits:
        """Return the rows nearest in meaning for several vectors, in one trip.

        Args:
            queries: the texts behind the vectors, one per vector.
            vectors_list: the queries' vectors.
            top_k: most rows per query, 1 to 10,000.
            filters: which rows may be returned, for all queries.

        Returns:
            One list per vector, in the order given; see `search`.
        """
        queries, vectors_list = (
            documents.as_list(queries, name="queries"),
            documents.as_list(vectors_list, name="vectors_list"),
        )
        if len(queries) != len(vectors_list):
            raise InvalidInputError(
                f"{len(vectors_list)} vectors but {len(queries)} queries; they go together one by one"
            )
        check_top_k(top_k)
        checked = [self._check_vector(vector, owner="the query") for vector in vectors_list]
        clauses = compile_filter(filters)
        if not self._is_there():
            return [[] for _ in vectors_list]
        clauses += self._rows.hidden()
        dialect = self.client.dialect
        searches = [bodies.vector_search(vector, k=top_k, filters=clauses, dialect=dialect) for vector in checked]
        return [
            [
                hit_from(hit["_source"], row_id, dialect.cosine_of(hit["_score"]))
                for row_id, hit in self._rows.with_ids(hits)
            ]
            for hits in self._search_all(searches)
        ]

    def keyword_search(self, query: str, top_k: int = 5, filters: Mapping[str, Any] | None = None) -> Hits:
        """Return the rows that share words, word parts or identifiers with the query, best first.

        Args:
            query: the text to look for; analysed as the stored text was.
            top_k: most rows to return, 1 to 10,000.
            filters: which rows may be returned, see `filters`.

        Returns:
            Hits with the raw BM25 score (> 0, unbounded), summed over the fields of `queries.FIELD_BOOSTS`.
        """
        check_top_k(top_k)
        clauses = compile_filter(filters)
        check_query(query)
        if not query.strip() or (spec := self._found()) is None:
            return []
        clauses += self._rows.hidden()
        boosts = self._field_boosts()
        (hits,) = self._search_words(
            spec, lambda words: [bodies.keyword_search(query, size=top_k, filters=clauses, words=words, boosts=boosts)]
        )
        return [hit_from(hit["_source"], row_id, hit["_score"]) for row_id, hit in self._rows.with_ids(hits)]

    def list(self, filters: Mapping[str, Any] | None = None, top_k: int | None = None) -> ManyHits:
        """Return rows, newest first.

        Args:
            filters: which rows; all when not given.
            top_k: most rows to return; all of them when not given, however many.

        Returns:
            A list whose only item is the list of hits: the shape that mem0 expects.
        """
        clauses = compile_filter(filters)
        if top_k is not None:
            check_top_k(top_k, most=None)
        if top_k is not None and top_k <= _MAX_K:
            clauses += self._rows.hidden() if self._is_there() else []
            (hits,) = self._search_all([bodies.listing(size=top_k, filters=clauses)])
        elif self._is_there():
            with self._watching():
                self._visibility.show(self._rows.refresh)
                hits = list(islice(self._rows.scan(clauses), top_k and min(top_k, sys.maxsize)))
        else:
            hits = []
        return [[hit_from(hit["_source"], row_id, None) for row_id, hit in self._rows.with_ids(hits)]]


def check_top_k(top_k: object, *, most: int | None = _MAX_K) -> None:
    """Refuse what is no number of rows that can be asked for."""
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 1 or (most and top_k > most):
        raise InvalidInputError(f"top_k is {top_k!r}; it is a whole number from 1 {f'to {most}' if most else 'up'}")


def check_query(query: object) -> None:
    """Refuse what is no text that can be looked for."""
    if not isinstance(query, str):
        raise InvalidInputError(f"the query is {type(query).__name__}, expected a string")
    try:
        query.encode()
    except UnicodeEncodeError:
        raise InvalidInputError("the query is not valid Unicode: it holds half of a surrogate pair") from None
