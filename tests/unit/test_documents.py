"""How a payload becomes a row."""

import json
import math
import uuid
from array import array
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest

from mem_opensearch.client.encoding import encode
from mem_opensearch.errors import InvalidInputError, VectorError
from mem_opensearch.store.documents import build_facts, build_row
from mem_opensearch.store.vectors import check_vector


class Kind(Enum):
    RED = "red"


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
    payload["aliases"] = ["臺積", "ＴＳＭＣ"]
    row = build_row(payload, kind="entities", row_id="e")
    assert row.pop("payload") == payload
    assert row == {
        "id": "e",
        "user_id": "u1",
        "name": "臺積電 TSMC",
        "name_folded": "台积电 tsmc",
        "type": "ORG",
        "memory_ids": ["m1", "m2"],
        "aliases": ["台积", "tsmc"],
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


def test_facts_are_of_what_is_stored():
    """A payload comes back as JSON: its dates and UUIDs are strings by then."""
    payload = {"when": date(2026, 8, 1), "id": uuid.UUID(int=1), "kind": Kind.RED}
    assert build_row(payload, kind="memory", row_id="m")["facts"] == [
        {"k": "when", "s": "2026-08-01", "d": "2026-08-01T00:00:00.000Z"},
        {"k": "id", "s": str(uuid.UUID(int=1))},
        {"k": "kind", "s": "red"},
    ]


def test_facts_of_numbers_are_exact():
    facts = build_facts({"a": -0.0, "b": 2**53 - 1, "c": -(2**53) - 1, "d": 1e16, "e": 2**64 - 1}, row_id="m")
    assert math.copysign(1, facts[0]["n"]) == 1.0
    assert facts[1:] == [
        {"k": "b", "n": 2.0**53 - 1},
        {"k": "c", "n": -(2.0**53), "i": -(2**53) - 1},
        {"k": "d", "n": 2.0**53, "i": 10**16},
        {"k": "e", "n": 2.0**64},
    ]


def test_of_a_long_string_only_the_key_is_indexed():
    facts = build_facts({"a": "长" * 8000, "b": "长" * 8001, "c": "😀" * 4001}, row_id="m")
    assert facts == [{"k": "a", "s": "长" * 8000}, {"k": "b"}, {"k": "c"}]


def test_several_dates_under_a_date_key():
    row = build_row({"event_date": ["2026-08-01", "soon", "2026-08-02"]}, kind="memory", row_id="m")
    assert row["event_date"] == ["2026-08-01T00:00:00.000Z", "2026-08-02T00:00:00.000Z"]


def test_a_cycle_is_refused_not_followed():
    payload = {"data": "x"}
    payload["self"] = payload
    with pytest.raises(InvalidInputError, match="can't be written as JSON"):
        build_row(payload, kind="memory", row_id="m")


@pytest.mark.parametrize(
    "vector",
    [
        [1, True],
        [1, 1j],
        [np.float32(1), 1j],
        [1, Fraction(1, 2)],
        [0.5, Decimal(1)],
        [1, np.longdouble(1)],
        [1, "1"],
        [1, [1]],
    ],
)
def test_a_vector_of_something_else_than_numbers_is_refused(vector):
    with pytest.raises(VectorError, match="not a number"):
        check_vector(vector, dims=2, index="c", owner="x")


@pytest.mark.parametrize(
    "vector",
    [
        [1, 2.5],
        (1, 2),
        [np.float32(1), np.int64(2)],
        array("f", [1, 2]),
        np.ones(4, dtype=np.float16)[::2],
        np.arange(1, 3),
    ],
)
def test_any_vector_of_numbers_can_be_sent(vector):
    assert json.loads(encode(check_vector(vector, dims=2, index="c", owner="x"))) == pytest.approx(list(vector))


def test_a_plain_vector_is_not_copied():
    for vector in ([1.0, 2.0], np.array([1.0, 2.0], dtype=np.float32)):
        assert check_vector(vector, dims=2, index="c", owner="x") is vector
