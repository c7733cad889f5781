"""mem0's entity collection lives in the same kind of store: links, boosts, unlinking."""

import pytest

NAMES = ("林小满", "台北", "陈志远")


def extract(text):
    """Stand in for mem0's extraction, which knows English only."""
    return [("PROPER", name) for name in NAMES if name in text]


@pytest.fixture
def memory(chat_model, memory, monkeypatch):
    monkeypatch.setattr("mem0.memory.main.extract_entities", extract)
    monkeypatch.setattr("mem0.memory.main.extract_entities_batch", lambda texts: [extract(text) for text in texts])
    return memory


@pytest.fixture
def remember(chat_model, memory):
    def add(*facts, user="lin"):
        chat_model.finds(*facts)
        return [item["id"] for item in memory.add("说了一些话", user_id=user)["results"]]

    return add


def links(memory, user="lin"):
    rows = memory.entity_store.list(filters={"user_id": user}, top_k=10_000)[0]
    return {row.payload["data"]: set(row.payload["linked_memory_ids"]) for row in rows}


def test_memories_are_linked_across_adds(memory, remember, collection):
    first, second = remember("林小满在台北工作", "陈志远是一名厨师")
    (third,) = remember("林小满喜欢骑车")
    assert links(memory) == {"林小满": {first, third}, "台北": {first}, "陈志远": {second}}
    assert memory.entity_store.collection_name == f"{collection}_entities"


def test_entities_are_no_memories(memory, remember):
    remember("林小满在台北工作")
    assert [item["memory"] for item in memory.get_all(filters={"user_id": "lin"})["results"]] == ["林小满在台北工作"]


def test_a_named_entity_boosts_its_memories(memory, remember):
    linked, unlinked = remember("林小满每个星期六早上去骑车", "每个星期天晚上去游泳")
    hits = memory.search("林小满周末做什么", filters={"user_id": "lin"}, threshold=0.0, explain=True)["results"]
    boosts = {hit["id"]: hit["score_details"]["entity_boost"] for hit in hits}
    assert boosts[linked] == pytest.approx(0.5, abs=1e-3)  # similarity 1 x mem0's weight 0.5 x one link
    assert boosts[unlinked] == 0
    assert hits[0]["id"] == linked


def test_another_users_entities_give_no_boost(memory, remember):
    remember("林小满喜欢骑车", user="lin")
    (other,) = remember("他说林小满喜欢游泳", user="chen")
    hits = memory.search("林小满", filters={"user_id": "chen"}, threshold=0.0, explain=True)["results"]
    assert [hit["id"] for hit in hits] == [other]
    assert links(memory, "chen") == {"林小满": {other}}


def test_update_links_anew(memory, remember):
    (memory_id,) = remember("林小满在台北工作")
    memory.update(memory_id, text="陈志远在高雄工作")
    assert links(memory) == {"陈志远": {memory_id}}


def test_delete_unlinks(memory, remember):
    first, second = remember("林小满在台北工作", "林小满喜欢骑车")
    memory.delete(first)
    assert links(memory) == {"林小满": {second}}
    memory.delete(second)
    assert links(memory) == {}


def test_reset_takes_the_entities_too(memory, remember):
    remember("林小满在台北工作")
    memory.reset()
    assert links(memory) == {}
