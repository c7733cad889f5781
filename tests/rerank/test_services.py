"""Scorers over HTTP, on real sockets: the whole request, and their options."""

from __future__ import annotations

import copy
import sys

import pytest

from mem_opensearch.errors import ConfigError, MissingExtraError
from mem_opensearch.rerank.scoring import Scorer
from mem_opensearch.rerank.services import Cohere, RerankService, ZeroEntropy

pytestmark = pytest.mark.unit

QUERY = "我住在哪里？"
TEXTS = ["我住在臺北的大安區", "印表機的專案代號是ＰＸ－４４１", "我对花生过敏"]
KEY = "sk-secret-0123"

RESULTS = [
    {"index": 2, "relevance_score": 0.25},
    {"index": 0, "relevance_score": 0.9},
    {"index": 1, "relevance_score": 0},
]
SCORES = [0.9, 0.0, 0.25]


@pytest.fixture
def cohere(httpserver):
    with Cohere(url=httpserver.url_for("/v2/rerank"), api_key=KEY, timeout=5) as scorer:
        yield scorer


def answer(httpserver, path, body, **options):
    httpserver.expect_request(path, method="POST").respond_with_json(body, **options)


def only_request(httpserver):
    ((request, _response),) = httpserver.log
    return request


# -- what is sent, and what is read


def test_cohere(httpserver):
    answer(httpserver, "/v2/rerank", {"id": "1", "results": RESULTS, "meta": {"billed_units": {"search_units": 1}}})
    scorer = Cohere(url=httpserver.url_for("/v2/rerank"), api_key=KEY, max_tokens_per_doc=512)
    assert isinstance(scorer, Scorer)
    assert (scorer.name, scorer.most_texts, scorer.most_characters) == ("cohere", 1000, None)
    assert scorer.score(QUERY, TEXTS) == SCORES
    request = only_request(httpserver)
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["Content-Type"] == "application/json"
    assert request.json == {
        "model": "rerank-v3.5",
        "query": QUERY,
        "documents": TEXTS,
        "top_n": 3,
        "max_tokens_per_doc": 512,
    }


def test_zero_entropy(httpserver):
    answer(httpserver, "/v1/models/rerank", {"results": RESULTS})
    scorer = ZeroEntropy(url=httpserver.url_for("/v1/models/rerank"), api_key=KEY)
    assert isinstance(scorer, Scorer)
    assert scorer.name == "zero_entropy"
    assert scorer.score(QUERY, TEXTS) == SCORES
    request = only_request(httpserver)
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.json == {"model": "zerank-1", "query": QUERY, "documents": TEXTS, "top_n": 3}


FLAVOURS = {
    "jina": (
        "/v1/rerank",
        {
            "model": "jina-reranker-v3",
            "query": QUERY,
            "documents": TEXTS,
            "top_n": 3,
            "return_documents": False,
        },
        {"model": "jina-reranker-v3", "results": RESULTS, "usage": {"total_tokens": 815}},
    ),
    "tei": (
        "/rerank",
        {"query": QUERY, "texts": TEXTS, "truncate": True, "raw_scores": False, "return_text": False},
        [{"index": each["index"], "score": each["relevance_score"]} for each in RESULTS],
    ),
    "vllm": (
        "/v1/rerank",
        {
            "model": "BAAI/bge-reranker-v2-m3",
            "query": QUERY,
            "documents": TEXTS,
            "top_n": 3,
            "truncate_prompt_tokens": -1,
        },
        {"id": "rerank-1", "results": [{**each, "document": {"text": "…"}} for each in RESULTS]},
    ),
    "siliconflow": (
        "/v1/rerank",
        {
            "model": "BAAI/bge-reranker-v2-m3",
            "query": QUERY,
            "documents": TEXTS,
            "top_n": 3,
            "return_documents": False,
        },
        {"id": "1", "results": RESULTS, "meta": {"tokens": {"input_tokens": 30}}},
    ),
    "dashscope": (
        "/api/v1/services/rerank/text-rerank/text-rerank",
        {
            "model": "qwen3-rerank",
            "input": {"query": QUERY, "documents": TEXTS},
            "parameters": {"top_n": 3, "return_documents": False},
        },
        {"output": {"results": RESULTS}, "usage": {"total_tokens": 79}, "request_id": "1"},
    ),
}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_flavours(httpserver, flavour):
    path, request, said = FLAVOURS[flavour]
    answer(httpserver, path, said)
    model = {"model": "BAAI/bge-reranker-v2-m3"} if flavour == "vllm" else {}
    with RerankService(flavour=flavour, url=httpserver.url_for(path), api_key=KEY, **model) as scorer:
        assert scorer.name == flavour
        before = copy.deepcopy(scorer.extra)
        assert scorer.score("?", ["another"] * 3) == SCORES
        assert scorer.extra == before, "threads would find each other's texts there"
        assert scorer.score(QUERY, TEXTS) == SCORES
    (first, _), (second, _) = httpserver.log
    assert second.json == request
    for sent in (first, second):
        assert sent.headers["Authorization"] == f"Bearer {KEY}"


def test_a_service_of_ones_own(httpserver):
    answer(httpserver, "/rank", {"data": {"ranked": [{"doc": {"no": 1}, "p": 0.5}, {"doc": {"no": 0}, "p": 2}]}})
    scorer = RerankService(
        url=httpserver.url_for("/rank"),
        query_field="q.text",
        texts_field="q.passages",
        top_n_field=None,
        results_field="data.ranked",
        index_field="doc.no",
        score_field="p",
        extra={"q": {"lang": "zh"}},
    )
    assert scorer.name == "service"
    assert scorer.score(QUERY, TEXTS[:2]) == [2.0, 0.5]
    request = only_request(httpserver)
    assert request.json == {"q": {"lang": "zh", "text": QUERY, "passages": TEXTS[:2]}}
    assert "Authorization" not in request.headers


def test_what_is_given_counts_more_than_the_flavour(httpserver):
    answer(httpserver, "/r", [{"index": 0, "score": 7}])
    url = httpserver.url_for("/r")
    scorer = RerankService(flavour="tei", url=url, most_texts=128, extra={"raw_scores": True})
    assert scorer.most_texts == 128
    assert scorer.score(QUERY, TEXTS[:1]) == [7.0]
    assert only_request(httpserver).json == {
        "query": QUERY,
        "texts": TEXTS[:1],
        "truncate": True,
        "raw_scores": True,
        "return_text": False,
    }


def test_limits_of_the_services():
    most = {name: RerankService(flavour=name, url="http://localhost:1/rerank").most_texts for name in FLAVOURS}
    assert most == {"jina": 1000, "tei": 32, "vllm": 1000, "siliconflow": 500, "dashscope": 50}


def test_blank_texts_are_not_sent(httpserver, cohere):
    answer(httpserver, "/v2/rerank", {"results": [{"index": 1, "relevance_score": 0.5}]})
    assert cohere.score(QUERY, ["", "甲", " \n", "乙"]) == [None, None, None, 0.5]
    assert only_request(httpserver).json["documents"] == ["甲", "乙"]


@pytest.mark.parametrize("texts", [[], ["", "　"]])
def test_nothing_to_score_is_no_request(httpserver, cohere, texts):
    assert cohere.score(QUERY, texts) == [None] * len(texts)
    assert httpserver.log == []


def test_half_a_surrogate_pair_does_not_break_the_request(httpserver, cohere):
    answer(httpserver, "/v2/rerank", {"results": RESULTS[1:2]})
    assert cohere.score("\ud83d怎么样", ["我买了\ud83d"]) == [0.9]
    assert only_request(httpserver).json["documents"] == ["我买了?"]


# -- options


def test_keys_from_the_environment(monkeypatch, httpserver):
    answer(httpserver, "/v2/rerank", {"results": RESULTS})
    monkeypatch.setenv("COHERE_API_KEY", "from-the-environment")
    Cohere(url=httpserver.url_for("/v2/rerank")).score(QUERY, TEXTS)
    Cohere(url=httpserver.url_for("/v2/rerank"), api_key=KEY).score(QUERY, TEXTS)
    sent = [request.headers["Authorization"] for request, _ in httpserver.log]
    assert sent == ["Bearer from-the-environment", f"Bearer {KEY}"]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("COHERE_API_KEY", Cohere),
        ("CO_API_KEY", Cohere),
        ("ZERO_ENTROPY_API_KEY", ZeroEntropy),
        ("ZEROENTROPY_API_KEY", ZeroEntropy),
        ("JINA_API_KEY", lambda: RerankService(flavour="jina")),
        ("SILICONFLOW_API_KEY", lambda: RerankService(flavour="siliconflow")),
        ("DASHSCOPE_API_KEY", lambda: RerankService(flavour="dashscope")),
    ],
)
def test_hosted_services_need_a_key(monkeypatch, name, make):
    with pytest.raises(ConfigError, match=f"a key is needed for https://.*: give 'api_key' or .*{name}"):
        make()
    monkeypatch.setenv(name, KEY)
    scorer = make()
    assert scorer.api_key.get_secret_value() == KEY
    assert KEY not in repr(scorer)
    assert KEY not in str(scorer.model_dump())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"url": "localhost:8080/rerank"}, "is not a server URL"),
        ({"url": "http://me:secret@localhost/rerank"}, "use 'api_key'"),
        ({"url": "http://10.0.0.7/rerank", "api_key": KEY}, "would travel unencrypted to 10.0.0.7/rerank"),
        ({"url": "https://x/rerank", "api_key": "with blank"}, "no header can carry"),
        ({"url": "http://x/rerank", "ca_certs": "/ca.pem"}, "'ca_certs' would have no effect over http"),
        ({"url": "https://x/rerank", "ca_certs": "/no/such/ca.pem"}, "/no/such/ca.pem can't be read"),
        ({"url": "http://x/rerank", "modle": "m"}, "option 'modle' is unknown; known are: "),
        ({"url": "http://x/rerank", "flavour": "gina"}, "'jina', 'tei', 'vllm', 'siliconflow' or 'dashscope'"),
        ({"url": "http://x/rerank", "timeout": 0}, "option 'timeout'"),
        ({"url": "http://x/rerank", "extra": {"x": float("nan")}}, "'extra' is no JSON"),
        ({"url": "http://x/rerank", "extra": {"a": 1}, "query_field": "a.b"}, "where another field has to go"),
        ({"model": "m"}, "option 'url'"),
    ],
)
def test_options_that_are_wrong(options, said):
    with pytest.raises(ConfigError) as caught:
        RerankService(**options)
    assert said in str(caught.value)
    for secret in ("secret", KEY, "with blank"):
        assert secret not in str(caught.value)


def test_a_network_that_is_trusted():
    scorer = RerankService(url="http://10.0.0.7/rerank", api_key=KEY, allow_insecure=True)
    assert scorer.allow_insecure


def test_without_httpx(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mem-opensearch\[rerank\]'"):
        RerankService(url="http://localhost:1/rerank")
