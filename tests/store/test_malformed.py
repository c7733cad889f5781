"""Whatever is given to the public API ends in a right result or a typed error, and nothing is half written unsaid."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import os

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mem_opensearch.errors import InvalidInputError, MemOpenSearchError, MemoryNotFoundError, PartialWriteError

CALLS = int(os.environ.get("MALFORMED_CALLS", "1200"))
EAST = [1, 0, 0, 0]

texts = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["", "*", "\x00", "\ud800", "a\nb", "..", "_all", "国" * 700, "x" * 600, "$content", "2026-02-30", "𠮷"]
    ),
)
numbers = st.one_of(
    st.integers(),
    st.floats(),
    st.sampled_from([2**63, 2**64, 10**400, 1e39, 1e-30, -0.0, np.float32(1.5), np.int64(3), decimal.Decimal(1), 1j]),
)
atoms = st.one_of(
    st.none(),
    st.booleans(),
    numbers,
    texts,
    st.binary(max_size=4),
    st.sampled_from([dt.date(2026, 1, 1), dt.datetime(2026, 1, 1), object(), int, {1, 2}, range(3)]),  # noqa: DTZ001
    st.builds(lambda: np.ones(4)),
    st.builds(lambda: np.array(5.0)),
    st.builds(lambda: np.ones((2, 4))),
    st.builds(lambda: collections.deque(EAST)),
    st.builds(lambda: iter([1])),
)
keys = st.one_of(
    texts,
    st.sampled_from(["data", "user_id", "agent_id", "created_at", "expiration_date", "entities"]),
    st.sampled_from(["facts", "vector", "id", "text", "payload", "a.b"]),
)
junk = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(keys, inner, max_size=4),
        st.dictionaries(st.one_of(keys, st.integers(), st.none()), inner, max_size=2),
    ),
    max_leaves=8,
)
ids = st.one_of(st.sampled_from(["m1", "m2", "m3", "记忆/4"]), texts)
vectors = st.one_of(
    st.just(EAST),
    st.just((0, 1, 0, 0)),
    st.just(np.array([0, 0, 1, 0], dtype=np.float32)),
    st.just(np.ones(8)[::2]),
    st.lists(numbers, min_size=3, max_size=5),
    junk,
)
payloads = st.one_of(
    st.just({"data": "台北", "user_id": "u1"}),
    st.dictionaries(keys, junk, max_size=4),
    st.builds(lambda value: {"data": "柏林", "nested": value}, junk),
)
operators = st.sampled_from(["eq", "gt", "lte", "in", "contains", "$nin", "AND", "OR", "$not", "near"])
filters = st.one_of(
    st.just({"user_id": "u1"}),
    st.dictionaries(keys, atoms, max_size=2),
    st.dictionaries(keys, st.dictionaries(operators, junk, max_size=2), max_size=2),
    st.dictionaries(operators, st.lists(st.dictionaries(keys, atoms, max_size=2), max_size=2), max_size=2),
)
top_ks = st.one_of(st.integers(1, 20), st.integers(), junk)


def several(each):
    return st.one_of(st.lists(each, max_size=3), junk)


def call(name, /, **arguments):
    """One call, most of whose arguments are good: a single bad one is what a careless caller gives."""
    spoilt = st.fixed_dictionaries({key: st.one_of(value, value, junk) for key, value in arguments.items()})
    return st.tuples(st.just(name), spoilt)


rows = st.lists(st.tuples(vectors, payloads, ids), min_size=1, max_size=4)
writes = st.one_of(
    rows.map(
        lambda given: (
            "insert",
            {
                "vectors": [v for v, _, _ in given],
                "payloads": [p for _, p, _ in given],
                "ids": [i for _, _, i in given],
            },
        )
    ),
    call("insert", vectors=several(vectors), payloads=several(payloads), ids=st.one_of(st.none(), several(ids))),
    call("update", vector_id=ids, vector=st.one_of(st.none(), vectors), payload=st.one_of(st.none(), payloads)),
    call("delete", vector_id=ids),
    call("delete_by_filter", filters=filters),
    call("delete_all", user_id=st.one_of(st.none(), texts), agent_id=texts, run_id=st.none()),
    call("purge", now=st.one_of(st.dates(), st.datetimes())),
)
reads = st.one_of(
    call("get", vector_id=ids),
    call("get_many", ids=several(ids)),
    call("count", filters=filters),
    call("list", filters=filters, top_k=top_ks),
    call("search", query=texts, vectors=vectors, top_k=top_ks, filters=filters),
    call("search_batch", queries=several(texts), vectors_list=several(vectors), top_k=top_ks, filters=filters),
    call("keyword_search", query=texts, top_k=top_ks, filters=filters),
    call("create_col", name=texts, vector_size=st.just(4), distance=st.just("cosine")),
    call("col_info", name=texts),
)


def as_stored(payload):
    return orjson.loads(orjson.dumps(payload))


class Ledger:
    """What should be stored, kept beside the store."""

    def __init__(self, store):
        self.store = store
        self.rows = {}
        self.seen = collections.Counter()
        self.late = collections.Counter()  # writes that only the server refused

    def check(self, name, arguments):
        before = dict(self.rows)
        try:
            result = getattr(self.store, name)(**arguments)
        except MemOpenSearchError as error:
            self.seen[type(error).__name__] += 1
            if name == "insert" and isinstance(error, PartialWriteError):
                self.rows |= dict.fromkeys(error.stored)
            elif name in {"insert", "update"}:
                self.late[name] += not isinstance(error, InvalidInputError | MemoryNotFoundError)
        else:
            self.seen["result"] += 1
            getattr(self, f"after_{name}", lambda *_: None)(arguments, result)
        if name in {"insert", "update", "delete", "delete_by_filter", "delete_all", "purge"}:
            listed = {hit.id: hit.payload for hit in self.store.list()[0]}
            if name in {"delete_by_filter", "delete_all", "purge"}:
                gone = before.keys() - listed.keys()
                assert len(gone) == (result if "result" in locals() else 0)
                for row_id in gone:
                    del self.rows[row_id]
            assert listed.keys() == self.rows.keys()
            for row_id, payload in self.rows.items():
                assert payload is None or listed[row_id] == payload

    def after_insert(self, arguments, hits):
        payloads = arguments["payloads"]
        payloads = [{}] * len(hits) if payloads is None else list(payloads)
        assert len(hits) == len(payloads)
        self.rows |= {hit.id: as_stored(payload) for hit, payload in zip(hits, payloads, strict=True)}

    def after_update(self, arguments, _):
        if arguments["payload"] is not None:
            self.rows[arguments["vector_id"]] = as_stored(arguments["payload"])

    def after_delete(self, arguments, found):
        assert found == (arguments["vector_id"] in self.rows)
        self.rows.pop(arguments["vector_id"], None)

    def after_get(self, arguments, hit):
        assert (hit and hit.payload) == self.rows.get(arguments["vector_id"])

    def after_get_many(self, arguments, hits):
        assert [hit and hit.payload for hit in hits] == [self.rows.get(row_id) for row_id in arguments["ids"]]

    def after_count(self, _, count):
        assert 0 <= count <= len(self.rows)

    def after_list(self, arguments, hits):
        assert len(hits[0]) <= min(len(self.rows), arguments["top_k"] or len(self.rows))


@pytest.fixture(scope="module")
def ledger(opensearch_url):
    import uuid

    from mem_opensearch import OpenSearchVectorStore

    name = f"test-{uuid.uuid4().hex[:12]}"
    store = OpenSearchVectorStore(url=opensearch_url, collection_name=name, embedding_model_dims=4)
    store.create_col()
    ledger = Ledger(store)
    yield ledger
    store.delete_col()
    store.close()


@settings(max_examples=CALLS, deadline=None, suppress_health_check=list(HealthCheck), derandomize=CALLS == 1200)
@given(st.one_of(writes, reads))
def test_a_call_ends_in_a_right_result_or_a_typed_error(ledger, made):
    if len(ledger.rows) > 60:
        ledger.store.reset()
        ledger.rows.clear()
    try:
        ledger.check(*made)
    except BaseException:
        ledger.rows = {hit.id: hit.payload for hit in ledger.store.list()[0]}  # the next call starts anew
        raise


def test_the_calls_were_of_all_kinds(ledger):
    """Of the calls above many were refused, and many were not."""
    if not ledger.seen:
        pytest.skip("the calls were not made in this run")
    assert ledger.seen.total() >= CALLS
    assert ledger.seen["result"] >= CALLS // 20
    assert ledger.seen["InvalidInputError"] + ledger.seen["VectorError"] >= CALLS // 5
    assert ledger.late.total() == 0, ledger.late
    assert "BackendError" not in ledger.seen, ledger.seen  # what the server would refuse is refused before
