"""mem0's own provider runs beside ours, unchanged but for the engine's name."""

import uuid

import pytest
from mem0 import Memory
from mem0.utils.factory import VectorStoreFactory
from mem0.vector_stores.opensearch import OpenSearchDB

import mem_opensearch.mem0 as bridge
from mem_opensearch.errors import ConfigError, InvalidInputError
from mem_opensearch.mem0.builtin import with_engine

TEXTS = ["我女儿对花生过敏", "订单 PX-441 的包裹寄到了台北", "她每个星期六早上去骑自行车"]


@pytest.fixture
def builtin(opensearch_url, encoder):
    with bridge.builtin_memory(url=opensearch_url, collection=f"b-{uuid.uuid4().hex}", embedder=encoder) as builtin:
        yield builtin
        builtin.drop()


def fill(builtin, encoder, user="lin"):
    payloads = [{"user_id": user, "turn": turn} for turn in range(len(TEXTS))]
    builtin.insert_many([f"m{turn}" for turn in range(len(TEXTS))], TEXTS, encoder.embed(TEXTS), payloads)
    builtin.refresh()


def indices(builtin):
    return set(builtin.memory.vector_store.client.indices.get_alias(index="*"))


@pytest.mark.parametrize("active", [True, False], ids=["registered", "not registered"])
def test_it_is_mem0s_provider_whatever_is_registered(opensearch_url, encoder, active):
    if active:
        bridge.register()
    else:
        bridge.unregister()
    registry = dict(VectorStoreFactory.provider_to_class)
    with bridge.builtin_memory(url=opensearch_url, collection=f"b-{uuid.uuid4().hex}", embedder=encoder) as builtin:
        assert isinstance(builtin.memory, Memory)
        assert isinstance(builtin.memory.vector_store, OpenSearchDB)
        assert isinstance(builtin.memory.entity_store, OpenSearchDB)
        assert registry == VectorStoreFactory.provider_to_class
        assert type(builtin.memory).search is Memory.search
        assert type(builtin.memory)._search_vector_store is Memory._search_vector_store
        builtin.drop()
        assert builtin.memory.collection_name not in indices(builtin)
        assert f"{builtin.memory.collection_name}_entities" not in indices(builtin)
    bridge.unregister()


def test_its_parts_are_those_that_mem0s_constructor_sets(builtin, memory):
    ours = {name for name in vars(builtin.memory) if name != "_entity_lock"}
    assert ours == set(vars(memory))


def test_the_mapping_is_mem0s_with_another_engine(builtin):
    name = builtin.memory.collection_name
    for collection in (name, builtin.memory.entity_store.collection_name):
        created = builtin.memory.vector_store.client.indices.get(index=collection)[collection]
        fields = created["mappings"]["properties"]
        assert set(fields) == {"vector_field", "payload", "id"}
        assert fields["vector_field"]["dimension"] == 512
        method = fields["vector_field"]["method"]
        assert (method["engine"], method["name"], method["space_type"]) == ("lucene", "hnsw", "cosinesimil")


@pytest.mark.unit
def test_only_the_refused_engine_is_replaced():
    field = {"type": "knn_vector", "dimension": 2, "method": {"engine": "faiss", "name": "hnsw"}}
    body = {"settings": {"index.knn": True}, "mappings": {"properties": {"v": field, "id": {"type": "keyword"}}}}
    assert with_engine(body, "lucene") == body


def test_it_finds_what_was_inserted(builtin, encoder):
    fill(builtin, encoder)
    fill(builtin, encoder, user="chen")
    hits = builtin.memory.search("PX-441", filters={"user_id": "lin"}, top_k=3, explain=True)["results"]
    assert hits[0]["id"] == "m1"
    assert hits[0]["metadata"] == {"turn": 1}
    assert len(hits[0]["hash"]) == 32
    assert hits[0]["score_details"]["bm25_score"] > 0
    assert {hit["user_id"] for hit in hits} == {"lin"}
    cosine = float(encoder.embed([TEXTS[1]])[0] @ encoder.embed(["PX-441"])[0])
    shown = hits[0]["score_details"]["semantic_score"]
    assert shown == pytest.approx((1 + cosine) / 2, abs=1e-3)  # mem0 returns the server's score as it is


def test_requests_are_counted(builtin, encoder):
    before = builtin.requests
    fill(builtin, encoder)
    assert builtin.requests - before == len(TEXTS) + 1
    before = builtin.requests
    builtin.memory.search("骑车", filters={"user_id": "lin"})
    assert builtin.requests - before == 2


def test_added_and_inserted_memories_look_alike(builtin, encoder):
    builtin.memory.add(TEXTS[0], user_id="lin", infer=False)
    fill(builtin, encoder)
    rows = builtin.memory.vector_store.list(filters={"user_id": "lin"}, top_k=10)[0]
    added, inserted = ([row.payload for row in rows if ("turn" in row.payload) is own] for own in (False, True))
    assert set(added[0]) - {"role"} == set(inserted[0]) - {"turn"}
    same = next(payload for payload in inserted if payload["turn"] == 0)
    assert (same["data"], same["hash"]) == (added[0]["data"], added[0]["hash"])
    assert same["text_lemmatized"] == added[0]["text_lemmatized"]


def test_reset_works_with_the_other_engine(builtin, encoder):
    fill(builtin, encoder)
    builtin.memory.reset()
    builtin.refresh()
    assert builtin.memory.get_all(filters={"user_id": "lin"})["results"] == []


def test_there_is_no_language_model_to_ask(builtin):
    from mem0.exceptions import LLMError

    with pytest.raises(LLMError, match="infer=False"):
        builtin.memory.add("我住在台北", user_id="lin", infer=True)


def test_lengths_must_agree(builtin):
    with pytest.raises(InvalidInputError, match="1, 2, 1, 1"):
        builtin.insert_many(["m"], ["甲", "乙"], [[0.0] * 512], [{}])


@pytest.mark.unit
@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("local", "b"),
        ("ftp://h:1", "b"),
        ("http://u:p@h:1", "b"),
        ("http://h:1", "a*"),
        ("http://h:1", "a,b"),
        ("http://h:1", ""),
    ],
)
def test_what_it_can_not_reach_or_name_is_refused(encoder, url, name):
    with pytest.raises(ConfigError):
        bridge.builtin_memory(url=url, collection=name, embedder=encoder)
