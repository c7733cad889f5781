"""The filter language of mem0: what a filter means, as query clauses; see docs/filters.md."""

from mem_opensearch.filters.clauses import count_leaves
from mem_opensearch.filters.language import MAX_DEPTH, MAX_LEAVES, MAX_LISTED, compile_filter
from mem_opensearch.filters.values import MAX_NEEDLE, MAX_STRING, as_instant, fact_of

__all__ = [
    "MAX_DEPTH",
    "MAX_LEAVES",
    "MAX_LISTED",
    "MAX_NEEDLE",
    "MAX_STRING",
    "as_instant",
    "compile_filter",
    "count_leaves",
    "fact_of",
]
