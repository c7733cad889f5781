"""Ask a server once which dialect it speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mem_opensearch.dialects import choose_dialect

if TYPE_CHECKING:
    from mem_opensearch.client.base import SearchClient
    from mem_opensearch.dialects import Dialect
    from mem_opensearch.models import Engine


def detect_dialect(client: SearchClient, engine: Engine | None) -> Dialect:
    """Return the dialect of the server behind `client`.

    Args:
        client: the connection.
        engine: what the configuration says; None when it leaves it to the server. One that does not answer ``GET /``,
            as behind a proxy that forbids it, is then taken for OpenSearch.

    Raises:
        ConfigError: the server is another than the configuration says, or none that is known here.
        BackendError: it can't be asked.
    """
    return choose_dialect(client.request("GET", "/", accept=(403, 404)), engine=engine)
