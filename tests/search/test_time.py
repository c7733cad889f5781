"""Time in a search: expiry, what was true then, and the times that a question names."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

USER = {"user_id": "u1"}
NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)


def at(day: str) -> dict[str, str]:
    return {"created_at": f"{day}T09:00:00+00:00"}


# -- expiry


def test_expired_memories_do_not_eat_the_pool(remember, ids):
    """Filtered after the search, the ten expired ones would be all that is found."""
    expired = [(f"old{n}", "會議室的密碼是四四一", {"expiration_date": "2020-01-01"}) for n in range(10)]
    searcher = remember([*expired, ("valid", "會議室的密碼改成了九九三")])
    answer = searcher.search("會議室的密碼是什麼？", filters=USER, top_k=5)
    assert ids(answer) == ["valid"]
    assert answer.pool == {"valid"}
    shown = searcher.search("會議室的密碼是什麼？", filters=USER, top_k=20, show_expired=True)
    assert len(shown.results) == 11


@pytest.mark.parametrize(("day", "found"), [("2026-03-01", True), ("2026-03-02", False)])
def test_a_memory_lives_to_the_end_of_its_day(remember, ids, day, found):
    searcher = remember([("pass", "停車證放在抽屜裡", {"expiration_date": "2026-03-01", **at("2026-01-01")})])
    moment = datetime.fromisoformat(f"{day}T23:00:00+00:00")
    assert ids(searcher.search("停車證在哪裡？", filters=USER, as_of=moment)) == (["pass"] if found else [])


# -- as of


def test_as_of_answers_with_what_was_known_then(remember, ids):
    searcher = remember([("lisbon", "我住在里斯本", at("2025-03-01")), ("berlin", "我住在柏林", at("2026-08-01"))])
    then = datetime(2025, 12, 1, tzinfo=UTC)
    assert ids(searcher.search("我住在哪裡？", filters=USER, as_of=then)) == ["lisbon"]
    assert set(ids(searcher.search("我住在哪裡？", filters=USER))) == {"lisbon", "berlin"}


def test_as_of_leaves_out_what_has_no_date(remember, ids):
    searcher = remember([("dated", "我喝咖啡", at("2025-03-01")), ("undated", "我喝咖啡")])
    assert ids(searcher.search("咖啡", filters=USER, as_of=NOW)) == ["dated"]


# -- times in the question

DIARY = [
    ("april", "今天和同事去爬山，很累", at("2023-04-27")),
    ("may", "今天在家看书", at("2023-05-03")),
    ("yesterday", "买了一盆绿萝", at("2026-08-31")),
    ("today", "修好了水龙头", at("2026-09-01")),
]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("4月27日我们聊了什么？", "april"),  # without a year: the last one for which there are memories
        ("五月三號我說了什麼？", "may"),
        ("What did I say on May 3rd?", "may"),
        ("昨天我買了什麼？", "yesterday"),
        ("what did I tell you yesterday?", "yesterday"),
        ("我们第一次聊天说了什么？", "april"),
    ],
)
def test_a_day_that_the_question_names(remember, ids, question, first):
    searcher = remember(DIARY)
    answer = searcher.search(question, filters=USER, asked_at=NOW, explain=True)
    assert ids(answer)[0] == first
    assert answer.results[0].details["parts"]["time"] == 1.0


def test_a_named_day_brings_its_memories_into_the_pool(remember, ids):
    """Eighty others are nearer in meaning."""
    near = [(f"n{n}", f"聊天聊了很多{chr(0x7530 + n)}的事", at("2026-08-01")) for n in range(80)]
    searcher = remember([*near, ("day", "水龙头", at("2026-04-27"))])
    answer = searcher.search("4月27日聊天聊了什么？", filters=USER, asked_at=NOW, top_k=3)
    assert ids(answer)[0] == "day"


# -- a link to a newer memory

MOVED = [("lisbon", "使用者住在里斯本", at("2025-03-01")), ("berlin", "使用者搬到柏林了", at("2026-08-01"))]


def superseded(searcher):
    answer = searcher.search("使用者住在哪裡？", filters=USER, asked_at=NOW, explain=True)
    return {found.id: found.details["superseded_by"] for found in answer.results}


def test_a_link_holds_while_the_newer_memory_says_the_same(remember):
    searcher = remember(MOVED)
    assert superseded(searcher)["lisbon"] == "berlin"
    searcher.store.update("berlin", payload={"data": "使用者喜歡喝茶", **USER, **at("2026-08-01")})
    assert superseded(searcher)["lisbon"] is None


def test_a_link_is_gone_with_the_newer_memory(remember):
    searcher = remember(MOVED)
    searcher.store.delete("berlin")
    assert superseded(searcher) == {"lisbon": None}
