"""How a payload becomes a row."""

import pytest

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.store.documents import build_facts, build_row


def test_a_memory_row():
    payload = {
        "data": "我住在臺北",
        "text_lemmatized": "我住在臺北",
        "user_id": "u1",
        "agent_id": None,
        "created_at": "2026-01-01T00:00:00+08:00",
        "expiration_date": "2030-01-01",
        "entities": ["臺北", "PX"],
        "金额": 5,
    }
    row = build_row(payload, kind="memory", row_id="m")
    assert row.pop("payload") == payload
    assert row == {
        "id": "m",
        "text": "我住在臺北",
        "user_id": "u1",
        "created_at": "2025-12-31T16:00:00.000Z",
        "expiration_date": "2030-01-01T00:00:00.000Z",
        "entities": ["台北", "px"],
        "facts": [
            {"k": "created_at", "s": "2026-01-01T00:00:00+08:00", "d": "2025-12-31T16:00:00.000Z"},
            {"k": "expiration_date", "s": "2030-01-01", "d": "2030-01-01T00:00:00.000Z"},
            {"k": "entities", "s": "臺北"},
            {"k": "entities", "s": "PX"},
            {"k": "金额", "n": 5.0},
        ],
    }


def test_an_entity_row():
    payload = {"data": "臺積電 TSMC", "entity_type": "ORG", "linked_memory_ids": ["m1", "m2"], "user_id": "u1"}
    row = build_row(payload, kind="entities", row_id="e")
    assert row.pop("payload") == payload
    assert row == {
        "id": "e",
        "user_id": "u1",
        "name": "臺積電 TSMC",
        "name_folded": "台积电 tsmc",
        "type": "ORG",
        "memory_ids": ["m1", "m2"],
        "text": "臺積電 TSMC",
        "facts": [{"k": "entity_type", "s": "ORG"}],
    }


def test_a_date_that_cant_be_read_is_kept_as_text():
    row = build_row({"data": "x", "created_at": "yesterday"}, kind="memory", row_id="m")
    assert "created_at" not in row
    assert row["facts"] == [{"k": "created_at", "s": "yesterday"}]


def test_facts_of_nested_values():
    facts = build_facts({"a": {"b": [1, {"c": "x"}], "空": None}, "t": True, "l": [[2]]}, row_id="m")
    assert facts == [{"k": "a.b", "n": 1.0}, {"k": "a.b.c", "s": "x"}, {"k": "t", "b": True}, {"k": "l", "n": 2.0}]


def test_a_cycle_is_refused_not_followed():
    payload = {"data": "x"}
    payload["self"] = payload
    with pytest.raises(InvalidInputError, match="can't be written as JSON"):
        build_row(payload, kind="memory", row_id="m")
