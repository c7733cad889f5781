"""An index or a server in a state that refuses requests: an error that names the mend, and work goes on after it."""

from __future__ import annotations

import time

import pytest

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.errors import (
    BackendError,
    BackendUnavailable,
    FilterError,
    IndexBlocked,
    IndexStateError,
    InvalidInputError,
    Throttled,
)

from .proxy import before

EAST = [1.0, 0.0, 0.0, 0.0]
ROW = {"data": "住在臺北"}
WRITES = {
    "insert": lambda store: store.insert([EAST] * 2, [ROW] * 2, ["m2", "m3"]),
    "update": lambda store: store.update("m1", payload=ROW | {"n": 1}),
    "delete": lambda store: store.delete("m3"),
}
READS = {
    "search": lambda store: store.search("", EAST),
    "keyword_search": lambda store: store.keyword_search("台北"),
    "list": lambda store: store.list(),
    "get": lambda store: store.get("m1"),
}
BOTH = WRITES | READS


@pytest.fixture
def filled(make_store):
    store = make_store(max_tries=2)
    store.insert([EAST], [ROW], ["m1"])
    return store


def settings_of(store, name, value):
    store.client.request("PUT", f"/{store.collection_name}-v1-000001/_settings", body={name: value})


def refused(store, asks, error, message):
    """Every one of `asks` raises `error`, and quotes no memory."""
    for name, ask in asks.items():
        with pytest.raises(error, match=message) as caught:
            ask(store)
        assert "臺北" not in str(caught.value), name
    return len(asks)


def works(store, ledger, fault, error, tried):
    """The same store object does everything again; nothing acknowledged is missing."""
    for ask in WRITES.values():
        ask(store)
    found = {hit.id: hit.payload for hit in store.list()[0]}
    lost = [each for each, payload in {"m1": ROW | {"n": 1}, "m2": ROW}.items() if found.get(each) != payload]
    back = [each for each in ("m3",) if each in found]
    for ask in READS.values():
        ask(store)
    ledger.note(
        fault,
        ends=getattr(error, "__name__", error),
        tried=tried,
        acknowledged=len(WRITES) + 2,
        lost=len(lost),
        back=len(back),
    )
    assert (lost, back) == ([], [])


@pytest.mark.parametrize(
    ("setting", "asks", "mend"),
    [
        ("read_only_allow_delete", WRITES, "free space there"),
        ("read_only", WRITES, r'PUT /test-\w+-v1-000001/_settings {"index.blocks.read_only": null}'),
        ("read", READS, r'PUT /test-\w+-v1-000001/_settings {"index.blocks.read": null}'),
    ],
)
def test_a_block(filled, ledger, setting, asks, mend):
    before_it = filled.client.requests
    settings_of(filled, f"index.blocks.{setting}", True)
    tried = refused(filled, asks, IndexBlocked, mend)
    assert filled.client.requests - before_it <= 2 * tried + 1, "a block is not asked away"
    settings_of(filled, f"index.blocks.{setting}", None)
    works(filled, ledger, f"index block {setting}", IndexBlocked, tried)


def test_a_closed_index(filled, ledger):
    index = f"/{filled.collection_name}-v1-000001"
    filled.client.request("POST", f"{index}/_close")
    tried = refused(filled, BOTH, IndexBlocked, rf"the index is closed; open it with: POST {index}/_open")
    filled.client.request("POST", f"{index}/_open")
    works(filled, ledger, "index closed", IndexBlocked, tried)


@pytest.mark.parametrize("method", WRITES)
def test_an_index_deleted_under_a_writer(filled, ledger, method):
    """The first write after it says so; the next one makes the collection anew. No index with a guessed mapping."""
    filled.client.request("DELETE", f"/{filled.collection_name}-v1-000001")
    if method == "delete":
        filled.delete("m1")  # it is gone, as was asked for; the next write says why
        method = "insert"
    refused(filled, {method: WRITES[method]}, IndexStateError, "python -m mem_opensearch.init")
    filled.insert([EAST], [ROW], ["m1"])
    assert filled.col_info()["analyzer"] == "ik"
    works(filled, ledger, "index deleted under the client", IndexStateError, 1)


@pytest.mark.parametrize("method", ["search", "keyword_search", "list"])
def test_an_index_deleted_under_a_reader(filled, method):
    """It is said once, since it was there before; after that it is a collection that does not exist, which is empty."""
    filled.client.request("DELETE", f"/{filled.collection_name}-v1-000001")
    with pytest.raises(IndexStateError, match="no such index"):
        READS[method](filled)
    assert READS[method](filled) in ([], [[]])


def test_a_missing_index(make_store, ledger):
    store = make_store()
    assert [ask(store) for ask in READS.values()] == [[], [], [[]], None]
    store.insert([EAST], [ROW], ["m1"])
    works(store, ledger, "index missing at first", "success", len(READS))


def test_an_index_of_somebody_else(make_store, ledger):
    store = make_store()
    store.client.request(
        "PUT", f"/{store.collection_name}", body={"mappings": {"properties": {"text": {"type": "long"}}}}
    )
    tried = refused(store, BOTH, IndexStateError, "mem_opensearch did not make; choose another collection_name")
    store.client.request("DELETE", f"/{store.collection_name}")
    store.insert([EAST], [ROW], ["m1"])
    works(store, ledger, "an index of somebody else has the name", IndexStateError, tried)


def test_our_index_without_its_alias(make_store, ledger):
    store = make_store()
    index = f"/{store.collection_name}-v1-000001"
    store.client.request("PUT", index)
    insert = {"insert": WRITES["insert"]}
    tried = refused(store, insert, IndexStateError, "delete that index or give it the alias")
    store.client.request("DELETE", index)
    store.insert([EAST], [ROW], ["m1"])
    works(store, ledger, "our index without its alias", IndexStateError, tried)


def test_too_many_clauses(filled, ledger):
    many = {"OR": [{"n": {"gt": number}} for number in range(3000)]}
    with pytest.raises(FilterError, match="more than 400 comparisons"):
        filled.search("", EAST, filters=many)
    assert filled.keyword_search(" ".join(f"词{number}" for number in range(5000))) == []
    works(filled, ledger, "too many clauses", FilterError, 1)


def test_a_result_window_smaller_than_asked_for(filled, ledger):
    for top_k in (10_001, 0):
        with pytest.raises(InvalidInputError, match="from 1 to 10000"):
            filled.search("", EAST, top_k=top_k)
    settings_of(filled, "index.max_result_window", 50)
    with pytest.raises(BackendError, match="Result window is too large.*lower top_k, or raise index.max_result_window"):
        filled.search("", EAST, top_k=51)
    assert len(filled.search("", EAST, top_k=50)) == 1
    settings_of(filled, "index.max_result_window", None)
    assert len(filled.search("", EAST, top_k=10_000)) == 1
    works(filled, ledger, "result window", BackendError, 1)


def test_metadata_never_meet_the_limit_of_fields(filled, ledger):
    """A thousand rows could bring more keys than the 1,000 fields an index may have: the mapping does not grow."""
    path = f"/{filled.collection_name}/_mapping"
    was = filled.client.request("GET", path)
    payloads = [{"data": "x"} | {f"键{row}-{key}": key for key in range(20)} for row in range(100)]
    filled.insert([EAST] * 100, payloads, [f"k{row}" for row in range(100)])
    assert filled.client.request("GET", path) == was
    assert [hit.id for hit in filled.list(filters={"键99-19": 19})[0]] == ["k99"]
    with pytest.raises(InvalidInputError, match="at most 5000 are indexed"):
        filled.insert([EAST], [{f"k{key}": key for key in range(5001)}], ["m9"])
    for row in range(100):
        filled.delete(f"k{row}")
    works(filled, ledger, "2,000 metadata keys", InvalidInputError, 1)


class TestTooLarge:
    def test_for_a_proxy(self, opensearch_url, collection, proxy, ledger):
        """As nginx says it; what is smaller goes through."""
        store = OpenSearchVectorStore(url=proxy.url, collection_name=collection, embedding_model_dims=4)
        store.insert([EAST], [ROW], ["m1"])
        proxy.strike(before(413, b"<h1>413 Request Entity Too Large</h1>", content_type="text/html"))
        with pytest.raises(BackendError, match="client_max_body_size.: lower bulk_max_bytes") as caught:
            store.insert([EAST] * 2, [ROW] * 2, ["m2", "m3"])
        assert caught.value.status == 413
        proxy.calm()
        works(store, ledger, "413, body too large", BackendError, 1)
        store.close()

    def test_for_the_server_itself(self, filled, ledger):
        """A body over http.max_content_length, 100 MB."""
        sent = filled.client.requests
        with pytest.raises(BackendError, match="lower bulk_max_bytes") as caught:
            filled.client.request("POST", f"/{filled.collection_name}/_bulk", body=b" " * (105 << 20))
        assert caught.value.status == 413
        assert filled.client.requests - sent == 1
        works(filled, ledger, "413, body too large", BackendError, 1)


# -- what needs settings of a whole cluster: on one that belongs to the tests


@pytest.fixture
def own(make_clustered):
    store = make_clustered(max_tries=2, shards=1, replicas=1)
    store.insert([EAST], [ROW], ["m1"])
    yield store
    names = [
        "cluster.blocks.*",
        "cluster.routing.allocation.disk.*",
        "cluster.info.update.interval",
        "network.breaker.*",
    ]
    cluster_settings(store, **dict.fromkeys(names))


def cluster_settings(store, **settings):
    store.client.request("PUT", "/_cluster/settings", body={"persistent": settings})


def test_a_read_only_cluster(own, ledger):
    cluster_settings(own, **{"cluster.blocks.read_only": True})
    tried = refused(own, WRITES, IndexBlocked, '{"cluster.blocks.read_only": null}')
    cluster_settings(own, **{"cluster.blocks.read_only": None})
    works(own, ledger, "cluster read-only", IndexBlocked, tried)


def test_a_full_disk(own, make_clustered, ledger):
    """The server's own watch over its disk, with marks that every disk is beyond; it takes its blocks off by itself."""
    disk = "cluster.routing.allocation.disk"
    marks = [f"{disk}.watermark.{name}" for name in ("low", "high", "flood_stage")]
    watched = {f"{disk}.threshold_enabled": True, "cluster.info.update.interval": "10s"}
    insert = WRITES["insert"]
    other = make_clustered(collection_name="other")
    cluster_settings(own, **watched | dict.fromkeys(marks, "900tb"))
    assert until(lambda: is_blocked(own, insert)), "the server does not notice"
    tried = refused(own, WRITES, IndexBlocked, "the disk of a node is as good as full.*free space there")
    assert until(lambda: is_blocked(other, insert)), "all disks are full, and an index is made"
    tried += refused(other, {"insert": insert}, IndexBlocked, "making indices is blocked.*free space")
    own.search("", EAST)  # reading is not blocked
    cluster_settings(own, **watched | dict.fromkeys(marks, "1b"))
    assert until(lambda: not is_blocked(own, insert) and not is_blocked(other, insert)), "the blocks stay"
    works(own, ledger, "disk over its flood-stage watermark", IndexBlocked, tried)


def is_blocked(store, ask):
    try:
        ask(store)
    except IndexBlocked:
        return True
    return False


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True


def test_a_circuit_breaker(own, ledger):
    cluster_settings(own, **{"network.breaker.inflight_requests.limit": "20kb"})
    rows = 200
    with pytest.raises(Throttled, match="circuit_breaking_exception.*lower bulk_max_bytes"):
        own.insert([EAST] * rows, [{"data": "x" * 400}] * rows)
    cluster_settings(own, **{"network.breaker.inflight_requests.limit": None})
    own.insert([EAST] * rows, [{"data": "x" * 400}] * rows)
    works(own, ledger, "circuit breaker", Throttled, 1)


def test_a_node_with_the_only_copy_is_gone(cluster, make_clustered, ledger):
    """Fewer hits would be a wrong answer."""
    store = make_clustered(shards=3, replicas=0, max_tries=2, timeout=5, collection_name="single")
    store.insert([EAST] * 60, [ROW] * 60, [f"r{number}" for number in range(60)])
    assert len(store.search("", EAST, top_k=100)) == 60
    found = store.client.request("GET", "/single/_search_shards")
    name = found["nodes"][found["shards"][0][0]["node"]]["name"]  # node-1, node-2 ...
    index = int(name.rpartition("-")[2]) - 1
    cluster.kill(index)
    for name in ("search", "keyword_search", "list"):
        with pytest.raises(BackendUnavailable):
            READS[name](store)
    cluster.restart(index)
    assert len(store.search("", EAST, top_k=100)) == 60
    ledger.note("a shard without a copy is gone", ends="BackendUnavailable", tried=3, acknowledged=60)
