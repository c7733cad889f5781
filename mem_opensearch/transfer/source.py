"""Read an index that mem0's own OpenSearch provider made, and tell which rows can be moved.

Two layouts are known: ``{vector_field, payload, id}`` with a random `_id` (mem0 2.x), and ``{vector_field, text,
metadata}`` (its older `create_index`). The index is only read, so one with the kNN engine `nmslib` is no matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import IndexStateError, InvalidInputError
from mem_opensearch.filters import as_instant
from mem_opensearch.index import META_KEY
from mem_opensearch.store import documents
from mem_opensearch.store.paging import free
from mem_opensearch.store.vectors import check_vector

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mem_opensearch.client import SearchClient
    from mem_opensearch.models import Kind

VECTOR, PAYLOAD, ID = "vector_field", "payload", "id"
OLD_TEXT, OLD_PAYLOAD = "text", "metadata"
KEEP_ALIVE = "10m"  # between two pages, whose rows are written in between
PAGE_NUMBERS, PAGE_MOST = 250_000, 1000  # numbers of all vectors of a page, and rows of one
_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class SourceIndex:
    """An index of mem0's own layout.

    Attributes:
        name: its name.
        dims: length of its vectors.
        sort_field: what to sort by so that rows of one memory stand together; None where `_id` is the memory's id.
        rows: rows in it when it was opened.
    """

    name: str
    dims: int
    sort_field: str | None
    rows: int


@dataclass(slots=True)
class SourceRow:
    """One row of it.

    Attributes:
        place: the server's `_id`, by which a row can be found that has no other.
        id: the memory's id, or '' where there is none.
        payload: the payload as it will be stored.
        vector: the vector as it is.
        fault: why the row can't be moved, or ''.
    """

    place: str
    id: str
    payload: Any
    vector: Any
    fault: str = ""

    @property
    def name(self) -> str:
        """What a report calls it."""
        return self.id or f"_id {self.place}"

    @property
    def changed(self) -> str:
        """When it was changed last, in a form that sorts; '' where it does not say."""
        return changed_at(self.payload)


def changed_at(payload: object) -> str:
    """Return when a payload was changed last as an instant in UTC, or '' where it does not say."""
    if not isinstance(payload, dict):
        return ""
    return as_instant(payload.get("updated_at")) or as_instant(payload.get("created_at")) or ""


def open_source(client: SearchClient, name: str) -> SourceIndex | None:
    """Return what kind of index `name` is, or None when there is none.

    Raises:
        IndexStateError: it is no index of mem0's own layout.
    """
    answer = client.request("GET", path_of(name, "_mapping"), accept=(_NOT_FOUND,))
    if answer.get("status") == _NOT_FOUND:
        return None
    mappings = next(iter(answer.values()))["mappings"]
    fields = mappings.get("properties", {})
    if META_KEY in mappings.get("_meta", {}):
        raise IndexStateError(f"'{name}' is a collection of this package already; there is nothing to migrate")
    if len(answer) != 1 or VECTOR not in fields:
        raise IndexStateError(
            f"'{name}' is not an index of mem0's own OpenSearch provider: it has no field '{VECTOR}' (it has: "
            f"{', '.join(sorted(fields)) or 'none'}). See docs/operations.md for an import from JSON lines"
        )
    client.request("POST", path_of(name, "_refresh"))
    count = client.request("POST", path_of(name, "_count"))["count"]
    return SourceIndex(name, int(fields[VECTOR].get("dimension", 0)), _sort_field(fields), int(count))


def _sort_field(fields: Mapping[str, Any]) -> str | None:
    about = fields.get(ID, {})
    if about.get("type") == "keyword":
        return ID
    # What the server guesses for a string that no mapping names.
    return f"{ID}.keyword" if "keyword" in about.get("fields", {}) else None


def read_groups(client: SearchClient, source: SourceIndex, *, kind: Kind, dims: int) -> Iterator[list[SourceRow]]:
    """Yield the rows of each memory together, as they were when the reading began; rows without an id one by one."""
    group: list[SourceRow] = []
    for row in _scroll(client, source):
        row.fault = _fault_of(row, kind=kind, dims=dims, index=source.name)
        if group and (not row.id or row.id != group[0].id):
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _scroll(client: SearchClient, source: SourceIndex) -> Iterator[SourceRow]:
    # Not a point in time with search_after: of rows with equal sort values, it could skip some at the end of a page.
    sort: list[Any] = ["_doc"] if source.sort_field is None else [{source.sort_field: "asc"}]
    size = max(1, min(PAGE_MOST, PAGE_NUMBERS // max(1, source.dims)))
    answer = client.request(
        "POST", path_of(source.name, "_search"), params={"scroll": KEEP_ALIVE}, body={"size": size, "sort": sort}
    )
    scroll = answer["_scroll_id"]
    try:
        while hits := answer["hits"]["hits"]:
            for hit in hits:
                yield _row_of(hit)
            answer = client.request("POST", "/_search/scroll", body={"scroll": KEEP_ALIVE, "scroll_id": scroll})
            scroll = answer["_scroll_id"]
    finally:
        free(client, "/_search/scroll", {"scroll_id": [scroll]})


def _row_of(hit: Mapping[str, Any]) -> SourceRow:
    fields = hit.get("_source") or {}
    if PAYLOAD in fields or OLD_PAYLOAD not in fields:
        return SourceRow(hit["_id"], fields.get(ID) or "", fields.get(PAYLOAD), fields.get(VECTOR))
    payload = fields[OLD_PAYLOAD]
    if isinstance(payload, dict) and OLD_TEXT in fields:
        payload = {documents.TEXT_KEY: fields[OLD_TEXT], **payload}
    return SourceRow(hit["_id"], fields.get(ID) or hit["_id"], payload, fields.get(VECTOR))


def _fault_of(row: SourceRow, *, kind: Kind, dims: int, index: str) -> str:
    if not row.id:
        return "has no memory id"
    try:
        documents.check_id(row.id)
        check_vector(row.vector, dims=dims, index=index, owner=f"'{row.id}'")
        documents.build_row(row.payload, kind=kind, row_id=row.id)
    except InvalidInputError as error:
        return str(error)
    return ""
