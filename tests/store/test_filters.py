"""Filters on a real server: applied before the nearest are chosen, and accepted up to the limits that are promised."""

from __future__ import annotations

import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.client.encoding import encode_lines, path_of
from mem_opensearch.filters import (
    MAX_DEPTH,
    MAX_LEAVES,
    MAX_LISTED,
    MAX_NEEDLE,
    MAX_STRING,
    compile_filter,
    count_leaves,
)
from mem_opensearch.queries import listing

sys.path.insert(0, str(Path(__file__).parent))
from reference_filter import matches

EAST = [1.0, 0.0, 0.0, 0.0]
PAGE = ("我住在臺北 PX-441 " * 60)[:2000]  # a query longer than what is looked for


@pytest.fixture(scope="module", params=["3.6.0", "2.19.1"])
def make(request, node_of, opensearch_url):
    """Make stores, each on a collection of its own, on each version."""
    url = opensearch_url if request.param == "3.6.0" else node_of(request.param)
    made = []

    def store():
        made.append(OpenSearchVectorStore(url=url, collection_name=f"f-{uuid.uuid4().hex[:8]}", embedding_model_dims=4))
        return made[-1]

    yield store
    for one in made:
        one.delete_col()
        one.close()


@pytest.fixture(scope="module")
def shared(make):
    """300 rows that are nearest to EAST, and five that are not."""
    store = make()
    near = {
        "data": "甲", "user_id": "u1", "role": "user", "项目": "甲", "金额": 300, "标签": ["红", "大"], "flag": True,
        "city": "New Taipei", "id": 10**18, "created_at": "2026-01-01", "when": "2026-01-01T08:00:00+08:00", "a": {"b": 1},
    }  # fmt: skip
    far = {
        "data": "乙", "user_id": "u2", "role": "assistant", "项目": "乙", "金额": 900, "标签": ["蓝", "小"], "flag": False,
        "city": "New Taipei 新北", "id": 10**18 + 1, "created_at": "2026-03-01", "when": "2026-03-01T08:00:00+08:00", "c": {"d": 1},
    }  # fmt: skip
    vectors = [[1.0, 0.001 * n, 0.0, 0.0] for n in range(300)] + [[0.1, 0.0, 0.001 * n, 1.0] for n in range(5)]
    store.insert(vectors, [near] * 300 + [far] * 5, [f"near{n}" for n in range(300)] + [f"far{n}" for n in range(5)])
    return store


FAR = ["far0", "far1", "far2", "far3", "far4"]
ONLY_FAR = [
    {"user_id": "u2"},
    {"user_id": {"ne": "u1"}},
    {"user_id": {"in": ["u2", "u3"]}},
    {"user_id": {"nin": ["u1", "u3"]}},
    {"role": {"contains": "assist"}},
    {"role": {"icontains": "ASSIST"}},
    {"项目": "乙"},
    {"项目": {"eq": "乙"}},
    {"项目": {"ne": "甲"}},
    {"项目": {"in": ["乙", "丙"]}},
    {"项目": {"nin": ["甲", "丙"]}},
    {"项目": {"$gt": "丘", "$lt": "甲"}},
    {"金额": {"gt": 300}},
    {"金额": {"gte": 301, "lte": 1000}},
    {"金额": {"ne": 300}},
    {"NOT": [{"金额": {"lte": 300}}]},
    {"标签": "小"},
    {"标签": {"contains": "蓝"}},
    {"city": {"contains": "新北"}},
    {"city": {"icontains": "TAIPEI 新"}},
    {"flag": False},
    {"flag": {"ne": True}},
    {"id": 10**18 + 1},
    {"id": {"gt": 10**18}},
    {"created_at": {"gt": "2026-02-01"}},
    {"created_at": "2026-03-01T00:00:00+00:00"},
    {"when": datetime(2026, 3, 1, tzinfo=UTC)},
    {"when": {"gte": "2026-02-01T00:00:00Z", "lt": "2026-04-01"}},
    {"c.d": 1},
    {"c": "*"},
    {"c.d": "*"},
    {"NOT": [{"a": "*"}]},
    {"NOT": [{"项目": "甲"}, {"金额": 300}]},
    {"OR": [{"项目": "乙"}, {"项目": "丙"}]},
    {"AND": [{"OR": [{"项目": "乙"}, {"金额": {"lt": 0}}]}, {"NOT": [{"flag": True}]}]},
]


@pytest.mark.parametrize("filters", ONLY_FAR, ids=str)
def test_the_nearest_are_chosen_among_those_that_pass(shared, filters):
    """All 300 others are nearer: a filter beside the kNN clause would leave nothing of the five."""
    hits = shared.search("q", EAST, top_k=5, filters=filters)
    assert sorted(hit.id for hit in hits) == FAR
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert sorted(hit.id for hit in shared.list(filters=filters)[0]) == FAR
    assert sorted(hit.id for hit in shared.keyword_search("乙", top_k=5, filters=filters)) == FAR


# The sentences of docs/filters.md, each as a value, a condition on it, and whether they match.
EIGHT = "2026-08-01T08:00:00+08:00"
CORNERS = [
    (5, 5.0, True), (5, "5", False), (5, {"ne": "5"}, True), (True, 1, False), (1, True, False), (True, {"in": [1]}, False),
    (-0.0, 0, True), (0, -0.0, True), (-0.0, {"gte": 0}, True), (-0.0, {"lt": 0}, False),
    (2**53 + 1, 2**53, False), (2**53, 2**53 + 1, False), (2**53 + 1, 2**53 + 1, True), (2**53 + 1, {"gt": 2**53}, True),
    (2**53, {"lt": 2**53 + 1}, True), (2**53 + 1, {"lte": 2**53}, False), (1e16, 10**16, True), (-(2**53) - 1, {"lt": -(2**53)}, True),
    (10**18 + 1, {"gt": 10**18, "lt": 10**18 + 2}, True), (10**18 + 1, {"gt": 500}, True), (-(10**18), {"gt": 500}, False),
    (3, {"lt": 10**18}, True), (1e300, {"gt": 10**18}, True), (-1e300, {"gt": -(10**18)}, False), (2**63 - 1, 2**63, False),
    ([1, 10], {"gte": 3, "lt": 9}, False), ([1, 5], {"gte": 3, "lt": 9}, True), ([1, 10], {"gte": 3}, True), ([1, 10], 10, True),
    ([1, 10], {"ne": 10}, False), ([1, 10], {"nin": [2, 10]}, False), ([[1], [10]], 10, True), ([3, "x"], {"gte": 3, "lte": "y"}, False),
    ([], "*", False), ({}, "*", False), (None, "*", False), ("", "*", True), (None, {"ne": 5}, True), ({"b": 1}, "*", True), ([{"b": None}], "*", False),
    ("", "", True), (" ", "", False), ("a", "A", False), ("a ", "a", False), ("項目", "项目", False), ("ＰＸ", "PX", False),
    ("a*b", {"contains": "*"}, True), ("ab", {"contains": "a*b"}, False), ("ab", {"contains": "?"}, False), ("a\\b", {"contains": "\\"}, True),
    ("甲乙丙", {"contains": "乙"}, True), ("x", {"contains": ""}, True), (5, {"contains": ""}, False), ([5, 6], {"contains": 5}, True), (55, {"contains": 5}, False),
    (["红色", "大"], {"contains": "红"}, True), ("Abc", {"contains": "abc"}, False), ("Abc", {"icontains": "aBC"}, True),
    ("ÉTÉ", {"icontains": "été"}, True), ("ＰＸ", {"icontains": "ｐｘ"}, True), ("ПРИВЕТ", {"icontains": "привет"}, True), ("straße", {"icontains": "STRASSE"}, False),
    (".*", {"icontains": "a"}, False), ("a.(b)", {"icontains": ".(B)"}, True), ("a\nb", {"icontains": "A\nB"}, True), ("a\x00b", {"contains": "\x00"}, True),
    (EIGHT, "2026-08-01", True), (EIGHT, "2026-08-01T00:00:00Z", True), (EIGHT, {"contains": "+08"}, True), ("2026-08-01", {"lte": "2026-08-01"}, True),
    ("2026-08-01T00:00:01Z", {"lte": "2026-08-01"}, False), ("2026-08-01T00:00:01Z", {"gte": "2026-08-01", "lt": "2026-08-02"}, True),
    ("2026-08-01T00:00:00.1239Z", "2026-08-01T00:00:00.123Z", True), ("2026-08-01T00:00:00.124Z", "2026-08-01T00:00:00.123Z", False),
    ("2026-08-01", {"in": ["x", datetime(2026, 8, 1, tzinfo=UTC)]}, True), ("2026-99-99", "2026-99-99", True), ("2026-08-01_1200", {"gt": "2026-01-01"}, False),
    ("20260801", {"gte": "2026-01-01"}, False), (20260801, {"gte": "2026-01-01"}, False), ("b", {"gt": "a", "lt": "c"}, True), ("𠮷", {"gt": "\uffff"}, True),
    ("长" * 8001, "*", True), ("长" * 8001, {"contains": "长"}, False), ("长" * 8001, {"ne": "长"}, True), ("😀" * 4000, "😀" * 4000, True),
]  # fmt: skip


@pytest.fixture(scope="module")
def answers(make):
    """Whether each corner's row was found by its condition."""
    store = make()
    ids = [f"c{number}" for number in range(len(CORNERS))]
    store.insert([EAST] * len(ids), [{"data": "角", "值": value} for value, _, _ in CORNERS], ids)
    searches = [
        listing(size=1, filters=[*compile_filter({"值": condition}), {"term": {"id": row_id}}])
        for row_id, (_, condition, _) in zip(ids, CORNERS, strict=True)
    ]
    lines = encode_lines([line for search in searches for line in ({}, search)])
    store.list(top_k=1)  # which shows the rows to the search below
    answered = store.client.request("POST", path_of(store.collection_name, "_msearch"), body=lines)["responses"]
    return [bool(each["hits"]["hits"]) for each in answered]


@pytest.mark.parametrize("number", range(len(CORNERS)))
def test_corners(answers, number):
    value, condition, expected = CORNERS[number]
    assert answers[number] == expected, f"{str(condition)[:80]} on {str(value)[:80]}"
    assert matches({"值": condition}, {"值": value}) == expected


DAYS = [datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=n) for n in range(200)]
LARGE = {
    "a list of strings": {"项目": {"in": ["乙", *(f"x{n}" for n in range(MAX_LISTED - 1))]}},
    "a list of identities": {"user_id": {"in": ["u2", *(f"x{n}" for n in range(MAX_LISTED - 1))]}},
    "a list of numbers": {"金额": {"in": [900, *range(10_000, 10_000 + MAX_LISTED - 1)]}},
    "a list of large numbers": {"id": {"in": [10**18 + 1 + n for n in range(MAX_LISTED)]}},
    "a list of none": {"项目": {"nin": ["甲", *(f"x{n}" for n in range(MAX_LISTED - 1))]}},
    "many conditions": {"OR": [{"项目": "乙"}] + [{f"k{n}": "x"} for n in range(MAX_LEAVES // 2 - 1)]},
    "many ranges": {"OR": [{"金额": {"gt": 500}}] + [{f"k{n}": {"gt": n}} for n in range(MAX_LEAVES // 3 - 1)]},
    "many that do not match": {"NOT": [{"项目": "甲"}] + [{f"k{n}": "x"} for n in range(MAX_LEAVES // 2 - 1)]},
    "many dates": {"created_at": {"in": DAYS}},
    "many dates of metadata": {"when": {"in": DAYS[:199]}},
    "a long needle": {"OR": [{"项目": {"contains": "长" * MAX_NEEDLE}}, {"项目": "乙"}]},
    "a long needle of a case": {"OR": [{"项目": {"icontains": "éK" * (MAX_NEEDLE // 2)}}, {"项目": "乙"}]},
    "a long string": {"项目": {"nin": ["长" * MAX_STRING, "甲"]}},
    "a long key": {"OR": [{"键" * 20_000: 1}, {"项目": "乙"}]},
}


@pytest.mark.parametrize("name", LARGE)
def test_what_is_allowed_is_accepted_beside_the_longest_query(shared, name):
    filters = LARGE[name]
    assert sorted(hit.id for hit in shared.search("q", EAST, top_k=5, filters=filters)) == FAR
    assert sorted(hit.id for hit in shared.list(filters=filters)[0]) == FAR
    assert sorted(hit.id for hit in shared.keyword_search("乙" + PAGE, top_k=5, filters=filters)) == FAR


def test_the_limit_of_comparisons_is_reached_by_the_tests_above():
    assert max(count_leaves(compile_filter(filters)) for filters in LARGE.values()) > MAX_LEAVES - 4


def test_filters_may_be_as_deep_as_is_said(shared):
    filters = {"user_id": "u2", "标签": {"in": ["蓝", 3, True]}}
    for level in range(MAX_DEPTH):
        filters = (
            {"OR": [{"missing": 1, "n": 2}, filters | {"金额": {"gt": 500}}]}
            if level % 2
            else {"AND": [filters, {"id": "*"}]}
        )
    assert sorted(hit.id for hit in shared.search("q", EAST, top_k=5, filters=filters)) == FAR
    assert sorted(hit.id for hit in shared.list(filters=filters)[0]) == FAR


def test_many_times_not_is_right_at_any_depth(shared):
    filters = {"user_id": "u2"}
    for level in range(1, MAX_DEPTH + 1):
        filters = {"NOT": [filters]}
        found = shared.search("q", EAST, top_k=305, filters=filters)
        assert len(found) == (5 if level % 2 == 0 else 300)


@pytest.mark.parametrize(
    "value", ['u1") or ("1"="1', "u1' OR '1'='1", "u*", "u?", "*", '{"exists": 1}', "u1\x00", "_all", ".*", "u1 OR u2", "\\u0075\\u0031"]
)  # fmt: skip
def test_a_value_is_only_data(shared, value):
    for filters in (
        {"user_id": {"eq": value}},
        {"项目": {"eq": value}},
        {"项目": {"contains": value}},
        {value: "甲"},
        {"项目": {"in": [value]}},
    ):
        assert shared.search("q", EAST, filters=filters) == []
        assert shared.list(filters=filters) == [[]]
