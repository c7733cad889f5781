"""Reach the rows of a collection by the memory's id; what differs between servers is behind `Rows`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import tenacity

from mem_opensearch import queries
from mem_opensearch.client.encoding import encode_lines, path_of
from mem_opensearch.client.failures import error_type, from_shape, from_status
from mem_opensearch.store import bulk, by_query, paging

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mem_opensearch.client import SearchClient
    from mem_opensearch.models import Clause
    from mem_opensearch.profiles import WordField

RawHit = dict[str, Any]
"""One hit of a search answer, as the server gives it."""

_NOT_FOUND = 404
_CONFLICT = 409
_NO_DOCUMENT = "document_missing_exception"
_PAGE = 1000  # ids of one request
_RETRIES = 5  # of an update that meets another one of the same row; the server repeats it by itself


class Rows(Protocol):
    """Everything that a store asks of its server about single rows.

    Searches are not in here: they address no row, and every server answers them alike.
    """

    def put(self, rows: Iterable[tuple[str, Mapping[str, Any]]], *, refresh: str, landed: set[str]) -> list[str]:
        """Store rows by id, replacing those that are there; return the stored ids in the order given.

        Args:
            rows: (id, indexed fields).
            refresh: when searches see the rows, as `Visibility.writing` says.
            landed: takes the names of the indices that rows went to.

        Raises:
            PartialWriteError: some rows were stored and some were not.
            BackendError: nothing was stored.
        """

    def fetch(self, ids: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """Return each row's source (its payload only), in the order of `ids`, None for a missing one; real-time."""

    def replace(self, row_id: str, row: Mapping[str, Any], *, refresh: str) -> str | None:
        """Replace a row whole, but for its vector where `row` brings none; return its index, None if it is missing."""

    def change(self, row_id: str, fields: Mapping[str, Any], *, refresh: str) -> str | None:
        """Set top-level fields of a row and keep the others; return its index, None if it is missing."""

    def rewrite_words(self, texts: Mapping[str, str], *, words: WordField, refresh: str) -> None:
        """Give rows the words of `words`, if they still have the text of `texts` (id -> text)."""

    def remove(self, row_id: str, *, refresh: str) -> bool:
        """Delete a row; return whether it was there."""

    def remove_where(self, filters: Sequence[Clause]) -> Iterator[list[str]]:
        """Delete the rows that pass `filters` when this begins; yield the ids that are gone, in parts."""

    def count(self, filters: Sequence[Clause]) -> int:
        """Return how many rows pass `filters`, of those that searches see."""

    def scan(self, filters: Sequence[Clause]) -> Iterator[RawHit]:
        """Yield every row that passes `filters`, newest first, undisturbed by writes that come meanwhile."""

    def refresh(self) -> None:
        """Return when searches see every write that is done by this process."""

    def hidden(self) -> list[Clause]:
        """Return the clauses, for every search, that leave out what is replaced or deleted and still there."""

    def current(self, answers: Sequence[list[RawHit]]) -> list[list[RawHit]]:
        """Return the hits of searches without those that another document of the same row has replaced."""

    def with_ids(self, hits: Iterable[RawHit]) -> list[tuple[str, RawHit]]:
        """Return (memory id, hit) for the hits of a search, each row once, in their order."""

    def forget(self) -> None:
        """Forget what is remembered of the collection: it is gone."""


# Only if the row is still the one that was written: somebody else may have replaced it, with words of its own.
_WORDS_SCRIPT = "if (ctx._source.text == params.text) { ctx._source.putAll(params.row) } else { ctx.op = 'none' }"
_WORDS_ROWS = 500  # of one request


_until_alone = tenacity.Retrying(
    stop=tenacity.stop_after_delay(30),
    wait=tenacity.wait_random_exponential(multiplier=0.02, max=1.0),
    retry=tenacity.retry_if_result(lambda answer: answer.get("status") == _CONFLICT),
    retry_error_callback=lambda state: state.outcome and state.outcome.result(),
)
"""Call a function until its answer is no conflict; return the last answer."""


class RowsById:
    """Rows whose `_id` is the memory's id: every write is one request, and every read by id sees it at once.

    Args:
        client: the server.
        alias: the collection.
        max_bytes: most bytes of one bulk request; a larger row travels alone.
        max_items: most rows of one bulk request.
    """

    def __init__(self, client: SearchClient, alias: str, *, max_bytes: int, max_items: int) -> None:
        self._client = client
        self._alias = alias
        self._max_bytes = max_bytes
        self._max_items = max_items

    def put(self, rows: Iterable[tuple[str, Mapping[str, Any]]], *, refresh: str, landed: set[str]) -> list[str]:
        """See `Rows.put`; the same id twice is one row."""
        groups = bulk.chunks(bulk.to_lines(rows), max_bytes=self._max_bytes, max_items=self._max_items)
        return bulk.write_bulk(self._client, self._alias, groups, refresh=refresh, landed=landed)

    def fetch(self, ids: Sequence[str]) -> list[Mapping[str, Any] | None]:
        """See `Rows.fetch`."""
        found: list[Mapping[str, Any] | None] = []
        for start in range(0, len(ids), _PAGE):
            answer = self._client.request(
                "POST",
                path_of(self._alias, "_mget"),
                params={"_source_includes": "payload"},
                body={"ids": list(ids[start : start + _PAGE])},
            )
            docs = answer["docs"]
            if len(docs) != len(ids[start : start + _PAGE]):
                raise from_shape(f"{len(docs)} rows where others were asked for", action=f"POST /{self._alias}/_mget")
            for doc in docs:
                if "error" in doc and error_type(doc) != "index_not_found_exception":
                    raise from_status(500, doc, action=f"reading '{doc['_id']}' in '{self._alias}'")
                found.append(doc["_source"] if doc.get("found") else None)
        return found

    def replace(self, row_id: str, row: Mapping[str, Any], *, refresh: str) -> str | None:
        """See `Rows.replace`."""
        return self._update(row_id, queries.replacement(row), refresh)

    def change(self, row_id: str, fields: Mapping[str, Any], *, refresh: str) -> str | None:
        """See `Rows.change`."""
        return self._update(row_id, {"doc": fields}, refresh)

    def _update(self, row_id: str, body: Mapping[str, Any], refresh: str) -> str | None:
        """Send one update; the server reads, changes and writes the row if nobody has written it in between.

        It repeats that at once a few times. Where many write the same row, that is not enough: then it is sent again
        after a pause of random length.
        """

        def send() -> dict[str, Any]:
            return self._client.request(
                "POST",
                path_of(self._alias, "_update", row_id),
                params={"refresh": refresh, "retry_on_conflict": _RETRIES, "require_alias": "true"},
                body=body,
                accept=(_NOT_FOUND, _CONFLICT),
            )

        answer = _until_alone(send)
        if answer.get("status") == _CONFLICT:
            raise from_status(_CONFLICT, answer, action=f"update of '{row_id}' in '{self._alias}'")
        if answer.get("status") != _NOT_FOUND:
            return str(answer["_index"])
        if error_type(answer) != _NO_DOCUMENT:
            raise from_status(_NOT_FOUND, answer, action=f"updating '{row_id}' in '{self._alias}'")
        return None

    def rewrite_words(self, texts: Mapping[str, str], *, words: WordField, refresh: str) -> None:
        """See `Rows.rewrite_words`."""
        ids = list(texts)
        for start in range(0, len(ids), _WORDS_ROWS):
            lines: list[dict[str, Any]] = []
            for row_id in ids[start : start + _WORDS_ROWS]:
                params = {"text": texts[row_id], "row": words.row(texts[row_id])}
                lines.append({"update": {"_id": row_id, "retry_on_conflict": _RETRIES}})
                lines.append({"script": {"lang": "painless", "source": _WORDS_SCRIPT, "params": params}})
            self._client.request(
                "POST",
                path_of(self._alias, "_bulk"),
                params={"refresh": refresh, "require_alias": "true"},
                body=encode_lines(lines),
            )

    def remove(self, row_id: str, *, refresh: str) -> bool:
        """See `Rows.remove`."""
        answer = self._client.request(
            "DELETE", path_of(self._alias, "_doc", row_id), params={"refresh": refresh}, accept=(_NOT_FOUND,)
        )
        if answer.get("status") == _NOT_FOUND and "error" in answer:
            return False  # the collection itself is gone
        return bool(answer["result"] == "deleted")

    def remove_where(self, filters: Sequence[Clause]) -> Iterator[list[str]]:
        """See `Rows.remove_where` and `by_query`."""
        return by_query.delete_pages(self._client, self._alias, filters)

    def count(self, filters: Sequence[Clause]) -> int:
        """See `Rows.count`."""
        answer = self._client.request("POST", path_of(self._alias, "_count"), body={"query": queries.matching(filters)})
        if answer["_shards"]["failed"]:
            raise from_status(503, answer["_shards"], action=f"counting in '{self._alias}'")
        return int(answer["count"])

    def scan(self, filters: Sequence[Clause]) -> Iterator[RawHit]:
        """See `Rows.scan`: as the collection was when the scan began."""
        return paging.scan(self._client, self._alias, filters)

    def refresh(self) -> None:
        """See `Rows.refresh`."""
        self._client.request("POST", path_of(self._alias, "_refresh"))

    def hidden(self) -> list[Clause]:
        """See `Rows.hidden`: nothing; a row is one document."""
        return []

    def current(self, answers: Sequence[list[RawHit]]) -> list[list[RawHit]]:
        """See `Rows.current`: all of them."""
        return list(answers)

    def with_ids(self, hits: Iterable[RawHit]) -> list[tuple[str, RawHit]]:
        """See `Rows.with_ids`."""
        return [(hit["_id"], hit) for hit in hits]

    def forget(self) -> None:
        """See `Rows.forget`: nothing is remembered."""
