"""`add(infer=True)`: mem0 asks a language model for facts and stores what it answers."""

import pytest


@pytest.fixture
def memory(chat_model, memory):
    """The language model is in the config before mem0 reads it."""
    return memory


def test_extracted_facts_are_stored_and_found(chat_model, memory):
    chat_model.finds("林小满的女儿对花生过敏", "林小满在台北的一家诊所工作")
    added = memory.add(
        [
            {"role": "user", "content": "我女儿对花生过敏，我在台北的诊所上班。"},
            {"role": "assistant", "content": "好的，我记住了。"},
        ],
        user_id="lin",
        metadata={"source": "chat"},
    )["results"]
    assert [(item["event"], item["memory"]) for item in added] == [
        ("ADD", "林小满的女儿对花生过敏"),
        ("ADD", "林小满在台北的一家诊所工作"),
    ]
    assert "我女儿对花生过敏，我在台北的诊所上班。" in chat_model.last_prompt
    assert chat_model.seen[-1]["response_format"] == {"type": "json_object"}
    best = memory.search("孩子对什么过敏", filters={"user_id": "lin"})["results"][0]
    assert best["id"] == added[0]["id"]
    assert best["metadata"] == {"source": "chat"}
    assert best["attributed_to"] == "user"


def test_the_model_is_shown_what_is_stored(chat_model, memory):
    chat_model.finds("林小满住在台北")
    memory.add("我住在台北", user_id="lin")
    chat_model.finds()
    memory.add("我还是住在台北", user_id="lin")
    assert "林小满住在台北" in chat_model.last_prompt
    memory.add("我还是住在台北", user_id="chen")
    assert "林小满住在台北" not in chat_model.last_prompt


def test_a_fact_found_twice_is_stored_once(chat_model, memory):
    chat_model.finds("林小满住在台北")
    memory.add("我住在台北", user_id="lin")
    assert memory.add("我住在台北", user_id="lin")["results"] == []
    assert len(memory.get_all(filters={"user_id": "lin"})["results"]) == 1


def test_no_facts_store_nothing(chat_model, memory):
    chat_model.finds()
    assert memory.add("你好", user_id="lin")["results"] == []
    assert memory.get_all(filters={"user_id": "lin"})["results"] == []
