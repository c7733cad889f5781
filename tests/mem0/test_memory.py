"""mem0's `Memory`, as mem0 has it, over the store: every operation on a real node."""

from urllib.parse import urlsplit

import opensearchpy
import pytest
from mem0 import Memory

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.store import OpenSearchVectorStore

MEMORIES = [
    "我女兒對花生過敏，學校午餐要特別注意",
    "订单 PX-441 的包裹寄到了台北办公室",
    "订单 PX-442 的包裹寄到了高雄仓库",
    "她每个星期六早上去河边骑自行车",
    "我父亲住在东京，是一名退休的面包师",
]


def found(memory, query, user="lin", **options):
    return memory.search(query, filters={"user_id": user}, **options)["results"]


def stored(memory, user="lin", **options):
    return memory.get_all(filters={"user_id": user}, **options)["results"]


def test_the_store_is_ours_and_memory_is_mem0s(memory):
    assert type(memory) is Memory
    assert isinstance(memory.vector_store, OpenSearchVectorStore)


def test_nothing_is_created_before_the_first_write(memory, collection):
    assert found(memory, "花生") == []
    assert stored(memory) == []
    assert memory.get("no-such-id") is None
    memory.delete_all(user_id="lin")
    assert collection not in memory.vector_store.list_cols()


def test_a_write_is_found_at_once(memory, add_texts):
    (memory_id,) = add_texts("lin", ["我女儿对花生过敏"], metadata={"source": "chat", "turn": 7})
    (hit,) = found(memory, "花生过敏")
    assert hit["id"] == memory_id
    assert hit["memory"] == "我女儿对花生过敏"
    assert hit["metadata"] == {"source": "chat", "turn": 7}
    assert (hit["user_id"], hit["role"]) == ("lin", "user")
    assert memory.get(memory_id)["memory"] == "我女儿对花生过敏"
    assert [item["id"] for item in stored(memory)] == [memory_id]


def test_the_users_words_go_through_mem0s_copies_of_the_config(config, collection):
    config["vector_store"]["config"] |= {"analyzer": "jieba", "dictionary": ["裴若谷"]}
    memory = Memory.from_config(config)
    (added,) = memory.add("裴若谷住在臺北", user_id="lin", infer=False)["results"]
    assert found(memory, "裴若谷")[0]["id"] == added["id"]
    memory.update(added["id"], "裴若谷住在高雄")
    row = memory.vector_store.client.request("GET", f"/{collection}/_doc/{added['id']}")
    assert row["_source"]["words"].split()[0] == "裴若谷"
    entities = memory.entity_store
    assert entities.config.dictionary == ["裴若谷"]
    entities.create_col()  # obeys the same dictionary
    memory.close()


def test_semantic_score_is_the_cosine(memory, add_texts, encoder):
    add_texts("lin", MEMORIES)
    query = "孩子不能吃什么东西"
    hits = found(memory, query, threshold=0.0, explain=True)
    texts = [hit["memory"] for hit in hits]
    cosines = encoder.embed(texts) @ encoder.embed([query])[0]
    shown = [hit["score_details"]["semantic_score"] for hit in hits]
    assert len(hits) == len(MEMORIES)
    assert shown == pytest.approx([max(0.0, float(cosine)) for cosine in cosines], abs=1e-3)
    assert all(0.0 <= score <= 1.0 for score in shown)


def test_a_simplified_question_finds_a_traditional_memory_by_its_words(memory, add_texts):
    add_texts("lin", MEMORIES)
    best = found(memory, "女儿对花生过敏吗", explain=True)[0]
    assert best["memory"] == MEMORIES[0]
    assert best["score_details"]["bm25_score"] > 0


def test_an_identifier_is_told_from_its_neighbour(memory, add_texts):
    add_texts("lin", MEMORIES)
    hits = {hit["memory"]: hit["score_details"] for hit in found(memory, "PX-441", threshold=0.0, explain=True)}
    assert max(hits, key=lambda text: hits[text]["final_score"]) == MEMORIES[1]
    assert hits[MEMORIES[1]]["bm25_score"] > hits[MEMORIES[2]]["bm25_score"]
    assert hits[MEMORIES[3]]["bm25_score"] == 0


def test_users_see_only_their_own(memory, add_texts):
    add_texts("lin", MEMORIES[:2])
    add_texts("chen", MEMORIES[2:])
    assert {hit["user_id"] for hit in found(memory, "包裹", threshold=0.0)} == {"lin"}
    assert {hit["memory"] for hit in found(memory, "包裹", "chen", threshold=0.0)} == set(MEMORIES[2:])
    assert {item["memory"] for item in stored(memory)} == set(MEMORIES[:2])


def test_more_rows_than_mem0_can_overfetch(memory, add_texts):
    add_texts("lin", MEMORIES)
    assert len(found(memory, "包裹", threshold=0.0, top_k=9_000)) == len(MEMORIES)
    with pytest.raises(InvalidInputError, match="top_k is 80000"):
        found(memory, "包裹", top_k=20_000)


def test_no_rows_when_none_are_wanted(memory, add_texts):
    add_texts("lin", MEMORIES)
    assert found(memory, "包裹", top_k=0) == []
    assert stored(memory, top_k=0, show_expired=True) == []
    assert len(stored(memory, top_k=3)) == 3


def test_filters_on_metadata(memory, add_texts):
    add_texts("lin", ["去年的体检报告"], metadata={"year": 2024, "kind": "health"})
    add_texts("lin", ["今年的体检报告"], metadata={"year": 2025, "kind": "health"})
    add_texts("lin", ["今年的旅行计划"], metadata={"year": 2025, "kind": "travel"})

    def texts(**filters):
        hits = memory.search("报告", filters={"user_id": "lin", **filters}, threshold=0.0)["results"]
        return {hit["memory"] for hit in hits}

    assert texts(kind="health", year={"gte": 2025}) == {"今年的体检报告"}
    assert texts(NOT=[{"kind": "health"}]) == {"今年的旅行计划"}
    assert texts(OR=[{"kind": "travel"}, {"year": {"lt": 2025}}]) == {"今年的旅行计划", "去年的体检报告"}


def test_update_replaces_text_and_vector_and_keeps_metadata(memory, add_texts):
    changed, other = add_texts("lin", ["我住在台北", "我喜欢吃苹果"], metadata={"source": "chat"})
    before = memory.get(changed)
    memory.update(changed, text="我搬到东京工作了")
    after = memory.get(changed)
    assert after["memory"] == "我搬到东京工作了"
    assert after["metadata"] == {"source": "chat"}
    assert after["created_at"] == before["created_at"]
    assert after["updated_at"] > before["updated_at"]
    assert after["hash"] != before["hash"]
    hits = found(memory, "我搬到东京工作了", explain=True)
    assert hits[0]["id"] == changed
    assert hits[0]["score_details"]["semantic_score"] == pytest.approx(1.0, abs=1e-3)
    assert memory.get(other)["memory"] == "我喜欢吃苹果"


def test_update_of_metadata_only(memory, add_texts):
    (memory_id,) = add_texts("lin", ["我住在台北"], metadata={"source": "chat", "turn": 1})
    memory.update(memory_id, metadata={"turn": 2})
    assert memory.get(memory_id)["metadata"] == {"source": "chat", "turn": 2}
    assert [hit["id"] for hit in found(memory, "住在台北")] == [memory_id]


def test_expired_memories_are_hidden(memory, add_texts):
    add_texts("lin", ["会议在三点"], expiration_date="2020-01-01")
    assert found(memory, "会议") == stored(memory) == []
    assert len(stored(memory, show_expired=True)) == 1


def test_delete_and_history(memory, add_texts):
    first, second = add_texts("lin", ["我住在台北", "我喜欢骑车"])
    memory.update(first, text="我住在高雄")
    memory.delete(first)
    assert memory.get(first) is None
    assert [item["id"] for item in stored(memory)] == [second]
    assert [entry["event"] for entry in memory.history(first)] == ["ADD", "UPDATE", "DELETE"]
    with pytest.raises(ValueError, match="not found"):
        memory.delete(first)


def test_delete_all_takes_every_memory_of_one_user(memory, add_texts, encoder):
    many = [f"第 {number} 条记录" for number in range(1500)]
    memory.vector_store.insert(
        vectors=encoder.embed(many).tolist(),
        ids=[f"many-{number}" for number in range(len(many))],
        payloads=[{"data": text, "user_id": "lin"} for text in many],
    )
    kept = add_texts("chen", MEMORIES)
    memory.delete_all(user_id="lin")
    assert memory.vector_store.list(filters={"user_id": "lin"}, top_k=10_000)[0] == []
    assert {item["id"] for item in stored(memory, "chen")} == set(kept)


def test_reset_empties_the_collection_and_it_works_again(memory, add_texts):
    add_texts("lin", MEMORIES)
    memory.reset()
    assert stored(memory) == []
    add_texts("lin", ["我住在台北"])
    assert [item["memory"] for item in stored(memory)] == ["我住在台北"]


def test_a_given_client_serves_memories_and_entities(config, collection, opensearch_url):
    client = opensearchpy.OpenSearch(opensearch_url)
    config["vector_store"]["config"] = {"client": client, "collection_name": collection, "embedding_model_dims": 512}
    memory = Memory.from_config(config)
    memory.add("我女儿对花生过敏", user_id="lin", infer=False)
    assert [hit["memory"] for hit in found(memory, "花生")] == ["我女儿对花生过敏"]
    ((row,),) = memory.entity_store.list(filters={"user_id": "lin"})
    assert row.payload["data"] == "女儿"
    assert memory.vector_store.config.client is memory.entity_store.config.client is client
    memory.close()


def test_mem0s_own_keys_work(config, collection, opensearch_url):
    where = urlsplit(opensearch_url)
    config["vector_store"]["config"] = {
        "collection_name": collection,
        "host": where.hostname,
        "port": where.port,
        "embedding_model_dims": 512,
        "use_ssl": False,
        "verify_certs": False,
        "pool_maxsize": 5,
        "connection_class": "RequestsHttpConnection",
        "auto_refresh": True,
    }
    with_own_keys = Memory.from_config(config)
    with_own_keys.add("我女儿对花生过敏", user_id="lin", infer=False)
    assert [hit["memory"] for hit in found(with_own_keys, "花生")] == ["我女儿对花生过敏"]
    with_own_keys.close()
