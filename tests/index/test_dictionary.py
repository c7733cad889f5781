"""The user's words against a real server: whole where they can be, and a change is told with its mend."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from mem_opensearch.cli import app
from mem_opensearch.errors import ConfigError, IndexStateError
from mem_opensearch.index import analyse_text, read_spec
from mem_opensearch.text import load_dictionary

EAST = [1, 0, 0, 0]
WORDS = ["裴若谷", "夜16"]
ROLL = "python -m mem_opensearch.init --roll --collection "


@pytest.fixture
def jieba_store(make_store):
    """A store whose words are jieba's and the user's, with a memory in it."""
    store = make_store(analyzer="jieba", dictionary=WORDS)
    store.insert([EAST], [{"data": "裴若谷住在夜16"}], ["m1"])
    return store


def test_the_users_words_are_in_the_index(jieba_store):
    analysis = analyse_text(
        jieba_store.client, "裴若谷", collection=jieba_store.collection_name, dictionary=load_dictionary(WORDS)
    )
    assert analysis.fields[0].tokens == ("裴若谷",)
    assert analysis.warnings == ()
    assert jieba_store.keyword_search("裴若谷")[0].id == "m1"
    found = jieba_store.client.request(
        "POST", f"/{jieba_store.collection_name}/_search", body={"query": {"term": {"words": "夜16"}}}
    )
    assert [hit["_id"] for hit in found["hits"]["hits"]] == ["m1"]


def test_the_index_remembers_the_dictionary_and_not_where_it_came_from(jieba_store, make_store, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("夜１６\n裴若谷\n", encoding="utf-8")
    other = make_store(dictionary=str(path))  # analyzer auto: what the index says
    other.insert([EAST], [{"data": "裴若谷来了"}])
    assert len(other.keyword_search("裴若谷")) == 2


@pytest.mark.parametrize("dictionary", [None, ["裴若谷"]])
def test_a_writer_with_another_dictionary_is_refused(jieba_store, make_store, dictionary):
    other = make_store(dictionary=dictionary)
    for write in (
        lambda: other.insert([EAST], [{"data": "别的"}]),
        lambda: other.update("m1", payload={"data": "别的"}),
        other.create_col,
    ):
        with pytest.raises(IndexStateError, match="made with another dictionary") as caught:
            write()
        assert str(caught.value).endswith(ROLL + other.collection_name)
    assert [hit.payload["data"] for hit in jieba_store.list()[0]] == ["裴若谷住在夜16"]


def test_a_reader_with_another_dictionary_is_warned_once_and_answered(jieba_store, make_store, caplog):
    other = make_store()
    with caplog.at_level(logging.WARNING, logger="mem_opensearch"):
        assert other.keyword_search("裴若谷")[0].id == "m1"  # by its bigrams
        assert other.keyword_search("夜16")[0].id == "m1"
    (record,) = caplog.records
    assert record.getMessage().startswith("some words may not be found: index ")
    assert ROLL + other.collection_name in record.getMessage()
    assert "裴若谷" not in caplog.text
    with pytest.raises(IndexStateError, match="made with another dictionary"):  # the read was no leave to write
        other.insert([EAST], [{"data": "别的"}])


def test_check_names_the_indices_that_need_new_words(jieba_store, make_store, opensearch_url, tmp_path):
    name = jieba_store.collection_name
    make_store(collection_name=f"{name}_entities", analyzer="jieba", dictionary=WORDS).create_col()
    path = tmp_path / "words.txt"
    path.write_text("\n".join(WORDS), encoding="utf-8")
    command = ["init", "--url", opensearch_url, "--collection", name, "--dims", "4", "--check", "--json"]
    command += ["--dictionary", str(path)]
    checked = CliRunner().invoke(app, command)
    assert (checked.exit_code, [each["differences"] for each in json.loads(checked.stdout)]) == (0, [[], []])
    path.write_text("\n".join([*WORDS, "盛怀瑾"]), encoding="utf-8")
    checked = CliRunner().invoke(app, command)
    assert checked.exit_code == 1
    for report in json.loads(checked.stdout):
        (difference,) = report["differences"]
        assert difference.endswith(ROLL + report["collection"])


def test_auto_takes_what_knows_the_words(make_store, opensearch_url):
    """The session's IK knows 北京大学 and has never heard of 裴若谷."""
    store = make_store(dictionary=["裴若谷", "北京大学"])
    store.create_col()
    assert store.col_info()["analyzer"] == "jieba"
    known = make_store(collection_name=f"{store.collection_name}_entities", dictionary=["北京大学"])
    known.create_col()
    spec, _ = read_spec(known.client, known.collection_name)
    assert (spec.profile, spec.dictionary) == ("ik", load_dictionary(["北京大学"]).fingerprint)


def test_an_ik_that_lacks_words_is_refused(make_store):
    store = make_store(analyzer="ik", dictionary=["裴若谷", "北京大学"])
    with pytest.raises(ConfigError, match=r"IK does not know 1 of the dictionary's words \(裴若谷\)"):
        store.create_col()
    assert store.list() == [[]]


def test_with_ik_a_changed_dictionary_is_reported_and_stops_nobody(make_store, opensearch_url, monkeypatch):
    store = make_store(analyzer="ik")
    store.insert([EAST], [{"data": "北京大学的裴若谷"}], ["m1"])
    changed = make_store(dictionary=["北京大学", "裴若谷"])
    changed.insert([EAST], [{"data": "别的"}])
    assert changed.keyword_search("裴若谷")[0].id == "m1"
    monkeypatch.setenv("MEM_OPENSEARCH_DICTIONARY", '["北京大学", "裴若谷"]')
    command = ["init", "--url", opensearch_url, "--collection", store.collection_name, "--dims", "4", "--check"]
    checked = CliRunner().invoke(app, command)
    assert checked.exit_code == 1
    assert "made with another dictionary (fingerprint none" in checked.stdout
    assert "does not know 1 of the dictionary's words (裴若谷)" in checked.stdout


def test_an_index_that_has_no_use_for_a_dictionary_says_so(make_store):
    make_store(analyzer="bigram").create_col()
    with pytest.raises(IndexStateError, match="analysed by 'bigram', where a dictionary has no effect"):
        make_store(dictionary=["裴若谷"]).keyword_search("裴若谷")


@pytest.mark.parametrize("as_file", [True, False])
def test_the_local_node_is_given_the_words(tmp_path, as_file):
    """In a process of its own, since a process has one local node."""
    path = tmp_path / "words.txt"
    path.write_text("裴若谷\n黑貓宅急便\n", encoding="utf-8")
    dictionary = str(path) if as_file else ["裴若谷", "黑貓宅急便"]
    code = f"""
from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.index import analyse_text
store = OpenSearchVectorStore(url="local", collection_name="c", embedding_model_dims=4, dictionary={dictionary!r})
store.insert([[1, 0, 0, 0]], [{{"data": "裴若谷寄了黑貓宅急便"}}], ["m1"])
assert store.col_info()["analyzer"] == "ik"
words = analyse_text(store.client, "裴若谷寄了黑貓宅急便", collection="c").fields[0].tokens
assert {{"裴若谷", "黑猫宅急便"}} <= set(words), words
assert store.keyword_search("黑猫宅急便")[0].id == "m1"
"""
    environment = os.environ | {
        "MEM_OPENSEARCH_STATE": str(tmp_path / "state"),  # not the developer's own running node
        "MEM_OPENSEARCH_JAVA_OPTS": "-XX:TieredStopAtLevel=1",
    }
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
