"""The server does the work and its answer is lost: the request is sent again, and nothing is there twice."""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

EAST, NORTH = [1, 0, 0, 0], [0, 1, 0, 0]


class LossyProxy:
    """Pass every request to the server; hang up instead of answering, as often as told, where the path has a word."""

    def __init__(self, url):
        target = urlsplit(url)
        self.word, self.left, self.lost = None, 0, []
        lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                server = http.client.HTTPConnection(target.hostname, target.port, timeout=120)
                headers = {"Content-Type": self.headers.get("Content-Type", "application/json")}
                server.request(self.command, self.path, body, headers)
                answer = server.getresponse()
                content = answer.read()
                server.close()
                with lock:
                    is_lost = proxy.left > 0 and proxy.word in self.path
                    if is_lost:
                        proxy.left -= 1
                        proxy.lost.append(f"{self.command} {self.path} {answer.status}")
                if is_lost:
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = pass_on  # noqa: N815 - names that http.server calls

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def lose(self, word, times=2):
        self.word, self.left = word, times

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def proxy(opensearch_url):
    proxy = LossyProxy(opensearch_url)
    yield proxy
    proxy.close()


@pytest.fixture
def lossy(make_store, proxy):
    def make(**options):
        store = make_store(url=proxy.url, timeout=60, **options)
        store.create_col()
        return store

    return make


@pytest.mark.parametrize("ids", [None, [f"m{n}" for n in range(50)]])
@pytest.mark.parametrize("option", ["keep", "skip", "update"])
def test_insert(lossy, proxy, option, ids):
    store = lossy(on_duplicate=option, bulk_max_items=20)
    proxy.lose("_bulk", times=3)
    hits = store.insert([EAST] * 50, [{"data": f"第{n}条", "user_id": "甲"} for n in range(50)], ids)
    assert len(proxy.lost) == 3
    assert {hit.outcome for hit in hits} == {"stored"}
    assert store.count() == 50
    assert sorted(hit.id for hit in store.list()[0]) == sorted(hit.id for hit in hits)


def test_update(lossy, proxy):
    store = lossy()
    store.insert([EAST], [{"data": "旧"}], ["m"])
    proxy.lose("_update")
    store.update("m", vector=NORTH, payload={"data": "新"})
    assert len(proxy.lost) == 2
    assert store.get("m").payload == {"data": "新"}
    assert store.search("q", NORTH)[0].score == pytest.approx(1.0)


def test_delete(lossy, proxy):
    store = lossy()
    store.insert([EAST] * 2, [{"data": "a"}, {"data": "b"}], ["m", "o"])
    proxy.lose("_doc/m")
    store.delete("m")
    assert len(proxy.lost) == 2
    assert [hit.id for hit in store.list()[0]] == ["o"]


def test_delete_by_filter_counts_right(lossy, proxy):
    store = lossy()
    store.insert([EAST] * 60, [{"data": "x", "user_id": "甲" if n < 40 else "乙"} for n in range(60)])
    proxy.lose("_delete_by_query")
    assert store.delete_all(user_id="甲") == 40
    assert len(proxy.lost) == 2
    assert store.count() == 20


def test_listing_and_its_point_in_time(lossy, proxy, monkeypatch):
    from mem_opensearch.store import paging

    monkeypatch.setattr(paging, "PAGE", 20)
    store = lossy()
    store.insert([EAST] * 90, [{"data": "x"}] * 90, [f"m{n:02}" for n in range(90)])
    proxy.lose("_search", times=3)
    assert [hit.id for hit in store.list()[0]] == [f"m{n:02}" for n in range(90)]
    assert len(proxy.lost) == 3
