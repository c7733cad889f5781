"""Groups of rows overlap on their way to the server, and what is said of them is as if they did not."""

from __future__ import annotations

import json
import threading

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from mem_opensearch.client import open_client
from mem_opensearch.config import StoreConfig
from mem_opensearch.errors import BackendUnavailable, PartialWriteError
from mem_opensearch.store.bulk import chunks, to_lines, write_bulk

pytestmark = pytest.mark.unit
PATIENCE = 30  # seconds, for what comes at once


class Server:
    """Answers bulk requests, and notes which of them were there at the same time."""

    def __init__(self, http):
        self.lock = threading.Lock()
        self.came = threading.Condition(self.lock)
        self.inside = []
        self.most = 0
        self.order = []
        self.meets = set()  # ids whose request is answered when another one has come, before it or after it
        self.refused = set()
        http.expect_request("/c/_bulk").respond_with_handler(self.answer)

    def answer(self, request):
        ids = [json.loads(line)["index"]["_id"] for line in request.data.splitlines()[::2]]
        with self.came:
            self.inside.append(ids)
            self.most = max(self.most, len(self.inside))
            self.order += ids
            self.came.notify_all()
            met = not self.meets & set(ids) or self.came.wait_for(lambda: len(self.order) > len(ids), PATIENCE)
            self.inside.remove(ids)
        if not met:
            return Response("nobody else came", status=400)
        return Response(json.dumps({"items": [self.item(row_id) for row_id in ids]}), content_type="application/json")

    def item(self, row_id):
        if row_id in self.refused:
            return {"index": {"_id": row_id, "status": 400, "error": {"type": "mapper", "reason": "because"}}}
        return {"index": {"_id": row_id, "_index": "c-1", "status": 201}}


@pytest.fixture
def http():
    with HTTPServer(threaded=True) as http:  # several requests at a time
        yield http


@pytest.fixture
def server(http):
    return Server(http)


@pytest.fixture
def write(http):
    """Write rows in groups of two."""
    config = StoreConfig.build(url=http.url_for(""), max_tries=1, timeout=PATIENCE)
    with open_client(config, config.urls) as client:

        def write(*ids, **more):
            lines = to_lines((row_id, {"id": row_id}) for row_id in ids)
            return write_bulk(client, "c", chunks(lines, max_bytes=10_000, max_items=2), **more)

        yield write


def test_the_next_group_does_not_wait_for_the_one_before(server, write):
    server.meets = {"a"}
    landed, noted = set(), []
    ids = list("abcdefgh")
    assert write(*ids, landed=landed, note=lambda line, _: noted.append(line.id)) == ids
    assert noted == ids
    assert landed == {"c-1"}


def test_one_group_goes_by_itself(server, write, monkeypatch):
    monkeypatch.setattr("mem_opensearch.beside.begin", lambda _: pytest.fail("it began a thread"))
    assert write("a", "b") == ["a", "b"]
    assert server.order == ["a", "b"]


def test_a_row_that_comes_again_comes_later(server, write):
    write("a", "b", "a", "c", "d", "a")
    assert server.order == ["a", "b", "a", "c", "d", "a"]
    assert server.most == 1


def test_what_failed_is_named_and_the_rest_is_stored(server, write):
    server.refused = {"b", "e"}
    with pytest.raises(PartialWriteError) as caught:
        write(*"abcdefg")
    assert caught.value.stored == list("acdfg")
    assert list(caught.value.failed) == ["b", "e"]


def test_after_no_answer_no_more_groups_are_sent(http, write):
    sent = []
    http.expect_request("/c/_bulk").respond_with_handler(lambda request: sent.append(request) or Response(status=503))
    with pytest.raises(BackendUnavailable):
        write(*"abcdefghijkl")
    assert 1 <= len(sent) <= 2, "those that were on their way when the first came back, of six"


def test_what_was_not_stored_is_named_in_the_order_given(http, write):
    """Group by group: the one that had no answer, the one that was on its way, and those that were not sent."""
    done = threading.Event()

    def answer(request):
        if not done.is_set() and b'"a"' in request.data:
            done.set()
            items = [{"index": {"_id": row_id, "_index": "c-1", "status": 201}} for row_id in "ab"]
            return Response(json.dumps({"items": items}), content_type="application/json")
        return Response(status=503)

    http.expect_request("/c/_bulk").respond_with_handler(answer)
    with pytest.raises(PartialWriteError) as caught:
        write(*"abcdefghijkl")
    assert caught.value.stored == ["a", "b"]
    assert list(caught.value.failed) == list("cdefghijkl")
    assert "not sent" not in caught.value.failed["c"]
    assert "not sent" in caught.value.failed["l"]
