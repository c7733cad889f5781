"""Rows that are large, and rows that are too large."""

from __future__ import annotations

import copy

import pytest

from mem_opensearch.errors import InvalidInputError

EAST = [1, 0, 0, 0]


def test_a_row_larger_than_a_chunk_travels_alone(make_store):
    store = make_store(bulk_max_bytes=100_000)
    store.create_col()
    before = store.client.requests
    sizes = [10, 400_000, 10, 10]
    store.insert([EAST] * 4, [{"data": "长" * size} for size in sizes], ["a", "b", "c", "d"])
    assert store.client.requests == before + 3  # a; b; c and d
    assert [len(hit.payload["data"]) for hit in store.get_many(["a", "b", "c", "d"])] == sizes


# Text, another value, a value that the index also keeps as a fact, and one long key above many values.
BIG = [{"data": "长" * 70_000}, {"x": "y" * 210_000}, {"x": ["长" * 2000] * 30}, {"键" * 100: list(range(1000))}]


@pytest.mark.parametrize("payload", BIG)
def test_a_row_that_the_server_would_not_take_is_refused_by_name_before_anything_is_sent(make_store, payload):
    store = make_store(max_request_bytes=200_000)
    with pytest.raises(InvalidInputError, match=r"'large' takes [\d,]+ bytes .* 200,000 in one request") as caught:
        store.insert([EAST] * 2, [{"data": "small"}, payload], ["small", "large"])
    assert "长长" not in str(caught.value)
    assert store.col_info()["exists"] is False
    store.insert([EAST], [{"data": "small"}], ["large"])
    with pytest.raises(InvalidInputError, match="'large' takes"):
        store.update("large", payload=payload)
    assert store.get("large").payload == {"data": "small"}


@pytest.mark.parametrize("payload", BIG)
def test_what_is_below_the_limit_is_stored(make_store, payload):
    store = make_store(max_request_bytes=2_000_000)
    store.insert([EAST], [payload], ["m"])
    assert store.get("m").payload == payload


def test_the_servers_own_limit_is_the_default(make_store):
    """The limit is 100 MiB on a server that nobody has configured; a row beyond it is not sent."""
    store = make_store()
    with pytest.raises(InvalidInputError, match=r"the server takes 104,857,600 in one request"):
        store.insert([EAST], [{"parts": ["x" * 40_000_000] * 3}], ["m"])
    assert store.col_info()["exists"] is False


def test_a_string_that_the_servers_parser_would_not_take_is_refused(make_store):
    store = make_store()
    with pytest.raises(InvalidInputError, match="'m' holds a string of more than 50,000,000 characters"):
        store.insert([EAST], [{"data": "a", "deep": [{"x": "y" * 50_000_001}]}], ["m"])
    assert store.col_info()["exists"] is False


@pytest.mark.parametrize("option", ["keep", "skip", "update"])
def test_insert_and_update_leave_what_they_are_given_as_it_is(make_store, option):
    store = make_store(on_duplicate=option)
    vectors, ids = [[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0]], ["a", "b", "c"]
    payloads = [
        {"data": "台北", "user_id": "甲", "tags": ["x", {"y": [1]}]},
        {"data": "臺北", "user_id": "甲"},
        {"data": "c"},
    ]
    given = copy.deepcopy((vectors, payloads, ids))
    hits = store.insert(vectors, payloads, ids)
    store.update("a", vector=vectors[0], payload=payloads[0])
    for hit in hits:
        hit.payload["more"] = 1
    assert (vectors, payloads, ids) == given
