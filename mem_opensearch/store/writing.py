"""The writing part of a store: insert and update."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mem_opensearch.errors import InvalidInputError, MemoryNotFoundError
from mem_opensearch.models import Hit, hit_from
from mem_opensearch.store import documents, duplicates
from mem_opensearch.store.annotating import AnnotatingStore
from mem_opensearch.store.annotations import may_replace, own_annotations
from mem_opensearch.store.sizes import check_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from mem_opensearch.models import IndexSpec, Outcome
    from mem_opensearch.store.vectors import Vector

_KEYS = 1000  # of one search


class _Row(NamedTuple):
    """One row as it was given, and what is indexed of it."""

    id: str
    payload: Mapping[str, Any]
    fields: dict[str, Any]


class WritingStore(AnnotatingStore):
    """What stores rows and changes them."""

    def insert(
        self,
        vectors: Sequence[Vector],
        payloads: Sequence[Mapping[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> list[Hit]:
        """Store rows in bulk; an id that is already stored is replaced.

        With the option `on_duplicate`, a text that its user, agent and run already have is skipped or updated instead.

        Args:
            vectors: one vector per row, each of `embedding_model_dims` numbers.
            payloads: one mapping per row; empty ones when not given.
            ids: one id per row; random UUIDs when not given, or with `on_duplicate` UUIDs made of the text.

        Returns:
            One hit per row, in the order given, with the payload, no score, and in `outcome` what happened to it.

        Raises:
            InvalidInputError: the arguments don't go together, or a row can't be stored; nothing was sent.
            PartialWriteError: some rows were stored and some were not.
            BackendError: nothing was stored.
        """
        vectors = documents.as_list(vectors, name="vectors")
        count = len(vectors)
        payloads = [{}] * count if payloads is None else documents.as_list(payloads, name="payloads")
        if len(payloads) != count:
            raise InvalidInputError(
                f"{count} vectors but {len(payloads)} payloads were given; they go together one by one"
            )
        made = ids is None
        ids = documents.as_ids(ids, count)
        rows = [
            self._row(row_id, vector, payload) for row_id, vector, payload in zip(ids, vectors, payloads, strict=True)
        ]
        if self._is_distinct:
            return self._insert_distinct(rows, made=made)
        self._put(rows)
        return [_hit(row, "stored") for row in rows]

    def update(self, vector_id: str, vector: Vector | None = None, payload: Mapping[str, Any] | None = None) -> None:
        """Replace a row's payload whole, its vector, or both; what is not given stays.

        A key that the new payload lacks is gone afterwards. The server does it in one step: of updates that come at the
        same time none is lost or mixed with another, and the last one holds.

        Raises:
            MemoryNotFoundError: no row has this id; nothing was written.
            InvalidInputError: the payload or the vector can't be stored.
            BackendError: the server failed, or others wrote the row all the time.
        """
        documents.check_id(vector_id)
        if vector is None and payload is None:
            raise InvalidInputError(f"update of '{vector_id}' gives neither a vector nor a payload")
        fields: dict[str, Any] = {}
        if payload is not None:
            fields = self._fields(payload, row_id=vector_id)
        if vector is not None:
            fields["vector"] = self._check_vector(vector, owner=f"'{vector_id}'")
        spec = self._ensure()
        with self._watching(), self._visibility.writing() as refresh:
            if payload is None:
                index = self._rows.change(vector_id, fields, refresh=refresh)
            else:
                whole = fields | self._words_of(spec).row(fields["text"])
                index = self._rows.replace(vector_id, whole, refresh=refresh)
            if index is not None and payload is not None:
                self._write_words_again(spec, [index], {vector_id: fields["text"]}, refresh=refresh)
        if index is None:
            raise MemoryNotFoundError(
                f"'{vector_id}' is not stored in '{self.collection_name}', so it can't be updated"
            )
        if payload is not None and self._annotates:
            self._try_to_note_replaced(self._whole_rows([vector_id]) if may_replace(fields) else [])

    # -- for the methods above

    def _row(self, row_id: str, vector: Vector, payload: Mapping[str, Any]) -> _Row:
        owner = f"{self.config.collection_kind} '{row_id}'"
        fields = self._fields(payload, row_id=row_id) | {"vector": self._check_vector(vector, owner=owner)}
        return _Row(row_id, payload, fields)

    def _fields(self, payload: Mapping[str, Any], *, row_id: str) -> dict[str, Any]:
        """Return what is indexed of a payload, on every server the same; words come later, they are the index's."""
        fields = documents.build_row(payload, kind=self.config.collection_kind, row_id=row_id)
        if self._is_distinct and (key := duplicates.content_key(payload)) is not None:
            fields["facts"].append({"k": duplicates.KEY_FACT, "s": key})
        if self._annotates:
            fields |= own_annotations(fields)
        check_size(fields, dims=self.embedding_model_dims, most=self.config.max_request_bytes, row_id=row_id)
        return fields

    @property
    def _is_distinct(self) -> bool:
        return self.config.on_duplicate != "keep" and self.config.collection_kind == "memory"

    def _insert_distinct(self, rows: Sequence[_Row], *, made: bool) -> list[Hit]:
        """Store rows whose text is new in its scope; skip or update the others. A row is no duplicate of itself."""
        keys = [duplicates.content_key(row.payload) for row in rows]
        known = {key for key in keys if key is not None}
        hits, put = [], []
        with duplicates.alone_with(known):
            holders = self._holders(known)
            free = self._free_ids(known - holders.keys()) if made else {}
            key_at = {holder.id: key for key, holder in holders.items()}
            for row, key in zip(rows, keys, strict=True):
                holder = holders.get(key) if key is not None else None
                if holder is None or holder.id == row.id:
                    new = _renamed(row, free.get(key, row.id)) if key is not None else row
                    hits.append(_hit(new, "stored"))
                elif self.config.on_duplicate == "skip":
                    hits.append(Hit(id=holder.id, payload=dict(holder.payload), outcome="skipped"))
                    continue
                else:
                    new = _renamed(row, holder.id)
                    hits.append(_hit(new, "updated"))
                put.append(new)
                if (lost := key_at.pop(new.id, None)) is not None:  # the text that this id has had till now
                    del holders[lost]
                if key is not None:
                    holders[key], key_at[new.id] = hits[-1], key
            self._put(put)
        return hits

    def _holders(self, keys: AbstractSet[str]) -> dict[str, Hit]:
        """Return key -> the row that holds its text; the oldest, where there are several."""
        found: dict[str, Hit] = {}
        if not keys or not self._is_there():
            return found
        wanted = sorted(keys)
        with self._watching():
            self._rows.refresh()
            for start in range(0, len(wanted), _KEYS):
                having = duplicates.having_keys(wanted[start : start + _KEYS])
                for row_id, hit in self._rows.with_ids(self._rows.scan([having])):
                    holder = hit_from(hit["_source"], row_id, None)
                    key = duplicates.content_key(holder.payload)
                    if key is not None and key in keys:
                        found[key] = holder
        return found

    def _free_ids(self, keys: AbstractSet[str]) -> dict[str, str]:
        """Return key -> the id that is made of it, but for ids that a row has whose text was changed since."""
        made = {key: duplicates.id_of_key(key) for key in sorted(keys)}
        if not made or not self._is_there():
            return made
        stored = self._rows.fetch(list(made.values()))
        return {key: row_id for (key, row_id), source in zip(made.items(), stored, strict=True) if source is None}

    def _put(self, rows: Sequence[_Row]) -> None:
        """Write rows; of two with the same id the later one, since one that is sent again would come after it."""
        rows = list({row.id: row for row in rows}.values())
        if not rows:
            return
        spec, landed = self._ensure(), set[str]()
        words = self._words_of(spec)
        places = self._places([row.fields for row in rows]) if self._annotates else {}
        whole = (
            (row.id, row.fields | self._indexed(places.get(row.id, {}), words) | words.row(row.fields["text"]))
            for row in rows
        )
        with self._watching(), self._visibility.writing() as refresh:
            try:
                self._rows.put(whole, refresh=refresh, landed=landed)
            finally:  # rows of a partial write are stored too
                texts = {row.id: row.fields["text"] for row in rows}
                self._write_words_again(spec, landed, texts, refresh=refresh)
        if self._annotates:
            self._try_to_note_replaced([row.fields | places.get(row.id, {}) for row in rows])

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


def _renamed(row: _Row, row_id: str) -> _Row:
    return row._replace(id=row_id, fields=row.fields | {"id": row_id})


def _hit(row: _Row, outcome: Outcome) -> Hit:
    return Hit(id=row.id, payload=dict(row.payload), outcome=outcome)
