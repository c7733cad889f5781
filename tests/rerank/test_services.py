"""Scorers over HTTP, on real sockets: the whole request, every kind of answer, and what is never in a message."""

from __future__ import annotations

import copy
import json
import os
import socket
import ssl
import sys
import threading
import time

import pytest
import trustme
from pytest_httpserver import HTTPServer
from werkzeug import Response

from mem_opensearch.errors import ConfigError, MissingExtraError, RerankError
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


# -- answers that can't be used


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


# -- no answer


def test_nobody_is_there():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    scorer = RerankService(url=f"http://127.0.0.1:{port}/rerank")
    with pytest.raises(RerankError, match=r"no answer \(ConnectError\)") as caught:
        scorer.score(QUERY, TEXTS)
    assert caught.value.retryable


@pytest.fixture
def raw_server():
    """A server that does with each connection what it is told."""
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def serve(deal):
        def run():
            while not done.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    deal(connection, done)

        threading.Thread(target=run, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/rerank"

    yield serve
    done.set()
    listener.close()


def test_a_silent_service(raw_server):
    scorer = RerankService(url=raw_server(lambda _connection, done: done.wait(60)), timeout=0.2)
    with pytest.raises(RerankError, match=r"no answer within 0\.2 s") as caught:
        scorer.score(QUERY, TEXTS)
    assert caught.value.retryable


def test_a_service_that_answers_by_drops(raw_server):
    """Each piece comes in time; the whole never would."""

    def drip(connection, done):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
        while not done.wait(0.05):
            try:
                connection.sendall(b" ")
            except OSError:
                return

    scorer = RerankService(url=raw_server(drip), timeout=0.5)
    with pytest.raises(RerankError, match=r"no answer within 0\.5 s") as caught:
        scorer.score(QUERY, TEXTS)
    assert caught.value.retryable


def test_an_answer_without_end(raw_server):
    def flood(connection, done):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n")
        while not done.is_set():
            try:
                connection.sendall(b" " * 1_000_000)
            except OSError:
                return

    scorer = RerankService(url=raw_server(flood), timeout=60)
    with pytest.raises(RerankError, match="longer than 16,000,000 bytes") as caught:
        scorer.score(QUERY, TEXTS)
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: \x00\r\n\r\n",
    ],
)
def test_a_broken_connection(raw_server, said):
    scorer = RerankService(url=raw_server(lambda connection, _: connection.sendall(said)))
    with pytest.raises(RerankError, match="no answer") as caught:
        scorer.score(QUERY, TEXTS)
    assert caught.value.retryable


def test_closing_twice_and_going_on(httpserver, cohere):
    answer(httpserver, "/v2/rerank", {"results": RESULTS})
    cohere.score(QUERY, TEXTS)
    cohere.close()
    cohere.close()
    assert cohere.score(QUERY, TEXTS) == SCORES


def test_threads_share_a_scorer(httpserver, cohere):
    barrier = threading.Barrier(8)

    def slow(request):
        time.sleep(0.02)
        score = float(json.loads(request.data)["query"])
        return Response(json.dumps({"results": [{"index": 0, "relevance_score": score}]}), mimetype="application/json")

    httpserver.expect_request("/v2/rerank").respond_with_handler(slow)
    found = {}

    def ask(number):
        barrier.wait(timeout=30)
        found[number] = cohere.score(str(number), ["甲"])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == {number: [float(number)] for number in range(8)}


def test_a_forked_child_has_its_own_connection(httpserver, cohere):
    """Two processes that read from one socket get each other's answers."""
    ports = []

    def note(request):
        ports.append(request.environ["REMOTE_PORT"])
        return Response(json.dumps({"results": RESULTS}), mimetype="application/json")

    httpserver.expect_request("/v2/rerank").respond_with_handler(note)
    assert cohere.score(QUERY, TEXTS) == SCORES
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if cohere.score(QUERY, TEXTS) == SCORES else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert cohere.score(QUERY, TEXTS) == SCORES
    assert len(ports) == 3
    assert ports[1] != ports[0]


# -- TLS


@pytest.fixture
def https(httpserver_ssl):
    server, ca = httpserver_ssl
    answer(server, "/rerank", {"results": RESULTS})
    return server.url_for("/rerank"), ca


@pytest.fixture
def httpserver_ssl(tmp_path):
    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("localhost").configure_cert(context)
    ca.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with HTTPServer(host="localhost", ssl_context=context) as server:
        yield server, str(tmp_path / "ca.pem")


def test_a_certificate_of_an_unknown_authority_is_refused(https):
    url, _ca = https
    with pytest.raises(RerankError, match="certificate is not trusted: check 'url', or name") as caught:
        RerankService(url=url, api_key=KEY).score(QUERY, TEXTS)
    assert not caught.value.retryable


def test_an_authority_of_ones_own(https):
    url, ca = https
    assert RerankService(url=url, api_key=KEY, ca_certs=ca).score(QUERY, TEXTS) == SCORES


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
