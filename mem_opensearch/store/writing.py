"""The writing half of a store: insert, update, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem_opensearch.errors import InvalidInputError, MemoryNotFoundError
from mem_opensearch.models import Hit
from mem_opensearch.store import documents
from mem_opensearch.store.collection import Collection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mem_opensearch.models import IndexSpec


class WritingStore(Collection):
    """What changes rows."""

    def insert(
        self,
        vectors: Sequence[documents.Vector],
        payloads: Sequence[Mapping[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> list[Hit]:
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
            with self._watching(), self._visibility.writing() as refresh:
                try:
                    self._rows.put(analysed, refresh=refresh, landed=landed)
                finally:  # rows of a partial write are stored too
                    texts = {row_id: row["text"] for row_id, row in rows}
                    self._write_words_again(spec, landed, texts, refresh=refresh)
        return [Hit(id=row_id, payload=dict(payload)) for row_id, payload in zip(ids, payloads, strict=True)]

    def update(
        self, vector_id: str, vector: documents.Vector | None = None, payload: Mapping[str, Any] | None = None
    ) -> None:
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
        with self._watching(), self._visibility.writing() as refresh:
            if payload is None:
                index = self._rows.change(vector_id, row, refresh=refresh)
            else:
                whole = row | self._words_of(spec).row(row["text"])
                index = self._rows.replace(vector_id, whole, refresh=refresh)
            if index is not None and payload is not None:
                self._write_words_again(spec, [index], {vector_id: row["text"]}, refresh=refresh)
        if index is None:
            raise MemoryNotFoundError(
                f"'{vector_id}' is not stored in '{self.collection_name}', so it can't be updated"
            )

    def delete(self, vector_id: str) -> bool:
        """Delete a row; one that is not stored is no error.

        Returns:
            Whether the row was there.
        """
        documents.check_id(vector_id)
        if not self._is_there():
            return False
        with self._watching(), self._visibility.writing() as refresh:
            return self._rows.remove(vector_id, refresh=refresh)

    # -- for the methods above

    def _write_words_again(
        self, spec: IndexSpec, landed: Iterable[str], texts: Mapping[str, str], *, refresh: str
    ) -> None:
        """Make words anew if rows went to another index than they were made for: the collection has moved meanwhile."""
        now = self._follow(spec, landed)
        if now is None or self._words_of(now) == self._words_of(spec):
            return
        # With another dictionary than this process's, `_is_there` has warned, and the next write is refused.
        if self._words_of(now).client_side and self._words_of(now).fingerprint == now.dictionary:
            self._rows.rewrite_words(texts, words=self._words_of(now), refresh=refresh)
