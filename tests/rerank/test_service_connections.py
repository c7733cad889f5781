"""Services that give no answer: silent, slow, endless, broken, untrusted; and one scorer in threads and forks."""

from __future__ import annotations

import json
import os
import socket
import ssl
import threading
import time

import pytest
import trustme
from pytest_httpserver import HTTPServer
from werkzeug import Response

from mem_opensearch.errors import RerankError
from mem_opensearch.rerank.services import Cohere, RerankService

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
