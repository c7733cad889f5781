"""Filters of a search: what mem0 folds into one dict reaches our filter language as it was written."""

from __future__ import annotations

import mem0
import pytest

import mem_opensearch.mem0 as bridge
from mem_opensearch.errors import FilterError

SCOPE = {"user_id": "lin"}


@pytest.fixture(params=["ours", "ours, unregistered", "patched", "registered"])
def memory(request, config):
    """Our class, and mem0's own: filters mean the same wherever the store is ours."""
    if request.param == "patched":
        request.getfixturevalue("patched")
    made = (bridge.Memory if request.param.startswith("ours") else mem0.Memory).from_config(config)
    for price in (3, 8, 20):
        made.add(f"這杯咖啡要 {price} 元", **SCOPE, infer=False, metadata={"price": price})
    made.add("這杯咖啡不要錢", user_id="chen", infer=False, metadata={"price": 0})
    if request.param == "ours, unregistered":
        bridge.unregister()
    yield made
    made.close()


def prices(memory, conditions):
    answer = memory.search("咖啡多少錢？", filters={**SCOPE, **conditions})
    return sorted(result["metadata"]["price"] for result in answer["results"])


def test_a_condition_does_not_leave_the_scope(memory):
    """mem0 lets the one in the AND take the place of the one beside it."""
    for key in ("user_id", "agent_id"):
        assert prices(memory, {"AND": [{key: "chen"}]}) == []
    assert prices(memory, {"AND": [{"user_id": "lin"}, {"price": 8}]}) == [8]
    assert prices(memory, {"OR": [{"user_id": "chen"}, {"price": 8}]}) == [8]
    assert prices(memory, {"NOT": [{"user_id": "lin"}]}) == []


EXPECTED = [
    ({"AND": [{"price": {"gt": 5}}, {"price": {"lt": 10}}]}, [8]),
    ({"AND": [{"price": 3}, {"price": 8}]}, []),
    ({"price": {"gt": 5}, "AND": [{"price": {"gt": 2}}]}, [8, 20]),
    ({"AND": [{"OR": [{"price": 3}, {"price": 8}]}, {"price": {"gt": 3}}]}, [8]),
    ({"AND": [{"NOT": {"price": 8}}]}, [3, 20]),
    ({"NOT": {"price": 8}}, [3, 20]),
    ({"NOT": [{"price": 3}, {"price": 8}]}, [20]),
    ({"OR": [{"AND": [{"price": {"gt": 5}}, {"price": {"lt": 10}}]}, {"price": 20}]}, [8, 20]),
    ({"price": {"$gte": 8}, "OR": [{"price": "*"}]}, [8, 20]),
    ({"AND": [{"price": {"gt": 5}}], "$and": [{"price": {"lt": 10}}]}, [8]),
]


def test_every_condition_holds(memory):
    for conditions, expected in EXPECTED:
        assert prices(memory, conditions) == expected, conditions


def test_what_is_not_understood_is_refused(memory):
    for conditions in ({"price": {"near": 5, "gt": 1}}, {"OR": []}, {"AND": ["price"]}):
        with pytest.raises(FilterError):
            prices(memory, conditions)
