"""The whole contract of the store on Elasticsearch (on an emulator, unless `ELASTICSEARCH_URL` is set).

The tests are those of `tests/store/test_contract.py`; what is left out has its counterpart here.
"""

from __future__ import annotations

from shared import SLOW, take

_LONG = "stores a keyword of any length"
globals().update(
    take(
        "test_contract",
        left_out={
            "test_col_info_list_cols_delete_col_reset": "which analysis there is depends on the server's plugins"
        },
        only_real={
            "test_one_bad_row_does_not_take_the_others_down": _LONG,
            "test_memory_text_reaches_no_log": _LONG,
            "test_list_goes_past_ten_thousand": SLOW,
        },
    )
)


def test_it_is_the_official_client_that_carries_the_requests(store):
    store.insert([[1, 0, 0, 0]], ids=["a"])
    assert type(store.client.transport).__name__ == "ElasticsearchTransport"
    assert store.client.dialect.name == "elasticsearch"


def test_col_info_list_cols_delete_col_reset(store):
    assert store.collection_name not in store.list_cols()
    store.insert([[1, 0, 0, 0]] * 3, ids=["a", "b", "c"])
    info = store.col_info()
    assert (info["name"], info["exists"], info["count"], info["dims"]) == (store.collection_name, True, 3, 4)
    assert (info["engine"], info["kind"]) == ("lucene", "memory")
    assert info["analyzer"] in {"ik", "smartcn", "jieba"}
    assert info["size_bytes"] > 0
    assert store.collection_name in store.list_cols()
    store.reset()
    assert (store.col_info()["count"], store.get("a")) == (0, None)
    store.delete_col()
    assert store.col_info()["exists"] is False
