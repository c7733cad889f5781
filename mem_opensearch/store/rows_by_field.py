"""Reach rows by a field that holds the memory's id, on a server that makes up `_id` by itself.

Such a server (Amazon OpenSearch Serverless, vector search collections) also has no refresh, no scripts and no deletion
by query, and shows a write late. So a row is a document that is never changed: to replace it is to store a new document
and to delete the old one, in this order, so that whatever goes wrong between leaves two and never none. Of several
documents of one row the newest counts (`recent.Version`); the others are left out by every read, and deleted by the
one that meets them. What this process wrote and searches don't show yet is in `recent.Recent`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from mem_opensearch import queries
from mem_opensearch.client.encoding import encode, encode_lines, path_of
from mem_opensearch.dialects.aoss import unit_vector
from mem_opensearch.errors import BackendUnavailable, MemOpenSearchError
from mem_opensearch.store import bulk
from mem_opensearch.store.copies import IDS, MOST, VERSION_FIELDS, WRITTEN_AT, CopyFinder, version_of
from mem_opensearch.store.recent import Version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mem_opensearch.client import SearchClient
    from mem_opensearch.models import Clause
    from mem_opensearch.profiles import WordField
    from mem_opensearch.store.copies import Copies
    from mem_opensearch.store.recent import Recent
    from mem_opensearch.store.rows import RawHit

_PAGE = 1000
_TRIES = 5  # to read a page without rows that somebody replaces meanwhile
_PASSES = 30  # to delete rows that change between being found and being deleted
_WAITS = frozenset({"wait_for", "true"})
_logger = logging.getLogger("mem_opensearch.store")


class RowsByField:
    """`Rows` on a server that takes no ids.

    Args:
        client: the server.
        alias: the collection.
        recent: what this process wrote lately, shared by its stores on the collection.
        max_bytes: most bytes of one bulk request; a larger row travels alone.
        max_items: most rows of one bulk request.
    """

    def __init__(self, client: SearchClient, alias: str, *, recent: Recent, max_bytes: int, max_items: int) -> None:
        self._client = client
        self._alias = alias
        self._recent = recent
        self._finder = CopyFinder(client, alias, recent)
        self._max_bytes = max_bytes
        self._max_items = max_items

    # -- writes

    def put(self, rows: Iterable[tuple[str, Mapping[str, Any]]], *, refresh: str, landed: set[str]) -> list[str]:
        """See `Rows.put`; of the same id twice the last one is stored."""
        given = list(rows)
        unique = dict(given)
        with self._recent.writing(unique):
            before, done = self._finder.find(list(unique), VERSION_FIELDS), set[str]()
            try:
                self._write(unique, before, landed=landed, done=done)
            finally:  # rows of a partial write have replaced their older documents too
                self._clean([doc for row_id in done for doc in before[row_id].docs])
        self._after(refresh)
        return [row_id for row_id, _ in given if row_id in done]

    def replace(self, row_id: str, row: Mapping[str, Any], *, refresh: str) -> str | None:
        """See `Rows.replace`."""
        return self._renew(row_id, lambda old: queries.replaced(old, row), refresh)

    def change(self, row_id: str, fields: Mapping[str, Any], *, refresh: str) -> str | None:
        """See `Rows.change`."""
        return self._renew(row_id, lambda old: {**old, **fields}, refresh)

    def rewrite_words(self, texts: Mapping[str, str], *, words: WordField, refresh: str) -> None:
        """See `Rows.rewrite_words`."""
        for row_id, text in texts.items():

            def make(old: dict[str, Any], text: str = text) -> dict[str, Any] | None:
                return {**old, **words.row(text)} if old["text"] == text else None

            self._renew(row_id, make, refresh)

    def remove(self, row_id: str, *, refresh: str) -> bool:
        """See `Rows.remove`."""
        gone = self._remove({row_id: None})
        self._after(refresh)
        return bool(gone)

    def remove_where(self, filters: Sequence[Clause]) -> Iterator[list[str]]:
        """See `Rows.remove_where`; a row that is stored meanwhile goes too if it belongs behind those that are gone."""
        again: list[str] | None = None  # rows that changed between being found and being deleted
        for _ in range(_PASSES):
            only = [] if again is None else [{"terms": {"id": again}}]
            again = []
            for current, hits in self._pages([*filters, *only], source=VERSION_FIELDS):
                gone = self._remove({hit["_source"]["id"]: version_of(hit) for hit in current})
                if gone:
                    yield gone
                again += {hit["_source"]["id"] for hit in hits}.difference(gone)
            if not again:
                return
        raise BackendUnavailable(
            f"rows of '{self._alias}' changed faster than they could be deleted, {_PASSES} times in a row; "
            "call it again to delete the rest"
        )

    def _remove(self, listed: Mapping[str, Version | None]) -> list[str]:
        """Delete rows; return the ids of those that were there. One that has another version than the listed stays."""
        gone: list[str] = []
        ids = list(listed)
        for start in range(0, len(ids), IDS):
            some = ids[start : start + IDS]
            with self._recent.writing(some):
                found = self._finder.find(some, VERSION_FIELDS)
                copies = {
                    row_id: each
                    for row_id, each in found.items()
                    if each.newest and listed[row_id] in {None, each.newest}
                }
                # The one that counts goes last: if this stops in between, no older one takes its place.
                self._delete([doc for each in copies.values() for doc in each.older])
                self._delete([each.newest.doc for each in copies.values() if each.newest])
                for row_id, each in copies.items():
                    self._recent.remove(row_id, each.newest.written_at if each.newest else 0)
                gone += copies
        return gone

    def _renew(
        self, row_id: str, make: Callable[[dict[str, Any]], Mapping[str, Any] | None], refresh: str
    ) -> str | None:
        """Store a new document of a row, made from the newest; return the index it went to."""
        landed = set[str]()
        with self._recent.writing([row_id]):
            before = self._finder.find([row_id], None)
            old = before[row_id]
            if old.newest is None:
                return None
            row = make(old.source)
            if row is not None:
                self._write({row_id: row}, before, landed=landed, done=set())
                self._clean(old.docs)
        self._after(refresh)
        return next(iter(landed), "")

    def _write(
        self,
        rows: Mapping[str, Mapping[str, Any]],
        before: Mapping[str, Copies],
        *,
        landed: set[str],
        done: set[str],
    ) -> None:
        """Store each row as a new document that is newer than those `before`; `done` takes the ids that were stored."""
        instants: dict[str, int] = {}
        data: dict[str, bytes] = {}

        def to_line(row_id: str, row: Mapping[str, Any]) -> bulk.Line:
            newest = before[row_id].newest
            instants[row_id] = self._recent.instant(newest.written_at if newest else 0)
            vector = {"vector": unit_vector(row["vector"])} if "vector" in row else {}
            data[row_id] = encode({**row, **vector, WRITTEN_AT: instants[row_id]})
            return bulk.Line(row_id, encode_lines([{"index": {}}]) + data[row_id] + b"\n")

        def note(line: bulk.Line, result: Mapping[str, Any]) -> None:
            done.add(line.id)
            self._recent.remember(line.id, Version(instants[line.id], result["_id"]), data.pop(line.id))

        self._send((to_line(row_id, row) for row_id, row in rows.items()), landed=landed, note=note)

    def _delete(self, docs: Sequence[str]) -> None:
        """Delete documents; those that are gone are no error."""
        self._send(bulk.Line(doc, encode_lines([{"delete": {"_id": doc}}])) for doc in docs)
        self._recent.bury(docs)

    def _send(self, lines: Iterable[bulk.Line], **more: Any) -> None:  # noqa: ANN401 - of `write_bulk`
        groups = bulk.chunks(lines, max_bytes=self._max_bytes, max_items=self._max_items)
        bulk.write_bulk(self._client, self._alias, groups, params={}, **more)

    def _clean(self, docs: Sequence[str]) -> None:
        """Delete documents that are replaced; reads leave them out anyway, so that a failure does no harm."""
        self._recent.bury(docs)
        try:
            self._delete(docs)
        except MemOpenSearchError as error:
            _logger.warning(
                "%d replaced documents of '%s' could not be deleted and wait for another read or write: %s",
                len(docs), self._alias, type(error).__name__,
            )  # fmt: skip

    def _after(self, refresh: str) -> None:
        if refresh in _WAITS:
            self._finder.wait()

    # -- reads

    def fetch(self, ids: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """See `Rows.fetch`: what searches show, and what this process wrote."""
        found = self._finder.find(list(dict.fromkeys(ids)), queries.SHOWN)
        return [found[row_id].source if found[row_id].newest else None for row_id in ids]

    def count(self, filters: Sequence[Clause]) -> int:
        """See `Rows.count`; above 10,000 rows, a document that an interrupted write left may count too."""
        query = {"bool": {"filter": [*filters, *self.hidden()]}}
        count = int(self._client.request("POST", path_of(self._alias, "_count"), body={"query": query})["count"])
        if not 0 < count <= MOST:
            return count
        hits = self._finder.search({"size": MOST, "query": query, "_source": VERSION_FIELDS})
        return len(self.current([hits])[0])

    def scan(self, filters: Sequence[Clause]) -> Iterator[RawHit]:
        """See `Rows.scan`: each page as it is when it is read. A row whose date of creation changes may be missed."""
        for current, _ in self._pages(filters, source=queries.SHOWN):
            yield from current

    def _pages(self, filters: Sequence[Clause], *, source: list[str]) -> Iterator[tuple[list[RawHit], list[RawHit]]]:
        """Yield the current rows of each page, and all that it had: some may have been replaced all the time."""
        after: Sequence[Any] | None = None
        tries = 0
        while True:
            body = queries.listing(size=_PAGE, filters=[*filters, *self.hidden()], after=after)
            hits = self._finder.search({**body, "_source": source})
            (current,) = self.current([hits])
            tries += 1
            if len(current) < len(hits) and tries < _TRIES:
                continue  # what was left out is hidden by now, and what it had pushed off the page comes in
            tries = 0
            if hits:
                yield current, hits
            if len(hits) < _PAGE:
                return
            after = hits[-1]["sort"]

    def current(self, answers: Sequence[list[RawHit]]) -> list[list[RawHit]]:
        """See `Rows.current`: one more request tells which documents are the newest of their rows."""
        stale = self._finder.stale(answers)
        self._clean(list(stale))
        return [[hit for hit in hits if hit["_id"] not in stale] for hits in answers]

    def hidden(self) -> list[Clause]:
        """See `Rows.hidden`: documents that this process has replaced or deleted."""
        buried = self._recent.buried()
        if len(buried) > MOST:
            self._finder.wait()
            buried = self._recent.buried()
        return [{"bool": {"must_not": [{"ids": {"values": buried[-MOST:]}}]}}] if buried else []

    def with_ids(self, hits: Iterable[RawHit]) -> list[tuple[str, RawHit]]:
        """See `Rows.with_ids`."""
        return [(hit["_source"]["id"], hit) for hit in hits]

    def refresh(self) -> None:
        """See `Rows.refresh`: waits until searches show what this process wrote."""
        self._finder.wait()

    def forget(self) -> None:
        """See `Rows.forget`."""
        self._recent.forget()
