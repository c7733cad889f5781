"""The filter language: every operator compiled, everything else refused by name."""

from datetime import UTC, date, datetime

import pytest

from mem_opensearch.errors import FilterError, ScopeError
from mem_opensearch.filters import as_instant, compile_filter


def fact(key, clause):
    return {"nested": {"path": "facts", "query": {"bool": {"filter": [{"term": {"facts.k": key}}, clause]}}}}


@pytest.mark.parametrize(
    ("filters", "clauses"),
    [
        (None, []),
        ({}, []),
        ({"user_id": "u1"}, [{"term": {"user_id": "u1"}}]),
        ({"user_id": {"eq": "u1"}}, [{"term": {"user_id": "u1"}}]),
        ({"user_id": "u1", "run_id": "r"}, [{"term": {"user_id": "u1"}}, {"term": {"run_id": "r"}}]),
        ({"role": "*"}, [{"exists": {"field": "role"}}]),
        ({"项目": "甲"}, [fact("项目", {"term": {"facts.s": "甲"}})]),
        ({"项目": "*"}, [fact("项目", {"match_all": {}})]),
        ({"n": 5}, [fact("n", {"term": {"facts.n": 5.0}})]),
        ({"b": True}, [fact("b", {"term": {"facts.b": True}})]),
        ({"n": {"gte": 3, "$lt": 9}}, [fact("n", {"range": {"facts.n": {"gte": 3.0}}}), fact("n", {"range": {"facts.n": {"lt": 9.0}}})]),
        ({"n": {"ne": 3}}, [{"bool": {"must_not": [fact("n", {"term": {"facts.n": 3.0}})]}}]),
        ({"s": {"in": []}}, [{"match_none": {}}]),
        ({"s": {"nin": []}}, [{"bool": {"must_not": []}}]),
        ({"when": {"gt": "2026-01-01T08:00:00+08:00"}}, [fact("when", {"range": {"facts.d": {"gt": "2026-01-01T00:00:00.000Z"}}})]),
        ({"created_at": {"lte": date(2026, 1, 1)}}, [{"range": {"created_at": {"lte": "2026-01-01T00:00:00.000Z"}}}]),
        ({"s": {"contains": "a*b?\\"}}, [fact("s", {"wildcard": {"facts.s": {"value": "*a\\*b\\?\\\\*", "case_insensitive": False}}})]),
        ({"s": {"icontains": "A"}}, [fact("s", {"wildcard": {"facts.s": {"value": "*A*", "case_insensitive": True}}})]),
        ({"AND": [{"user_id": "a"}, {"n": 1}]}, [{"term": {"user_id": "a"}}, fact("n", {"term": {"facts.n": 1.0}})]),
        ({"$or": [{"user_id": "a"}, {}]}, [{"bool": {"should": [{"term": {"user_id": "a"}}, {"match_all": {}}], "minimum_should_match": 1}}]),
        ({"NOT": [{"user_id": "a", "n": 1}]}, [{"bool": {"must_not": [{"bool": {"filter": [{"term": {"user_id": "a"}}, fact("n", {"term": {"facts.n": 1.0}})]}}]}}]),
    ],
)  # fmt: skip
def test_compiled(filters, clauses):
    assert compile_filter(filters) == clauses


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"n": {"near": 3}}, "'near' on 'n' is not known; supported are: eq"),
        ({"$nor": [{}]}, "'\\$nor' is not known"),
        ({"n": {}}, "empty mapping"),
        ({"OR": []}, "non-empty list"),
        ({"OR": {"a": 1}}, "non-empty list"),
        ({"AND": "a"}, "non-empty list"),
        ({"AND": ["a"]}, "not str"),
        ({"n": {"in": "abc"}}, "takes a list, not str"),
        ({"n": ["a"]}, "compares with list"),
        ({"n": None}, "compares with NoneType"),
        ({"n": float("nan")}, "no stored number equals"),
        ({"n": {"gt": True}}, "number, a date or a string, not bool"),
        ({"created_at": {"gt": "soon"}}, "takes an ISO 8601 date"),
        ({"created_at": {"contains": "2026"}}, "no meaning on 'created_at'"),
        ({"user_id": {"gt": "a"}}, "no meaning on 'user_id'"),
        ({"role": 5}, "'role' is compared with int"),
        ({5: "a"}, "non-empty string, not 5"),
        ({"": "a"}, "non-empty string"),
        ({"s": "x" * 8001}, "at most 8000"),
        ([("a", 1)], "not list"),
    ],
)
def test_refused(filters, said):
    with pytest.raises(FilterError, match=said):
        compile_filter(filters)


@pytest.mark.parametrize("key", ["user_id", "agent_id", "run_id"])
@pytest.mark.parametrize("value", ["*", "", None, 5, ["u1"], {"in": ["u1", None]}, {"eq": "*"}, {"in": ["*"]}])
def test_an_identity_names_one_owner(key, value):
    if value in ({"eq": "*"}, {"in": ["*"]}):  # as an operand it is a literal, which matches nobody
        assert "exists" not in str(compile_filter({key: value}))
        return
    with pytest.raises(ScopeError, match=key):
        compile_filter({key: value})


def test_depth_is_bounded():
    filters = {"a": 1}
    for _ in range(8):
        filters = {"AND": [filters]}
    compile_filter(filters)
    with pytest.raises(FilterError, match="at most 8 levels"):
        compile_filter({"AND": [filters]})


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        ("2026-08-01", "2026-08-01T00:00:00.000Z"),
        ("2026-08-01T08:00:00+08:00", "2026-08-01T00:00:00.000Z"),
        ("2026-08-01T00:00:00.123456Z", "2026-08-01T00:00:00.123Z"),
        (datetime(2026, 8, 1, tzinfo=UTC), "2026-08-01T00:00:00.000Z"),
        ("20260801", None),
        ("2026-99-99", None),
        ("text", None),
        ("0001-01-01T00:00:00+08:00", None),
        (5, None),
        (None, None),
    ],
)
def test_as_instant(value, instant):
    assert as_instant(value) == instant
