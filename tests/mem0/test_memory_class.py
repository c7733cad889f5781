"""`mem_opensearch.mem0.Memory`: mem0's class with our read path, and mem0's own class with it."""

from __future__ import annotations

import mem0
import pytest

import mem_opensearch.mem0 as bridge
from mem_opensearch.errors import InvalidInputError

SCOPE = {"user_id": "lin"}
MEM0_KEYS = {"id", "memory", "hash", "metadata", "score", "created_at", "updated_at", "user_id", "role"}


@pytest.fixture
def patched(registered):
    bridge.register(patch=True)
    yield
    bridge.unregister()


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


def test_two_conditions_on_one_key_both_hold(memory):
    """mem0 makes one dict of them, in which the last one wins."""
    for price in (3, 8, 20):
        add(memory, f"這杯咖啡要 {price} 元", price=price)
    both = {"AND": [{"price": {"gt": 5}}, {"price": {"lt": 10}}]}
    answer = memory.search("咖啡多少錢？", filters={**SCOPE, **both})
    assert [result["metadata"]["price"] for result in answer["results"]] == [8]


def test_why_there_is_nothing(memory):
    assert memory.search("咖啡", filters=SCOPE)["empty"] == "nothing that matches is stored in this scope"
    add(memory, "我喜歡喝茶")
    assert "below the threshold" in memory.search("薛定谔方程的推导", filters=SCOPE, threshold=0.9)["empty"]


def test_a_reranker_sees_more_than_is_wanted(memory):
    for number in range(9):
        add(memory, f"第{number}杯咖啡")
    seen = []

    class Reversing:
        def rerank(self, query, memories, top_k):
            seen.append(len(memories))
            return memories[::-1][:top_k]

    memory.reranker = Reversing()
    assert len(memory.search("咖啡", filters=SCOPE, top_k=2, rerank=True)["results"]) == 2
    assert seen == [6]


def test_a_reranker_that_fails_leaves_as_many_results_as_were_wanted(memory):
    for number in range(9):
        add(memory, f"第{number}杯咖啡")

    class Broken:
        def rerank(self, query, memories, top_k):
            raise RuntimeError("out of service")

    memory.reranker = Broken()
    wanted = found(memory.search("咖啡", filters=SCOPE, top_k=2))
    assert found(memory.search("咖啡", filters=SCOPE, top_k=2, rerank=True)) == wanted


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
