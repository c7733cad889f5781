"""Hold memories and entities in OpenSearch, with the methods that mem0 calls on a vector store."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from mem_opensearch import queries as bodies
from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import InvalidInputError, MemoryNotFoundError
from mem_opensearch.filters import compile_filter
from mem_opensearch.models import Hit, hit_from
from mem_opensearch.store import bulk, documents, paging
from mem_opensearch.store.collection import Collection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Vector = Any
"""A list of floats or a one-dimensional numpy array."""

Hits = list[Hit]  # names, since `list` is a method below
ManyHits = list[Hits]
_NOT_FOUND = 404
_MAX_K = 10_000  # the server's own limits of k and of one page


class OpenSearchVectorStore(Collection):
    """A collection of memories, or of the entities that link them.

    Nothing is sent before the first read or write; the first write makes the index if it is missing, and a read of a
    missing index finds nothing. One object may be shared between threads.

    Args:
        config: checked options; or give them as keywords, see `StoreConfig`.
        options: options of `StoreConfig`, among them every key of mem0's own OpenSearch provider.

    Raises:
        ConfigError: an option is wrong.

    >>> store = OpenSearchVectorStore(url="http://localhost:9200", embedding_model_dims=512)
    """

    # -- writes

    def insert(
        self,
        vectors: Sequence[Vector],
        payloads: Sequence[Mapping[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> Hits:
        """Store rows in bulk; an id that is already stored is replaced.

        Args:
            vectors: one vector per row, each of `embedding_model_dims` numbers.
            payloads: one mapping per row; empty ones when not given.
            ids: one id per row; random UUIDs when not given.

        Returns:
            One hit per row, in the order given, with the payload and no score.

        Raises:
            InvalidInputError: the arguments don't go together, or a row can't be stored; nothing was sent.
            PartialWriteError: some rows were stored and some were not.
            BackendError: nothing was stored.
        """
        count = len(vectors)
        if payloads is not None and len(payloads) != count:
            raise InvalidInputError(
                f"{count} vectors but {len(payloads)} payloads were given; they go together one by one"
            )
        payloads = payloads if payloads is not None else [{} for _ in range(count)]
        ids = documents.as_ids(ids, count)
        kind = self.config.collection_kind
        rows = []
        for row_id, vector, payload in zip(ids, vectors, payloads, strict=True):
            self._check_vector(vector, owner=f"{kind} '{row_id}'")
            rows.append((row_id, documents.build_row(payload, kind=kind, row_id=row_id) | {"vector": vector}))
        if rows:
            spec, landed = self._ensure(), set[str]()
            words = self._words_of(spec)
            analysed = [(row_id, row | words.row(row["text"])) for row_id, row in rows]
            groups = bulk.chunks(
                bulk.to_lines(analysed), max_bytes=self.config.bulk_max_bytes, max_items=self.config.bulk_max_items
            )
            with self._watching(), self._visibility.writing() as refresh:
                try:
                    bulk.write_bulk(
                        self.client,
                        self.collection_name,
                        groups,
                        refresh=refresh,
                        max_tries=self.config.max_tries,
                        landed=landed,
                    )
                finally:  # rows of a partial write are stored too
                    texts = {row_id: row["text"] for row_id, row in rows}
                    self._write_words_again(spec, landed, texts, refresh=refresh)
        return [Hit(id=row_id, payload=dict(payload)) for row_id, payload in zip(ids, payloads, strict=True)]

    def update(self, vector_id: str, vector: Vector | None = None, payload: Mapping[str, Any] | None = None) -> None:
        """Replace a row's payload whole, its vector, or both; what is not given stays.

        A key that the new payload lacks is gone afterwards.

        Raises:
            MemoryNotFoundError: no row has this id; nothing was written.
            InvalidInputError: the payload or the vector can't be stored.
        """
        documents.check_id(vector_id)
        if vector is None and payload is None:
            raise InvalidInputError(f"update of '{vector_id}' gives neither a vector nor a payload")
        row: dict[str, Any] = {}
        if payload is not None:
            row = documents.build_row(payload, kind=self.config.collection_kind, row_id=vector_id)
        if vector is not None:
            self._check_vector(vector, owner=f"'{vector_id}'")
            row["vector"] = vector
        spec = self._ensure()
        body = bodies.replacement(row | self._words_of(spec).row(row["text"])) if payload is not None else {"doc": row}
        with self._watching(), self._visibility.writing() as refresh:
            answer = self.client.request(
                "POST",
                path_of(self.collection_name, "_update", vector_id),
                params={"refresh": refresh, "retry_on_conflict": 5, "require_alias": "true"},
                body=body,
                accept=(_NOT_FOUND,),
            )
            if payload is not None and answer.get("status") != _NOT_FOUND:
                self._write_words_again(spec, [answer["_index"]], {vector_id: row["text"]}, refresh=refresh)
        if answer.get("status") == _NOT_FOUND:
            raise MemoryNotFoundError(
                f"'{vector_id}' is not stored in '{self.collection_name}', so it can't be updated"
            )

    def delete(self, vector_id: str) -> None:
        """Delete a row; one that is not stored is no error."""
        documents.check_id(vector_id)
        if not self._is_there():
            return
        with self._watching(), self._visibility.writing() as refresh:
            self.client.request(
                "DELETE",
                path_of(self.collection_name, "_doc", vector_id),
                params={"refresh": refresh},
                accept=(_NOT_FOUND,),
            )

    # -- reads

    def get(self, vector_id: str) -> Hit | None:
        """Return a row by id, or None; a write is seen at once, refreshed or not."""
        documents.check_id(vector_id)
        if not self._is_there():
            return None
        answer = self.client.request(
            "GET",
            path_of(self.collection_name, "_doc", vector_id),
            params={"_source_includes": "payload"},
            accept=(_NOT_FOUND,),
        )
        return hit_from(answer["_source"], vector_id, None) if answer.get("found") else None

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
        if len(queries) != len(vectors_list):
            raise InvalidInputError(
                f"{len(vectors_list)} vectors but {len(queries)} queries; they go together one by one"
            )
        _check_top_k(top_k)
        for vector in vectors_list:
            self._check_vector(vector, owner="the query")
        clauses = compile_filter(filters)
        searches = [bodies.vector_search(vector, k=top_k, filters=clauses) for vector in vectors_list]
        return [
            [hit_from(hit["_source"], hit["_id"], bodies.cosine_of(hit["_score"])) for hit in hits]
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
        _check_top_k(top_k)
        clauses = compile_filter(filters)
        if not query.strip() or (spec := self._found()) is None:
            return []
        boosts = self._field_boosts()
        hits = self._search_words(
            spec, lambda words: bodies.keyword_search(query, size=top_k, filters=clauses, words=words, boosts=boosts)
        )
        return [hit_from(hit["_source"], hit["_id"], hit["_score"]) for hit in hits]

    def list(self, filters: Mapping[str, Any] | None = None, top_k: int | None = None) -> ManyHits:
        """Return rows, newest first.

        Args:
            filters: which rows; all when not given.
            top_k: most rows to return; all of them when not given, however many.

        Returns:
            A list whose only item is the list of hits: the shape that mem0 expects.
        """
        clauses = compile_filter(filters)
        if top_k is not None and top_k <= _MAX_K:
            _check_top_k(top_k)
            (hits,) = self._search_all([bodies.listing(size=top_k, filters=clauses)])
        elif self._is_there():
            with self._watching():
                self._visibility.show(self.client, self.collection_name)
                hits = list(islice(paging.scan(self.client, self.collection_name, clauses), top_k))
        else:
            hits = []
        return [[hit_from(hit["_source"], hit["_id"], None) for hit in hits]]

    def _check_vector(self, vector: Vector, *, owner: str) -> None:
        documents.check_vector(vector, dims=self.embedding_model_dims, index=self.collection_name, owner=owner)


def _check_top_k(top_k: object) -> None:
    if not isinstance(top_k, int) or isinstance(top_k, bool) or not 1 <= top_k <= _MAX_K:
        raise InvalidInputError(f"top_k is {top_k!r}; it is a whole number from 1 to {_MAX_K}")
