"""The read path: one request, every signal, one ranking that can be explained."""

from mem_opensearch.search.results import Answer, Found, Reason, Why
from mem_opensearch.search.searcher import Searcher
from mem_opensearch.search_options import Mode, SearchOptions

__all__ = ["Answer", "Found", "Mode", "Reason", "SearchOptions", "Searcher", "Why"]
