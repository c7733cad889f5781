"""Follow a fact through time: what a memory replaced, and what replaced it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.search.request import SIGNALS
from mem_opensearch.store.annotations import said_at_of, text_hash
from mem_opensearch.store.documents import TEXT_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from mem_opensearch.models import Clause
    from mem_opensearch.store import OpenSearchVectorStore

MOST: Final = 20
"""Versions that are followed; a fact that changes more often is cut."""
_NEAREST: Final = 100
"""Memories in whose notes a memory is looked for: what it replaced was among its 30 nearest when it was stored."""


@dataclass(frozen=True, slots=True)
class Version:
    """One memory of a chain.

    Attributes:
        id: the memory's id.
        text: what it says.
        said_at: when it was said; None where it has no date.
        replaced_by: ids of those that replaced it; empty for what still holds.
        is_asked: whether it is the one that was asked about.
    """

    id: str
    text: str
    said_at: datetime | None
    replaced_by: Sequence[str]
    is_asked: bool


def versions_of(store: OpenSearchVectorStore, clauses: Sequence[Clause], memory_id: str) -> list[Version]:
    """Return the chain that a memory belongs to, oldest first; the memory alone where it replaces nothing.

    A link holds while the newer memory is stored and still says the same.

    Args:
        store: the memories.
        clauses: whose; nothing outside of them is read.
        memory_id: the memory.

    Returns:
        At most `MOST`; empty where the memory is not stored, or is not theirs.

    Raises:
        BackendError: the server failed.
    """
    rows: dict[str, Mapping[str, Any]] = {}
    wanted = [memory_id]
    while wanted and len(rows) < MOST:
        found = _read(store, clauses, wanted)
        rows |= found
        wanted = []
        for row_id, row in found.items():
            wanted += [link["id"] for link in row.get("superseded_by") or ()]
            wanted += _replaced_by(store, clauses, row_id, row)
        wanted = [each for each in dict.fromkeys(wanted) if each not in rows][: MOST - len(rows)]
    chain = [
        Version(
            id=row_id,
            text=_text(row),
            said_at=said_at_of(row),
            replaced_by=[link["id"] for link in row.get("superseded_by") or () if _holds(link, rows)],
            is_asked=row_id == memory_id,
        )
        for row_id, row in rows.items()
    ]
    linked = {each for version in chain for each in (version.id, *version.replaced_by) if version.replaced_by}
    kept = [version for version in chain if version.is_asked or version.id in linked]
    return sorted(kept, key=lambda one: (one.said_at is None, one.said_at and one.said_at.timestamp(), one.id))


def _read(store: OpenSearchVectorStore, clauses: Sequence[Clause], ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    spec = store.spec()
    if spec is None:
        return {}
    body = {
        "size": len(ids),
        "query": {"bool": {"filter": [*clauses, {"terms": {"id": list(ids)}}]}},
        "_source": [*SIGNALS, "vector"],
    }
    (hits,) = store.find_words(spec, lambda _: [body])
    return {row_id: hit["_source"] for row_id, hit in hits}


def _replaced_by(
    store: OpenSearchVectorStore, clauses: Sequence[Clause], row_id: str, row: Mapping[str, Any]
) -> list[str]:
    """Return the ids of the memories that a memory replaced: the note stands with the older one."""
    spec, vector = store.spec(), row.get("vector")
    if spec is None or vector is None:
        return []
    nearest = store.client.dialect.knn(vector, k=_NEAREST, filters=clauses)
    body = {"size": _NEAREST, "query": nearest, "_source": ["id", "written_at", "superseded_by"]}
    (hits,) = store.find_words(spec, lambda _: [body])
    return [
        older
        for older, hit in hits
        if any(_names(link, row_id, row) for link in hit["_source"].get("superseded_by") or ())
    ]


def _names(link: Mapping[str, Any], row_id: str, row: Mapping[str, Any]) -> bool:
    return bool(link["id"] == row_id and link["text"] == text_hash(_text(row)))


def _holds(link: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]]) -> bool:
    return link["id"] in rows and _names(link, link["id"], rows[link["id"]])


def _text(row: Mapping[str, Any]) -> str:
    text = (row.get("payload") or {}).get(TEXT_KEY)
    return text if isinstance(text, str) else ""
