"""What differs between the servers that speak this query language: mappings, clauses, scores and abilities."""

from mem_opensearch.dialects.aoss import ServerlessDialect
from mem_opensearch.dialects.base import Dialect, PointInTime
from mem_opensearch.dialects.choice import SUPPORTED, choose_dialect, version_of
from mem_opensearch.dialects.elasticsearch import ElasticsearchDialect
from mem_opensearch.dialects.opensearch import OpenSearchDialect

__all__ = [
    "SUPPORTED",
    "Dialect",
    "ElasticsearchDialect",
    "OpenSearchDialect",
    "PointInTime",
    "ServerlessDialect",
    "choose_dialect",
    "version_of",
]
