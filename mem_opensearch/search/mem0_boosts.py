"""Look up the entities of a question as mem0 does: by the meaning of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mem_opensearch.entities import extract
from mem_opensearch.fusion.mem0 import EntityMatch, entities_to_look_up, entity_boosts
from mem_opensearch.store.documents import LINKS_KEY
from mem_opensearch.text import fold

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.embed import Embedder
    from mem_opensearch.models import Hit
    from mem_opensearch.store import EntityStore

ROWS = 500  # of one name, as mem0 asks for


def boosts_for_question(
    question: str, entities: EntityStore, embedder: Embedder | None, scope: Mapping[str, str]
) -> dict[str, float]:
    """Return memory id -> boost in [0, 0.5]; none without a scope, an embedder or a name in the question.

    All names are looked up in one request. Names are found by this package's extraction, which reads Chinese.
    """
    names = entities_to_look_up(mention.name for mention in extract(question))
    if not names or not scope or embedder is None or entities.spec() is None:
        return {}
    found = entities.search_batch(
        names, list(embedder.embed_queries([fold(name) for name in names])), top_k=ROWS, filters=scope
    )
    return entity_boosts(_match(hit) for hits in found for hit in hits)


def _match(hit: Hit) -> EntityMatch:
    return EntityMatch(similarity=hit.score or 0.0, memory_ids=tuple(hit.payload.get(LINKS_KEY) or ()))
