"""The server agrees with `reference_filter.py` on random rows and random filters.

FILTER_PAIRS=50000 tries that many pairs of a row and a filter, others each time; without it, the same few each time.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
import uuid
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.client.opensearch import encode_lines, path_of
from mem_opensearch.errors import FilterError, ScopeError
from mem_opensearch.filters import compile_filter
from mem_opensearch.queries import listing, vector_search

sys.path.insert(0, str(Path(__file__).parent))
from reference_filter import matches

ROWS, FILTERS = 10, 6
PAIRS = int(os.environ.get("FILTER_PAIRS", "4000"))
EAST = [1.0, 0.0, 0.0, 0.0]
BATCH = "批次"  # the metadata key that tells one example's rows from another's

NUMBERS = [
    0, 1, -1, 3, 9, 500, 0.5, 9.5, -0.0, 5e-324, 1.7e308, -1e300, 1e16, 2**53 - 1, 2**53, 2**53 + 1, 2.0**53,
    -(2**53) - 1, 10**18, 10**18 + 1, 2**63 - 1, 2**63, 2.0**63, -(2**63), 2**64 - 1, 2**64 - 2,
]  # fmt: skip
DATES = [
    "2026-08-01", "2026-08-01T00:00:00Z", "2026-08-01T08:00:00+08:00", "2026-08-01 08:00", "2026-07-31T23:59:59.999Z",
    "2026-08-01T00:00:00.123456Z", "2026-08-01T00:00:00.123Z", "2026-08-01T00:00:00,1239+0000", "1969-12-31T23:59",
    "0001-01-01", "9999-12-31T23:59:59.999999Z", "2026-08-02T00:30:00.5+08:00",
]  # fmt: skip
DATE_LIKE = [
    "2026-99-99", "2026-W31-6", "20260801", "2026-08-01_1200", "2026-08", "2026-08-01T24:00", "2026-08-01T25:00Z",
    "0001-01-01T00:00:00+08:00", "9999-12-31T23:59:59-08:00", "2026-08-01\n", "２０２６-08-01", "2026-08-01T00:00+99:00",
    "2026-02-29",
]  # fmt: skip
STRINGS = [
    "", " ", "a", "A", "true", "1", "500", "0", "甲", "甲乙", "项目甲", "項目", "É", "é", "ÉTÉ", "ＰＸ－４４１", "ｐｘ", "K", "K", "ß",
    "ẞ", "İ", "i", "I", "ı", "ς", "σ", "Σ", "𐐀", "𐐨", "𠮷野😀", "😀", "a*b?c\\", "*", '.*[a-z]@&<1-2>~^#"(){}|+', "a\x00b",
    "\n", "null", "{}", 'u1") or ("1"="1', "长" * 8000, "长" * 8001, "😀" * 4000, "😀" * 4001, "长" * 300, "aA" * 100,
]  # fmt: skip
MOMENTS = [
    date(2026, 8, 1),
    datetime(2026, 8, 1, tzinfo=UTC),
    datetime(2026, 8, 1, 8, tzinfo=timezone(timedelta(hours=8))),
]
SCOPES = {"user_id": ["u1", "u2", "U1", "2026-08-01"], "agent_id": ["a", "b"], "actor_id": ["阿美", "*", "é"], "role": ["user", "É"]}  # fmt: skip
KEYS = [
    "金额",
    "标签",
    "a",
    "a.b",
    "a.b.c",
    "eq",
    "x$y",
    "键 😀",
    "A",
    "a.",
    "created_at",
    "event_date",
    "expiration_date",
]
DATE_KEYS = ("created_at", "event_date", "expiration_date", "updated_at")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
strings = st.sampled_from(STRINGS) | st.sampled_from(DATES) | st.sampled_from(DATE_LIKE) | texts
numbers = st.sampled_from(NUMBERS) | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.sampled_from([True, False, None]) | numbers | strings
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["b", "c"]) | texts, inner, max_size=3), max_leaves=5
)  # fmt: skip
scopes = st.fixed_dictionaries({}, optional={key: st.sampled_from(given) for key, given in SCOPES.items()})
rows = st.builds(
    lambda scope, metadata: metadata | scope, scopes, st.dictionaries(st.sampled_from(KEYS), values, max_size=6)
)

operands = st.booleans() | numbers | strings | st.sampled_from(MOMENTS)
needles = (
    st.sampled_from([text for text in STRINGS if len(text) <= 100]) | texts | st.sampled_from(["2026-08", "T0", "u"])
)


def spelled(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from([name, f"${name}"])


def one_of_each(tests: dict[str, st.SearchStrategy]) -> st.SearchStrategy[dict]:
    """A mapping of one to three operators, each in one of its spellings, to an operand."""
    pairs = st.one_of([st.tuples(spelled(name), operand) for name, operand in tests.items()])
    return st.lists(pairs, min_size=1, max_size=3).map(dict)


@st.composite
def conditions(draw: st.DrawFn) -> dict:
    """A condition on one key that has a meaning there."""
    key = draw(st.sampled_from([*KEYS, *KEYS, *SCOPES, "missing", "updated_at"]))
    if key in SCOPES:
        names = st.sampled_from([*SCOPES[key], "nobody"])
        tests = dict.fromkeys(("eq", "ne"), names) | dict.fromkeys(("in", "nin"), st.lists(names, max_size=3))
        tests |= dict.fromkeys(("contains", "icontains"), names | needles.filter(bool))
        wild = st.just("*") if key in ("actor_id", "role") else names
        return {key: draw(names.filter(lambda name: name != "*") | wild | one_of_each(tests))}
    compared = draw(st.sampled_from([operands, numbers, st.sampled_from(DATES + MOMENTS)]))
    short = compared.filter(lambda value: not isinstance(value, str) or len(value.encode("utf-16-le")) <= 16_000)
    tests = dict.fromkeys(("eq", "ne"), short) | dict.fromkeys(("in", "nin"), st.lists(short, max_size=4))
    if key in DATE_KEYS:
        ranged = st.sampled_from(DATES + MOMENTS)
    else:
        ranged = short.filter(lambda value: not isinstance(value, bool))
        tests |= dict.fromkeys(("contains", "icontains"), needles | numbers | st.booleans())
    tests |= dict.fromkeys(("gt", "gte", "lt", "lte"), ranged)
    return {key: draw(short.filter(lambda value: value != "*") | st.just("*") | one_of_each(tests))}


def joined(inner: st.SearchStrategy[dict]) -> st.SearchStrategy[dict]:
    words = st.sampled_from(["AND", "OR", "NOT", "$and", "$or", "$not"])
    listed = st.builds(lambda word, parts: {word: parts}, words, st.lists(inner, min_size=1, max_size=3))
    both = st.builds(lambda one, other: one | other, inner, inner)
    return listed | both | st.builds(lambda part: {"NOT": part}, inner)


filters = st.recursive(conditions(), joined, max_leaves=6) | st.just({})

odd_keys = st.sampled_from(
    [*KEYS, *SCOPES, "AND", "OR", "NOT", "$or", "in", "gte", "$contains", "data", "$near", "", 5]
)
oddities = st.sampled_from([math.nan, math.inf, 10**400, b"x", object(), "\ud800", (), range(10**9)])
anything = st.recursive(
    scalars | oddities | needles,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_keys, inner, max_size=3),
    max_leaves=8,
)
junk = anything | st.dictionaries(odd_keys, anything | needles | numbers, max_size=2)


def operators_in(given: object) -> set[str]:
    if isinstance(given, dict):
        return {str(key).removeprefix("$") for key in given} | {
            name for part in given.values() for name in operators_in(part)
        }
    return (
        {name for part in given for name in operators_in(part)}
        if isinstance(given, list)
        else {"*"}
        if given == "*"
        else set()
    )


@pytest.fixture(scope="module", params=["3.6.0", "2.19.1"])
def shared(request, node_of, opensearch_url):
    """A store for all examples, on each version; and how many pairs are tried there."""
    first = request.param == "3.6.0"
    url = opensearch_url if first else node_of(request.param)
    store = OpenSearchVectorStore(url=url, collection_name=f"f-{uuid.uuid4().hex[:8]}", embedding_model_dims=4)
    yield store, PAIRS if first else PAIRS // 2
    store.delete_col()
    store.close()


def found_by_bodies(store: OpenSearchVectorStore, many: list[dict]) -> list[tuple[set[str], set[str]]]:
    """What the bodies of `search` and `list` find for each filter, all in one trip."""
    compiled = [compile_filter(given) for given in many]
    bodies = [
        body
        for clauses in compiled
        for body in (vector_search(EAST, k=ROWS, filters=clauses), listing(size=ROWS, filters=clauses))
    ]
    lines = encode_lines([line for body in bodies for line in ({}, body)])
    answers = store.client.request("POST", path_of(store.collection_name, "_msearch"), body=lines)["responses"]
    found = [{hit["_id"] for hit in answer["hits"]["hits"]} for answer in answers]
    return list(zip(found[::2], found[1::2], strict=True))


def found_by_operations(store: OpenSearchVectorStore, given: dict) -> dict[str, set[str]]:
    return {
        "search": {hit.id for hit in store.search("q", EAST, top_k=ROWS, filters=given)},
        "keyword_search": {hit.id for hit in store.keyword_search("记忆", top_k=ROWS, filters=given)},
        "list": {hit.id for hit in store.list(top_k=ROWS, filters=given)[0]},
    }


def test_every_operation_agrees_with_the_reference(shared):
    store, wanted_pairs = shared
    batches = itertools.count()
    pairs, matched, seen = 0, Counter(), Counter()

    @settings(
        max_examples=math.ceil(wanted_pairs / (ROWS * FILTERS)),
        derandomize="FILTER_PAIRS" not in os.environ,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(rows, min_size=ROWS, max_size=ROWS), st.lists(filters, min_size=FILTERS, max_size=FILTERS))
    def agree(metadata, many):
        nonlocal pairs
        batch = next(batches)
        stored = {f"{batch}-{n}": row | {"data": "记忆", BATCH: batch} for n, row in enumerate(metadata)}
        store.insert([EAST] * ROWS, list(stored.values()), list(stored))
        isolated = [each | {BATCH: batch} for each in many]
        rightly = [{row_id for row_id, payload in stored.items() if matches(each, payload)} for each in isolated]
        for operation, found in found_by_operations(store, isolated[-1]).items():
            assert found == rightly[-1], f"{operation} with {many[-1]} differs from the reference"
        for each, expected, by_bodies in zip(many, rightly, found_by_bodies(store, isolated), strict=True):
            for found in by_bodies:
                differ = {row_id: stored[row_id] for row_id in found ^ expected}
                assert found == expected, f"{each} differs from the reference on {differ}"
            pairs += ROWS
            for name in operators_in(each):
                seen[name] += ROWS
                matched[name] += len(expected)

    agree()
    print(f"\n{pairs} pairs in {next(batches)} examples; matched of tried, by operator or key:")
    print({name: f"{matched[name]}/{seen[name]}" for name in sorted(seen)})
    assert pairs >= wanted_pairs
    for name in ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains", "icontains", "*", "AND", "OR", "NOT"):
        assert wanted_pairs < PAIRS or 0 < matched[name] < seen[name], f"'{name}' was not tried both ways"


def test_whatever_is_given_for_a_filter_is_refused_or_answered_rightly(shared):
    store, _ = shared
    metadata = [
        {},
        {"a": "u1"},
        {"a.b": 3, "user_id": "u1"},
        {"a": {"b": "甲"}, "金额": 500},
        {"in": [1, "u1"], "gte": ""},
    ]
    stored = {f"j{n}": row | {"data": "记忆", BATCH: "junk"} for n, row in enumerate(metadata)}
    store.insert([EAST] * len(stored), list(stored.values()), list(stored))
    outcomes = Counter()

    @settings(max_examples=300, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(junk)
    def refused_or_right(given):
        try:
            compile_filter(given)
        except (FilterError, ScopeError):
            outcomes["refused"] += 1
            return
        outcomes["answered"] += 1
        isolated = {"AND": [given or {}, {BATCH: "junk"}]}
        expected = {row_id for row_id, payload in stored.items() if matches(isolated, payload)}
        assert {hit.id for hit in store.list(top_k=ROWS, filters=isolated)[0]} == expected, given

    refused_or_right()
    print(dict(outcomes))
    assert min(outcomes["refused"], outcomes["answered"]) > 20
