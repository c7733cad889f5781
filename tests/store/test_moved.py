"""A store that has worked with an index for a while, when the collection moves to one of another profile."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace

import pytest

from mem_opensearch.errors import IndexStateError
from mem_opensearch.index import index_name, read_spec, render_templates
from mem_opensearch.profiles import rewrite_words, word_field
from mem_opensearch.text import load_dictionary

EAST = [1, 0, 0, 0]
WORDS = ["裴若谷"]


@pytest.fixture
def move(store):
    """Move the collection to a next index, as a roll in another process does."""

    def move(profile, dictionary=None):
        client, name = store.client, store.collection_name
        words = word_field(profile, dictionary and load_dictionary(dictionary))
        spec, _ = read_spec(client, name)
        old, new = spec.index, index_name(name, int(spec.index[-6:]) + 1)
        templates = render_templates(replace(spec, profile=profile, dictionary=words.fingerprint), client.dialect)
        client.request("PUT", f"/_component_template/{templates.component_name}", body=templates.component)
        client.request("PUT", f"/_index_template/mem-opensearch-{name}", body=templates.index)
        client.request("PUT", f"/{new}")
        client.request("POST", f"/{old}/_refresh")
        for hit in client.request("POST", f"/{old}/_search", body={"size": 100})["hits"]["hits"]:
            row = client.request("GET", f"/{old}/_doc/{hit['_id']}", params={"_source_includes": "*"})["_source"]
            client.request("PUT", f"/{new}/_doc/{hit['_id']}", body=rewrite_words(row | {"vector": EAST}, words))
        client.request("POST", f"/{new}/_refresh")
        actions = [
            {"remove": {"index": old, "alias": name}},
            {"add": {"index": new, "alias": name, "is_write_index": True}},
        ]
        client.request("POST", "/_aliases", body={"actions": actions})

    yield move
    for number in range(1, 4):
        store.client.request("DELETE", f"/{index_name(store.collection_name, number)}", accept=(404,))


def words_of(store, row_id):
    return store.client.request("GET", f"/{store.collection_name}/_doc/{row_id}")["_source"].get("words")


def test_a_writer_makes_the_words_of_the_new_index(make_store, move):
    writer = make_store()
    writer.insert([EAST], [{"data": "裴若谷住在臺北"}], ["m1"])
    assert writer.col_info()["analyzer"] == "ik"
    move("jieba")
    writer.insert([EAST] * 2, [{"data": "裴若谷住在上海"}, {"data": "專案代號"}], ["m2", "m3"])
    assert words_of(writer, "m1") == "裴 若 谷 住 在 台北"
    assert words_of(writer, "m2") == "裴 若 谷 住 在 上海"
    assert [hit.id for hit in writer.keyword_search("专案代号")] == ["m3"]
    writer.insert([EAST], [{"data": "上海"}], ["m4"])
    assert words_of(writer, "m4") == "上海"


def test_an_update_too(make_store, move):
    writer = make_store()
    writer.insert([EAST], [{"data": "住在臺北"}], ["m1"])
    move("jieba")
    writer.update("m1", payload={"data": "住在上海"})
    assert words_of(writer, "m1") == "住 在 上海"
    assert writer.get("m1").payload == {"data": "住在上海"}


@pytest.mark.parametrize(("before", "after"), [("ik", "jieba"), ("jieba", "ik"), ("jieba", "bigram")])
def test_a_reader_finds_as_one_that_comes_new(make_store, move, before, after):
    make_store(analyzer=before).insert([EAST] * 2, [{"data": "專案代號是PX-441"}, {"data": "别的事"}], ["m1", "m2"])
    reader = make_store()
    assert [hit.id for hit in reader.keyword_search("专案代号")] == ["m1"]
    move(after)
    followed = reader.keyword_search("专案代号")
    assert followed[0].id == "m1"
    assert [(hit.id, hit.score) for hit in followed] == [
        (hit.id, hit.score) for hit in make_store().keyword_search("专案代号")
    ]
    assert reader._spec.profile == after


def test_a_writer_with_the_old_dictionary_is_told_and_then_refused(make_store, move, caplog):
    writer = make_store(analyzer="jieba")
    writer.insert([EAST], [{"data": "裴若谷住在臺北"}], ["m1"])
    move("jieba", WORDS)
    with caplog.at_level(logging.WARNING, logger="mem_opensearch"):
        writer.insert([EAST], [{"data": "裴若谷住在上海"}], ["m2"])  # it can't know yet; nothing is lost
    assert "made with another dictionary" in caplog.text
    assert {hit.id for hit in writer.keyword_search("裴若谷")} == {"m1", "m2"}
    with pytest.raises(IndexStateError, match="made with another dictionary"):
        writer.insert([EAST], [{"data": "别的"}])
    fresh = make_store(dictionary=WORDS)
    assert words_of(fresh, "m1") == "裴若谷 住 在 台北"


def test_threads_that_write_at_once_all_notice(make_store, move):
    writer = make_store()
    writer.insert([EAST], [{"data": "住在臺北"}], ["m0"])
    move("jieba")
    gate = threading.Barrier(6)

    def write(number):
        gate.wait()
        writer.insert([EAST], [{"data": f"住在上海{number}"}], [f"m{number}"])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [words_of(writer, f"m{number}") for number in range(1, 7)] == [f"住 在 上海 {n}" for n in range(1, 7)]


def test_an_ordinary_move_costs_one_look_and_no_second_write(make_store, move):
    writer = make_store()
    writer.insert([EAST], [{"data": "住在臺北"}], ["m1"])
    move("ik")
    before = writer.client.requests
    writer.insert([EAST], [{"data": "住在上海"}], ["m2"])
    assert writer.client.requests - before == 2  # the write, and the look at the index
    before = writer.client.requests
    writer.insert([EAST], [{"data": "住在上海"}], ["m3"])
    assert writer.client.requests - before == 1
