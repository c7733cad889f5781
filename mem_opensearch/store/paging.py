"""Read any number of rows in a stable order, from one point in time."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mem_opensearch import queries
from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import BackendError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mem_opensearch.client import SearchClient
    from mem_opensearch.models import Clause

PAGE = 1000  # rows; a page of payloads stays well below the server's response buffer
KEEP_ALIVE = "5m"  # between two pages, not for the whole scan


def scan(client: SearchClient, alias: str, filters: Sequence[Clause]) -> Iterator[dict[str, Any]]:
    """Yield every row that passes `filters`, newest first, as it was when the scan began."""
    for page in pages(client, alias, filters, size=PAGE):
        yield from page


def pages(
    client: SearchClient, alias: str, filters: Sequence[Clause], *, size: int, source: bool = True
) -> Iterator[list[dict[str, Any]]]:
    """Yield the same rows in lists of `size`, none of them empty; without their payloads where `source` is false."""
    view = client.dialect.point_in_time
    opened = client.request("POST", path_of(alias, *view.open_path), params={"keep_alive": KEEP_ALIVE})
    pit = opened[view.id_key]
    after: Sequence[Any] | None = None
    try:
        while True:
            body = queries.listing(size=size, filters=filters, after=after)
            body["pit"] = {"id": pit, "keep_alive": KEEP_ALIVE}
            if not source:
                body["_source"] = False
            answer = client.request("POST", "/_search", params={"allow_partial_search_results": "false"}, body=body)
            pit = answer.get("pit_id", pit)
            hits = answer["hits"]["hits"]
            if hits:
                yield hits
            if len(hits) < size:
                return
            after = hits[-1]["sort"]
    finally:
        free(client, view.close_path, view.close_body(pit))


def free(client: SearchClient, path: str, body: object) -> None:
    """Free what a listing holds on the server. It ends there by itself, so a failure is none of the listing's."""
    with suppress(BackendError):
        client.request("DELETE", path, body=body, accept=(404,))
