"""The reranker without a model: types of answers, sides of a talk, and what is asked of a named thing."""

from __future__ import annotations

import pytest

from mem_opensearch.errors import ConfigError
from mem_opensearch.rerank import AnswerScorer, Reranker
from mem_opensearch.rerank.answer_types import asked_for, holds
from mem_opensearch.rerank.question import answering_side, asking_clause, aspect_words

# type, a question in both scripts and English, a text that holds such an answer and one that does not
TYPES = [
    ("phone", ["診所的電話？", "诊所的电话是多少？", "What is the clinic's phone number?"], "02-2771-6643", "在二樓"),
    ("rating", ["那家店評分多少？", "那家店评分多少？", "What is its rating?"], "有4.6分", "很好吃"),
    ("duration", ["我跑了多久？", "片长多少？", "How long did I run?"], "跑了四十分鐘", "在河邊跑步"),
    ("duration", ["要住幾天？", "要住几天？", "How long do we stay?"], "three nights and four days", "by the sea"),
    ("age", ["奶奶年齡多大？", "他几岁？", "How old is she?"], "今年七十三歲", "她很健康"),
    ("people", ["隊裡有多少人？", "队里有几个人？", "How many people are there?"], "八個人左右", "每週打球"),
    ("money", ["門票多少錢？", "房租多少？", "How much does it cost?"], "兩千五百元", "很貴"),
    ("money", ["門票價格？", "价格呢？", "What was the price?"], "票是免費的", "要排隊"),
    ("clock", ["幾點開門？", "营业时间？", "What time does it open?"], "早上9:30", "在轉角"),
    ("title", ["你推薦了哪本書？", "那部电影叫什么？", "Which book was it?"], "是《邊城》", "很好看的小說"),
    ("date", ["什麼時候搬家？", "哪年上映？", "When did she move?"], "2019年9月", "搬到台中"),
    ("reason", ["為什麼辭職？", "为什么辞职？", "Why did he quit?"], "因為太遠", "上個月辭職"),
    ("place", ["診所在哪裡？", "他在哪儿？", "Where is it?"], "在中山路", "很遠很遠"),
    ("several", ["你給了哪些建議？", "有什么餐馆？", "What advice did you give?"], "散步、早睡、少喝茶", "多休息"),
    ("number", ["養了幾隻貓？", "多少？", "How many cats?"], "三隻貓", "養貓"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "questions", "right", "wrong"), TYPES, ids=lambda value: str(value)[:12])
def test_types_in_both_scripts_and_english(kind, questions, right, wrong):
    assert [asked_for(question) for question in questions] == [kind] * 3
    assert holds(right, kind)
    assert not holds(wrong, kind)


@pytest.mark.parametrize("question", ["他是誰？", "說說我的狗", "Tell me about the dog", ""])
def test_questions_without_a_type(question):
    assert asked_for(question) is None


@pytest.mark.parametrize(
    ("question", "clause"),
    [
        ("我記得聊到過，那家店的評分是多少？", "那家店的评分是多少"),
        ("是啊，真好看！導演是誰？謝謝", "导演是谁"),
        ("說說那家店", "说说那家店"),
        ("We talked about it. When was it?", "When was it"),
        ("？？", "??"),
    ],
)
def test_the_clause_that_asks(question, clause):
    assert asking_clause(question) == clause


def test_what_is_asked_of_a_named_thing():
    assert aspect_words("上次問過你，「和平飯店」附近有什麼餐館？") == ["附近", "餐馆"]
    assert aspect_words("附近有什麼餐館？") == []  # no name


def test_the_side_that_answers():
    talk = "用户：想看書\n助手：可以看《紅樓夢》"
    assert answering_side("你推薦過哪本書？", talk) == "助手:可以看《红楼梦》"
    assert "用户" in answering_side("我想看哪本書？", talk)
    assert answering_side("你推薦過哪本書？", "一本《紅樓夢》") == "一本《红楼梦》"
    assert answering_side("What did I say?", "user: hi\nassistant: hello") == "user: hi\nassistant: hello"
    assert answering_side("What did you recommend?", "user: hi\nassistant: tea") == "assistant: tea"


def test_scores_by_hand():
    scorer = AnswerScorer(type_weight=0.4, aspect_weight=0.3)
    assert scorer.score("裡面有多少人？", ["八個人左右", "每週打球"]) == [
        pytest.approx(1.4 / 1.7),
        pytest.approx(1 / 1.7),
    ]
    talk = ["用户：評分呢？\n助手：4.6分", "用户：去「和平飯店」\n助手：好", "評分是4.6分"]
    # an exchange with the type and the one word beside the name; neither; a lone fact with the type
    assert scorer.score("「和平飯店」的評分是多少？", talk) == [
        pytest.approx((1 + 0.4 + 0.3) / 1.7),
        pytest.approx(1 / 1.7),
        pytest.approx((1 + 0.4) / 1.7),
    ]


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("他是誰？", ["八個人", "打球"]),
        ("有多少人？", ["八個人", "九個人"]),
        ("有多少人？", ["八個人"]),
        ("有多少人？", []),
    ],
)
def test_without_evidence_nothing_is_scored(question, texts):
    if len(texts) == 1:
        assert Reranker(AnswerScorer()).run(question, [{"memory": texts[0], "score": 0.5}], 1).degraded == ()
        return
    assert AnswerScorer().score(question, texts) == [None] * len(texts)


def test_the_answer_overtakes_what_repeats_the_question():
    pool = [
        {"id": "repeats", "memory": "用户：我們組了一個羽毛球小組\n助手：小組有多少成員呢？", "score": 0.74},
        {"id": "other", "memory": "用户：他家有五個人\n助手：真熱鬧", "score": 0.2},
        {"id": "answers", "memory": "用户：八個人左右，都是同事\n助手：不錯", "score": 0.55},
    ]
    pool.sort(key=lambda one: -one["score"])
    results = Reranker(AnswerScorer(), weight=0.5).rerank("我的羽毛球小組有多少人？", pool, 3)
    assert [one.result["id"] for one in results] == ["answers", "repeats", "other"]


@pytest.mark.parametrize("options", [{"type_weight": -0.1}, {"aspect_weight": float("nan")}])
def test_weights_are_checked(options):
    with pytest.raises(ConfigError, match="expected 0 or more"):
        AnswerScorer(**options)
