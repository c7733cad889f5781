"""The whole contract of the store, on a server of the serverless shape: the tests of `tests/store`.

What is left out counts requests, or asks for what such a server has not got; each has its counterpart in
`test_rows.py` or in this file.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from aoss_server import ServerlessServer

_FOLDER = Path(__file__).parents[1] / "store"
_FILES = ("test_contract.py", "test_deleting.py", "test_duplicates.py", "test_reading_many.py")
LEFT_OUT = {
    "test_search_batch_is_one_trip_and_equals_single_searches": "one more request tells which copies are the newest",
    "test_insert_is_bulk": "it counts requests: ids are looked up before they are written",
    "test_get_many_of_thousands": "it counts requests: 500 ids go into one, not 1,000",
    "test_col_info_list_cols_delete_col_reset": "the size is not told, the engine is faiss, and there is no IK",
    "test_progress_is_told_page_by_page": "pages have another size",
    "test_a_row_that_is_rewritten_before_its_page_is_deleted_goes_if_it_still_passes": "it is about deletion by query",
    "test_a_write_block_of_a_roll_is_waited_out": "nothing can be rolled",
    "test_list_is_stable_past_ten_thousand_while_others_write_and_delete": "there is no point in time",
}


def _tests_of(path: Path) -> dict[str, object]:
    spec = importlib.util.spec_from_file_location(f"store_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: each for name, each in vars(module).items() if name.startswith("test_")}


TESTS = {name: each for file in _FILES for name, each in _tests_of(_FOLDER / file).items()}
globals().update({name: each for name, each in TESTS.items() if name not in LEFT_OUT})


@pytest.fixture
def opensearch_url(opensearch_url):
    server = ServerlessServer(opensearch_url)
    yield server.url
    server.close()
    assert server.refusals() == []


def test_what_is_left_out_is_there():
    assert set(LEFT_OUT) <= set(TESTS)


def test_search_batch_equals_single_searches(store):
    vectors = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    store.insert(vectors, [{"data": "x", "user_id": "u1"}] * 3, ["a", "b", "c"])
    singles = [store.search("q", vector, top_k=2, filters={"user_id": "u1"}) for vector in vectors]
    assert store.search_batch(["q"] * 3, vectors, top_k=2, filters={"user_id": "u1"}) == singles


def test_col_info_list_cols_delete_col_reset(store):
    assert store.collection_name not in store.list_cols()
    store.insert([[1, 0, 0, 0]] * 3, ids=["a", "b", "c"])
    info = store.col_info()
    assert (info["name"], info["exists"], info["count"], info["dims"]) == (store.collection_name, True, 3, 4)
    assert (info["engine"], info["kind"]) == ("faiss", "memory")
    assert info["analyzer"] in {"smartcn", "jieba"}  # as the node has it; IK is none of the service's
    assert info["size_bytes"] is None
    assert store.collection_name in store.list_cols()
    store.reset()
    assert (store.col_info()["count"], store.get("a")) == (0, None)
    store.delete_col()
    assert store.col_info()["exists"] is False
