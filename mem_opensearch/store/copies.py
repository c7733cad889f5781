"""Find the documents of a row, on a server where a row may be several, and tell which of them counts."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from mem_opensearch import turns
from mem_opensearch.client.encoding import path_of
from mem_opensearch.store.recent import SHOWN_SECONDS, Version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.client import SearchClient
    from mem_opensearch.store.recent import Recent
    from mem_opensearch.store.rows import RawHit

WRITTEN_AT = "written_at"
VERSION_FIELDS = ["id", WRITTEN_AT]
IDS = 500  # of one request, so that copies of each of them fit into one page
MOST = 10_000  # rows of one answer, the server's own limit
_POLL = (0.05, 1.0)  # seconds between two looks at what searches show, at first and at most
_logger = logging.getLogger("mem_opensearch.store")


@dataclass(slots=True)
class Copies:
    """The documents of one row.

    Attributes:
        newest: version of the one that counts; None when there is none.
        source: what was asked for of it.
        older: the others.
    """

    newest: Version | None = None
    source: dict[str, Any] = field(default_factory=dict)
    older: list[str] = field(default_factory=list)

    def add(self, version: Version, source: dict[str, Any]) -> None:
        """Take one more document; one that is here already changes nothing."""
        if self.newest is None or version > self.newest:
            self.older += [self.newest.doc] if self.newest else []
            self.newest, self.source = version, source
        elif version != self.newest:
            self.older.append(version.doc)

    @property
    def docs(self) -> list[str]:
        """All of them, the one that counts last."""
        return [*self.older, *([self.newest.doc] if self.newest else [])]


class CopyFinder:
    """What searches show of a collection, put right by what this process knows.

    Args:
        client: the server.
        alias: the collection.
        recent: what this process wrote lately.
    """

    def __init__(self, client: SearchClient, alias: str, recent: Recent) -> None:
        self._client = client
        self._alias = alias
        self._recent = recent

    def find(self, ids: Sequence[str], source: list[str] | None) -> dict[str, Copies]:
        """Return the documents of each row: those that searches show, and what this process wrote.

        Args:
            ids: which rows, each once.
            source: the fields to read of the newest; None for all.
        """
        found = self._look_up(ids, source)
        if self._recent.has_lost_sight and any(each.newest is None for each in found.values()):
            self.wait()
            found = self._look_up(ids, source)
        return found

    def _look_up(self, ids: Sequence[str], source: list[str] | None) -> dict[str, Copies]:
        found = {row_id: Copies() for row_id in ids}
        for start in range(0, len(ids), IDS):
            body: dict[str, Any] = {
                "size": MOST,
                "query": {"bool": {"filter": [{"terms": {"id": list(ids[start : start + IDS])}}]}},
                "_source": source if source is not None else True,
            }
            for hit in self.search(body):
                self._sort_in(found[hit["_source"]["id"]], hit)
        for row_id, copies in found.items():
            if written := self._recent.written(row_id):
                version, data = written
                copies.add(version, orjson.loads(data))
        return found

    def _sort_in(self, copies: Copies, hit: RawHit) -> None:
        """Add a document that a search shows, unless this process has done away with it."""
        version = version_of(hit)
        if self._recent.is_buried(version.doc):
            return
        if version.written_at == self._recent.removed_at(hit["_source"]["id"]):
            copies.older.append(version.doc)  # the copy of a write whose answer was lost, shown after the deletion
        else:
            copies.add(version, hit["_source"])

    def stale(self, answers: Sequence[Sequence[RawHit]]) -> set[str]:
        """Return the `_id` of every hit that is not the newest document of its row, by one more request."""
        ids = {hit["_source"]["id"] for hits in answers for hit in hits}
        copies = self._look_up(list(ids), VERSION_FIELDS)
        return {hit["_id"] for hits in answers for hit in hits if self._is_stale(hit, copies[hit["_source"]["id"]])}

    def _is_stale(self, hit: RawHit, copies: Copies) -> bool:
        version = version_of(hit)
        replaced = copies.newest is not None and copies.newest > version
        return replaced or version.doc in copies.older or self._recent.is_buried(version.doc)

    def wait(self) -> None:
        """Wait until searches show what this process wrote, for up to `recent.SHOWN_SECONDS`."""
        serial, appear, vanish = self._recent.watch()
        deadline, pause = time.monotonic() + SHOWN_SECONDS, _POLL[0]
        while appear or vanish:
            shown = self._shown([*appear, *vanish])
            # What another thread has replaced since will never be shown.
            appear = {doc for doc in appear - shown if not self._recent.is_buried(doc)}
            vanish &= shown
            if not appear and not vanish:
                break
            if time.monotonic() > deadline:
                _logger.warning(
                    "searches in '%s' do not show all that this process wrote %.0f s ago", self._alias, SHOWN_SECONDS
                )
                break
            with turns.waiting():
                time.sleep(pause)
            pause = min(pause * 1.5, _POLL[1])
        self._recent.settle(serial)

    def _shown(self, docs: Sequence[str]) -> set[str]:
        body = {"size": len(docs), "query": {"ids": {"values": list(docs)}}, "_source": False}
        return {hit["_id"] for hit in self.search(body)}

    def search(self, body: Mapping[str, Any]) -> list[RawHit]:
        """Return the hits of one search in the collection."""
        answer = self._client.request("POST", path_of(self._alias, "_search"), body=body)
        hits: list[RawHit] = answer["hits"]["hits"]
        return hits


def version_of(hit: RawHit) -> Version:
    """Return the version of the document that a search shows."""
    return Version(int(hit["_source"].get(WRITTEN_AT, 0)), hit["_id"])
