"""Searches whose server is slow or busy: what can be answered is answered, and says what is missing."""

from __future__ import annotations

import pytest

from mem_opensearch import OpenSearchVectorStore, Searcher
from mem_opensearch.client import patience
from mem_opensearch.errors import BackendUnavailable

from .proxy import before, broken

EAST = [1.0, 0.0, 0.0, 0.0]
USER = {"user_id": "u1"}


@pytest.fixture
def searcher(proxy, collection, monkeypatch):
    monkeypatch.setattr(patience, "BACKOFF_SECONDS", 0.01)
    store = OpenSearchVectorStore(
        url=proxy.url, collection_name=collection, embedding_model_dims=4, max_tries=1, timeout=5
    )
    store.insert([EAST], [{"data": "我喝黑咖啡", **USER}], ["m1"])
    searcher = Searcher(store)
    searcher.search("咖啡", vector=EAST, filters=USER)
    yield searcher
    store.close()
    searcher.entities.close()


def is_search(method, path):
    return path.partition("?")[0].endswith("/_search")


def test_a_search_that_times_out_is_tried_by_meaning_alone(proxy, searcher):
    proxy.strike(broken("hang", worked=False), on=is_search, times=1)
    answer = searcher.search("咖啡", vector=EAST, filters=USER)
    assert [found.id for found in answer.results] == ["m1"]
    (missing,) = answer.degraded
    assert missing.startswith("only meaning was searched")
    assert "time-out" in missing


def test_a_server_that_is_busy_is_not_asked_again(proxy, searcher):
    """What it pushes back has been retried; a second search would only add to its load."""
    proxy.strike(before(503), on=is_search)
    asked = proxy.count(is_search)
    with pytest.raises(BackendUnavailable):
        searcher.search("咖啡", vector=EAST, filters=USER)
    assert proxy.count(is_search) - asked == 1


def test_a_look_up_that_fails_leaves_the_rest(proxy, searcher):
    proxy.strike(before(500), on=lambda _, path: path.endswith("/_msearch"))
    answer = searcher.search("咖啡", vector=EAST, filters=USER)
    assert [found.id for found in answer.results] == ["m1"]
    assert answer.degraded[0].startswith("names and dates were not looked up")
