"""The examples in docstrings of the pure modules say what the code does."""

import doctest
import importlib

import pytest

MODULES = [
    "cli.evaluate",
    "client.encoding",
    "dialects.base",
    "dialects.choice",
    "dialects.elasticsearch",
    "dialects.opensearch",
    "context",
    "entities.closeness",
    "entities.extraction",
    "entities.mentions",
    "entities.question",
    "entities.words",
    "filters",
    "fusion.calibration",
    "fusion.explain",
    "fusion.mem0",
    "fusion.normalisers",
    "index.names",
    "profiles",
    "queries",
    "evaluate.charts",
    "evaluate.markdown",
    "evaluate.metrics",
    "evaluate.misses",
    "evaluate.report",
    "evaluate.seen",
    "evaluate.systems",
    "label.agreement",
    "rerank.answer_types",
    "rerank.blend",
    "rerank.configured",
    "rerank.llm",
    "rerank.mastra",
    "rerank.mastra_results",
    "rerank.models",
    "rerank.prompts",
    "rerank.question",
    "rerank.registry",
    "rerank.replies",
    "rerank.results",
    "rerank.truncation",
    "store.documents",
    "store.duplicates",
    "store.sizes",
    "temporal.calendar",
    "temporal.changes",
    "temporal.events",
    "temporal.numerals",
    "temporal.slots",
    "temporal.supersession",
    "temporal.topics",
    "temporal.windows",
    "text.dictionary",
    "text.fold",
    "text.questions",
    "text.regions",
    "text.segment",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(f"mem_opensearch.{name}"))
    assert result.failed == 0
