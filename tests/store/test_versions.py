"""What the README's table promises, on each OpenSearch version and with each analysis profile."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

import numpy as np
import pytest

from mem_opensearch import LocalNode, OpenSearchVectorStore
from mem_opensearch.errors import ConfigError
from mem_opensearch.index import probe_server

PROFILES = ("ik", "smartcn", "jieba", "bigram")
TEXTS = [
    "打印机的专案代号是PX-441",
    "打印機的專案代號是ＰＸ－４１４",
    "我住在臺北",
    "我搬到柏林了",
    "他是A型血",
    "𠮷野先生😂",
]


@pytest.fixture(scope="module", params=["3.6.0", "2.19.1"])
def node_url(request, node_of):
    return node_of(request.param)


@pytest.fixture
def make(node_url):
    made = []

    def store(**options):
        made.append(
            OpenSearchVectorStore(
                url=node_url,
                collection_name=f"v-{uuid.uuid4().hex[:8]}",
                **({"embedding_model_dims": 4, "analyzer": "jieba"} | options),
            )
        )
        return made[-1]

    yield store
    for one in made:
        one.delete_col()
        one.close()


def test_the_probe_finds_all_profiles_and_no_native_engine(make):
    facts = probe_server(make().client)
    assert facts.profiles == PROFILES
    assert facts.engines == {"lucene"}
    with pytest.raises(ConfigError, match="'faiss' needs a native library"):
        make(knn_engine="faiss").create_col()


def test_the_few_nearest_of_one_user_among_many_are_all_found(make):
    """A graph that is searched for just the few rows that are wanted misses some of them."""
    store = make(embedding_model_dims=16, refresh="true")  # two segments
    draw = np.random.default_rng(7)
    mine = draw.normal(size=(300, 16)).astype(np.float32)
    store.insert(mine, [{"user_id": "u1"}] * 300, [str(number) for number in range(300)])
    store.insert(draw.normal(size=(3000, 16)).astype(np.float32), [{"user_id": "u2"}] * 3000)
    for query in draw.normal(size=(30, 16)).astype(np.float32):
        found = [hit.id for hit in store.search("", query, top_k=5, filters={"user_id": "u1"})]
        assert found == [str(row) for row in np.argsort(-(mine @ query) / np.linalg.norm(mine, axis=1))[:5]]


def test_scores_are_the_same_on_every_version(node_of):
    """Lucene's factor k1 + 1, which OpenSearch 2 has and 3 has not, is taken out."""
    scores = []
    for version in ("3.6.0", "2.19.1"):
        store = OpenSearchVectorStore(
            url=node_of(version), collection_name=f"v-{uuid.uuid4().hex[:8]}", embedding_model_dims=4, analyzer="jieba"
        )
        store.insert([[1, 0, 0, 0]] * len(TEXTS), [{"data": text} for text in TEXTS])
        hits = [store.keyword_search(query) for query in ("px441 的专案代号", "住在台北", "24口")]
        scores.append([[(hit.payload["data"], round(hit.score, 4)) for hit in each] for each in hits])
        store.delete_col()
        store.close()
    assert scores[0] == scores[1]


@pytest.mark.parametrize("profile", PROFILES)
def test_the_main_job(make, profile):
    store = make(analyzer=profile)
    vectors = [[1, 0, 0, 0], [1, 0.2, 0, 0], [0, 1, 0, 0], [0, 1, 0.2, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    payloads = [{"data": text, "user_id": "u1", "n": number} for number, text in enumerate(TEXTS)]
    store.insert(vectors, payloads, [f"m{number}" for number in range(len(TEXTS))])
    store.insert([[1, 0, 0, 0]] * 50, [{"data": "PX-441 臺北", "user_id": "u2"}] * 50)
    assert store.col_info()["analyzer"] == profile
    mine = {"user_id": "u1"}

    def best(query):
        return store.keyword_search(query, filters=mine)[0].id

    assert [best(q) for q in ("px441", "ＰＸ－４１４", "台北", "搬到柏林", "A型血", "𠮷野", "😂")] == [
        "m0", "m1", "m2", "m3", "m4", "m5", "m5",
    ]  # fmt: skip
    hits = store.search("", [1, 0, 0, 0], top_k=2, filters=mine)
    assert [hit.id for hit in hits] == ["m0", "m1"]
    assert hits[0].score == pytest.approx(1.0, abs=1e-5)
    assert hits[1].score == pytest.approx(1 / 1.04**0.5, abs=1e-5)
    store.update("m0", payload={"data": "新的内容", "user_id": "u1"})
    assert store.get("m0").payload == {"data": "新的内容", "user_id": "u1"}
    assert store.search("", [1, 0, 0, 0], top_k=1, filters=mine)[0].score == pytest.approx(1.0, abs=1e-5)
    assert [hit.id for hit in store.list(filters=mine | {"n": {"gte": 4}})[0]] == ["m4", "m5"]


def test_a_server_without_plugins_has_words_too():
    with LocalNode(analysis=(), heap="384m") as node:
        store = OpenSearchVectorStore(url=node.url, collection_name="c", embedding_model_dims=4)
        assert probe_server(store.client).profiles == ("jieba", "bigram")
        store.insert([[1, 0, 0, 0]] * len(TEXTS), [{"data": text} for text in TEXTS])
        assert store.col_info()["analyzer"] == "jieba"
        assert store.keyword_search("打印机专案代号px414")[0].payload["data"] == TEXTS[1]
        store.close()


def test_through_mem0(node_url, tmp_path):
    """In a process of its own: mem0 reads its settings when it is imported."""
    code = f"""
import mem0, mem_opensearch
mem_opensearch.register()
memory = mem0.Memory.from_config({{
    "vector_store": {{"provider": "opensearch", "config": {{
        "url": "{node_url}", "collection_name": "m", "embedding_model_dims": 512}}}},
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
