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
from mem_opensearch.client.encoding import encode_lines, path_of
from mem_opensearch.errors import FilterError, ScopeError
from mem_opensearch.filters import compile_filter
from mem_opensearch.queries import listing, vector_search

sys.path.insert(0, str(Path(__file__).parent))
from reference_filter import items_of, matches

ROWS, FILTERS, AT_ONCE = 60, 200, 20
PAIRS = int(os.environ.get("FILTER_PAIRS", "10000"))
OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains", "icontains")
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
MIXED = [True, False, 1, 0, 1.0, "1", "true", "", "2026-08-01", 20260801]
SCOPES = {"user_id": ["u1", "u2", "U1", "2026-08-01"], "agent_id": ["a", "b"], "actor_id": ["阿美", "*", "é"], "role": ["user", "É"]}  # fmt: skip
# What a key mostly holds, and is mostly compared with, so that the two often meet.
POOLS = {
    "金额": NUMBERS, "标题": STRINGS, "时间": DATES + DATE_LIKE, "键 x$y 😀": MIXED, "a": NUMBERS, "a.b": MIXED, "a.b.c": STRINGS,
    "created_at": DATES, "event_date": DATES + DATE_LIKE, "expiration_date": DATES + MIXED,
}  # fmt: skip
DATE_KEYS = ("created_at", "updated_at", "event_date", "expiration_date")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.sampled_from(NUMBERS) | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.sampled_from([True, False, None, *STRINGS, *DATES, *DATE_LIKE]) | numbers | texts
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["b", "c"]) | texts, inner, max_size=3), max_leaves=5
)  # fmt: skip


def values_of(key: str) -> st.SearchStrategy:
    """What a row holds at a key."""
    usual = st.sampled_from(POOLS[key])
    listed = st.lists(usual | st.none(), max_size=4)
    if key == "a":  # an object whose keys meet the dotted ones
        inner = st.fixed_dictionaries(
            {}, optional={"b": st.sampled_from(MIXED) | st.fixed_dictionaries({"c": st.sampled_from(STRINGS)})}
        )
        return usual | inner | st.lists(inner, max_size=2) | anything
    return usual | usual | listed | listed | anything


scopes = st.fixed_dictionaries({}, optional={key: st.sampled_from(given) for key, given in SCOPES.items()})
facts = st.dictionaries(st.sampled_from(list(POOLS)), st.none(), max_size=5).flatmap(
    lambda keys: st.fixed_dictionaries({key: values_of(key) for key in keys})
)
rows = st.builds(lambda scope, metadata: metadata | scope, scopes, facts)

operands = st.booleans() | numbers | texts | st.sampled_from([*STRINGS, *DATES, *DATE_LIKE, *MOMENTS])
needles = st.sampled_from([text for text in STRINGS if len(text) <= 100] + ["2026-08", "T0", "u"]) | texts


def spelled(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from([name, f"${name}"])


def one_of_each(tests: dict[str, st.SearchStrategy]) -> st.SearchStrategy[dict]:
    """A mapping of one to three operators, each in one of its spellings, to an operand."""
    pairs = st.sampled_from(sorted(tests)).flatmap(lambda name: st.tuples(spelled(name), tests[name]))
    return st.lists(pairs, min_size=1, max_size=3).map(dict)


@st.composite
def conditions(draw: st.DrawFn, held: dict[str, list], operator: str = "") -> dict:
    """A condition on one key that has a meaning there, often with a value that is held; with an operator, if given."""
    plain = [key for key in POOLS if key not in DATE_KEYS]
    key = draw(st.sampled_from(plain if operator else [*POOLS, *POOLS, *SCOPES, "missing", "updated_at"]))
    if key in SCOPES:
        names = st.sampled_from([*SCOPES[key], "nobody"])
        tests = dict.fromkeys(("eq", "ne"), names) | dict.fromkeys(("in", "nin"), st.lists(names, max_size=3))
        tests |= dict.fromkeys(("contains", "icontains"), names | needles.filter(bool))
        wild = st.just("*") if key in ("actor_id", "role") else names
        return {key: draw(st.one_of(names.filter(lambda name: name != "*"), wild, *[one_of_each(tests)] * 4))}
    usual = st.sampled_from(held.get(key, []) + POOLS.get(key, DATES)[:3] + MOMENTS * (key in (*DATE_KEYS, "时间")))
    compared = st.one_of([usual] * 3 + [operands])
    short = compared.filter(lambda value: not isinstance(value, str) or len(value.encode("utf-16-le")) <= 16_000)
    tests = dict.fromkeys(("eq", "ne"), short) | dict.fromkeys(("in", "nin"), st.lists(short, max_size=4))
    if key in DATE_KEYS:
        ranged = st.sampled_from(DATES + MOMENTS)
    else:
        ranged = short.filter(lambda value: not isinstance(value, bool))
        tests |= dict.fromkeys(("contains", "icontains"), needles | numbers | st.booleans())
    tests |= dict.fromkeys(("gt", "gte", "lt", "lte"), ranged)
    if operator:
        return {key: {draw(spelled(operator)): draw(tests[operator])}}
    return {key: draw(st.one_of(short.filter(lambda value: value != "*"), st.just("*"), *[one_of_each(tests)] * 6))}


def joined(inner: st.SearchStrategy[dict]) -> st.SearchStrategy[dict]:
    words = st.sampled_from(["AND", "OR", "NOT", "$and", "$or", "$not"])
    listed = st.builds(lambda word, parts: {word: parts}, words, st.lists(inner, min_size=1, max_size=3))
    both = st.builds(lambda one, other: one | other, inner, inner)
    return listed | both | st.builds(lambda part: {"NOT": part}, inner)


def filters(held: dict[str, list]) -> st.SearchStrategy[dict]:
    return st.recursive(conditions(held), joined, max_leaves=6) | st.just({})


odd_keys = st.sampled_from(
    [*POOLS, *SCOPES, "AND", "OR", "NOT", "$or", "in", "gte", "$contains", "data", "$near", "", 5]
)
oddities = st.sampled_from([math.nan, math.inf, 10**400, b"x", object(), "\ud800", (), range(10**9)])
rubbish = st.recursive(
    scalars | oddities | needles,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_keys, inner, max_size=3),
    max_leaves=8,
)
junk = rubbish | st.dictionaries(odd_keys, rubbish | needles | numbers, max_size=2)


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


def drawn(strategy: st.SearchStrategy, count: int) -> list:
    """Return about `count` examples, drawn one by one: in one large draw, all but the first would be of the simplest."""
    examples = []

    @settings(
        max_examples=count,
        derandomize="FILTER_PAIRS" not in os.environ,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example):
        examples.append(example)

    collect()
    return examples


@pytest.fixture(scope="module", params=["3.6.0", "2.19.1"])
def shared(request, node_of, opensearch_url):
    """A store on each version; and how many pairs are tried there."""
    first = request.param == "3.6.0"
    url = opensearch_url if first else node_of(request.param)
    store = OpenSearchVectorStore(url=url, collection_name=f"f-{uuid.uuid4().hex[:8]}", embedding_model_dims=4)
    yield store, PAIRS if first else PAIRS // 4
    store.delete_col()
    store.close()


def found_by_bodies(store: OpenSearchVectorStore, many: list[dict]) -> list[tuple[set[str], set[str]]]:
    """What the bodies of `search` and `list` find for each filter, all in one trip."""
    dialect = store.client.dialect
    bodies = [
        body
        for clauses in map(compile_filter, many)
        for body in (vector_search(EAST, k=ROWS, filters=clauses, dialect=dialect), listing(size=ROWS, filters=clauses))
    ]
    lines = encode_lines([line for body in bodies for line in ({}, body | {"_source": False})])
    answers = store.client.request("POST", path_of(store.collection_name, "_msearch"), body=lines)["responses"]
    found = [{hit["_id"] for hit in answer["hits"]["hits"]} for answer in answers]
    return list(zip(found[::2], found[1::2], strict=True))


def found_by_operations(store: OpenSearchVectorStore, given: dict) -> list[set[str]]:
    return [
        {hit.id for hit in store.search("q", EAST, top_k=ROWS, filters=given)},
        {hit.id for hit in store.keyword_search("记忆", top_k=ROWS, filters=given)},
        {hit.id for hit in store.list(filters=given)[0]},
    ]


def test_the_server_agrees_with_the_reference(shared):
    store, wanted = shared
    pairs, matched, tried = 0, Counter(), Counter()
    while pairs < wanted:
        batch = f"{pairs}"
        metadata = drawn(rows, ROWS)
        stored = {f"{batch}-{n}": row | {"data": "记忆", BATCH: batch} for n, row in enumerate(metadata[:ROWS])}
        store.insert([EAST] * len(stored), list(stored.values()), list(stored))
        assert store.count({BATCH: batch}) == len(stored)  # and from now on searches see them, however they are sent
        held = {}
        for key, value in itertools.chain.from_iterable(map(items_of, metadata)):
            held.setdefault(key, []).append(value)
        single = [each for operator in OPERATORS for each in drawn(conditions(held, operator), FILTERS // 20)]
        many = [each | {BATCH: batch} for each in single + drawn(filters(held), FILTERS // 2)]
        for start in range(0, len(many), AT_ONCE):
            some = many[start : start + AT_ONCE]
            for position, (each, found) in enumerate(zip(some, found_by_bodies(store, some), strict=True)):
                expected = {row_id for row_id, payload in stored.items() if matches(each, payload)}
                if not position:
                    assert store.count(each) == len(expected), each
                for ids in [*found, *(found_by_operations(store, each) if not position else [])]:
                    differ = {row_id: stored[row_id] for row_id in ids ^ expected}
                    assert not differ, f"{each} finds {len(ids)}, expected {len(expected)}; they differ in {differ}"
                pairs += len(stored)
                for name in operators_in(each):
                    tried[name] += len(stored)
                    matched[name] += len(expected)
        doomed = many[-1]
        left = {row_id for row_id, payload in stored.items() if not matches(doomed, payload)}
        assert store.delete_by_filter(doomed) == len(stored) - len(left), doomed
        assert {hit.id for hit in store.list(filters={BATCH: batch})[0]} == left, doomed
    print(f"\n{pairs} pairs; matched of tried, by operator or key:")
    print({name: f"{matched[name]}/{tried[name]}" for name in sorted(tried)})
    for name in (*OPERATORS, "*", "AND", "OR", "NOT"):
        assert 0 < matched[name] < tried[name], f"'{name}' was not tried both ways"


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
