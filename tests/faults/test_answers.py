"""Whatever answers in the server's place, at any request of any method: a typed error, never a wrong answer."""

from __future__ import annotations

import itertools
import uuid

import pytest

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.client import patience
from mem_opensearch.errors import MemOpenSearchError

from .proxy import FaultProxy, before

ROW = {"data": "臺北", "user_id": "u"}
EAST = [1.0, 0.0, 0.0, 0.0]
BODIES = [b"{}", b'{"ok": true}', b"[]", b"<html>", b'{"cut": [']
ANSWERS = [(200, body) for body in BODIES] + [(404, b"<h1>Not Found</h1>"), (404, b'{"detail": "Not Found"}')]
METHODS = {
    "insert": lambda store: store.insert([EAST] * 2, [ROW] * 2, ["m1", "m2"]),
    "update": lambda store: store.update("m1", payload={"data": "台中"}),
    "change a vector": lambda store: store.update("m1", vector=EAST),
    "delete": lambda store: store.delete("m2"),
    "delete_by_filter": lambda store: store.delete_by_filter({"user_id": "u"}),
    "delete_all": lambda store: store.delete_all(user_id="u"),
    "purge": lambda store: store.purge(),
    "get": lambda store: store.get("m1"),
    "get_many": lambda store: store.get_many(["m1", "m2", "m3"]),
    "count": lambda store: store.count(),
    "search": lambda store: store.search("", EAST),
    "search_batch": lambda store: store.search_batch(["", ""], [EAST, EAST]),
    "keyword_search": lambda store: store.keyword_search("台北"),
    "list": lambda store: store.list(),
    "col_info": lambda store: store.col_info(),
    "list_cols": lambda store: store.list_cols(),
    "create_col": lambda store: store.create_col(),
}
MAY_BE_TRUE = {("list_cols", b"{}")}  # a server without collections says just that
READS = {"get", "get_many", "count", "search", "search_batch", "keyword_search", "list", "col_info", "create_col"}
COUNTED = {"delete_by_filter", "delete_all", "purge"}  # whatever answers the last request, which closes a view


@pytest.fixture(scope="module")
def bench(opensearch_url):
    name = f"test-{uuid.uuid4().hex[:12]}"
    with FaultProxy(opensearch_url) as proxy:
        options = {"collection_name": name, "embedding_model_dims": 4, "max_tries": 2}
        truth = OpenSearchVectorStore(url=opensearch_url, refresh="true", **options)
        yield proxy, truth, options
        truth.delete_col()


def from_request(step):
    """Every request but the first `step` ones."""
    arrived = itertools.count()
    return lambda *_: next(arrived) >= step


@pytest.mark.parametrize("method", METHODS)
def test_any_answer_at_any_request(bench, ledger, monkeypatch, method):
    monkeypatch.setattr(patience, "BACKOFF_SECONDS", 0.001)
    proxy, truth, options = bench

    def restore():
        truth.insert([EAST] * 2, [ROW] * 2, ["m1", "m2"])

    def run(store):
        try:
            return METHODS[method](store)
        finally:
            store.close()

    proxy.calm()
    restore()
    since = len(proxy.seen)
    right = run(OpenSearchVectorStore(url=proxy.url, **options))
    steps = len(proxy.seen) - since
    assert steps > 0
    wrong = []
    for step in range(steps):
        for status, body in ANSWERS:
            if method not in READS:
                restore()
            content_type = "text/html" if body.startswith(b"<") else "application/json"
            proxy.strike(before(status, body, content_type=content_type), on=from_request(step))
            try:
                found = run(OpenSearchVectorStore(url=proxy.url, **options))
            except MemOpenSearchError:
                ledger.note("another service's answer, at each request of each method", ends="an error of ours")
            except Exception as error:  # noqa: BLE001 - the fault that is looked for
                wrong.append((step, proxy.seen[since + step].path, status, body, repr(error)))
            else:
                if (method, body) not in MAY_BE_TRUE and (found != right or method not in READS | COUNTED):
                    wrong.append((step, proxy.seen[since + step].path, status, body, found))
    proxy.calm()
    assert wrong == []
