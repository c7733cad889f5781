"""Look up which names of a question are known, and say how closely candidates are linked to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import encode_lines, path_of
from mem_opensearch.client.failures import from_status
from mem_opensearch.entities import closeness, factor, possible_names
from mem_opensearch.models import hit_from
from mem_opensearch.store.entity_rows import Entity, entity_from, scope_clauses
from mem_opensearch.text import fold_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.models import Clause
    from mem_opensearch.search.question import Asked, Span
    from mem_opensearch.store import EntityStore, OpenSearchVectorStore

MOST_ROWS = 500
"""Entities of one question: those that it names, and those that stand beside them in memories."""

MOST_LINKED = 200
"""Linked memories that one request asks for by their ids; a name that more memories hold tells little."""


@dataclass(frozen=True, slots=True)
class Names:
    """What is known of the names of a question.

    Attributes:
        asked: the names that it asks about; empty where none is known.
        rest: what it asks of them.
        rows: the entities with such a name or alias.
        links: memory id -> closeness in (0, 1], see `entities.closeness`.
    """

    asked: tuple[str, ...]
    rest: str
    rows: tuple[Entity, ...] = ()
    links: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def none(cls, question: str) -> Names:
        """Return that nothing is known."""
        return cls((), question)

    @classmethod
    def of(cls, question: str, rows: Sequence[Entity]) -> Names:
        """Part a question by the entities that were found for it."""
        said = set(possible_names(question))
        known = {fold_name(name) for row in rows for name in (row.name, *row.aliases)} & said
        if not known:
            return cls.none(question)
        parted = factor(question, known)
        asked = {fold_name(name) for name in parted.names}
        meant = tuple(row for row in rows if asked & {fold_name(name) for name in (row.name, *row.aliases)})
        return cls(parted.names, parted.rest, meant, closeness(parted.names, rows)) if meant else cls.none(question)

    @property
    def linked(self) -> list[str]:
        """Ids of the memories that are linked to them, the closest first, at most `MOST_LINKED`."""
        return sorted(self.links, key=lambda memory_id: -self.links[memory_id])[:MOST_LINKED]

    def linking(self, memory_id: str) -> list[str]:
        """Return the names by which a memory is linked itself."""
        return list(dict.fromkeys(row.name for row in self.rows if memory_id in row.memory_ids))


def look_up(
    store: OpenSearchVectorStore,
    entities: EntityStore,
    asked: Asked,
    *,
    scope: Mapping[str, str],
    filters: Sequence[Clause],
) -> tuple[list[Entity], Span | None]:
    """Return the entities that a question may name, and when the memories begin and end; one request, or none.

    Args:
        store: the memories.
        entities: the collection beside it.
        asked: the question.
        scope: whose entities; where it is empty, none is looked up.
        filters: which memories.

    Raises:
        BackendError: the server failed.
    """
    by_name = bool(scope and asked.possible_names and store.client.dialect.has_scripts)
    lines: list[dict[str, Any]] = []
    if by_name:
        entities.show_writes()
        lines += [
            {"index": entities.collection_name, "ignore_unavailable": True},
            _named(asked.possible_names, scope),
        ]
    if asked.needs_span:
        store.show_writes()
        ends = {name: {name: {"field": "created_at"}} for name in ("min", "max")}
        lines += [
            {"index": store.collection_name},
            {"size": 0, "query": {"bool": {"filter": list(filters)}}, "aggs": ends},
        ]
    if not lines:
        return [], None
    answers = store.client.request("POST", path_of("_msearch"), body=encode_lines(lines))["responses"]
    for answer in answers:
        if "error" in answer:
            raise from_status(answer["status"], {"error": answer["error"]}, action="looking up names and times")
    rows = answers[0]["hits"]["hits"] if by_name else []
    span = _span(answers[-1]) if asked.needs_span else None
    return [entity_from(hit_from(hit["_source"], hit["_id"], None)) for hit in rows], span


def _named(names: Sequence[str], scope: Mapping[str, str]) -> dict[str, Any]:
    # First those that have such a name; then those that stand beside one in a memory.
    either = [_constant("name_folded", names, 2.0), _constant("aliases", names, 2.0), _constant("beside", names, 1.0)]
    return {
        "size": MOST_ROWS,
        "query": {"bool": {"filter": scope_clauses(scope), "should": either, "minimum_should_match": 1}},
        "_source": ["payload"],
        "track_total_hits": False,
    }


def _constant(field: str, names: Sequence[str], boost: float) -> Clause:
    return {"constant_score": {"filter": {"terms": {field: list(names)}}, "boost": boost}}


def _span(answer: Mapping[str, Any]) -> Span | None:
    ends = [answer["aggregations"][name].get("value") for name in ("min", "max")]
    if None in ends:
        return None
    first, last = (datetime.fromtimestamp(milliseconds / 1000, tz=UTC) for milliseconds in ends)
    return first, last
