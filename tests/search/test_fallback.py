"""Servers that don't tell each signal's score get the same answer by two requests."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mem_opensearch.dialects.opensearch import OpenSearchDialect

NOW = datetime(2026, 9, 1, tzinfo=UTC)
USER = {"user_id": "u1"}

MEMORIES = [
    ("px", "專案代號是ＰＸ－４４１", {"created_at": "2026-04-27T09:00:00+00:00"}),
    ("home", "我住在柏林的一间公寓", {"created_at": "2026-08-01T09:00:00+00:00"}),
    ("coffee", "每天早上喝两杯黑咖啡", {"created_at": "2026-05-01T09:00:00+00:00"}),
    ("cat", "我养了一只叫年糕的猫", {"created_at": "2026-05-02T09:00:00+00:00"}),
    ("trip", "去年夏天去了里斯本旅行", {"created_at": "2026-05-03T09:00:00+00:00"}),
    ("theirs", "专案代号是PX-441", {"user_id": "u2", "created_at": "2026-05-03T09:00:00+00:00"}),
    *((f"f{n}", f"第{n}天散步，走了{n}公里", {"created_at": "2026-03-01T09:00:00+00:00"}) for n in range(60)),
]
QUESTIONS = (
    "專案代號 PX-441 的狀況？",
    "我住在哪里？",
    "4月27日聊了什么？",
    "猫叫什么名字？",
    "咖啡",
    "走了17公里是哪天",
)


@pytest.mark.parametrize("mode", ["union", "rrf", "mem0"])
def test_both_ways_give_the_same_results_and_scores(remember, monkeypatch, mode):
    """The same node answers both ways; only what this package believes of it changes."""
    searcher = remember(MEMORIES)

    def ask():
        return [
            searcher.search(question, filters=USER, mode=mode, asked_at=NOW, top_k=20, explain=True)
            for question in QUESTIONS
        ]

    in_one = ask()
    monkeypatch.setattr(OpenSearchDialect, "has_named_scores", False)
    requests = searcher.store.client.requests
    in_two = ask()
    assert searcher.store.client.requests - requests >= 2 * len(QUESTIONS), "this is the other way"
    for one, two in zip(in_one, in_two, strict=True):
        assert [found.id for found in one.results] == [found.id for found in two.results]
        for first, second in zip(one.results, two.results, strict=True):
            assert first.score == pytest.approx(second.score, abs=1e-5)
            assert first.payload == second.payload
            assert first.details["gate"] == second.details["gate"]
            for key in ("semantic_score", "bm25_score"):
                assert first.details[key] == pytest.approx(second.details[key], abs=1e-5)
    assert any(one.results for one in in_one)
