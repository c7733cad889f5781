"""Choose the options of a search by labelled queries, and say what the choice is worth on other users."""

from mem_opensearch.tune.report import GAP_BOUND, MIN_QUERIES, TuneReport
from mem_opensearch.tune.runner import DEFAULT_METRIC, tune

__all__ = ["DEFAULT_METRIC", "GAP_BOUND", "MIN_QUERIES", "TuneReport", "tune"]
