"""The filter language: every operator compiled, everything else refused by name."""

from datetime import UTC, date, datetime, timedelta, timezone
from enum import StrEnum

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mem_opensearch.errors import FilterError, ScopeError
from mem_opensearch.filters import MAX_DEPTH, MAX_LEAVES, as_instant, compile_filter, count_leaves


def fact(key, *clauses):
    return {"nested": {"path": "facts", "query": {"bool": {"filter": [{"term": {"facts.k": key}}, *clauses]}}}}


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
        ({"项目": "*"}, [{"nested": {"path": "facts", "query": {"bool": {"should": [{"term": {"facts.k": "项目"}}, {"prefix": {"facts.k": "项目."}}], "minimum_should_match": 1}}}}]),
        ({"n": 5}, [fact("n", {"term": {"facts.n": 5.0}})]),
        ({"b": True}, [fact("b", {"term": {"facts.b": True}})]),
        ({"n": {"gte": 3, "$lt": 9}}, [fact("n", {"range": {"facts.n": {"gte": 3.0}}}, {"range": {"facts.n": {"lt": 9.0}}})]),
        ({"n": -0.0}, [fact("n", {"term": {"facts.n": 0.0}})]),
        ({"n": 2**53 + 1}, [fact("n", {"term": {"facts.i": 2**53 + 1}})]),
        ({"n": {"lte": 2**53 + 1}}, [fact("n", {"bool": {"should": [{"range": {"facts.i": {"lte": 2**53 + 1}}}, {"range": {"facts.n": {"lt": 2.0**53}}}], "minimum_should_match": 1}})]),
        ({"n": {"in": [1, "a", 2, "b"]}}, [fact("n", {"bool": {"should": [{"terms": {"facts.n": [1.0, 2.0]}}, {"terms": {"facts.s": ["a", "b"]}}], "minimum_should_match": 1}})]),
        ({"user_id": {"in": ["a", "b"]}}, [{"terms": {"user_id": ["a", "b"]}}]),
        ({"created_at": {"gt": "2026-01-01", "lte": "2026-02-01"}}, [{"range": {"created_at": {"gt": "2026-01-01T00:00:00.000Z", "lte": "2026-02-01T00:00:00.000Z"}}}]),
        ({"created_at": {"in": ["2026-01-01", "soon"]}}, [{"bool": {"should": [{"term": {"created_at": "2026-01-01T00:00:00.000Z"}}, fact("created_at", {"term": {"facts.s": "soon"}})], "minimum_should_match": 1}}]),
        ({"when": "2026-01-01"}, [fact("when", {"term": {"facts.d": "2026-01-01T00:00:00.000Z"}})]),
        ({"user_id": {"contains": "u"}}, [{"wildcard": {"user_id": {"value": "*u*"}}}]),
        ({"n": {"ne": 3}}, [{"bool": {"must_not": [fact("n", {"term": {"facts.n": 3.0}})]}}]),
        ({"s": {"in": []}}, [{"match_none": {}}]),
        ({"s": {"nin": []}}, [{"bool": {"must_not": [{"match_none": {}}]}}]),
        ({"when": {"gt": "2026-01-01T08:00:00+08:00"}}, [fact("when", {"range": {"facts.d": {"gt": "2026-01-01T00:00:00.000Z"}}})]),
        ({"created_at": {"lte": date(2026, 1, 1)}}, [{"range": {"created_at": {"lte": "2026-01-01T00:00:00.000Z"}}}]),
        ({"s": {"contains": "a*b?\\"}}, [fact("s", {"wildcard": {"facts.s": {"value": "*a\\*b\\?\\\\*"}}})]),
        ({"s": {"icontains": "A"}}, [fact("s", {"regexp": {"facts.s": {"value": ".*[Aa].*", "flags": "NONE"}}})]),
        ({"s": {"icontains": "é."}}, [fact("s", {"regexp": {"facts.s": {"value": ".*[Éé]\\..*", "flags": "NONE"}}})]),
        ({"s": {"icontains": "甲*"}}, [fact("s", {"wildcard": {"facts.s": {"value": "*甲\\**"}}})]),
        ({"AND": [{}, {"$and": [{}]}]}, []),
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
        ({"n": float("nan")}, "NaN, infinity"),
        ({"n": {"gt": True}}, "number, a date or a string, not bool"),
        ({"created_at": {"gt": "soon"}}, "takes an ISO 8601 date"),
        ({"created_at": {"contains": "2026"}}, "no meaning on 'created_at'"),
        ({"user_id": {"gt": "a"}}, "no meaning on 'user_id'"),
        ({"role": 5}, "'role' is compared with int"),
        ({5: "a"}, "non-empty string, not int"),
        ({"": "a"}, "non-empty string"),
        ({"s": "x" * 8001}, "at most 8,000"),
        ({"s": "😀" * 4001}, "at most 8,000"),
        ({"s": {"contains": "x" * 129}}, "at most 128 characters"),
        ({"s": {"contains": None}}, "compares with NoneType"),
        ({"s": {"in": [["a"]]}}, "compares with list"),
        ({"s": {"in": range(65_537)}}, "more than 65,536 items"),
        ({"s": {"in": range(10**30)}}, "more than 65,536 items"),
        ({"s": {"in": b"ab"}}, "takes a list, not bytes"),
        ({"n": 10**400}, "too large"),
        ({"n": {"lt": float("inf")}}, "too large"),
        ({"d": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=8)))}, "years 1 to 9999"),
        ({"a": {"b": 1}}, "a value inside an object has a dotted key"),
        ({"a": {5: 1}}, "operator int on 'a'"),
        ({"s": "\ud800"}, "not valid Unicode"),
        ({"\ud800": 1}, "key '.*ud800.*' is not valid Unicode"),
        ({"data": {"contains": "台北"}}, "'data' can't be filtered by"),
        ({"role": {"eq": ["user"]}}, "several go into 'in'"),
        ({"OR": [{"n": i} for i in range(200)]}, "more than 400 comparisons"),
        ({f"k{i}": i for i in range(200)}, "more than 400 comparisons"),
        ({"d": {"in": [date(2026, 1, 1) + timedelta(days=i) for i in range(300)]}}, "more than 400 comparisons"),
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


@pytest.mark.parametrize("operator", ["contains", "icontains"])
def test_an_identity_that_contains_nothing_is_a_wildcard(operator):
    with pytest.raises(ScopeError, match="'user_id' is empty"):
        compile_filter({"user_id": {operator: ""}})


def test_depth_is_bounded():
    filters = {"a": 1}
    for _ in range(MAX_DEPTH):
        filters = {"AND": [filters]}
    compile_filter(filters)
    with pytest.raises(FilterError, match=f"at most {MAX_DEPTH} levels"):
        compile_filter({"AND": [filters]})


def test_a_filter_that_holds_itself_is_refused():
    many = []
    many.extend([{"OR": many}] * 100)
    with pytest.raises(FilterError, match="at most"):
        compile_filter({"OR": many})


@pytest.mark.parametrize("innermost", [{}, {"a": 1}])
def test_a_filter_that_repeats_itself_is_refused_in_time(innermost):
    for operator in ("AND", "OR"):
        filters = innermost
        for _ in range(MAX_DEPTH):
            filters = {operator: [filters] * 100}
        with pytest.raises(FilterError, match="more than 400 comparisons"):
            compile_filter(filters)


def test_messages_hold_keys_and_no_values():
    for value in ("秘密" * 5000, ["秘密"], {"near": "秘密"}, {"in": "秘密"}, {"contains": "秘密" * 200}):
        with pytest.raises(FilterError) as caught:
            compile_filter({"键" * 200: value})
        assert "秘密" not in str(caught.value)
        assert "键" * 80 + "..." in str(caught.value)
        assert "键" * 81 not in str(caught.value)


def test_an_enum_of_strings_is_a_string():
    class Name(StrEnum):
        USER = "user_id"
        AMEI = "阿美"

    (clause,) = compile_filter({Name.USER: Name.AMEI})
    assert clause == {"term": {"user_id": "阿美"}}
    assert {type(part) for part in (*clause["term"], *clause["term"].values())} == {str}


def nested_depth(clause):
    if isinstance(clause, dict):
        return sum(name in {"bool", "nested"} for name in clause) + max(map(nested_depth, clause.values()), default=0)
    return max(map(nested_depth, clause), default=0) if isinstance(clause, list) else 0


junk_keys = st.sampled_from(
    ["AND", "OR", "NOT", "$or", "user_id", "created_at", "a", "in", "$gte", "contains", "data", "", 5, None]
)
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.datetimes() | st.decimals()
    | st.just("*") | st.complex_numbers() | st.builds(object) | st.sampled_from([10**400, "\ud800", range(10**9), np.zeros(3), np.int64(3)]),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner) | st.frozensets(st.text()) | st.dictionaries(junk_keys, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(junk | st.dictionaries(junk_keys, junk))
def test_whatever_is_given_is_refused_by_type_or_compiled(given):
    try:
        clauses = compile_filter(given)
    except (FilterError, ScopeError):
        return
    orjson.dumps(clauses)
    assert count_leaves(clauses) <= MAX_LEAVES
    assert max(map(nested_depth, clauses), default=0) <= 2 * MAX_DEPTH + 3


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        ("2026-08-01", "2026-08-01T00:00:00.000Z"),
        ("2026-08-01T08:00:00+08:00", "2026-08-01T00:00:00.000Z"),
        ("2026-08-01T00:00:00.123456Z", "2026-08-01T00:00:00.123Z"),
        (datetime(2026, 8, 1, tzinfo=UTC), "2026-08-01T00:00:00.000Z"),
        ("2026-08-01 08:00:00,9999+0800", "2026-08-01T00:00:00.999Z"),
        ("2026-08-01T08", None),
        ("2026-08-01_0800", None),
        ("2026-W31-6", None),
        ("2026-08-01\n", None),
        ("２０２６-08-01", None),
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
