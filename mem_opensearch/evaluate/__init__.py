"""Measure retrieval: one number per data set, system and measure, on one node."""

from mem_opensearch.evaluate.datasets import Dataset, Memory, Query, load_dataset, load_datasets
from mem_opensearch.evaluate.report import Outcome, Report, Result
from mem_opensearch.evaluate.runner import Progress, evaluate
from mem_opensearch.evaluate.systems import DEFAULT_SYSTEMS, SYSTEMS, System

__all__ = [
    "DEFAULT_SYSTEMS",
    "SYSTEMS",
    "Dataset",
    "Memory",
    "Outcome",
    "Progress",
    "Query",
    "Report",
    "Result",
    "System",
    "evaluate",
    "load_dataset",
    "load_datasets",
]
