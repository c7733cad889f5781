"""What services answer that can't be used: contradictions, no JSON, refusals; and what is never in a message."""

from __future__ import annotations

import pytest

from mem_opensearch.errors import RerankError
from mem_opensearch.rerank.services import Cohere

pytestmark = pytest.mark.unit

QUERY = "我住在哪里？"
TEXTS = ["我住在臺北的大安區", "印表機的專案代號是ＰＸ－４４１", "我对花生过敏"]
KEY = "sk-secret-0123"

RESULTS = [
    {"index": 2, "relevance_score": 0.25},
    {"index": 0, "relevance_score": 0.9},
    {"index": 1, "relevance_score": 0},
]


@pytest.fixture
def cohere(httpserver):
    with Cohere(url=httpserver.url_for("/v2/rerank"), api_key=KEY, timeout=5) as scorer:
        yield scorer


def answer(httpserver, path, body, **options):
    httpserver.expect_request(path, method="POST").respond_with_json(body, **options)


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([{"index": 3, "relevance_score": 1}], "'index' is 3, and 3 texts were sent"),
        ([{"index": -1, "relevance_score": 1}], "'index' is -1"),
        ([*RESULTS, {"index": 0, "relevance_score": 0.1}], "text 0 has two scores"),
        ([{"index": 0, "relevance_score": None}, {"index": 0, "relevance_score": 1}], "text 0 has two scores"),
        ([{"index": "0", "relevance_score": 1}], "no whole number as 'index'"),
        ([{"index": True, "relevance_score": 1}], "no whole number as 'index'"),
        ([{"relevance_score": 1}], "no whole number as 'index'"),
        ([{"index": 0, "relevance_score": "0.9"}], "'relevance_score' of text 0 is no finite number"),
        ([{"index": 0, "relevance_score": True}], "no finite number"),
        (["甲"], "a result is no object"),
    ],
)
def test_an_answer_that_contradicts_itself(httpserver, cohere, results, said):
    answer(httpserver, "/v2/rerank", {"results": results})
    with pytest.raises(RerankError, match="contradicts itself") as caught:
        cohere.score(QUERY, TEXTS)
    assert said in str(caught.value)
    assert (caught.value.scorer, caught.value.retryable) == ("cohere", False)


@pytest.mark.parametrize("said", [{}, {"results": None}, {"results": {"index": 0}}, [], "x", {"data": RESULTS}])
def test_an_answer_without_results(httpserver, cohere, said):
    answer(httpserver, "/v2/rerank", said)
    with pytest.raises(RerankError, match="holds no list 'results'"):
        cohere.score(QUERY, TEXTS)


@pytest.mark.parametrize("results", [[], [{"index": 0, "relevance_score": None}, {"index": 1}]])
def test_an_answer_that_scores_nothing(httpserver, cohere, results):
    answer(httpserver, "/v2/rerank", {"results": results})
    with pytest.raises(RerankError, match="scores none of 3 texts"):
        cohere.score(QUERY, TEXTS)


def test_texts_that_the_answer_leaves_out_have_no_score(httpserver, cohere):
    answer(httpserver, "/v2/rerank", {"results": [{"index": 1, "relevance_score": 0.5}, {"index": 2}]})
    assert cohere.score(QUERY, TEXTS) == [None, 0.5, None]


@pytest.mark.parametrize(
    ("body", "kind", "retryable"),
    [
        (b'{"results": [{"ind', "application/json", True),  # cut off on the way
        (b"<html>", "text/html", False),
        (b'{"results": [{"index": 0, "relevance_score": NaN}]}', "text/plain", False),
        (b"", "application/json", False),
    ],
)
def test_an_answer_that_is_no_json(httpserver, cohere, body, kind, retryable):
    httpserver.expect_request("/v2/rerank").respond_with_data(body, content_type=kind)
    with pytest.raises(RerankError, match="is no JSON") as caught:
        cohere.score(QUERY, TEXTS)
    assert caught.value.retryable is retryable


# -- refusals


@pytest.mark.parametrize(
    ("status", "said", "retryable"),
    [
        (400, "refuses the request: check 'model', and lower 'most_texts'", False),
        (401, "refuses the key: check 'api_key' or the environment variable COHERE_API_KEY", False),
        (402, "no credit", False),
        (403, "may not use this service or model: check 'api_key'", False),
        (404, "check 'url' and 'model'", False),
        (413, "too large", False),
        (422, "refuses the request", False),
        (424, "refuses the request", False),
        (308, "redirects are not followed", False),
        (408, "status 408", True),
        (429, "status 429", True),
        (500, "status 500", True),
        (502, "status 502", True),
        (503, "status 503", True),
        (529, "status 529", True),
    ],
)
def test_refusals(httpserver, cohere, status, said, retryable):
    body = {"message": f"invalid text: {TEXTS[0]} of {KEY}", "code": "some_code"}
    answer(httpserver, "/v2/rerank", body, status=status, headers={"Location": "/elsewhere"})
    with pytest.raises(RerankError) as caught:
        cohere.score(QUERY, TEXTS)
    message = str(caught.value)
    assert message.startswith("cohere at http://localhost:")
    assert f"status {status} some_code" in message
    assert said in message
    assert caught.value.retryable is retryable
    assert len(httpserver.log) == 1, "a scorer doesn't try again by itself"
    for secret in (*TEXTS, QUERY, KEY, "invalid text"):
        assert secret not in message
        assert secret not in repr(caught.value.__cause__)


@pytest.mark.parametrize("status", [429, 503])
def test_how_long_to_wait(httpserver, cohere, status):
    answer(httpserver, "/v2/rerank", {}, status=status, headers={"Retry-After": "7"})
    with pytest.raises(RerankError, match="asks to wait 7 s") as caught:
        cohere.score(QUERY, TEXTS)
    assert caught.value.retry_after == 7.0


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"error": {"code": "rate_limit_exceeded", "type": "requests", "message": "我"}}, "rate_limit_exceeded"),
        ({"error": {"code": None, "type": "invalid_request_error"}}, "invalid_request_error"),
        ({"error": "Model is overloaded", "error_type": "Overloaded"}, "Overloaded"),  # TEI
        ({"code": "Throttling.RateQuota", "message": "我", "request_id": "1"}, "Throttling.RateQuota"),  # DashScope
        ({"code": 20012, "message": "我", "data": None}, "20012"),  # SiliconFlow
        ({"code": "我住在臺北", "type": "a text with blanks"}, ""),
        ({"code": "x" * 41}, ""),
        ("Invalid token", ""),
        ([1], ""),
    ],
)
def test_codes_of_the_services(httpserver, cohere, body, code):
    answer(httpserver, "/v2/rerank", body, status=429)
    with pytest.raises(RerankError) as caught:
        cohere.score(QUERY, TEXTS)
    assert str(caught.value).endswith(f"status 429 {code}".rstrip())
