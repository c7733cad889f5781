"""The read path on Elasticsearch (on an emulator, unless `ELASTICSEARCH_URL` is set)."""

from __future__ import annotations

import pytest

from mem_opensearch import EntityLinker, EntityStore, MemoryText, Searcher

EAST, NORTH, NORTH_EAST = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]
USER = {"user_id": "u1"}
ROWS = {
    "px": (NORTH, "專案代號是ＰＸ－４４１", "2026-05-01T10:00:00Z"),
    "lisbon": (EAST, "使用者住在里斯本", "2025-03-01T10:00:00Z"),
    "berlin": (NORTH_EAST, "使用者搬到柏林了", "2026-08-01T10:00:00Z"),
    "alice": (NORTH, "Alice 在設計部工作", "2026-06-01T10:00:00Z"),
}


@pytest.fixture
def searcher(make_store):
    store = make_store()
    store.insert(
        [vector for vector, _, _ in ROWS.values()],
        [{"data": text, **USER, "created_at": at} for _, text, at in ROWS.values()],
        list(ROWS),
    )
    entities = EntityStore.beside(store)
    EntityLinker(entities).link(MemoryText(each, text, USER) for each, (_, text, _) in ROWS.items())
    yield Searcher(store, entities=entities)
    entities.delete_col()
    entities.close()


def test_every_signal_has_its_own_score(searcher):
    answer = searcher.search("px441 是什么？", vector=NORTH_EAST, filters=USER, explain=True)
    assert answer.degraded == ()
    details = answer.results[0].details
    assert (answer.results[0].id, details["gate"]) == ("px", "identifier")
    assert details["semantic_score"] == pytest.approx(0.7071, abs=1e-3)
    assert details["bm25"]["identifiers"] > 0  # 1.0 on a real server; the emulator scores every field by BM25


def test_a_newer_fact_replaces_the_older_one(searcher):
    answer = searcher.search("使用者住在哪裡？", vector=EAST, filters=USER, explain=True)
    assert [found.id for found in answer.results][:2] == ["berlin", "lisbon"]
    assert answer.results[1].details["superseded_by"] == "berlin"


def test_a_name(searcher):
    answer = searcher.search("關於 Alice 我們知道什麼？", vector=NORTH, filters=USER, explain=True)
    assert answer.results[0].id == "alice"
    assert answer.results[0].details["entities"] == ["Alice"]


@pytest.mark.parametrize("mode", ["rrf", "mem0"])
def test_the_other_modes(searcher, mode):
    answer = searcher.search("px441 是什么？", vector=NORTH, filters=USER, mode=mode)
    assert answer.results[0].id == "px"
