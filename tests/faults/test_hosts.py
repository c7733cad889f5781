"""Several URLs of one cluster: a host that gives no answer is left out for a while, and comes back."""

from __future__ import annotations

import time

import pytest

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.client import connections, patience
from mem_opensearch.errors import BackendUnavailable

from .proxy import FaultProxy, broken

EAST = [1.0, 0.0, 0.0, 0.0]


@pytest.fixture
def pair(opensearch_url, collection, monkeypatch):
    """Two ways to one server, and a function that makes stores which know both."""
    monkeypatch.setattr(patience, "BACKOFF_SECONDS", 0.01)
    made = []
    with FaultProxy(opensearch_url) as first, FaultProxy(opensearch_url) as second:

        def make(left_out, **options):
            monkeypatch.setattr(connections, "AVOID_SECONDS", left_out)
            defaults = {"url": [first.url, second.url], "collection_name": collection, "embedding_model_dims": 4}
            made.append(OpenSearchVectorStore(**(defaults | options)))
            made[-1].insert([EAST], [{"data": "臺北"}], ["m0"])
            return made[-1]

        yield first, second, make
        for store in made:
            store.close()


def write(store, names):
    for name in names:
        store.insert([EAST], [{"data": "臺北"}], [name])
    assert all(store.get(name).payload == {"data": "臺北"} for name in names)
    return len(names)


@pytest.mark.parametrize(
    ("name", "fault", "options"),
    [
        ("one of two hosts resets", broken("reset", worked=False), {}),
        ("one of two hosts hangs", broken("hang", worked=False), {"timeout": 3}),
    ],
)
def test_a_dead_host_is_left_out(pair, ledger, name, fault, options):
    first, second, make = pair
    store = make(3600, **options)
    since = len(first.seen)
    first.strike(fault)
    written = write(store, [f"m{number}" for number in range(20)])
    assert first.count(since=since) <= 1, "it costs one request and no more"
    assert second.count() >= 40
    ledger.note(name, ends="success", acknowledged=written)


def test_it_comes_back(pair, ledger):
    first, _, make = pair
    store = make(0.2)
    first.strike(broken("reset", worked=False))
    written = write(store, ["m1", "m2"])
    first.calm()
    since, end = len(first.seen), time.monotonic() + 60
    while not first.count(since=since):
        assert time.monotonic() < end, "it is not asked again"
        written += write(store, ["m3"])
        time.sleep(0.05)
    ledger.note("one of two hosts resets, then comes back", ends="success", acknowledged=written)


def test_all_dead_then_back(pair, ledger):
    """However long they are to be left out: where there is no other, they are asked."""
    first, second, make = pair
    store = make(3600)
    for proxy in (first, second):
        proxy.strike(broken("reset", worked=False))
    with pytest.raises(BackendUnavailable) as caught:
        store.insert([EAST], [{"data": "臺北"}], ["m1"])
    assert first.url in str(caught.value)
    assert second.url in str(caught.value)
    for proxy in (first, second):
        proxy.calm()
    written = write(store, ["m1", "m2", "m3"])
    ledger.note("all hosts reset", ends="BackendUnavailable")
    ledger.note("all hosts reset", ends="success", acknowledged=written, tried=0)
