"""The read path on a server of the serverless shape: no scores by name, no scripts, no entities."""

from __future__ import annotations

import pytest

from mem_opensearch import OpenSearchVectorStore, Searcher

EAST, NORTH, NORTH_EAST = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]
USER = {"user_id": "u1"}
OLD, NEW = "2025-03-01T10:00:00Z", "2026-08-01T10:00:00Z"
ROWS = {
    "px": (NORTH, "專案代號是ＰＸ－４４１", "2026-05-01T10:00:00Z"),
    "lisbon": (EAST, "使用者住在里斯本", OLD),
    "berlin": (NORTH_EAST, "使用者搬到柏林了", NEW),
}


@pytest.fixture
def store(serverless, collection):
    store = OpenSearchVectorStore(url=serverless.url, collection_name=collection, embedding_model_dims=4)
    yield store
    store.close()


@pytest.fixture
def searcher(store):
    store.insert(
        [vector for vector, _, _ in ROWS.values()],
        [{"data": text, **USER, "created_at": at} for _, text, at in ROWS.values()],
        list(ROWS),
    )
    return Searcher(store)


def test_every_signal_but_entities(searcher, serverless):
    answer = searcher.search("px441 是什么？", vector=EAST, filters=USER, explain=True)
    assert answer.results[0].id == "px"
    details = answer.results[0].details
    assert details["gate"] == "identifier"
    assert details["semantic_score"] == pytest.approx(0.0, abs=1e-5)
    assert details["entity_boost"] is None
    assert answer.degraded == ()
    assert serverless.refusals() == []


def test_a_newer_fact_replaces_the_older_one(searcher):
    answer = searcher.search("使用者住在哪裡？", vector=EAST, filters=USER, explain=True)
    assert [found.id for found in answer.results][:2] == ["berlin", "lisbon"]
    assert answer.results[1].details["superseded_by"] == "berlin"


def test_what_was_replaced_is_no_candidate(searcher, store):
    """Such a server keeps the old document of a row for a while beside the new one."""
    store.update("px", payload={"data": "專案代號是QZ-77", **USER, "created_at": NEW})
    answer = searcher.search("px441", vector=NORTH, filters=USER)
    assert [found.payload["data"] for found in answer.results if found.id == "px"] == ["專案代號是QZ-77"]


def test_a_talk(store, searcher):
    for number, text in enumerate(("有什麼咖啡店推薦嗎？", "北門那間很安靜")):
        payload = {"data": text, **USER, "created_at": f"2026-09-01T10:0{number}:00Z"}
        store.insert([NORTH], [payload], [f"t{number}"])
    answer = searcher.search("推薦過哪家咖啡店？", vector=EAST, filters=USER, explain=True)
    by_id = {found.id: found for found in answer.results}
    assert by_id["t1"].details["follows"]["id"] == "t0"
