"""Ask a server once which dialect it speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import path_of
from mem_opensearch.dialects import choose_dialect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.client.base import SearchClient
    from mem_opensearch.dialects import Dialect
    from mem_opensearch.models import Engine

_SERVERLESS = ".aoss."
"""In the host name of every collection of Amazon OpenSearch Serverless: ``ID.REGION.aoss.amazonaws.com`` and
``ID.aoss.REGION.on.aws``."""
_NOT_FOUND = 404


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
    about = client.request("GET", "/", accept=(403, 404), any_body=True)
    if engine is None and (any(_SERVERLESS in host for host in client.hosts) or _has_no_cluster(client, about)):
        engine = "aoss"
    return choose_dialect(about, engine=engine)


def _has_no_cluster(client: SearchClient, about: Mapping[str, Any]) -> bool:
    """Whether the server has no such operation as to tell of itself, or of its health: it answers 404 and no word.

    One of the two may also be hidden by a proxy in front of a full cluster.
    """
    if not _is_empty(about):
        return False
    health = client.request("GET", path_of("_cluster", "health"), accept=(401, 403, 404, 408, 503), any_body=True)
    return _is_empty(health)


def _is_empty(answer: Mapping[str, Any]) -> bool:
    return answer.get("status") == _NOT_FOUND and not answer.get("error")
