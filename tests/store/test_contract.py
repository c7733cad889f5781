"""The whole contract of mem0's vector stores, on a real node."""

from __future__ import annotations

import gc
import logging
import threading

import numpy as np
import pytest

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.errors import (
    BackendError,
    ConfigError,
    FilterError,
    IndexStateError,
    InvalidInputError,
    MemoryNotFoundError,
    PartialWriteError,
    ScopeError,
    VectorError,
)
from mem_opensearch.store import documents

EAST, NORTH, UP, NORTH_EAST = [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0]


def ids(hits):
    return [hit.id for hit in hits]


def fill(store):
    store.insert(
        [EAST, NORTH, NORTH_EAST, UP],
        [
            {"data": "我住在台北", "user_id": "u1", "created_at": "2026-01-01T00:00:00+08:00", "金额": 300},
            {"data": "我在柏林工作", "user_id": "u1", "created_at": "2026-01-03T00:00:00+08:00", "金额": 800},
            {"data": "台北的工作", "user_id": "u1", "created_at": "2026-01-02T00:00:00+08:00"},
            {"data": "我住在台北", "user_id": "u2", "created_at": "2026-01-01T00:00:00+08:00"},
        ],
        ["m1", "m2", "m3", "m4"],
    )


def test_constructor_sends_nothing():
    store = OpenSearchVectorStore(url="http://127.0.0.1:9", embedding_model_dims=4)  # the discard port: no server
    assert store.collection_name == "mem0"


def test_reads_of_a_missing_collection_find_nothing_and_make_nothing(store):
    assert store.search("x", EAST) == []
    assert store.keyword_search("x") == []
    assert store.search_batch(["x", "y"], [EAST, EAST]) == [[], []]
    assert store.list() == [[]]
    assert store.get("m1") is None
    store.delete("m1")
    assert store.col_info()["exists"] is False


def test_create_col_is_idempotent_and_checks(store, make_store):
    store.create_col(store.collection_name, 4, "cosine")
    store.create_col()
    assert store.col_info()["dims"] == 4
    with pytest.raises(ConfigError, match="compared by cosine"):
        store.create_col(store.collection_name, 4, "euclidean")
    with pytest.raises(ConfigError, match="make another store"):
        store.create_col("another", 4)
    with pytest.raises(ConfigError, match="set embedding_model_dims"):
        store.create_col(store.collection_name, 5)


def test_search_score_is_the_cosine(store):
    fill(store)
    hits = store.search("q", EAST, top_k=3, filters={"user_id": "u1"})
    assert ids(hits) == ["m1", "m3", "m2"]
    # cos(EAST, NORTH_EAST) = 1 / sqrt(2); EAST and NORTH are at right angles
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.7071068, 0.0], abs=1e-6)


def test_opposite_vectors_score_zero_not_less(store):
    store.insert([[-1, 0, 0, 0]], [{"data": "x"}], ["m"])
    assert store.search("q", EAST)[0].score == 0.0


def test_filter_is_applied_before_the_nearest_are_chosen(store):
    near = [[1, 0.001 * i, 0, 0] for i in range(500)]
    far = [[0.1, 0, 0, 1]] * 5
    store.insert(
        near + far,
        [{"data": "甲", "user_id": "甲"}] * 500 + [{"data": "乙", "user_id": "乙"}] * 5,
        [f"a{i}" for i in range(500)] + [f"b{i}" for i in range(5)],
    )
    assert sorted(ids(store.search("q", EAST, top_k=5, filters={"user_id": "乙"}))) == [f"b{i}" for i in range(5)]


def test_search_returns_up_to_top_k(store):
    store.insert([EAST] * 30, [{"data": "x"}] * 30)
    assert len(store.search("q", EAST, top_k=12)) == 12
    assert len(store.search("q", EAST)) == 5


def test_search_batch_is_one_trip_and_equals_single_searches(store):
    fill(store)
    singles = [store.search("q", vector, top_k=2, filters={"user_id": "u1"}) for vector in (EAST, NORTH, UP)]
    before = store.client.requests
    batch = store.search_batch(["a", "b", "c"], [EAST, NORTH, UP], top_k=2, filters={"user_id": "u1"})
    assert store.client.requests == before + 1
    assert batch == singles


def test_keyword_search(store):
    fill(store)
    hits = store.keyword_search("住在台北", top_k=10, filters={"user_id": "u1"})
    assert ids(hits)[0] == "m1"
    assert ids(hits)[1] == "m3"
    assert "m4" not in ids(hits)
    assert hits[0].score > hits[1].score > 0
    assert hits[0].payload["data"] == "我住在台北"
    assert store.keyword_search("  ", filters={"user_id": "u1"}) == []
    assert store.keyword_search("完全无关", filters={"user_id": "u1"}) == []


@pytest.mark.parametrize("text", ["国" * 5000, "a b " * 5000, "PX-441 " * 3000, "𠮷😂" * 2000])
def test_a_pasted_page_is_a_query_too(store, text):
    store.insert([EAST], [{"data": text[:30]}], ["m"])
    assert ids(store.keyword_search(text)) == ["m"]


def test_any_300_characters_stay_below_the_servers_clause_limit(store):
    rng = np.random.default_rng(5)
    store.insert([EAST], [{"data": "中国"}], ["m"])
    for alphabet in (
        [chr(c) for c in range(0x4E00, 0x9FA5)],
        list("abcdefgh0123456789-. "),
        list("的一是中国人大在有我"),
    ):
        for _ in range(10):
            store.keyword_search("".join(rng.choice(alphabet, 300)))


def test_payload_comes_back_exactly(store):
    payload = {
        "data": "全型ＰＸ－４４１，臺北 𠮷😂\n\t\"'\\",
        "int": 1,
        "float": 1.0,
        "tiny": 5e-324,
        "big": 2**63 - 1,
        "none": None,
        "flag": True,
        "nested": {"键": [1, [2, [3]], {"a.b": {"": "empty key"}}], "空": {}},
        "empty": [],
        "date": "2026-08-01T10:00:00.123456+08:00",
        "not a date": "2026-99-99",
        "user_id": "u1",
    }
    store.insert([EAST], [payload], ["m"])
    found = [store.get("m"), store.search("q", EAST)[0], store.keyword_search("臺北")[0], store.list()[0][0]]
    for hit in found:
        assert hit.payload == payload
        assert type(hit.payload["float"]) is float
        assert type(hit.payload["int"]) is int
    store.update("m", payload=payload)
    assert store.get("m").payload == payload


def test_the_callers_payload_is_not_touched(store):
    payload = {"data": "x", "tags": ["a"]}
    hit = store.insert([EAST], [payload], ["m"])[0]
    hit.payload["more"] = 1
    assert payload == {"data": "x", "tags": ["a"]}


def test_get_update_delete_need_no_refresh(make_store):
    store = make_store(refresh="false")
    store.insert([EAST], [{"data": "旧", "k": 1}], ["m"])
    assert store.get("m").payload == {"data": "旧", "k": 1}
    store.update("m", payload={"data": "新"})
    assert store.get("m").payload == {"data": "新"}
    store.delete("m")
    assert store.get("m") is None


def test_update_of_the_payload_replaces_it_whole_and_keeps_the_vector(store):
    store.insert([EAST], [{"data": "旧", "gone": 1, "nested": {"gone": 1}, "user_id": "u1"}], ["m"])
    store.update("m", payload={"data": "新", "nested": {"kept": 1}})
    assert store.get("m").payload == {"data": "新", "nested": {"kept": 1}}
    assert store.search("q", EAST)[0].score == pytest.approx(1.0)
    assert store.search("q", EAST, filters={"gone": 1}) == []
    assert store.search("q", EAST, filters={"user_id": "u1"}) == []
    assert ids(store.keyword_search("新")) == ["m"]
    assert store.keyword_search("旧") == []


def test_update_of_the_vector_keeps_the_payload(store):
    store.insert([EAST], [{"data": "台北", "k": 1}], ["m"])
    store.update("m", vector=np.array(NORTH, dtype=np.float32))
    hit = store.search("q", NORTH)[0]
    assert hit.score == pytest.approx(1.0)
    assert hit.payload == {"data": "台北", "k": 1}
    assert ids(store.keyword_search("台北")) == ["m"]


def test_update_of_both(store):
    store.insert([EAST], [{"data": "台北"}], ["m"])
    store.update(vector_id="m", vector=NORTH, payload={"data": "柏林"})
    assert store.search("q", NORTH)[0].payload == {"data": "柏林"}
    assert store.search("q", NORTH)[0].score == pytest.approx(1.0)


def test_update_of_a_missing_id_is_an_error_and_delete_is_not(store):
    fill(store)
    with pytest.raises(MemoryNotFoundError, match="'nope' is not stored"):
        store.update("nope", payload={"data": "x"})
    with pytest.raises(InvalidInputError, match="neither a vector nor a payload"):
        store.update("m1")
    store.delete("nope")
    assert len(store.list()[0]) == 4


def test_insert_of_the_same_id_replaces(store):
    store.insert([EAST], [{"data": "旧"}], ["m"])
    store.insert([NORTH], [{"data": "新"}], ["m"])
    assert [(hit.id, hit.payload) for hit in store.list()[0]] == [("m", {"data": "新"})]


def test_insert_without_ids_never_overwrites(store):
    first = ids(store.insert([EAST, NORTH], [{"data": "a"}, {"data": "b"}]))
    second = ids(store.insert([EAST]))
    assert len({*first, *second}) == 3
    assert len(store.list()[0]) == 3


def test_insert_is_bulk(make_store):
    store = make_store(bulk_max_items=500)
    store.create_col()
    before = store.client.requests
    store.insert([EAST] * 1201, [{"data": f"第{i}条"} for i in range(1201)], [f"m{i}" for i in range(1201)])
    assert store.client.requests == before + 3
    assert store.col_info()["count"] == 1201


def test_insert_is_chunked_by_bytes(make_store):
    store = make_store(bulk_max_bytes=100_000)
    store.create_col()
    before = store.client.requests
    store.insert([EAST] * 8, [{"data": "长" * 20_000}] * 8)
    assert store.client.requests > before + 4
    assert store.col_info()["count"] == 8


def test_list_is_newest_first(store):
    fill(store)
    assert ids(store.list(filters={"user_id": "u1"})[0]) == ["m2", "m3", "m1"]
    assert ids(store.list(filters={"user_id": "u1"}, top_k=2)[0]) == ["m2", "m3"]
    assert store.list(filters={"user_id": "nobody"}) == [[]]


def test_list_goes_past_ten_thousand(store):
    count = 10_050
    store.insert([EAST] * count, [{"data": "x", "n": i} for i in range(count)], [f"m{i:05}" for i in range(count)])
    listed = store.list()[0]
    assert ids(listed) == [f"m{i:05}" for i in range(count)]
    assert len(store.list(top_k=10_020)[0]) == 10_020


def test_this_process_sees_its_own_writes_through_any_store(make_store):
    writer, reader = make_store(), make_store()
    assert reader.search("q", EAST) == []
    for i in range(20):
        writer.insert([EAST], [{"data": f"第{i}条"}], [f"m{i}"])
        assert len(reader.search("q", EAST, top_k=100)) == i + 1
    for i in range(20):
        writer.delete(f"m{i}")
        assert len(reader.list()[0]) == 19 - i


def test_a_write_is_seen_though_the_store_that_wrote_it_is_gone(opensearch_url, collection):
    options = {"url": opensearch_url, "collection_name": collection, "embedding_model_dims": 4}
    OpenSearchVectorStore(**options).create_col()
    for number in range(10):
        OpenSearchVectorStore(**options).insert([EAST], [{"data": "x"}], [f"m{number}"])
        gc.collect()
        assert len(OpenSearchVectorStore(**options).list()[0]) == number + 1


@pytest.mark.parametrize("policy", ["wait_for", "true", True])
def test_refresh_policies_that_show_a_write_to_everyone(make_store, policy):
    import requests

    store = make_store(refresh=policy)
    store.insert([EAST], [{"data": "x"}], ["m"])
    count = requests.get(f"{store.client.hosts[0]}/{store.collection_name}/_count", timeout=10).json()["count"]
    assert count == 1


def test_col_info_list_cols_delete_col_reset(store, opensearch_url):
    assert store.collection_name not in store.list_cols()
    fill(store)
    info = store.col_info()
    assert (info["name"], info["exists"], info["count"], info["dims"]) == (store.collection_name, True, 4, 4)
    assert (info["analyzer"], info["engine"], info["kind"]) == ("ik", "lucene", "memory")
    assert store.collection_name in store.list_cols()
    store.reset()
    assert store.list() == [[]]
    assert store.col_info()["exists"] is True
    store.delete_col()
    store.delete_col()
    assert store.collection_name not in store.list_cols()
    fill(store)  # the store makes the index again
    assert len(store.list()[0]) == 4


@pytest.mark.parametrize(
    ("vector", "said"),
    [
        ([1, 2, 3], "has 3 dimensions, index '.*' has 4"),
        ([0, 0, 0, 0], "is all zero"),
        ([1, float("nan"), 0, 0], "NaN"),
        ([1, float("inf"), 0, 0], "infinity"),
        ([1, "x", 0, 0], "not a number"),
        (None, "the embedder gave no vector"),
        ([], "has 0 dimensions"),
        ("1000", "the embedder gave no vector"),
        ([1e-23, 0, 0, 0], "zero to the server"),
        ([1.9e19, 0, 0, 0], "a number too large"),
        (["1", "0", "0", "0"], "not a number"),
        (np.ones((4, 4)), "shape"),
        (np.ones(4, dtype=bool), "type bool"),
    ],
)
def test_a_bad_vector_is_refused_by_name_before_anything_is_sent(store, vector, said):
    with pytest.raises(VectorError, match=said) as caught:
        store.insert([EAST, vector], [{"data": "a"}, {"data": "b"}], ["good", "bad"])
    assert "'bad'" in str(caught.value)
    assert store.col_info()["exists"] is False
    with pytest.raises(VectorError, match=said):
        store.search("q", vector)
    with pytest.raises(VectorError, match=said if vector is not None else "no vector"):
        store.update("good", vector=vector if vector is not None else "x")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"vectors": [EAST], "ids": ["a", "b"]}, "1 vectors but 2 ids"),
        ({"vectors": [EAST], "payloads": []}, "1 vectors but 0 payloads"),
        ({"vectors": [EAST], "ids": [""]}, "non-empty string"),
        ({"vectors": [EAST], "ids": [7]}, "non-empty string"),
        ({"vectors": [EAST], "ids": ["x" * 513]}, "at most 512"),
        ({"vectors": [EAST], "ids": ["\ud800"]}, "not valid Unicode"),
        ({"vectors": [EAST], "payloads": ["text"]}, "expected a mapping"),
        ({"vectors": [EAST], "payloads": [{"data": 5}]}, "'data' is int"),
        ({"vectors": [EAST], "payloads": [{"user_id": {"enum": "x"}}]}, "'user_id' is dict"),
        ({"vectors": [EAST], "payloads": [{"x": float("nan")}]}, "NaN or infinity"),
        ({"vectors": [EAST], "payloads": [{"x": {1, 2}}]}, "can't be written as JSON"),
        ({"vectors": [EAST], "payloads": [{"x": 2**70}]}, "can't be written as JSON"),
        ({"vectors": [EAST], "payloads": [{"x": "\ud800"}]}, "can't be written as JSON"),
        ({"vectors": [EAST], "payloads": [{"x": list(range(6000))}]}, "at most 5000"),
        ({"vectors": [EAST], "payloads": [{"user_id": "长" * 20_000}]}, "'user_id' is longer than 32766 bytes"),
        ({"vectors": [EAST], "payloads": [{"长" * 20_000: 1}]}, "is longer than 32766 bytes"),
        ({"vectors": [EAST], "ids": "a"}, "'ids' is str, expected a list"),
        ({"vectors": [EAST], "payloads": {"data": "x"}}, "'payloads' is dict, expected a list"),
        ({"vectors": None}, "'vectors' is NoneType, expected a list"),
    ],
)
def test_bad_input_is_refused_before_anything_is_sent(store, arguments, said):
    with pytest.raises(InvalidInputError, match=said):
        store.insert(**arguments)
    assert store.col_info()["exists"] is False


@pytest.mark.parametrize("top_k", [0, -1, 10_001, True, 2.5, "5"])
def test_a_bad_top_k_is_refused(store, top_k):
    with pytest.raises(InvalidInputError, match="top_k"):
        store.search("q", EAST, top_k=top_k)
    with pytest.raises(InvalidInputError, match="top_k"):
        store.keyword_search("q", top_k=top_k)


@pytest.mark.parametrize("replicas", [0, 1], ids=["all copies are there", "a copy is missing"])
def test_odd_ids_are_only_data(make_store, replicas):
    store = make_store(replicas=replicas)  # on a single node the copy is nowhere
    odd = ["a/b", "..", "a b", "ü?x=1&y", "#", "%2F", "记忆-1", "*", "a,b"]
    odd += ["_search", "_count", "_mget", "_msearch", "_refresh", "_bulk", "_doc", "_update", "point_in_time"]
    store.insert([EAST] * len(odd), [{"data": row_id} for row_id in odd], odd)
    for row_id in odd:
        assert store.get(row_id).payload == {"data": row_id}
        store.update(row_id, payload={"data": row_id + "!"})
        assert store.get(row_id).payload == {"data": row_id + "!"}
        store.delete(row_id)
        assert store.get(row_id) is None
    assert store.list() == [[]]


def test_filters_hold_on_search_keyword_search_and_list(store):
    fill(store)
    for filters, expected in [
        ({"user_id": "u1", "金额": {"gte": 500}}, ["m2"]),
        ({"user_id": "u1", "金额": {"gte": 100, "lt": 500}}, ["m1"]),
        ({"user_id": "u1", "$not": [{"金额": "*"}]}, ["m3"]),
        ({"$or": [{"user_id": "u2"}, {"金额": 800}]}, ["m2", "m4"]),
        ({"user_id": {"in": []}}, []),
        ({"user_id": {"ne": "u1"}}, ["m4"]),
        ({"created_at": {"gte": "2026-01-01T16:00:00Z"}}, ["m2", "m3"]),
        ({}, ["m1", "m2", "m3", "m4"]),
        (None, ["m1", "m2", "m3", "m4"]),
    ]:
        assert sorted(ids(store.search("q", EAST, top_k=10, filters=filters))) == expected, filters
        assert sorted(ids(store.list(filters=filters)[0])) == expected, filters
        found = set(ids(store.keyword_search("我住在台北工作", top_k=10, filters=filters)))
        assert found == set(expected), filters


@pytest.mark.parametrize(
    ("filters", "error"),
    [
        ({"user_id": "u1", "金额": {"near": 3}}, FilterError),
        ({"user_id": "*"}, ScopeError),
        ({"user_id": None}, ScopeError),
        ({"user_id": ""}, ScopeError),
        ({"user_id": {"exists": 1}}, FilterError),
        ("user_id = 'u1'", FilterError),
    ],
)
def test_a_filter_that_is_not_understood_is_an_error_everywhere(store, filters, error):
    fill(store)
    for ask in (
        lambda: store.search("q", EAST, filters=filters),
        lambda: store.search_batch(["q"], [EAST], filters=filters),
        lambda: store.keyword_search("台北", filters=filters),
        lambda: store.list(filters=filters),
    ):
        with pytest.raises(error):
            ask()


def test_injection_attempts_match_nothing(store):
    fill(store)
    for value in ['u1\') or ("1"="1', 'u1" OR "1"="1', "u*", "u?", "{}", "\\*"]:
        assert store.list(filters={"user_id": value}) == [[]]
        assert store.search("q", EAST, filters={"user_id": value}) == []


def test_another_dimension_is_refused_with_the_mend(store, make_store):
    fill(store)
    with pytest.raises(IndexStateError, match="holds vectors of 4 dimensions, the configuration says 5"):
        make_store(embedding_model_dims=5).search("q", [1, 0, 0, 0, 0])
    with pytest.raises(IndexStateError, match="embedder that the index was made for"):
        make_store(embedding_model_dims=5).insert([[1, 0, 0, 0, 0]])


def test_an_index_of_someone_else_is_left_alone(make_store, collection, opensearch_url):
    import requests

    requests.put(f"{opensearch_url}/{collection}", timeout=30)
    try:
        with pytest.raises(IndexStateError, match="did not make"):
            make_store().insert([EAST])
        with pytest.raises(IndexStateError, match="did not make"):
            make_store().delete_col()
        assert requests.head(f"{opensearch_url}/{collection}", timeout=30).status_code == 200
    finally:
        requests.delete(f"{opensearch_url}/{collection}", timeout=30)


def test_an_index_deleted_under_the_store_is_said_and_made_again(store, make_store):
    fill(store)
    make_store().delete_col()
    with pytest.raises(IndexStateError, match="mem_opensearch.init"):
        store.search("q", EAST)
    assert store.search("q", EAST) == []
    fill(store)
    make_store().delete_col()
    with pytest.raises((PartialWriteError, IndexStateError, BackendError)):
        fill(store)
    fill(store)
    assert len(store.list()[0]) == 4


def test_one_bad_row_does_not_take_the_others_down(store, monkeypatch):
    """The server refuses a keyword above 32,766 bytes, when this side lets it pass."""
    monkeypatch.setattr(documents, "MAX_TERM_BYTES", 10**6)
    with pytest.raises(PartialWriteError) as caught:
        store.insert([EAST] * 3, [{"data": "a"}, {"user_id": "长" * 20_000}, {"data": "c"}], ["a", "b", "c"])
    assert caught.value.stored == ["a", "c"]
    assert list(caught.value.failed) == ["b"]
    assert "immense term" in caught.value.failed["b"]
    assert "长长" not in str(caught.value)
    assert sorted(ids(store.list()[0])) == ["a", "c"]


def test_memory_text_reaches_no_log(store, caplog, monkeypatch):
    monkeypatch.setattr(documents, "MAX_TERM_BYTES", 10**6)  # so that the server refuses it, and says why
    caplog.set_level(logging.DEBUG)
    with pytest.raises(PartialWriteError):
        store.insert([EAST], [{"data": "绝密文字", "user_id": "长" * 20_000}], ["m"])
    store.insert([EAST], [{"data": "绝密文字"}], ["m"])
    store.update("m", payload={"data": "绝密文字二"})
    store.keyword_search("绝密文字")
    store.get("missing")
    assert store.col_info()["count"] == 1
    assert "绝密" not in caplog.text
    assert "\\u7edd" not in caplog.text.lower()


def test_many_threads_share_a_store(store):
    errors = []

    def work(number):
        try:
            for i in range(10):
                store.insert([EAST], [{"data": f"{number}-{i}", "user_id": f"u{number}"}], [f"{number}-{i}"])
            assert len(store.list(filters={"user_id": f"u{number}"})[0]) == 10
        except BaseException as error:  # noqa: BLE001 - reported below, from the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert store.col_info()["count"] == 160


def test_entities_have_an_index_of_their_own(make_store, collection):
    memories, entities = make_store(), make_store(collection_name=f"{collection}_entities")
    memories.insert([EAST], [{"data": "王芳在腾讯上班", "user_id": "u1"}], ["m1"])
    entities.insert(
        [NORTH], [{"data": "王芳", "entity_type": "PERSON", "linked_memory_ids": ["m1"], "user_id": "u1"}], ["e1"]
    )
    assert ids(memories.list()[0]) == ["m1"]
    assert entities.col_info()["kind"] == "entities"
    hit = entities.search("王芳", NORTH, filters={"user_id": "u1"})[0]
    assert hit.score == pytest.approx(1.0)
    entities.update("e1", payload=hit.payload | {"linked_memory_ids": ["m1", "m2"]})
    assert entities.list(filters={"user_id": "u1"}, top_k=10_000)[0][0].payload["linked_memory_ids"] == ["m1", "m2"]
    assert entities.search("王芳", NORTH, filters={"user_id": "u2"}) == []
