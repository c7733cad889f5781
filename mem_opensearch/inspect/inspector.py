"""Answer what the page asks: one collection, its entities, and the searches that were made."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.errors import BackendError, ConfigError, InvalidInputError, MemoryNotFoundError
from mem_opensearch.index import WantedIndex
from mem_opensearch.inspect.asking import PAGE
from mem_opensearch.inspect.health import health_of
from mem_opensearch.inspect.looks import Look, Looks
from mem_opensearch.inspect.marks import Marked, Marker, Piece
from mem_opensearch.inspect.transport import ReadingTransport
from mem_opensearch.inspect.versions import versions_of
from mem_opensearch.profiles import word_field
from mem_opensearch.search.explain import why as explain_why
from mem_opensearch.search.request import SIGNALS
from mem_opensearch.store.documents import TEXT_KEY
from mem_opensearch.store.entity_rows import entity_from
from mem_opensearch.text import fold_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.embed import Embedder
    from mem_opensearch.inspect.asking import EntitiesBody, EntityBody, SearchBody
    from mem_opensearch.inspect.health import Health
    from mem_opensearch.inspect.versions import Version
    from mem_opensearch.rerank import Reranker
    from mem_opensearch.search import Searcher, Why
    from mem_opensearch.store.entity_rows import Entity

LINKED: Final = 200
"""Memories of one entity that are shown."""
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Memory:
    """All that is shown of one memory.

    Attributes:
        id: its id.
        payload: as it was stored.
        details: where its score comes from; empty where the search did not look at it.
        marked: its text, with what the question says.
        entities: those that link it.
        versions: of the fact, oldest first.
        missing: what could not be had, one sentence each.
    """

    id: str
    payload: Mapping[str, Any]
    details: Mapping[str, Any]
    marked: Marked
    entities: Sequence[Entity]
    versions: Sequence[Version]
    missing: Sequence[str]


class Inspector:
    """What the page shows of a collection; safe to share between threads.

    The connections of the searcher are made such that nothing is written through them.

    Args:
        searcher: the collection; its connections become this object's.
        embedder: makes the vectors of questions.
        rerankers: name -> the second stages to choose from.
    """

    def __init__(
        self, searcher: Searcher, *, embedder: Embedder | None = None, rerankers: Mapping[str, Reranker] | None = None
    ) -> None:
        self._searcher = searcher
        self._embedder = embedder
        self.rerankers = dict(rerankers or {})
        self.looks = Looks()
        self._lock = threading.Lock()  # one search at a time: what was sent for it is kept by itself
        self._transports: list[ReadingTransport] = []

    @property
    def collection(self) -> str:
        """The collection's name."""
        return self._searcher.store.collection_name

    @property
    def requests(self) -> int:
        """HTTP requests that were sent to the search server so far."""
        return self._searcher.store.client.requests + self._searcher.entities.client.requests

    # -- searches

    def search(self, body: SearchBody) -> Look:
        """Search, and keep what was found.

        Raises:
            MemOpenSearchError: an argument is wrong, or the server failed.
        """
        reranker = self._reranker(body.rerank)
        options: dict[str, Any] = {
            "filters": body.scope,
            "top_k": body.top_k if reranker is None else reranker.pool_for(body.top_k),
            "threshold": body.threshold,
            "as_of": body.moment,
            "show_expired": body.show_expired,
            "explain": True,
        }
        self.connect()
        with self._lock:
            with self._transports[0].keeping() as sent, self._transports[1].keeping() as sent_for_entities:
                looked, asked = self._searcher.look(body.query, mode=body.mode, **options)
            mem0 = None
            if body.compare and body.mode != "mem0":
                looked_as_mem0, asked_as_mem0 = self._searcher.look(body.query, mode="mem0", **options)
                mem0 = (asked_as_mem0, looked_as_mem0)
        look = Look(body, asked, looked, mem0, reranker, exchanges=(*sent_for_entities, *sent))
        self.looks.keep(look)
        return look

    def why(self, look: Look, memory_id: str, *, threshold: float) -> Why:
        """Return what became of one memory in a search, before any second stage."""
        self.connect()
        asked = replace(look.asked, threshold=threshold, top_k=look.body.top_k)
        return explain_why(self._searcher.store, look.looked, asked, memory_id)

    def memory(self, look: Look, memory_id: str, *, threshold: float) -> Memory:
        """Return all about one memory of the scope that was searched.

        Raises:
            MemoryNotFoundError: no such memory is in that scope.
            BackendError: the server failed.
        """
        self.connect()
        store, entities, scope = self._searcher.store, self._searcher.entities, look.body.scope
        clauses = store.clauses_of(scope)
        payload = next((row.payload for row in look.looked.rows if row.id == memory_id), None)
        payload = self._read(scope, [memory_id]).get(memory_id) if payload is None else payload
        if payload is None:
            raise MemoryNotFoundError(f"no memory '{memory_id}' is stored in this scope of '{self.collection}'")
        text = payload.get(TEXT_KEY)
        missing: list[str] = []
        return Memory(
            id=memory_id,
            payload=payload,
            details=look.details_of(look.order(threshold), memory_id),
            marked=self._mark(look, text if isinstance(text, str) else "", missing),
            entities=entities.find_by_memory(memory_id, scope),
            versions=versions_of(store, clauses, memory_id),
            missing=missing,
        )

    # -- the collection

    def entities(self, body: EntitiesBody) -> tuple[list[Entity], int]:
        """Return a page of the entities of a scope, those with most links first, and how many there are."""
        scope = body.scope
        self.connect()
        (hits,) = self._searcher.entities.list(filters=scope, top_k=_MOST)
        found = [entity_from(hit) for hit in hits]
        if wanted := fold_name(body.name):
            found = [each for each in found if any(wanted in fold_name(one) for one in (each.name, *each.aliases))]
        found.sort(key=lambda each: (-len(each.memory_ids), fold_name(each.name), each.id))
        return found[(body.page - 1) * PAGE : body.page * PAGE], len(found)

    def entity(self, body: EntityBody) -> tuple[Entity, list[tuple[str, Mapping[str, Any]]]]:
        """Return an entity, and (id, payload) of at most `LINKED` memories, in the order in which they were linked.

        Raises:
            MemoryNotFoundError: no such entity is in that scope.
        """
        self.connect()
        owner = body.owner or body.scope
        if not body.scope.items() <= owner.items():
            raise InvalidInputError("the entity is not in the scope that is looked at")
        entity = self._searcher.entities.read(body.entity, owner, entity_type=body.type)
        if entity is None:
            raise MemoryNotFoundError(f"there is no such entity in '{self.collection}' any more")
        ids = entity.memory_ids[:LINKED]
        rows = self._read(owner, ids)
        return entity, [(each, rows[each]) for each in ids if each in rows]

    def health(self) -> Health:
        """Look at the whole collection: counts and owners, no text."""
        self.connect()
        return health_of(self._searcher.store, self._searcher.entities, self._embedder)

    def connect(self) -> None:
        """Make the connections, and let nothing through that writes."""
        with self._lock:
            if self._transports:
                return
            clients = [self._searcher.store.client, self._searcher.entities.client]
            for client in clients:
                reading = ReadingTransport(client.transport)
                client.transport = reading
                self._transports.append(reading)

    # -- how

    def _reranker(self, name: str) -> Reranker | None:
        if not name:
            return None
        if name not in self.rerankers:
            raise ConfigError(f"no reranker '{name}' was given to this page; there are: {', '.join(self.rerankers)}")
        return self.rerankers[name]

    def _read(self, scope: Mapping[str, str], ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return id -> payload of those memories that are in a scope."""
        store = self._searcher.store
        spec = store.spec()
        if spec is None or not ids:
            return {}
        clauses = [*store.clauses_of(scope), {"terms": {"id": list(ids)}}]
        body = {"size": len(ids), "query": {"bool": {"filter": clauses}}, "_source": SIGNALS}
        (hits,) = store.find_words(spec, lambda _: [body])
        return {row_id: hit["_source"].get("payload") or {} for row_id, hit in hits}

    def _mark(self, look: Look, text: str, missing: list[str]) -> Marked:
        store = self._searcher.store
        spec = store.spec()
        plain = Marked([Piece(text, None)] if text else [], {})
        if spec is None or not text:
            return plain
        dictionary = WantedIndex.of(store.config).dictionary
        marker = Marker(store, word_field(spec.profile, dictionary), dictionary)
        try:
            if look.question_tokens is None:
                look.question_tokens = marker.question(look.asked.question)
            return marker.mark(text, look.question_tokens)
        except BackendError as error:  # such as a server that analyses no texts: all else is known
            missing.append(str(error))
            return plain
