"""The one place that talks to a server: connections, retries, errors."""

from mem_opensearch.client.base import SearchClient
from mem_opensearch.client.opensearch import open_client

__all__ = ["SearchClient", "open_client"]
