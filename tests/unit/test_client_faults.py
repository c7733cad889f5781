"""What a server or a network can do to a request, on real sockets: retried, then one typed error."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager

import opensearchpy
import pytest
from werkzeug import Response

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.client import open_client
from mem_opensearch.config import StoreConfig
from mem_opensearch.errors import (
    AuthenticationError,
    BackendError,
    BackendUnavailable,
    IndexStateError,
    InvalidInputError,
    MemOpenSearchError,
    PartialWriteError,
    PermissionDenied,
    Throttled,
)
from mem_opensearch.store.bulk import chunks, to_lines, write_bulk


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr("mem_opensearch.client.patience.BACKOFF_SECONDS", 0.001)


@pytest.fixture
def client(httpserver):
    config = StoreConfig.build(url=httpserver.url_for(""), max_tries=3, timeout=5)
    with open_client(config, config.urls) as opened:
        yield opened


def failure(kind, reason="because"):
    return {"error": {"type": kind, "reason": reason}}


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_passing_fault_is_retried(client, httpserver, status):
    httpserver.expect_ordered_request("/x").respond_with_json(failure("busy"), status=status)
    httpserver.expect_ordered_request("/x").respond_with_json({"ok": 1})
    assert client.request("GET", "/x") == {"ok": 1}
    assert client.requests == 2


@pytest.mark.parametrize(
    ("status", "error"),
    [(429, Throttled), (503, BackendUnavailable), (502, BackendUnavailable), (504, BackendUnavailable)],
)
def test_a_lasting_fault_ends_in_one_error_after_bounded_tries(client, httpserver, status, error):
    httpserver.expect_request("/x").respond_with_json(failure("busy", "queue full"), status=status)
    with pytest.raises(error, match="queue full") as caught:
        client.request("GET", "/x")
    assert client.requests == 3
    assert caught.value.status == status
    assert "after 3 tries" in str(caught.value)


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (400, "parsing_exception", BackendError),
        (401, "security_exception", AuthenticationError),
        (403, "security_exception", PermissionDenied),
        (403, "cluster_block_exception", BackendError),
        (404, "index_not_found_exception", IndexStateError),
        (404, "other_exception", BackendError),
        (500, "null_pointer_exception", BackendError),
    ],
)
def test_a_definite_fault_is_raised_at_once(client, httpserver, status, kind, error):
    httpserver.expect_request("/x").respond_with_json(failure(kind), status=status)
    with pytest.raises(error, match=f"GET /x failed with status {status}: {kind}: because") as caught:
        client.request("GET", "/x")
    assert type(caught.value) is error
    assert client.requests == 1


def test_causes_are_said_and_document_text_is_not(client, httpserver):
    error = {
        "type": "mapper_parsing_exception",
        "reason": "failed to parse field [n]. Preview of field's value: '绝密'",
        "caused_by": {"type": "number_format_exception", "reason": "For input"},
    }
    httpserver.expect_request("/x").respond_with_json({"error": error}, status=400)
    with pytest.raises(BackendError, match="number_format_exception: For input") as caught:
        client.request("GET", "/x")
    assert "绝密" not in str(caught.value)


@pytest.mark.parametrize(
    "response",
    [
        Response("<html>login</html>", status=200, content_type="text/html"),
        Response("{broken", status=200, content_type="application/json"),
        Response("[1, 2]", status=200, content_type="application/json"),
    ],
)
def test_an_answer_that_is_no_json_object_is_said(client, httpserver, response):
    httpserver.expect_request("/x").respond_with_response(response)
    with pytest.raises(BackendError, match="a proxy or another service"):
        client.request("GET", "/x")


def test_an_html_error_of_a_proxy_is_said(client, httpserver):
    httpserver.expect_request("/x").respond_with_response(Response("<h1>Forbidden</h1>", status=418))
    with pytest.raises(BackendError, match="status 418: <h1>Forbidden"):
        client.request("GET", "/x")


@contextmanager
def raw_server(answer: bytes):
    """A socket that reads a request, writes `answer` and hangs up."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def serve():
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop.set()
        listener.close()


@pytest.mark.parametrize(
    "answer",
    [b"", b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"cut":'],
    ids=["hung up", "cut body"],
)
def test_a_broken_connection_is_retried_then_said(answer):
    with raw_server(answer) as url:
        config = StoreConfig.build(url=url, max_tries=3, timeout=5)
        with open_client(config, config.urls) as client, pytest.raises(BackendUnavailable) as caught:
            client.request("GET", "/x")
        assert len(caught.value.tries) == 3


def test_no_server_and_no_such_host_are_said():
    for url in ("http://127.0.0.1:9", "http://no-such-host.invalid:9200"):
        config = StoreConfig.build(url=url, max_tries=2)
        with open_client(config, config.urls) as client, pytest.raises(BackendUnavailable, match="got no answer from"):
            client.request("GET", "/")


def test_a_slow_server_times_out(client, httpserver):
    gate = threading.Event()

    def slow(_request):
        gate.wait(5)
        return Response("{}", content_type="application/json")

    httpserver.expect_request("/x").respond_with_handler(slow)
    with pytest.raises(BackendUnavailable, match="time-out, time-out, time-out"):
        client.request("GET", "/x", timeout=0.1)
    gate.set()


def test_another_host_is_tried_when_one_is_down(httpserver):
    httpserver.expect_request("/x").respond_with_json({"ok": 1})
    config = StoreConfig.build(url=["http://127.0.0.1:9", httpserver.url_for("")], max_tries=3)
    with open_client(config, config.urls) as client:
        for _ in range(10):
            assert client.request("GET", "/x") == {"ok": 1}


def test_accepted_statuses_are_answers(client, httpserver):
    httpserver.expect_request("/x").respond_with_json({"found": False}, status=404)
    assert client.request("GET", "/x", accept=(404,)) == {"found": False, "status": 404}


def test_a_body_that_is_no_json_is_refused_before_sending(client):
    with pytest.raises(InvalidInputError, match="body of POST /x"):
        client.request("POST", "/x", body={"a": {1, 2}})
    assert client.requests == 0


def item(row_id, status, kind=None):
    return {"index": {"_id": row_id, "status": status, **({"error": {"type": kind, "reason": "r"}} if kind else {})}}


def bulk(client, ids, **options):
    lines = to_lines((row_id, {"data": row_id}) for row_id in ids)
    groups = chunks(lines, max_bytes=10_000, max_items=options.get("max_items", 100))
    return write_bulk(client, "c", groups, refresh="false")


def test_only_the_item_that_was_pushed_back_is_sent_again(client, httpserver):
    sent = []

    def answer(*items):
        def handle(request):
            sent.append(request.get_data(as_text=True).count('"_id"'))
            return Response(json.dumps({"errors": True, "items": items}), content_type="application/json")

        return handle

    httpserver.expect_ordered_request("/c/_bulk").respond_with_handler(
        answer(item("a", 201), item("b", 429, "rejected"), item("c", 201))
    )
    httpserver.expect_ordered_request("/c/_bulk").respond_with_handler(answer(item("b", 429, "rejected")))
    httpserver.expect_ordered_request("/c/_bulk").respond_with_handler(answer(item("b", 201)))
    assert bulk(client, ["a", "b", "c"]) == ["a", "b", "c"]
    assert sent == [3, 1, 1]


def test_what_was_not_stored_is_named(client, httpserver):
    items = [item("a", 201), item("b", 400, "mapper_parsing_exception"), item("c", 201)]
    httpserver.expect_request("/c/_bulk").respond_with_json({"errors": True, "items": items})
    with pytest.raises(PartialWriteError, match="1 of 3 rows were not stored") as caught:
        bulk(client, ["a", "b", "c"])
    assert caught.value.stored == ["a", "c"]
    assert caught.value.failed == {"b": "status 400: mapper_parsing_exception: r"}


def test_a_group_that_fails_whole_does_not_stop_the_others(client, httpserver):
    httpserver.expect_ordered_request("/c/_bulk").respond_with_json(failure("boom"), status=500)
    httpserver.expect_ordered_request("/c/_bulk").respond_with_json({"items": [item("b", 201)]})
    with pytest.raises(PartialWriteError) as caught:
        bulk(client, ["a", "b"], max_items=1)
    assert caught.value.stored == ["b"]
    assert "boom" in caught.value.failed["a"]


def test_nothing_stored_for_one_reason_is_that_reason(client, httpserver):
    httpserver.expect_request("/c/_bulk").respond_with_json(failure("security_exception"), status=403)
    with pytest.raises(PermissionDenied):
        bulk(client, ["a", "b"])


def test_every_error_of_the_transport_becomes_one_of_ours(client, monkeypatch):
    """Whatever opensearch-py can raise, no exception of its own gets through."""
    known = vars(opensearchpy.exceptions).values()
    kinds = [kind for kind in known if isinstance(kind, type) and issubclass(kind, opensearchpy.OpenSearchException)]
    assert len(kinds) >= 8
    for kind in kinds:
        if issubclass(kind, opensearchpy.TransportError):
            error = kind(500 if "Connection" not in kind.__name__ else "N/A", "boom", {"error": "boom"})
        else:
            error = kind("boom")

        def fail(*_args, _error=error, **_kwargs):
            raise _error

        (connection,) = client.transport.raw.transport.connection_pool.connections
        monkeypatch.setattr(connection, "perform_request", fail)
        with pytest.raises(MemOpenSearchError):
            client.request("GET", "/x")


def test_errors_of_a_store_are_never_an_empty_answer(httpserver):
    store = OpenSearchVectorStore(url=httpserver.url_for(""), embedding_model_dims=2, max_tries=1)
    httpserver.expect_request("/mem0/_mapping").respond_with_json(failure("boom"), status=500)
    for ask in (
        lambda: store.search("q", [1, 0]),
        lambda: store.keyword_search("q"),
        store.list,
        lambda: store.get("m"),
    ):
        with pytest.raises(BackendError, match="boom"):
            ask()
