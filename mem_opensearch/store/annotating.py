"""The annotating part of a store: note with memories what a search needs to know, as they are written or afterwards."""

from __future__ import annotations

import logging
from collections import defaultdict
from math import inf
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import encode_lines
from mem_opensearch.errors import BackendUnavailable, MemOpenSearchError, PartialWriteError
from mem_opensearch.filters import compile_filter
from mem_opensearch.store import bulk, documents
from mem_opensearch.store.annotations import may_replace, moment_of, own_annotations
from mem_opensearch.store.places import Step, Thread, last_turns, places_after, steps_of, threads_of
from mem_opensearch.store.replacing import RETRIES, Replaced, links_of, older_neighbours, replaced_by
from mem_opensearch.store.searching import SearchingStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mem_opensearch.profiles import WordField

    Progress = Callable[[int, int], object]

SEARCHES = 100
"""Searches of one request."""
_PAGE = 250  # rows that are annotated together
_IS_GONE = "status 404: document_missing_exception"
_NAMED = 5  # ids in a warning

_logger = logging.getLogger("mem_opensearch.store")


class AnnotatingStore(SearchingStore):
    """What notes talks, times, names and replacements.

    All of it is derived from texts, payloads and times. What a new memory replaces is found when it is stored; if that
    fails, a warning names the ids, and `annotate` makes it good.
    """

    def annotate(self, filters: Mapping[str, Any] | None = None, *, progress: Progress | None = None) -> int:
        """Annotate memories that are stored already: those written with ``annotate=False``, or by an older release.

        What is noted already is noted again, and comes out the same. Memories that others write meanwhile annotate
        themselves.

        Args:
            filters: which memories; all when not given. Whole scopes, or talks are torn.
            progress: called with (memories done, memories there are), after every few hundred.

        Returns:
            How many memories were annotated.

        Raises:
            BackendError: the server failed; call it again.
            PartialWriteError: names the ids of those that were not.
        """
        clauses = compile_filter(filters)
        if self.config.collection_kind != "memory" or not self._is_there():
            return 0
        with self._watching():
            self._rows.refresh()
            total = self._rows.count(clauses)
            found = (pair for hit in self._rows.scan(clauses) for pair in self._rows.with_ids([hit]))
            ids = [row_id for _, row_id in sorted((_order(hit["_source"]), row_id) for row_id, hit in found)]
        steps: defaultdict[Thread, list[Step]] = defaultdict(list)  # the last turns of each talk so far
        for start in range(0, len(ids), _PAGE):
            rows = self._whole_rows(ids[start : start + _PAGE])
            noted = {row["id"]: own_annotations(row) for row in rows}
            for thread, members in threads_of(rows).items():
                for row_id, place in places_after(members, steps[thread]).items():
                    noted[row_id] |= place
            self._write_notes(noted)
            self._note_replaced([row | {"context": None} | noted[row["id"]] for row in rows])
            if progress:
                progress(min(start + _PAGE, len(ids)), max(total, len(ids)))
        return len(ids)

    # -- for writes

    @property
    def _annotates(self) -> bool:
        return self.config.annotate and self.config.collection_kind == "memory"

    def _places(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return id -> `conversation`, `seq` and `context`, for the rows that have a scope and a date."""
        threads = threads_of(rows)
        if not threads:
            return {}
        self._show_all()  # or the turn before this one is not found
        ids = [row["id"] for row in rows]
        try:
            found = self._search_many([last_turns(thread, members[0], but=ids) for thread, members in threads.items()])
        except BackendUnavailable:
            raise  # nor would the rows be stored
        except MemOpenSearchError as error:
            self._warn("the talks of", rows, error)
            return {}
        places: dict[str, dict[str, Any]] = {}
        for members, before in zip(threads.values(), found, strict=True):
            places |= places_after(members, steps_of(before))
        return places

    def _note_replaced(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Note with old memories which of these rows, that are stored, replace them.

        Args:
            rows: with the `context` that they are stored with, if they have one.
        """
        newer = [row for row in rows if may_replace(row)]
        if not newer:
            return
        dialect = self.client.dialect
        self._show_all()  # neighbours may be rows of the same write
        found = self._search_many([older_neighbours(row, dialect=dialect) for row in newer])
        replaced = {
            row["id"]: links
            for row, neighbours in zip(newer, found, strict=True)
            if (links := replaced_by(row, neighbours, dialect=dialect))
        }
        if not replaced:
            return
        # The old text in the newer row lets a question that only the old one matches find both.
        in_talks = {row["id"] for row in newer if row.get("context")}
        texts = {
            row_id: {"context": "\n".join(link.text for link in links)}
            for row_id, links in replaced.items()
            if row_id not in in_talks
        }
        self._write_notes(texts, links=[link for links in replaced.values() for link in links])

    def _try_to_note_replaced(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Do so for rows that were just written; a failure is told and not raised, for the memories are stored."""
        try:
            self._note_replaced(rows)
        except MemOpenSearchError as error:
            self._warn("what is replaced by", rows, error)

    def _warn(self, what: str, rows: Sequence[Mapping[str, Any]], error: MemOpenSearchError) -> None:
        named = ", ".join(f"'{row['id']}'" for row in rows[:_NAMED])
        more = " and others" if len(rows) > _NAMED else ""
        _logger.warning(
            "%s %s%s in '%s' was not noted, annotate() will do it: %s", what, named, more, self.collection_name, error
        )

    def _show_all(self) -> None:
        """Make this process's writes visible to the search that comes next, whatever the policy; see `Visibility`."""
        if self.config.refresh == "false" and self._is_there():
            self._rows.refresh()

    # -- how

    def _search_many(self, searches: Sequence[Mapping[str, Any]]) -> list[list[tuple[str, Any]]]:
        found: list[list[tuple[str, Any]]] = []
        hidden = self._rows.hidden() if self._is_there() else []
        for start in range(0, len(searches), SEARCHES):
            part = [_without(search, hidden) for search in searches[start : start + SEARCHES]]
            found += [self._rows.with_ids(hits) for hits in self._search_all(part)]
        return found

    def _whole_rows(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the rows as they are built from their payloads, with the vectors that they have."""
        search = {
            "size": len(ids),
            "query": {"bool": {"filter": [{"terms": {"id": list(ids)}}]}},
            "_source": ["id", "written_at", "payload", "vector", "context"],
        }
        (hits,) = self._search_many([search])
        rows = []
        for row_id, hit in hits:
            source = hit["_source"]
            built = documents.build_row(source.get("payload") or {}, kind="memory", row_id=row_id)
            rows.append(built | {name: source[name] for name in ("vector", "context") if name in source})
        order = {row_id: place for place, row_id in enumerate(ids)}
        return sorted(rows, key=lambda row: order[row["id"]])

    def _words(self) -> WordField | None:
        spec = self._found()
        return None if spec is None else self._words_of(spec)

    def _indexed(self, notes: Mapping[str, Any], words: WordField | None) -> dict[str, Any]:
        """Return notes as the index takes them: the context is analysed as texts are."""
        context = notes.get("context")
        return dict(notes) if context is None or words is None else {**notes, "context": words.analysed(context)}

    def _write_notes(self, notes: Mapping[str, Mapping[str, Any]], *, links: Sequence[Replaced] = ()) -> None:
        """Set fields of rows, and add links to what old ones have; a row that is gone meanwhile stays gone.

        Args:
            notes: id -> fields.
            links: what replaces what.
        """
        words = self._words()
        whole = {row_id: self._indexed(fields, words) for row_id, fields in notes.items() if fields}
        with self._watching(), self._visibility.writing() as refresh:
            if not self.client.dialect.has_scripts:
                for row_id, fields in [*whole.items(), *links_of(links).items()]:
                    self._rows.change(row_id, fields, refresh=refresh)
                return
            lines = [bulk.Line(row_id, _set_fields(row_id, fields)) for row_id, fields in whole.items()]
            lines += [link.line() for link in links]
            groups = bulk.chunks(lines, max_bytes=self.config.bulk_max_bytes, max_items=self.config.bulk_max_items)
            try:
                bulk.write_bulk(self.client, self.collection_name, groups, refresh=refresh)
            except PartialWriteError as error:
                if not all(reason.startswith(_IS_GONE) for reason in error.failed.values()):
                    raise


def _order(source: Mapping[str, Any]) -> tuple[float, float]:
    """Return what sorts rows by the time when they were said, and those of one time as they were written."""
    said_at = moment_of((source.get("payload") or {}).get("created_at"))
    seq = source.get("seq")
    return -inf if said_at is None else said_at.timestamp(), inf if seq is None else seq


def _set_fields(row_id: str, fields: Mapping[str, Any]) -> bytes:
    return encode_lines([{"update": {"_id": row_id, "retry_on_conflict": RETRIES}}, {"doc": fields}])


def _without(search: Mapping[str, Any], hidden: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a search that leaves out what is replaced or deleted and still there."""
    if not hidden:
        return dict(search)
    return {**search, "query": {"bool": {"must": [search["query"]], "filter": list(hidden)}}}
