"""Read any number of rows in a stable order, from one point in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem_opensearch import queries
from mem_opensearch.client.encoding import path_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mem_opensearch.client import SearchClient
    from mem_opensearch.models import Clause

PAGE = 1000  # rows; a page of payloads stays well below the server's response buffer
KEEP_ALIVE = "2m"  # between two pages, not for the whole scan


def scan(client: SearchClient, alias: str, filters: Sequence[Clause]) -> Iterator[dict[str, Any]]:
    """Yield every row that passes `filters`, newest first, as it was when the scan began."""
    opened = client.request("POST", path_of(alias, "_search", "point_in_time"), params={"keep_alive": KEEP_ALIVE})
    pit = opened["pit_id"]
    after: Sequence[Any] | None = None
    try:
        while True:
            body = queries.listing(size=PAGE, filters=filters, after=after)
            body["pit"] = {"id": pit, "keep_alive": KEEP_ALIVE}
            hits = client.request("POST", "/_search", body=body)["hits"]["hits"]
            yield from hits
            if len(hits) < PAGE:
                return
            after = hits[-1]["sort"]
    finally:
        client.request("DELETE", "/_search/point_in_time", body={"pit_id": [pit]}, accept=(404,))
