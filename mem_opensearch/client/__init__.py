"""The one place that talks to a server: connections, retries, errors."""

from mem_opensearch.client.opensearch import SearchClient, open_client

__all__ = ["SearchClient", "open_client"]
