"""The clauses of a dialect on its server: every signal of a hit from one request, each under its name."""

from __future__ import annotations

import pytest

from mem_opensearch.queries import keyword_clauses

EAST, NORTH, NORTH_EAST = [1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]
MINE = {"term": {"user_id": "u1"}}


@pytest.fixture
def filled(make_store):
    """Three rows of one user and one of another, seen by every search."""
    store = make_store(refresh="true")
    store.insert(
        [EAST, NORTH_EAST, NORTH, EAST],
        [
            {"data": "印表機的專案代號是ＰＸ－４４１", "user_id": "u1"},
            {"data": "我住在臺北的大安區", "user_id": "u1"},
            {"data": "我喜欢喝茶", "user_id": "u1"},
            {"data": "台北", "user_id": "u2"},
        ],
        ["m0", "m1", "m2", "other"],
    )
    return store


def ask(store, query):
    params = {"include_named_queries_score": "true"}
    body = {"query": query, "_source": False}
    answer = store.client.request("POST", f"/{store.collection_name}/_search", params=params, body=body)
    return answer["hits"]["hits"]


def test_one_request_gives_every_signal_by_name(filled):
    """What is found by words alone has its exact cosine too."""
    dialect = filled.client.dialect
    assert dialect.has_named_scores
    assert dialect.has_scripts
    words = filled._words_of(filled._found())
    asked = [
        {"constant_score": {"filter": dialect.knn(EAST, k=1, filters=[MINE]), "boost": 1000, "_name": "knn"}},
        *keyword_clauses("台北", words=words),
    ]
    hits = ask(
        filled,
        {
            "bool": {
                "filter": [MINE],
                "must": [{"bool": {"should": asked, "minimum_should_match": 1}}],
                "should": [dialect.exact_cosine(EAST, name="cosine")],
            }
        },
    )
    found = {hit["_id"]: hit["matched_queries"] for hit in hits}
    assert set(found) == {"m0", "m1"}
    assert found["m0"]["knn"] == 1000
    assert dialect.cosine_of(found["m0"]["cosine"]) == pytest.approx(1.0)
    assert "knn" not in found["m1"]
    assert found["m1"]["text.bigram"] > 0
    assert dialect.cosine_of(found["m1"]["cosine"]) == pytest.approx(0.5**0.5, abs=1e-6)


def test_the_clause_for_the_nearest_can_be_named_itself(filled):
    dialect = filled.client.dialect
    hits = ask(filled, dialect.knn(EAST, k=3, filters=[MINE], name="nearest"))
    scores = {hit["_id"]: dialect.cosine_of(hit["matched_queries"]["nearest"]) for hit in hits}
    assert scores == {"m0": 1.0, "m1": pytest.approx(0.5**0.5, abs=1e-6), "m2": 0.0}


def test_the_exact_cosine_among_some_rows(filled):
    dialect = filled.client.dialect
    hits = ask(filled, dialect.exact_cosine(NORTH, among={"terms": {"id": ["m0", "m1"]}}))
    assert [(hit["_id"], dialect.cosine_of(hit["_score"])) for hit in hits] == [
        ("m1", pytest.approx(0.5**0.5, abs=1e-6)),
        ("m0", 0.0),
    ]
