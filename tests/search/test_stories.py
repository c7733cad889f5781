"""Three stories that no single signal can tell right, from what is written to what is answered."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mem_opensearch import EntityLinker, MemoryText

USER = {"user_id": "u1"}
NOW = datetime(2026, 9, 1, tzinfo=UTC)


@pytest.fixture
def tell(remember):
    """Store memories as an application does, with their links; return a searcher."""

    def told(memories):
        searcher = remember(memories)
        texts = [
            MemoryText(row[0], row[1], USER, row[2].get("entities", ()) if len(row) > 2 else ()) for row in memories
        ]
        EntityLinker(searcher.entities).link(texts)
        return searcher

    return told


PROJECTS = {
    "traditional": ["專案代號 PX-441 延到十月上線", "專案代號 PX-882 已經上線", "專案代號 PX-103 的狀況很順利"],
    "simplified": ["项目代号 PX-441 延到十月上线", "项目代号 PX-882 已经上线", "项目代号 PX-103 的状况很顺利"],
    "full width": ["專案代號 ＰＸ－４４１ 延到十月", "項目代號 PX-882 已經上線", "項目代號 PX-103 的狀況很順利"],
    "english": ["Project PX-441 slipped to October", "The status of PX-882 is live", "The status of PX-103 is good"],
}


@pytest.mark.parametrize("mode", ["union", "rrf"])
@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("專案代號 PX-441 的狀況？", "traditional"),
        ("项目代号 PX-441 的状况？", "simplified"),
        ("项目代号 PX-441 的状况？", "full width"),
        ("What is the status of project PX-441?", "english"),
    ],
)
def test_the_right_identifier_stands_above_the_others(tell, ids, question, language, mode):
    searcher = tell(list(zip(("px441", "px882", "px103"), PROJECTS[language], strict=True)))
    answer = searcher.search(question, filters=USER, mode=mode, asked_at=NOW)
    assert ids(answer)[0] == "px441"


@pytest.mark.parametrize(
    ("question", "named", "linked"),
    [
        ("關於 Alice 我們知道什麼？", "Alice 在設計部工作", "她推薦了中山區那家拉麵店"),
        ("关于 Alice 我们知道什么？", "Alice 在设计部工作", "她推荐了中山区那家拉面店"),
        ("What do we know about Alice?", "Alice works in design", "She recommended the ramen place on Zhongshan Road"),
    ],
)
def test_what_is_linked_to_a_name_is_brought_though_it_does_not_say_it(tell, ids, question, named, linked):
    others = [(f"f{n}", f"第{n}天的天气很好，适合散步") for n in range(70)]
    searcher = tell([("named", named), ("linked", linked, {"entities": ["Alice"]}), *others])
    answer = searcher.search(question, filters=USER, asked_at=NOW, explain=True)
    assert ids(answer)[:2] == ["named", "linked"]
    assert answer.results[1].details["entities"] == ["Alice"]


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("使用者住在哪裡？", "使用者住在里斯本", "使用者住在柏林"),
        ("用户住在哪里？", "用户住在里斯本", "用户搬到了柏林"),
        ("用户住在哪里？", "使用者住在里斯本", "使用者搬到柏林了"),
        ("Where does the user live?", "The user lives in Lisbon", "The user moved to Berlin"),
    ],
)
def test_the_newer_fact_answers_and_the_older_one_says_that_it_is_superseded(tell, ids, question, old, new):
    searcher = tell(
        [
            ("lisbon", old, {"created_at": "2025-03-01T10:00:00+00:00"}),
            ("berlin", new, {"created_at": "2026-08-01T10:00:00+00:00"}),
            ("tea", "使用者喜歡喝茶", {"created_at": "2026-08-02T10:00:00+00:00"}),
        ]
    )
    answer = searcher.search(question, filters=USER, asked_at=NOW, explain=True)
    assert ids(answer)[:2] == ["berlin", "lisbon"]
    assert answer.results[1].details["superseded_by"] == "berlin"
    assert answer.results[0].details["superseded_by"] is None
    then = searcher.search(question, filters=USER, as_of=datetime(2025, 12, 1, tzinfo=UTC), explain=True)
    assert ids(then)[0] == "lisbon"
    assert then.results[0].details["superseded_by"] is None


@pytest.mark.parametrize(
    ("question", "raises", "answers"),
    [
        ("我推薦過哪家咖啡店？", "有什麼咖啡店推薦嗎？", "北門那間「白日夢」很安靜。"),
        ("我推荐过哪家咖啡店？", "有什么咖啡店推荐吗？", "北门那间「白日梦」很安静。"),
        (
            "Which coffee shop was recommended?",
            "Can you recommend a coffee shop?",
            "Daydream near the north gate is quiet.",
        ),
    ],
)
def test_the_turn_that_answers_stands_above_the_turn_that_only_asks(tell, ids, question, raises, answers):
    other = [
        (f"o{n}", f"第{n}天散步回来下雨了", {"created_at": f"2026-05-{n % 28 + 1:02}T10:00:00Z"}) for n in range(70)
    ]
    searcher = tell(
        [
            *other,
            ("asks", raises, {"created_at": "2026-07-01T10:00:00+00:00"}),
            ("answers", answers, {"created_at": "2026-07-01T10:02:00+00:00"}),
        ]
    )
    answer = searcher.search(question, filters=USER, asked_at=NOW, explain=True)
    assert ids(answer)[0] == "answers"
    assert answer.results[0].details["follows"]["id"] == "asks"


@pytest.mark.parametrize("question", ["《圍城》是誰寫的？", "《围城》是谁写的？"])
def test_mem0s_mode_finds_a_name_in_either_script(tell, question):
    """It compares names by their vectors, and the embedder takes 圍城 and 围城 for two."""
    searcher = tell([("trad", "我讀完了《圍城》"), ("tea", "我喜歡喝茶")])
    answer = searcher.search(question, filters=USER, mode="mem0", explain=True)
    assert answer.results[0].id == "trad"
    assert answer.results[0].details["entity_boost"] > 0.45
