"""The second stage from a name and options."""

from __future__ import annotations

import pytest

from mem_opensearch.errors import ConfigError
from mem_opensearch.rerank import AnswerScorer, Reranker
from mem_opensearch.rerank.configured import STAGE, load_reranker

pytestmark = pytest.mark.unit
CHAT = {"url": "http://127.0.0.1:9/v1/chat/completions", "model": "m"}


def test_options_go_where_they_belong():
    stage = load_reranker("answers", {"pool": 3, "deadline": 0.8, "type_weight": 0.2, "strict": None})
    assert (stage.pool, stage.deadline, stage.weight, stage.strict) == (3, 0.8, 0.5, False)
    assert stage.scorer == AnswerScorer(type_weight=0.2)


@pytest.mark.parametrize(
    ("name", "options", "differs"),
    [
        ("answers", {}, {"weight": 0.5}),
        ("answers", {"weight": 1}, {}),
        ("cohere", {"api_key": "k"}, {}),
        ("llm_reranker", CHAT, {"deadline": 30.0}),
        ("llm_reranker", {**CHAT, "deadline": 2}, {"deadline": 2}),
    ],
)
def test_defaults(name, options, differs):
    stage, plain = load_reranker(name, options), Reranker(AnswerScorer())
    assert {key: getattr(stage, key) for key in STAGE if getattr(stage, key) != getattr(plain, key)} == differs


@pytest.mark.parametrize("option", ["weight", "deadline", "pool"])
def test_a_wrong_type(option):
    with pytest.raises(ConfigError, match="reranker"):
        load_reranker("answers", {option: "much"})
