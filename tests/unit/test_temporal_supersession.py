"""Which older memory a newer one replaces, and which it does not."""

from datetime import UTC, datetime, timedelta

import pytest

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.temporal import Statement, SupersessionWeights, asks_about_the_past, find_superseded, slots_of

pytestmark = pytest.mark.unit
LONG_AGO = datetime(2025, 3, 1, tzinfo=UTC)


def replaced(newer, *older, similarity=0.4, **options):
    neighbours = [
        (Statement(f"old{i}", text, LONG_AGO + timedelta(days=i)), similarity) for i, text in enumerate(older)
    ]
    return find_superseded(Statement("new", newer, LONG_AGO + timedelta(days=500)), neighbours, **options)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("使用者住在里斯本", "使用者已經搬到柏林"),
        ("用户住在里斯本", "用户现在改住柏林了"),
        ("I live in Lisbon", "I moved to Berlin last month"),
        ("我在銀行當櫃員", "我上個月離職，開始接案"),
        ("I work at a bank", "I quit my job and joined a startup"),
        ("我每天早上喝豆漿", "最近改喝燕麥奶"),
        ("她的手机号码是 13800138000", "她换了手机号，新的是 13900139000"),
        ("我養了一隻貓叫阿福", "阿福走了，我又領養了一隻狗"),
        ("我的女朋友叫小雯", "和小雯分手了，我現在單身"),
        ("My rent is $1200", "My rent was raised to $1400"),
        ("I take 10 mg of the medication daily", "The doctor changed the dose to 20 mg"),
        ("使用者住在里斯本", "使用者住在柏林"),
        ("The user lives in Lisbon.", "The user lives in Berlin"),
        ("门禁密码是 4417", "门禁密码是 8052"),
        ("我的手机号是 4417", "我的手机号是 4452"),
        ("I am allergic to peanuts and can't eat them", "I can eat peanuts now, the allergy is gone"),
    ],
)
def test_a_change_replaces_what_it_changes(older, newer):
    (evidence,) = replaced(newer, older)
    assert evidence.older == "old0"
    assert evidence.similarity == 0.4


@pytest.mark.parametrize(
    ("older", "newer", "why"),
    [
        ("我住在杭州", "我喜歡住在靠海的地方", "announces nothing"),
        ("I studied in Boston", "I left my umbrella in Boston", "not that kind of leaving"),
        ("I speak French", "I started learning Spanish", "learning ends nothing"),
        ("我喜歡吃梨", "我喜歡吃桃", "both may hold"),
        ("我在银行工作", "今天去银行办卡了", "what both are about is no name"),
        ("公司在浦东", "公司开了一家食堂", "announces nothing"),
        ("公司的貨櫃 AB1137 在釜山", "公司的貨櫃 AB1173 在洛杉磯", "another container"),
        ("我养了一只猫", "我养了一只狗", "both may hold"),
        ("張老師負責材料學院的分機 8637", "李老師負責化工學院的分機 8673", "another subject"),
        ("我住在杭州", "我开始学吉他了", "another slot"),
        ("我表姐住在南京", "我弟弟搬到苏州了", "another person"),
        ("我住在杭州", "我太太搬到苏州了", "another person"),
        ("丙8号楼的门禁是刷卡", "丙3号楼的门禁改成刷脸了", "another building"),
        ("订单 DD1234 寄到绵阳", "订单 DD9999 已经改成寄到重庆", "another order"),
        ("我住在杭州", "用户：我搬到苏州了。\n助手：恭喜！", "talk, not a statement"),
        ("我住在杭州", "我搬到苏州了" + "，路上风景很好" * 20, "too long for one statement"),
        ("I live in Lisbon", "Berlin is a nice place to live", "announces nothing"),
        ("我换了工作，去银行上班了", "我搬到公司附近的公寓了", "two changes are two things"),
        ("食堂的早餐十块", "宽带改成每月五十块了", "many things have a price"),
        ("我住在台北", "我大学时搬到台中，后来读了研究生", "tells of long ago"),
        ("我住在杭州", "我太太的公司搬到苏州了", "another person"),
    ],
)
def test_what_replaces_nothing(older, newer, why):
    assert replaced(newer, older, similarity=0.9) == (), why


def test_a_younger_memory_is_never_replaced():
    young = Statement("young", "我住在杭州", LONG_AGO + timedelta(days=900))
    new = Statement("new", "我搬到苏州了", LONG_AGO + timedelta(days=500))
    assert find_superseded(new, [(young, 0.9)]) == ()


def test_at_most_three_and_the_surest_first():
    neighbours = [
        (Statement(f"m{i}", text, LONG_AGO), similarity)
        for i, (text, similarity) in enumerate(
            [("我住宿舍", 0.4), ("我住在杭州", 0.6), ("我租的房子很小", 0.55), ("我住得很远", 0.5), ("我住六楼", 0.48)]
        )
    ]
    found = find_superseded(Statement("new", "我搬到苏州了", LONG_AGO + timedelta(days=1)), neighbours)
    assert [evidence.older for evidence in found] == ["m1", "m2", "m3"]


def test_evidence_is_the_sum_of_its_parts():
    (evidence,) = replaced(
        "小雯搬到苏州的新房子了", "小雯住在杭州", weights=SupersessionWeights(slot=0.2, shared=0.1, cue=0.05)
    )
    assert evidence.slots == ("residence",)
    assert evidence.shared == ("小雯",)
    assert evidence.cue == "搬到"
    assert evidence.score == pytest.approx(0.4 + 0.2 + 0.1 + 0.05)


def test_a_word_that_everybody_uses_is_no_name():
    names = ["公园里有湖", "公园门口有花", "公园很大"]
    assert all("公园" not in evidence.shared for evidence in replaced("公园换了新门票", *names))


def test_what_is_far_less_sure_than_the_first_is_left_out():
    neighbours = [(Statement("m1", "我住在杭州", LONG_AGO), 0.7), (Statement("m2", "我租的房子很小", LONG_AGO), 0.5)]
    (evidence,) = find_superseded(Statement("new", "我搬到苏州了", LONG_AGO + timedelta(days=1)), neighbours)
    assert evidence.older == "m1"


def test_weak_evidence_is_none():
    assert replaced("我搬到苏州了", "我住在杭州", weights=SupersessionWeights(threshold=0.9)) == ()


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(InvalidInputError, match="'x' has no time zone"):
        find_superseded(Statement("x", "我搬到苏州了", datetime(2026, 1, 1)), [])  # noqa: DTZ001 - the fault that is tested


@pytest.mark.parametrize(
    "text",
    ["我以前住在哪裡？", "我原来的公司是哪家", "去年我喝什么", "Where did I live before?", "What was my old number?"],
)
def test_questions_about_the_past(text):
    assert asks_about_the_past(text)


@pytest.mark.parametrize("text", ["我住在哪裡？", "我現在的公司是哪家", "Where do I live?", "what is my phone number"])
def test_questions_about_the_present(text):
    assert not asks_about_the_past(text)


@pytest.mark.parametrize("text", ["我住在臺北", "我住在台北", "I live in Taipei"])
def test_slots_are_the_same_in_both_scripts_and_in_english(text):
    assert "residence" in slots_of(text)
