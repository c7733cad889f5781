"""What Elasticsearch does with our indices and queries (an emulator does it, unless `ELASTICSEARCH_URL` is set)."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from emulator import MENDED, REAL, mend
from typer.testing import CliRunner

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.cli import app
from mem_opensearch.errors import ConfigError, IndexStateError
from mem_opensearch.index import WantedIndex, analyse_text, list_generations, probe_server, roll_index
from mem_opensearch.queries import FIELD_BOOSTS, keyword_clauses
from mem_opensearch.store import paging
from mem_opensearch.transfer import export_collection, export_rows, import_collection

EAST, NORTH, NORTH_EAST = [1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]
TEXTS = {"m0": "印表機的專案代號是ＰＸ－４４１", "m1": "我住在臺北的大安區", "m2": "会议室 夜16 在 24口 交换机旁"}


@pytest.fixture
def filled(make_store):
    """Three rows of one user and one of another, seen by every search."""
    store = make_store(refresh="true")
    store.insert([EAST, NORTH_EAST, NORTH], [{"data": text, "user_id": "u1"} for text in TEXTS.values()], list(TEXTS))
    store.insert([EAST], [{"data": "印表機", "user_id": "u2"}], ["other"])
    return store


def ids(hits):
    return [hit.id for hit in hits]


def test_the_probe(store):
    facts = probe_server(store.client)
    assert (facts.distribution, facts.engines, facts.max_dims) == ("elasticsearch", {"lucene"}, 4096)
    assert facts.profiles[-2:] == ("jieba", "bigram")


def test_the_index_is_as_we_ask_for_it(store):
    store.create_col()
    (about,) = store.client.request("GET", f"/{store.collection_name}").values()
    vector = about["mappings"]["properties"]["vector"]
    assert (vector["type"], vector["dims"], vector["similarity"]) == ("dense_vector", 4, "cosine")
    assert vector["index_options"]["type"] == "hnsw"  # and not whatever this version thinks best
    if store.client.dialect.version >= (9, 2, 0):
        assert str(about["settings"]["index"]["mapping"]["exclude_source_vectors"]).lower() == "false"


def test_what_the_server_cant_hold_is_refused_before_anything_is_made(make_store):
    with pytest.raises(ConfigError, match=r"indexes vectors of up to 4,096 dimensions, not 5,000"):
        make_store(embedding_model_dims=5000).create_col()
    with pytest.raises(ConfigError, match=r"kNN engine 'faiss' is none of elasticsearch's. It has: lucene"):
        make_store(knn_engine="faiss").create_col()
    assert make_store().col_info()["exists"] is False


@pytest.mark.parametrize("profile", ["jieba", "bigram"])
def test_every_field_is_analysed_as_on_opensearch(store, profile):
    """The expected tokens are those of OpenSearch 3.6.0, see `tests/index/test_analysis.py`."""

    def tokens(text):
        return {each.field: each.tokens for each in analyse_text(store.client, text, profile=profile).fields}

    printer = tokens("印表機的專案代號是ＰＸ－４４１")
    assert "专案" in printer["words" if profile == "jieba" else "text"]
    assert printer["text.bigram"] == ("印表", "表机", "机的", "的专", "专案", "案代", "代号", "号是", "px", "441")
    assert printer["text.code"] == ("px-441", "px", "441")
    assert printer["text.joined"] == ("px441",)
    assert tokens("夜16 PEL-1510-橙 年3")["text.mixed"] == ("夜16", "pel1510橙")
    assert tokens("dogs not running 𠮷")["text.en"] == ("dog", "not", "run", "𠮷")
    assert tokens("PX 441 ２０２６")["text.joined"] == ("px441", "2026")


@pytest.mark.parametrize("profile", ["jieba", "bigram"])
def test_the_main_job(make_store, profile):
    store = make_store(analyzer=profile)
    store.insert([EAST, NORTH_EAST, NORTH], [{"data": text, "user_id": "u1"} for text in TEXTS.values()], list(TEXTS))
    best = [store.keyword_search(query, filters={"user_id": "u1"})[0].id for query in ("px441", "台北", "夜16", "24口")]
    assert best == ["m0", "m1", "m2", "m2"]
    hits = store.search("", EAST, top_k=2, filters={"user_id": "u1"})
    assert ids(hits) == ["m0", "m1"]
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.5**0.5], abs=1e-6)


def test_no_vector_is_lost_by_an_update_an_export_or_an_import(filled, make_store, tmp_path, opensearch_url):
    filled.update("m0", payload={"data": "新"})
    filled.update("m1", payload={"data": "也新"})
    file = str(tmp_path / "rows.jsonl")
    assert export_collection(filled, file).rows == 4
    filled.delete_col()
    imported = import_collection(file, url=opensearch_url, collection_name=filled.collection_name)
    assert (imported.rows, imported.made) == (4, True)
    vectors = {row["id"]: row["vector"] for row in export_rows(make_store())}
    for row_id, wanted in {"m0": EAST, "m1": NORTH_EAST, "m2": NORTH, "other": EAST}.items():
        assert np.allclose(vectors[row_id], wanted)
    assert ids(make_store().search("", NORTH, top_k=1)) == ["m2"]


def test_a_listing_of_many_pages_is_of_one_moment(make_store, monkeypatch):
    monkeypatch.setattr(paging, "PAGE", 4)
    store = make_store()
    store.insert([EAST] * 11, [{"data": "x"}] * 11, [f"m{number:02}" for number in range(11)])
    assert ids(store.list()[0]) == [f"m{number:02}" for number in range(11)]
    rows = store._rows.scan([])
    first = next(rows)
    store.insert([EAST], [{"data": "later"}], ["m99"])
    store.delete("m10")
    store.client.request("POST", f"/{store.collection_name}/_refresh")
    assert len([first, *rows]) == 11


@pytest.mark.real_elasticsearch("scores every field by BM25 with k1 and b of its own")
def test_an_identifier_counts_its_weight_and_nothing_else(filled):
    words = filled._words_of(filled._found())
    query = {"bool": {"should": keyword_clauses("px441", words=words)}}
    (hit,) = filled.client.request(
        "POST",
        f"/{filled.collection_name}/_search",
        params={"include_named_queries_score": "true"},
        body={"query": query, "_source": False},
    )["hits"]["hits"]
    assert hit["matched_queries"]["text.joined"] == pytest.approx(FIELD_BOOSTS["text.joined"])


class TestRoll:
    """A roll copies by sequence number, which the emulator can't search by."""

    @pytest.mark.real_elasticsearch("can't search by _seq_no")
    @pytest.mark.parametrize("profile", ["jieba", "bigram"])
    def test_it_keeps_every_row(self, filled, profile):
        wanted = WantedIndex(filled.collection_name, kind="memory", dims=4, profile=profile)
        report = roll_index(filled.client, wanted, drop_old=True)
        assert (report.rows, report.sampled) == (4, 4)
        assert ids(filled.search("", NORTH, top_k=1)) == ["m2"]

    @pytest.mark.skipif(bool(REAL), reason="a real server can")
    def test_it_is_refused_in_words_where_it_cant_be_done(self, filled):
        wanted = WantedIndex(filled.collection_name, kind="memory", dims=4)
        with pytest.raises(IndexStateError, match="can't search by _seq_no.*Nothing was changed; instead, export"):
            roll_index(filled.client, wanted)
        assert len(list_generations(filled.client, filled.collection_name).every) == 1
        filled.insert([EAST], ids=["more"])
        assert filled.col_info()["count"] == 5


def test_the_command(opensearch_url, collection):
    def run(*arguments):
        command = ["init", "--url", opensearch_url, "--collection", collection, *arguments]
        return CliRunner().invoke(app, command, env={"MEM_OPENSEARCH_ENGINE": "elasticsearch"})

    assert run("--dims", "4", "--check").exit_code == 1
    dry = json.loads(run("--dims", "4", "--dry-run", "--json").stdout)[0]
    assert dry["would_send"]["index"]["template"]["mappings"]["properties"]["vector"]["type"] == "dense_vector"
    made = run("--dims", "4")
    assert made.exit_code == 0, made.stderr
    assert "server: elasticsearch" in made.stdout
    assert made.stdout.count("made") == 2
    assert run("--dims", "4").stdout.count(": ok (") == 2
    assert run("--dims", "4", "--check").exit_code == 0
    other = run("--dims", "5")
    assert other.exit_code == 2
    assert "holds vectors of 4 dimensions" in other.stderr


def test_through_mem0(opensearch_url, collection, tmp_path):
    """In a process of its own: mem0 reads its settings when it is imported."""
    code = f"""
import mem0, mem_opensearch
mem_opensearch.register()
memory = mem0.Memory.from_config({{
    "vector_store": {{"provider": "opensearch", "config": {{
        "engine": "elasticsearch", "url": "{opensearch_url}", "collection_name": "{collection}",
        "embedding_model_dims": 512}}}},
    "embedder": {{"provider": "mem_opensearch", "config": {{"embedding_dims": 512}}}},
    "llm": {{"provider": "vllm"}},
    "history_db_path": ":memory:",
}})
for text in ("印表機的專案代號是ＰＸ－４４１", "我住在臺北的大安區", "我喜欢喝茶"):
    memory.add(text, user_id="u1", infer=False)
    memory.add(text, user_id="u2", infer=False)
best = memory.search("px441 是什么？", filters={{"user_id": "u1"}}, explain=True)["results"][0]
assert best["memory"] == "印表機的專案代號是ＰＸ－４４１", best
assert best["user_id"] == "u1"
memory.update(best["id"], "印表機的專案代號是QX-20931")
assert memory.get(best["id"])["memory"] == "印表機的專案代號是QX-20931"
memory.delete_all(user_id="u1")
assert memory.get_all(filters={{"user_id": "u1"}})["results"] == []
assert len(memory.get_all(filters={{"user_id": "u2"}})["results"]) == 3
memory.reset()
"""
    environment = os.environ | {"MEM0_DIR": str(tmp_path), "MEM0_TELEMETRY": "False"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr


def test_auto_finds_elasticsearch_too(make_store, monkeypatch):
    monkeypatch.delenv("MEM_OPENSEARCH_ENGINE")
    store = make_store(engine="auto")
    store.insert([EAST, NORTH], [{"data": "台北"}, {"data": "柏林"}], ["a", "b"])
    assert type(store.client.transport).__name__ == "OpenSearchTransport"
    assert store.client.dialect.name == "elasticsearch"
    assert ids(store.search("", NORTH, top_k=1)) == ids(store.keyword_search("柏林")) == ["b"]


@pytest.mark.unit
def test_the_proxy_changes_only_what_it_says():
    assert set(MENDED) == {"version", "bulk by alias"}
    body = b'{"index":{"_id":"1"}}\n{"text":"x"}\n{"update":{"_id":"2","retry_on_conflict":5}}\n{"doc":{}}\n'
    target, mended = mend("POST", "/a/_bulk?refresh=false&require_alias=true", body)
    assert target == "/_bulk?refresh=false&require_alias=true"
    assert mended == (
        b'{"index":{"_index":"a","_id":"1"}}\n{"text":"x"}\n'
        b'{"update":{"_index":"a","_id":"2","retry_on_conflict":5}}\n{"doc":{}}\n'
    )
    assert mend("POST", "/a/_bulk?refresh=false", body) == ("/a/_bulk?refresh=false", body)
    assert mend("POST", "/a/_search", body) == ("/a/_search", body)


@pytest.mark.skipif("EXPECTED_ELASTICSEARCH" not in os.environ, reason="only scripts/test knows what it asked for")
def test_the_client_is_the_one_that_was_asked_for():
    import elasticsearch

    assert elasticsearch.__versionstr__.startswith(os.environ["EXPECTED_ELASTICSEARCH"])


def test_a_store_closes_and_opens_again(make_store):
    store = make_store()
    store.insert([EAST], [{"data": "台北"}], ["a"])
    store.close()
    assert isinstance(store, OpenSearchVectorStore)
    assert store.get("a").payload == {"data": "台北"}
