"""Write a collection to a file of JSON lines, as it is at one point in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import encode_lines, path_of
from mem_opensearch.errors import IndexStateError
from mem_opensearch.index import read_spec
from mem_opensearch.store.paging import free
from mem_opensearch.transfer.lines import open_to_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mem_opensearch.client import SearchClient
    from mem_opensearch.store import OpenSearchVectorStore

KEEP_ALIVE = "5m"  # between two pages, not for the whole export
PAGE_NUMBERS, PAGE_MOST = 250_000, 1000
"""Numbers of all vectors of a page, and rows of a page: some megabytes of JSON, whatever the dimension."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was exported.

    Attributes:
        collection: the collection.
        file: where it went, ``-`` for standard output.
        rows: how many rows.
        dims: length of their vectors.
    """

    collection: str
    file: str
    rows: int
    dims: int


def export_collection(
    store: OpenSearchVectorStore, file: str, *, progress: Callable[[str, int, int], None] | None = None
) -> ExportReport:
    """Write all rows of the store's collection to `file`, one ``{"id", "payload", "vector"}`` a line, by id.

    What is written to the collection meanwhile is not in it, so it is the state of one moment; on a server without
    points in time, each row is as it was when its page was read. Memory use does not grow with the number of rows.

    Args:
        store: names the server and the collection; its dimension does not matter.
        file: ``.gz`` is compressed, ``-`` is standard output. The file appears when it is whole.
        progress: told the stage, and how many of how many rows are written.

    Raises:
        IndexStateError: there is no such collection.
        ConfigError: the file can't be written.
    """
    client, name = store.client, store.collection_name
    found = read_spec(client, name)
    if found is None:
        raise IndexStateError(f"there is no collection '{name}' to export; list those that are with store.list_cols()")
    dims = found[0].dims
    total = _show(store, dims)
    written = 0
    with open_to_write(file) as out:
        for page in _pages(client, name, dims):
            out.write(encode_lines(page))
            written += len(page)
            if progress is not None:
                progress("exporting", written, total)
    return ExportReport(collection=name, file=file, rows=written, dims=dims)


def export_rows(store: OpenSearchVectorStore) -> Iterator[dict[str, Any]]:
    """Yield every row as ``{"id", "payload", "vector"}``, by id, as all were when the first one was asked for.

    Raises:
        IndexStateError: there is no such collection.
    """
    found = read_spec(store.client, store.collection_name)
    if found is None:
        raise IndexStateError(f"there is no collection '{store.collection_name}' to export")
    _show(store, found[0].dims)
    for page in _pages(store.client, store.collection_name, found[0].dims):
        yield from page


def _show(store: OpenSearchVectorStore, dims: int) -> int:
    """See that searches show what was written, as far as the server lets us; return how many rows they show."""
    client, name = store.client, store.collection_name
    if client.dialect.has_refresh:
        client.request("POST", path_of(name, "_refresh"))
    elif dims == store.embedding_model_dims:
        return store.count()  # after a wait for what this process wrote
    return int(client.request("POST", path_of(name, "_count"))["count"])


def _pages(client: SearchClient, name: str, dims: int) -> Iterator[list[dict[str, Any]]]:
    read = _frozen_pages if client.dialect.has_point_in_time else _pages_of_newest
    return read(client, name, dims)


def _pages_of_newest(client: SearchClient, name: str, dims: int) -> Iterator[list[dict[str, Any]]]:
    """Yield pages where a row may be several documents, of which the newest counts, see `store.recent.Version`."""
    size = max(2, min(PAGE_MOST, PAGE_NUMBERS // dims))
    body: dict[str, Any] = {
        "size": size,
        "sort": [{"id": "asc"}],
        "_source": ["id", "payload", "vector", "written_at"],
        "track_total_hits": False,
    }
    while True:
        hits = client.request("POST", path_of(name, "_search"), body=body)["hits"]["hits"]
        is_last = len(hits) < size
        # The last row of a full page may have more documents on the next, and is left for that.
        whole = hits if is_last else [hit for hit in hits if hit["sort"] != hits[-1]["sort"]] or hits
        newest = {hit["_source"]["id"]: hit for hit in sorted(whole, key=_age)}
        if newest:
            yield [_line_of(row_id, newest[row_id]) for row_id in sorted(newest)]
        if is_last:
            return
        body["search_after"] = whole[-1]["sort"]


def _age(hit: dict[str, Any]) -> tuple[int, str]:
    return hit["_source"].get("written_at", 0), hit["_id"]


def _line_of(row_id: str, hit: dict[str, Any]) -> dict[str, Any]:
    return {"id": row_id, "payload": hit["_source"].get("payload") or {}, "vector": hit["_source"]["vector"]}


def _frozen_pages(client: SearchClient, name: str, dims: int) -> Iterator[list[dict[str, Any]]]:
    view = client.dialect.point_in_time
    opened = client.request("POST", path_of(name, *view.open_path), params={"keep_alive": KEEP_ALIVE})
    pit = opened[view.id_key]
    size = max(1, min(PAGE_MOST, PAGE_NUMBERS // dims))
    body: dict[str, Any] = {
        "size": size,
        "pit": {"id": pit, "keep_alive": KEEP_ALIVE},
        "sort": [{"id": "asc"}],
        "_source": ["payload", "vector"],
        "track_total_hits": False,
    }
    try:
        while True:
            answer = client.request("POST", "/_search", body=body)
            body["pit"]["id"] = pit = answer.get("pit_id", pit)
            hits = answer["hits"]["hits"]
            if hits:
                yield [_line_of(hit["_id"], hit) for hit in hits]
            if len(hits) < size:
                return
            body["search_after"] = hits[-1]["sort"]
    finally:
        free(client, view.close_path, view.close_body(pit))
