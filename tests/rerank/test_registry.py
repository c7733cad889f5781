"""Scorers by name, with mem0's own configurations: every key has an effect, or is an error that says why not."""

from __future__ import annotations

import json

import pytest

from mem_opensearch.errors import ConfigError
from mem_opensearch.rerank import AnswerScorer, models
from mem_opensearch.rerank.flavours import FLAVOURS
from mem_opensearch.rerank.llm import LLMScorer
from mem_opensearch.rerank.models import HuggingFace, SentenceTransformer
from mem_opensearch.rerank.registry import load_scorer, scorer_names
from mem_opensearch.rerank.scoring import Scorer
from mem_opensearch.rerank.services import Cohere, RerankService, ZeroEntropy

pytestmark = pytest.mark.unit

KEY = "sk-secret-0123"
QUERY = "我住在哪里？"
ANSWER = json.dumps({"scores": [{"id": 1, "score": 5}]})


class Models:
    """Remembers which models it was asked for."""

    def __init__(self):
        self.wanted = []

    def __call__(self, provider, config):
        self.wanted.append((provider, dict(config)))
        return lambda _messages: ANSWER


@pytest.fixture(autouse=True)
def packages_are_there(monkeypatch):
    monkeypatch.setattr(models, "find_spec", lambda _: True)


def test_the_names():
    assert scorer_names() == sorted(
        [
            "answers",
            "cohere",
            "zero_entropy",
            "sentence_transformer",
            "huggingface",
            "llm_reranker",
            "service",
            *FLAVOURS,
        ]
    )


@pytest.mark.parametrize(
    ("name", "config", "kind"),
    [
        ("answers", {}, AnswerScorer),
        ("cohere", {"api_key": KEY}, Cohere),
        ("zero_entropy", {"api_key": KEY}, ZeroEntropy),
        ("sentence_transformer", {}, SentenceTransformer),
        ("huggingface", None, HuggingFace),
        ("service", {"url": "http://localhost:1/rerank"}, RerankService),
        *[(name, {"url": "http://localhost:1/rerank"}, RerankService) for name in FLAVOURS],
        ("llm_reranker", {"url": "http://localhost:1/v1/chat/completions"}, LLMScorer),
    ],
)
def test_each_name(name, config, kind):
    scorer = load_scorer(name, config)
    assert isinstance(scorer, kind)
    assert isinstance(scorer, Scorer)
    assert scorer.name == name


def test_every_key_of_mem0s_configurations_is_known():
    """With its defaults, as mem0 hands it on."""
    from mem0.utils.factory import RerankerFactory

    for name, (_, config_class) in RerankerFactory.provider_to_class.items():
        config = config_class(api_key=KEY, top_k=5).model_dump()
        if name != "llm_reranker":
            config["provider"] = name
        scorer = load_scorer(name, config, models=Models())
        assert scorer.name == name


def test_unknown_names():
    with pytest.raises(
        ConfigError, match="no reranker is called 'coherent'; known are: answers, cohere, dashscope, "
    ) as caught:
        load_scorer("coherent")
    assert "vllm, zero_entropy" in str(caught.value)


@pytest.mark.parametrize("name", ["cohere", "zero_entropy", "sentence_transformer", "huggingface", "service", "tei"])
def test_unknown_keys(name):
    with pytest.raises(ConfigError, match="option 'modle' is unknown; known are: .*model"):
        load_scorer(name, {"modle": "m", "url": "http://localhost:1/rerank"} | ({"api_key": KEY}))


@pytest.mark.parametrize("key", ["provider", "flavour"])
def test_another_provider(key):
    assert load_scorer("tei", {key: "tei", "url": "http://localhost:1/rerank"}).name == "tei"
    with pytest.raises(ConfigError, match=f"tei: option '{key}' is 'jina': that is another reranker"):
        load_scorer("tei", {key: "jina", "url": "http://localhost:1/rerank"})


def test_a_service_may_have_a_flavour():
    scorer = load_scorer("service", {"flavour": "tei", "url": "http://localhost:1/rerank"})
    assert (scorer.name, scorer.most_texts) == ("tei", 32)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"return_documents": True}, "'return_documents' has no effect any more"),
        ({"max_chunks_per_doc": 10}, "give 'max_tokens_per_doc'"),
    ],
)
def test_what_cohere_no_longer_knows(config, said):
    with pytest.raises(ConfigError, match=said):
        load_scorer("cohere", {"api_key": KEY, **config})
    assert load_scorer("cohere", {"api_key": KEY, "return_documents": False, "max_chunks_per_doc": None})
    assert load_scorer("cohere", {"api_key": KEY, "max_tokens_per_doc": 256}).max_tokens_per_doc == 256


# -- language models


@pytest.mark.parametrize(
    ("config", "provider", "expected"),
    [
        ({}, "openai", {"model": "gpt-5-mini", "temperature": 0.0, "max_tokens": 2000}),
        (
            {"provider": "deepseek", "model": "deepseek-chat", "api_key": KEY, "max_tokens": 100, "temperature": 0.2},
            "deepseek",
            {"model": "deepseek-chat", "api_key": KEY, "temperature": 0.2, "max_tokens": 2000},
        ),
        ({"max_tokens": 5000}, "openai", {"model": "gpt-5-mini", "temperature": 0.0, "max_tokens": 5000}),
        (
            {"model": "m", "api_key": KEY, "llm": {"provider": "ollama", "config": {"model": "qwen3", "x": 1}}},
            "ollama",
            {"model": "qwen3", "x": 1, "temperature": 0.0, "api_key": KEY, "max_tokens": 2000},
        ),
        (
            {"provider": "vllm", "llm": {"config": {"max_tokens": 3000}}},
            "vllm",
            {"model": "gpt-5-mini", "temperature": 0.0, "max_tokens": 3000},
        ),
    ],
)
def test_mem0s_models(config, provider, expected):
    asked = Models()
    scorer = load_scorer("llm_reranker", {**config, "criteria": "newer first", "most_texts": 7}, models=asked)
    assert asked.wanted == [(provider, expected)]
    assert (scorer.criteria, scorer.most_texts) == ("newer first", 7)
    assert scorer.score(QUERY, ["甲"]) == [0.5]


def test_an_endpoint(httpserver):
    answer = {"choices": [{"finish_reason": "stop", "message": {"content": ANSWER}}]}
    httpserver.expect_request("/v1/chat/completions").respond_with_json(answer)
    url = httpserver.url_for("/v1/chat/completions")
    config = {"url": url, "model": "qwen3", "api_key": KEY, "temperature": 0, "max_tokens": 100, "extra": {"seed": 1}}
    assert load_scorer("llm_reranker", config).score(QUERY, ["甲"]) == [0.5]
    ((request, _),) = httpserver.log
    sent = request.json
    assert {key: sent[key] for key in ("model", "temperature", "max_tokens", "seed")} == {
        "model": "qwen3",
        "temperature": 0,
        "max_tokens": 2000,
        "seed": 1,
    }


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "needs a language model: give 'url'"),
        ({"structured": "none"}, "'structured' has no effect without 'url'"),
        ({"scoring_prompt": "Rate it"}, "say what makes a memory good in 'criteria' instead"),
        ({"modle": "m"}, "option 'modle' is unknown; known are: allow_insecure, api_key"),
        ({"url": "http://localhost:1/x", "provider": "ollama"}, "'provider' has no effect beside 'url'"),
        ({"url": "http://localhost:1/x", "llm": {"provider": "ollama"}}, "'llm' has no effect beside 'url'"),
        ({"url": "http://localhost:1/x", "structured": "xml"}, "option 'structured'"),
        ({"max_tokens": "many"}, "option 'max_tokens'"),
        ({"llm": "ollama"}, "option 'llm'"),
        ({"most_texts": 0}, "option 'most_texts'"),
    ],
)
def test_language_models_that_cant_be(config, said):
    with pytest.raises(ConfigError) as caught:
        load_scorer("llm_reranker", config)
    assert said in str(caught.value)
