"""`mem_opensearch.mem0.Memory`: mem0's class with our read path, and mem0's own class with it."""

from __future__ import annotations

import mem0
import pytest
from mem0.utils.scoring import score_and_rank

import mem_opensearch.mem0 as bridge
from mem_opensearch.errors import InvalidInputError

SCOPE = {"user_id": "lin"}
MEM0_KEYS = {"id", "memory", "hash", "metadata", "score", "created_at", "updated_at", "user_id", "role"}


@pytest.fixture(params=["ours", "patched"])
def memory(request, config):
    """Our class, and mem0's own after ``register(patch=True)``: both do the same."""
    if request.param == "patched":
        request.getfixturevalue("patched")
    made = (bridge.Memory if request.param == "ours" else mem0.Memory).from_config(config)
    yield made
    made.close()


def add(memory, text, at=None, **more):
    metadata = {**more, **({"created_at": at} if at else {})}
    (added,) = memory.add(text, **SCOPE, infer=False, metadata=metadata or None)["results"]
    return added["id"]


def found(answer):
    return [result["id"] for result in answer["results"]]


def test_a_result_has_mem0s_shape(memory):
    added = add(memory, "專案代號是ＰＸ－４４１", topic="工作")
    answer = memory.search("px441 是什么？", filters=SCOPE)
    assert answer.keys() == {"results"}
    (result,) = answer["results"]
    assert result.keys() == MEM0_KEYS
    assert (result["id"], result["memory"], result["metadata"]) == (added, "專案代號是ＰＸ－４４１", {"topic": "工作"})


def test_details_and_modes(memory):
    add(memory, "專案代號是ＰＸ－４４１")
    for mode in ("union", "rrf", "mem0"):
        (result,) = memory.search("px441 是什么？", filters=SCOPE, explain=True, mode=mode)["results"]
        assert result["score_details"]["mode"] == mode
        assert result["score_details"]["final_score"] == result["score"]


def test_the_details_have_all_that_mem0s_have(memory):
    (mem0s,) = score_and_rank([{"id": "m1", "score": 0.5, "payload": {}}], {}, {}, threshold=0.1, top_k=1, explain=True)
    add(memory, "專案代號是ＰＸ－４４１")
    for mode in ("union", "rrf", "mem0"):
        (result,) = memory.search("px441 是什么？", filters=SCOPE, explain=True, mode=mode)["results"]
        assert result["score_details"].keys() >= mem0s["score_details"].keys()


def test_a_result_is_that_of_mem0_but_for_its_score(memory, config):
    """Of the same memories, mem0's own search returns the same keys and values."""
    add(memory, "專案代號是ＰＸ－４４１", topic="工作", tags=["急"], nested={"a": {"b": 1}})
    memory.add("會議改到週五", **SCOPE, agent_id="a1", run_id="r1", infer=False, expiration_date="2999-01-01")
    memory.add([{"role": "assistant", "name": "bot", "content": "專案代號記下了"}], **SCOPE, infer=False)
    ours = memory.search("專案代號 會議", filters=SCOPE, threshold=0.0)["results"]
    bridge.unregister()
    bridge.register()  # without patch
    plain = mem0.Memory.from_config(config)
    mem0s = plain.search("專案代號 會議", filters=SCOPE, threshold=0.0)["results"]
    plain.close()

    def without_score(results):
        return {each["id"]: {key: value for key, value in each.items() if key != "score"} for each in results}

    assert len(ours) == 3
    assert without_score(ours) == without_score(mem0s)


def test_a_question_by_its_keyword(memory):
    added = add(memory, "我喜歡喝茶")
    assert found(memory.search(query="喝茶", filters=SCOPE)) == [added]


def test_alice(memory):
    named = add(memory, "Alice 在設計部工作")
    linked = add(memory, "她推薦了中山區那家拉麵店", entities=["Alice"])
    add(memory, "我喜歡喝茶")
    answer = memory.search("關於 Alice 我們知道什麼？", filters=SCOPE, explain=True)
    assert found(answer)[:2] == [named, linked]
    assert answer["results"][1]["score_details"]["entities"] == ["Alice"]


def test_the_user_moved(memory):
    lisbon = add(memory, "使用者住在里斯本", "2025-03-01T10:00:00+00:00")
    berlin = add(memory, "使用者搬到柏林了", "2026-08-01T10:00:00+00:00")
    answer = memory.search("使用者住在哪裡？", filters=SCOPE, explain=True)
    if answer["results"][0]["created_at"].startswith("2026-08"):  # mem0 keeps a given time from 2.1 on
        assert found(answer)[0] == berlin
        assert answer["results"][1]["score_details"]["superseded_by"] == berlin
        assert found(memory.search("使用者住在哪裡？", filters=SCOPE, as_of="2026-01-01")) == [lisbon]


def test_why_there_is_nothing(memory):
    assert memory.search("咖啡", filters=SCOPE)["empty"] == "nothing that matches is stored in this scope"
    add(memory, "我喜歡喝茶")
    assert "below the threshold" in memory.search("薛定谔方程的推导", filters=SCOPE, threshold=0.9)["empty"]


def test_none_is_wanted(memory):
    add(memory, "我喜歡喝茶")
    assert memory.search("喝茶", filters=SCOPE, top_k=0) == {
        "results": [],
        "empty": "no result was asked for: top_k is 0",
    }


def test_more_are_wanted_than_there_can_be(memory):
    add(memory, "我喜歡喝茶")
    with pytest.raises(InvalidInputError, match="20000"):
        memory.search("喝茶", filters=SCOPE, top_k=20_000)


def test_a_search_within_a_search_is_its_own(memory):
    """A reranker that searches gets what it asks for, and what it gets is not told of the search around it."""
    add(memory, "我喜歡喝茶")
    inner = []

    class Searching:
        def rerank(self, query, memories, top_k):
            inner.append(memory.search("咖啡", filters={"user_id": "chen"}, explain=True))
            inner.append(memory.search("喝茶", filters=SCOPE, explain=True))
            return memories

    memory.reranker = Searching()
    outer = memory.search("喝茶", filters=SCOPE, rerank=True, mode="rrf")
    assert outer.keys() == {"results"}
    assert inner[0] == {"results": [], "empty": "nothing that matches is stored in this scope"}
    assert inner[1]["results"][0]["score_details"]["mode"] == "union"


def test_a_moment_that_is_none(memory):
    with pytest.raises(InvalidInputError, match="ISO 8601"):
        memory.search("咖啡", filters=SCOPE, as_of="yesterday")


def test_mem0s_own_checks_stay(memory):
    with pytest.raises(ValueError, match="user_id"):
        memory.search("咖啡", filters={"topic": "x"})


def test_why(config):
    with_why = bridge.Memory.from_config(config)
    added = add(with_why, "我喜歡喝茶")
    told = with_why.why("喝茶", added, filters=SCOPE)
    assert (told.reason, told.rank) == ("found", 1)
    assert with_why.why("喝茶", "nobody", filters=SCOPE).reason == "not_stored"
    assert with_why.why("喝茶", added, filters={"user_id": "chen"}).reason == "filtered"
    assert with_why.why("喝茶", added, filters={**SCOPE, "NOT": [{"user_id": "chen"}]}, mode="rrf").reason == "found"
    with_why.close()


def test_why_is_asked_as_a_search_is(config):
    """With mem0's checks, its trimmed scope, and its twenty results."""
    with_why = bridge.Memory.from_config(config)
    for number in range(22):
        add(with_why, f"第{number}杯咖啡")
    ranked = found(with_why.search("咖啡", filters=SCOPE, top_k=22))
    assert with_why.why("咖啡", ranked[19], filters={"user_id": " lin "}).reason == "found"
    assert with_why.why("咖啡", ranked[20], filters=SCOPE).reason == "ranked_low"
    with pytest.raises(ValueError, match="user_id"):
        with_why.why("咖啡", ranked[0], filters={})
    with_why.close()


def test_the_questions_and_the_memories_are_embedded_in_their_roles(config):
    memory = bridge.Memory.from_config(config)
    roles = []
    embed, embed_batch = memory.embedding_model.embed, memory.embedding_model.embed_batch

    def watched(text, memory_action=None):
        roles.append((text, memory_action))
        return embed(text, memory_action)

    def watched_batch(texts, memory_action="add"):
        roles.extend((text, memory_action) for text in texts)
        return embed_batch(texts, memory_action)

    memory.embedding_model.embed, memory.embedding_model.embed_batch = watched, watched_batch
    add(memory, "我喜歡喝茶")
    memory.search("喝什麼？", filters=SCOPE)
    assert ("喝什麼？", "search") in roles
    assert {role for text, role in roles if text != "喝什麼？"} == {"add"}
    memory.close()


def test_our_class_registers_by_itself_and_others_are_left_alone(config):
    bridge.unregister()
    memory = bridge.Memory.from_config(config)
    try:
        assert bridge.is_registered()
        assert "_search_vector_store" in vars(mem0.Memory)
        plain = mem0.Memory.from_config(config)
        add(plain, "專案代號是ＰＸ－４４１")
        (result,) = plain.search("px441", filters=SCOPE, explain=True)["results"]
        assert "mode" not in result["score_details"], "without patch=True, mem0's own class ranks as mem0 does"
        plain.close()
    finally:
        memory.close()
        bridge.register()  # the fixture takes it back


def test_memories_in_other_stores_are_left_alone(patched, config, tmp_path):
    elsewhere = {"path": str(tmp_path / "qdrant"), "embedding_model_dims": 512, "collection_name": "t"}
    memory = mem0.Memory.from_config({**config, "vector_store": {"provider": "qdrant", "config": elsewhere}})
    added = add(memory, "I like tea", price=5)
    assert found(memory.search("tea", filters=SCOPE, mode=None)) == [added]
    (result,) = memory.search("tea", filters={**SCOPE, "price": {"gt": 3}}, explain=True)["results"]
    assert "mode" not in result["score_details"]
    with pytest.raises(InvalidInputError, match="mode, as_of need"):
        memory.search("tea", filters=SCOPE, mode="union", as_of="2026-01-01")
    memory.close()


def test_unregister_puts_mem0_back(registered):
    bridge.unregister()
    before = {
        (owner, name): vars(owner)[name]
        for owner in (mem0.Memory, mem0.AsyncMemory)
        for name in ("search", "_search_vector_store")
    }
    bridge.register(patch=True)
    assert all(vars(owner)[name] is not method for (owner, name), method in before.items())
    bridge.unregister()
    assert all(vars(owner)[name] is method for (owner, name), method in before.items())
