"""Keep which memories name which entities, for many writers at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from mem_opensearch import queries as bodies
from mem_opensearch.entities import possible_names
from mem_opensearch.errors import InvalidInputError, MemoryNotFoundError, ScopeError
from mem_opensearch.models import hit_from
from mem_opensearch.store import documents, naming
from mem_opensearch.store import entity_rows as rows
from mem_opensearch.store.entity_collection import EntityCollection
from mem_opensearch.store.entity_rows import Entity, Link, Scope, entity_from, entity_id
from mem_opensearch.store.links import ENTITIES_SUFFIX
from mem_opensearch.text import fold, fold_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mem_opensearch.config import StoreConfig
    from mem_opensearch.store.naming import NamedRow, OtherNames
    from mem_opensearch.store.vector_store import OpenSearchVectorStore

_Vectors = Any  # a list of vectors, or a matrix


class EntityStore(EntityCollection):
    """The entity collection: a row for each scope, type and name, with the ids of the memories that name it.

    A name is folded before it is compared: 臺北 is 台北, ＭＥＭ is mem. Links are added and removed by a script on the
    server, so that writers need not know of each other, and a row that has no link left goes. Nothing reads a row in
    order to write it.

    A scope is one or more of `user_id`, `agent_id` and `run_id`. A write is for the row of exactly that scope. A read
    finds the rows of that scope and of narrower ones within it, as a filter on memories does.

    Args:
        config: checked options; or give them as keywords, see `StoreConfig`.
        embed: makes vectors of names, such as ``UniversalSentenceEncoder().embed_documents``; without it, a row has
            the vector that a link brings, or none, and is then not found by `find_similar`.
        options: options of `StoreConfig`; the collection's name ends in ``_entities``.

    Raises:
        ConfigError: an option is wrong, or the collection holds memories.
    """

    def __init__(
        self,
        config: StoreConfig | None = None,
        *,
        embed: Callable[[Sequence[str]], _Vectors] | None = None,
        **options: Any,  # noqa: ANN401 - checked by pydantic
    ) -> None:
        super().__init__(config, **options)
        self._embed = embed

    @classmethod
    def beside(
        cls, memories: OpenSearchVectorStore, *, embed: Callable[[Sequence[str]], _Vectors] | None = None
    ) -> Self:
        """Return the entity collection that belongs to a collection of memories, with the same options."""
        name = f"{memories.collection_name}{ENTITIES_SUFFIX}"
        return cls(memories.config.model_copy(update={"collection_name": name, "kind": "entities"}), embed=embed)

    # -- links

    def link(
        self,
        entity: str,
        memory_id: str,
        scope: Scope,
        *,
        entity_type: str = "",
        vector: Any = None,  # noqa: ANN401 - list or array
    ) -> str:
        """Note that a memory names an entity; once more changes nothing.

        Args:
            entity: the entity's name. An alias is not looked up: it would be an entity of its own, see `find`.
            memory_id: the memory's id.
            scope: whose memory and entity are; the caller knows that the memory is theirs.
            entity_type: what it is; the same name of another type is another entity.
            vector: the vector of the name, where there is no `embed`.

        Returns:
            The id of the entity's row.

        Raises:
            ScopeError, InvalidInputError, VectorError: an argument is wrong; nothing was sent.
            BackendError: it was not stored.
        """
        return self.link_many([Link(entity, memory_id, scope, entity_type, vector)])[0]

    def link_many(self, links: Iterable[Link]) -> list[str]:
        """Note many links in few requests; see `link`.

        Returns:
            The id of each link's row, in the order given.

        Raises:
            PartialWriteError: names the ids of the rows whose links are stored, and of those whose are not.
        """
        given = list(links)
        vectors = self._vectors_of(given)
        built = [
            self._build(link.payload(), vectors.get(link.entity) if link.vector is None else link.vector)
            | ({"beside": [fold_name(name) for name in link.beside][-rows.MOST_BESIDE :]} if link.beside else {})
            for link in given
        ]
        ids = [row["id"] for row in built]
        self._write_links(built)
        return ids

    def unlink(self, entity: str, memory_id: str, scope: Scope, *, entity_type: str = "") -> None:
        """Forget that a memory names an entity; what is not linked is no error. A row without links goes."""
        documents.check_id(memory_id)
        self._change(entity_id(entity, scope, entity_type), rows.links_change(remove=[memory_id]))

    # -- reads

    def read(self, entity: str, scope: Scope, *, entity_type: str = "") -> Entity | None:
        """Return one entity of exactly this scope and type, or None; a write is seen at once."""
        hit = self.get(entity_id(entity, scope, entity_type))
        return None if hit is None else entity_from(hit)

    def find(self, name: str, scope: Scope, *, entity_type: str | None = None) -> list[Entity]:
        """Return the entities that have a name, as their own or as an alias, in any spelling that folds to it.

        Args:
            name: the name.
            scope: whose.
            entity_type: only of this type; of any when not given.

        Returns:
            At most 10,000, in no meaningful order that is yet the same each time.
        """
        clause = naming.named([rows.check_name(name)])
        return self._list([*rows.scope_clauses(scope, entity_type=entity_type), clause])

    def find_named(self, text: str, scope: Scope) -> list[Entity]:
        """Return, by one request, the entities whose name or alias a text may say; see `entities.possible_names`.

        For a question: `entities.factor` and `entities.closeness` take what is found.

        Returns:
            At most 10,000, in no meaningful order; none where the text has nothing that could be a name, and where
            there is no entity collection.

        Raises:
            InvalidInputError, ScopeError: this is no text, or no scope; nothing was sent.
        """
        clauses = rows.scope_clauses(scope)
        names = possible_names(text, most=naming.MOST_NAMES)
        return self._list([*clauses, naming.named(names)]) if names else []

    def find_names(self, asked: Iterable[tuple[Scope, Iterable[str]]]) -> list[NamedRow]:
        """Return the rows that have one of many names, without their links: one request for some 200,000 names.

        Args:
            asked: whose names, see `naming.owner_of`, and which, folded.

        Returns:
            The rows of all who were asked for, each once if nobody is asked for twice.
        """
        found = []
        for searches in naming.requests(asked):
            found += [hit["_source"] for hits in self._search_all(searches) for hit in hits]
        return [naming.NamedRow.from_source(source) for source in found]

    def find_by_memory(self, memory_id: str, scope: Scope) -> list[Entity]:
        """Return the entities that a memory names; see `find`."""
        documents.check_id(memory_id)
        return self._list([*rows.scope_clauses(scope), {"term": {"memory_ids": memory_id}}])

    def find_similar(
        self,
        vector: Any,  # noqa: ANN401 - list or array
        scope: Scope,
        *,
        top_k: int = 10,
        entity_type: str | None = None,
    ) -> list[Entity]:
        """Return the entities whose names are nearest in meaning, best first, with the cosine as score."""
        filters = dict(rows.check_scope(scope))
        if entity_type is not None:
            filters[rows.TYPE_KEY] = rows.check_type(entity_type)
        return [entity_from(hit) for hit in self.search("", vector, top_k=top_k, filters=filters)]

    # -- names

    def aliases(self, entity: str, scope: Scope, *, entity_type: str = "") -> tuple[str, ...]:
        """Return an entity's other names, as they were written, oldest first; none for one that is not stored."""
        found = self.read(entity, scope, entity_type=entity_type)
        return () if found is None else found.aliases

    def add_aliases(self, entity: str, names: Sequence[str], scope: Scope, *, entity_type: str = "") -> None:
        """Give an entity other names; one that it has in another spelling changes nothing.

        Raises:
            MemoryNotFoundError: there is no such entity.
        """
        self._change_aliases(entity_id(entity, scope, entity_type), rows.aliases_change(add=_several(names)))

    def add_aliases_many(self, aliases: Iterable[OtherNames]) -> None:
        """Give many entities other names in few requests; see `add_aliases`.

        An entity that is not stored, since its last memory was deleted a moment ago, gets none.

        Raises:
            ScopeError, InvalidInputError: an argument is wrong; nothing was sent.
            PartialWriteError: names the ids of the rows that were written, and of those that were not.
        """
        names: dict[str, list[str]] = {}
        for each in aliases:
            names.setdefault(each.id, []).extend(_several(each.names))
        self._change_many([rows.aliases_line(row_id, given) for row_id, given in names.items()])

    def remove_aliases(self, entity: str, names: Sequence[str], scope: Scope, *, entity_type: str = "") -> None:
        """Take names from an entity, in any spelling; one that it has not is no error.

        Raises:
            MemoryNotFoundError: there is no such entity.
        """
        self._change_aliases(entity_id(entity, scope, entity_type), rows.aliases_change(remove=_several(names)))

    def merge(self, into: Entity, other: Entity) -> Entity:
        """Make one entity of two: `into` gets the links and aliases of `other`, and its name as an alias.

        `other` goes last, and only as it was copied: whatever is interrupted, or linked to it meanwhile, is whole after
        the same call again. Both are looked up by scope, type and name; an `into` that is not stored is made, and an
        `other` that is not stored changes nothing.

        Returns:
            `into` as it is now.

        Raises:
            ScopeError: they are not of the same scope.
            InvalidInputError: they are the same entity.
            MemoryNotFoundError: neither is stored.
        """
        if rows.check_scope(into.scope) != rows.check_scope(other.scope):
            raise ScopeError("entities of two scopes can't be merged: the memories of one are not the other's to see")
        if into.id == other.id:
            raise InvalidInputError(f"entity '{into.id}' can't be merged with itself")
        while (found := self._read_versioned(other.id)) is not None:
            copied, version = found
            names = [copied.name, *copied.aliases]
            self.link_many([Link(into.name, memory_id, into.scope, into.type) for memory_id in copied.memory_ids])
            self._change_aliases(into.id, rows.aliases_change(add=names))
            if self._delete_version(other.id, version):
                break
        merged = self.read(into.name, into.scope, entity_type=into.type)
        if merged is None:
            raise MemoryNotFoundError(f"entities '{into.id}' and '{other.id}' are not in '{self.collection_name}'")
        return merged

    # -- how

    def _vectors_of(self, links: Sequence[Link]) -> dict[str, Any]:
        """Return name -> vector for the links that bring none."""
        names = list(dict.fromkeys(link.entity for link in links if link.vector is None))
        if self._embed is None or not names:
            return {}
        for name in names:
            rows.check_name(name)
        return dict(zip(names, self._embed([fold(name) for name in names]), strict=True))

    def _change_aliases(self, row_id: str, script: Mapping[str, Any]) -> None:
        if not self._change(row_id, script):
            raise MemoryNotFoundError(f"entity '{row_id}' is not stored in '{self.collection_name}'; link it first")

    def _list(self, clauses: Sequence[Any]) -> list[Entity]:
        (hits,) = self._search_all([bodies.listing(size=naming.MOST_ROWS, filters=clauses)])
        return [entity_from(hit_from(hit["_source"], hit["_id"], None)) for hit in hits]


def _several(names: object) -> Sequence[str]:
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise InvalidInputError(f"aliases are a list of names, not {type(names).__name__}")
    return list(names)
