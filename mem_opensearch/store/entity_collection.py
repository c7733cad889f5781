"""Write the rows of an entity collection by scripts, so that no writer undoes another's work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import ConfigError, InvalidInputError, MemoryNotFoundError
from mem_opensearch.models import Hit, hit_from
from mem_opensearch.store import bulk, documents
from mem_opensearch.store import entity_rows as rows
from mem_opensearch.store.entity_rows import Entity, entity_from
from mem_opensearch.store.links import ENTITIES_SUFFIX, unlink_memories
from mem_opensearch.store.vector_store import OpenSearchVectorStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mem_opensearch.config import StoreConfig

_NOT_FOUND = 404
_CONFLICT = 409


class EntityCollection(OpenSearchVectorStore):
    """An entity collection with the methods of a vector store; `EntityStore` is what to use.

    `insert` adds links to the rows that are stored, and `update` changes nothing but links and vector. The other
    methods are those of every store.

    Raises:
        ConfigError: an option is wrong, or the collection holds memories.
    """

    def __init__(self, config: StoreConfig | None = None, **options: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(config, **options)
        if self.config.collection_kind != "entities":
            raise ConfigError(
                f"'{self.collection_name}' holds memories; the collection of their entities is "
                f"'{self.collection_name}{ENTITIES_SUFFIX}' (see EntityStore.beside)"
            )

    def insert(
        self,
        vectors: Sequence[Any],
        payloads: Sequence[Mapping[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> list[Hit]:
        """Store entities given as payloads, as mem0 does; links are added to those that are stored.

        Args:
            vectors: one per row; None for a row without.
            payloads: ``data`` (the name), ``entity_type``, ``linked_memory_ids`` and the scope's keys.
            ids: not used: a row's id follows from its scope, type and name.

        Returns:
            One hit per row, in the order given, with the row's id.
        """
        if payloads is None or len(payloads) != len(vectors):
            raise InvalidInputError(f"{len(vectors)} vectors were given; an entity needs a payload with each")
        documents.as_ids(ids, len(vectors))
        built = [self._build(payload, vector) for payload, vector in zip(payloads, vectors, strict=True)]
        hits = [Hit(id=row["id"], payload=dict(payload)) for row, payload in zip(built, payloads, strict=True)]
        self._write_links(built)
        return hits

    def update(
        self,
        vector_id: str,
        vector: Any = None,  # noqa: ANN401 - list or array
        payload: Mapping[str, Any] | None = None,
    ) -> None:
        """Give a row exactly the links of a payload, or another vector; its name, type and scope stay.

        Raises:
            MemoryNotFoundError: no row has this id; nothing was written.
        """
        documents.check_id(vector_id)
        if vector is not None:
            vector = self._check_vector(vector, owner=f"entity '{vector_id}'")
        if payload is None:
            super().update(vector_id, vector)
            return
        links = rows.check_ids(payload.get(rows.LINKS_KEY) or [])
        if not self._change(vector_id, rows.links_change(add=links, only=True, vector=vector)):
            raise MemoryNotFoundError(f"entity '{vector_id}' is not stored in '{self.collection_name}'")

    def unlink_memories(self, ids: Iterable[str]) -> None:
        """Forget memories altogether, in every scope; see `links.unlink_memories`."""
        unlink_memories(self.client, self.collection_name, rows.check_ids(ids))

    @property
    def keeps_links(self) -> bool:
        """Whether the server has what links need: scripts, updates by query, and ids."""
        dialect = self.client.dialect
        return dialect.has_scripts and dialect.has_update_by_query and dialect.takes_ids

    # -- how

    def _build(self, payload: Mapping[str, Any], vector: Any) -> dict[str, Any]:  # noqa: ANN401 - list, array or None
        row = rows.build_entity_row(payload)
        if vector is not None:
            row["vector"] = self._check_vector(vector, owner=f"entity '{row['id']}'")
        return row

    def _write_links(self, built: Sequence[dict[str, Any]]) -> None:
        gathered = rows.gather(built)
        if not gathered:
            return
        self._refuse_a_server_without_scripts()
        spec, landed = self._ensure(), set[str]()
        words = self._words_of(spec)
        lines = (rows.link_line(row | words.row(row["text"])) for row in gathered.values())
        with self._watching(), self._visibility.writing() as refresh:
            try:
                self._write_lines(lines, refresh=refresh, landed=landed)
            finally:
                texts = {row_id: row["text"] for row_id, row in gathered.items()}
                self._write_words_again(spec, landed, texts, refresh=refresh)

    def _change_many(self, lines: Sequence[bulk.Line]) -> None:
        """Run a script on each of many rows."""
        if not lines or not self._is_there():
            return
        self._refuse_a_server_without_scripts()
        with self._watching(), self._visibility.writing() as refresh:
            self._write_lines(lines, refresh=refresh, landed=set())

    def _write_lines(self, lines: Iterable[bulk.Line], *, refresh: str, landed: set[str]) -> None:
        groups = bulk.chunks(lines, max_bytes=self.config.bulk_max_bytes, max_items=self.config.bulk_max_items)
        bulk.write_bulk(self.client, self.collection_name, groups, refresh=refresh, landed=landed)

    def _change(self, row_id: str, script: Mapping[str, Any]) -> bool:
        """Run a script on a row; return whether there is one."""
        if not self._is_there():
            return False
        self._refuse_a_server_without_scripts()
        with self._watching(), self._visibility.writing() as refresh:
            answer = self.client.request(
                "POST",
                path_of(self.collection_name, "_update", row_id),
                params={"refresh": refresh, "retry_on_conflict": rows.RETRY_ON_CONFLICT, "require_alias": "true"},
                body={"script": script},
                accept=(_NOT_FOUND,),
            )
        return answer.get("status") != _NOT_FOUND

    def _refuse_a_server_without_scripts(self) -> None:
        if not self.keeps_links:
            raise ConfigError(
                f"'{self.collection_name}': {self.client.dialect.title} has no scripts or takes no ids, without which "
                "links would be lost; entities need a full cluster"
            )

    def _read_versioned(self, row_id: str) -> tuple[Entity, dict[str, int]] | None:
        if not self._is_there():
            return None
        path = path_of(self.collection_name, "_doc", row_id)
        answer = self.client.request("GET", path, params={"_source_includes": "payload"}, accept=(_NOT_FOUND,))
        if not answer.get("found"):
            return None
        version = {"if_seq_no": answer["_seq_no"], "if_primary_term": answer["_primary_term"]}
        return entity_from(hit_from(answer["_source"], row_id, None)), version

    def _delete_version(self, row_id: str, version: Mapping[str, int]) -> bool:
        """Delete a row if nobody has changed it; return whether it is gone."""
        with self._watching(), self._visibility.writing() as refresh:
            answer = self.client.request(
                "DELETE",
                path_of(self.collection_name, "_doc", row_id),
                params={"refresh": refresh, **version},
                accept=(_NOT_FOUND, _CONFLICT),
            )
        return answer.get("status") != _CONFLICT
