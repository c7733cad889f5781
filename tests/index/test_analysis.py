"""What the templates make of Chinese text, asked of the real server."""

from __future__ import annotations

import pytest

from mem_opensearch.client.opensearch import path_of
from mem_opensearch.text import fold
from mem_opensearch.text.fold import fold_table

EAST = [1, 0, 0, 0]


@pytest.fixture
def tokens(store):
    """Return the tokens that an analyser of the test's index makes of a text."""
    store.create_col()

    def analyse(analyzer, text):
        answer = store.client.request(
            "POST", path_of(store.collection_name, "_analyze"), body={"analyzer": analyzer, "text": text}
        )
        return [token["token"] for token in answer["tokens"]]

    return analyse


@pytest.fixture
def best(store):
    """Store texts; return the texts that a query finds, best first."""

    def search(texts, query):
        store.insert([EAST] * len(texts), [{"data": text} for text in texts], [f"m{i}" for i in range(len(texts))])
        return [hit.payload["data"] for hit in store.keyword_search(query, top_k=10)]

    return search


def test_the_same_word_in_both_scripts_is_the_same_tokens(tokens):
    for analyzer in ("words", "bigrams", "english"):
        assert tokens(analyzer, "臺北") == tokens(analyzer, "台北") == tokens(analyzer, "台北")
    assert tokens("words", "臺北") == ["台北"]


def test_traditional_text_is_segmented_as_words(tokens):
    assert tokens("words", "專案代號") == ["专案", "代号"]
    assert tokens("words", "電子機械潛水") == tokens("words", "电子机械潜水")


def test_full_width_codes_are_the_half_width_ones(tokens):
    for analyzer in ("words", "bigrams", "english", "code", "joined"):
        assert tokens(analyzer, "ＰＸ－４４１") == tokens(analyzer, "px-441"), analyzer
    assert tokens("code", "ＰＸ－４４１") == ["px-441", "px", "441"]
    assert tokens("joined", "ＰＸ－４４１") == ["px441"]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("型号PX-441。", "px-441"),
        ("工单号 QX-20931", "qx-20931"),
        ("在10.0.0.1:9119上", "10.0.0.1:9119"),
        ("写给user@host吧", "user@host"),
        ("升级到v2.0.20了", "v2.0.20"),
        ("定在2026-08-01。", "2026-08-01"),
        ("用５Ｇ上网", "5g"),
    ],
)
def test_identifiers_are_kept_whole(tokens, text, whole):
    assert whole in tokens("code", text)


@pytest.mark.parametrize("query", ["PX-441", "px441", "PX 441", "ＰＸ－４４１", "Px441"])
@pytest.mark.parametrize(
    "stored", ["打印机型号PX-441", "打印机型号PX441", "打印机型号PX 441", "印表機型號ＰＸ－４４１"]
)
def test_a_code_is_found_however_it_is_written(best, query, stored):
    found = best(["打印机型号PX-414", stored, "打印机型号PX-882", "打印机型号QX-441"], query)
    assert found[0] == stored


def test_a_part_of_a_code_finds_it(best):
    assert best(["型号PX-441", "型号PX-414"], "441") == ["型号PX-441"]


def test_a_lone_digit_does_not_outweigh_the_words(best):
    assert best(["买了龙井茶 2 盒", "修了自行车 10 次"], "自行車 2")[0] == "修了自行车 10 次"


@pytest.mark.parametrize(
    ("query", "right"),
    [
        ("夜16路公交车在哪里改道？", "公告：夜16 路绕行文星路。"),
        ("ＣＴ－２０－紅 裡裝的是什麼？", "箱子 CT-20-红 装着线材。"),
        ("ABCD2 还剩多少？", "AB-CD-2 仓库里有十七件。"),
    ],
)
def test_identifiers_with_a_chinese_character_and_without_hyphens(best, query, right):
    others = [
        "16 路公交车在长乐街改道。",
        "快16 路公交车在火车站改道。",
        "箱子 CT-20-黑 装着录音机。",
        "SKU AC-BD-2 还剩九件。",
    ]
    # Among enough other memories that a rare identifier is rare: with five, every word is.
    assert best([*others, right, *(f"第{number}天的日记，写了些别的事。" for number in range(50))], query)[0] == right


def test_a_long_note_does_not_bury_a_short_fact(best):
    fact = "我妈妈的生日是三月八号。"
    filler = "今天和同事讨论了项目的排期，大家都觉得时间有点紧，但是还是可以完成的。"
    note = filler * 40 + "顺便说一句，妈妈上周来过，我们聊了很久，还看了老照片，生日的事情也提到了。" + filler * 40
    assert best([note, fact, "妈妈喜欢养花。"], "妈妈的生日是哪天？")[0] == fact


def test_question_words_do_not_bring_other_questions(best):
    assert (
        best(["你说什么？在哪里？怎么了？谁知道？", "护照放在书房的抽屉里"], "护照放在哪里？")[0]
        == "护照放在书房的抽屉里"
    )


def test_english_is_stemmed_and_negation_is_kept(tokens):
    assert tokens("english", "coffees") == tokens("english", "coffee")
    assert tokens("english", "not no") == ["not", "no"]
    assert tokens("bigrams", "不吃 没有") == ["不吃", "没有"]


@pytest.mark.parametrize("query", ["𠮷", "😂", "𠮷野"])
def test_rare_ideographs_and_emoji_are_found(best, query):
    assert best(["𠮷野先生开心😂", "吉野先生难过😭"], query)[0] == "𠮷野先生开心😂"


def test_a_letter_that_the_word_analyser_drops_still_counts(best):
    assert best(["他是B型血", "他是A型血", "他是O型血"], "A型血")[0] == "他是A型血"


@pytest.mark.parametrize("word", ["7号楼", "24口", "52周", "李建光", "1号线"])
def test_numerals_and_names_are_found_by_themselves(best, word):
    assert best([f"会议改到{word}了", "会议改到别处了"], word)[0] == f"会议改到{word}了"


@pytest.mark.parametrize(
    ("stored", "query"), [("我買了電子書", "电子书"), ("我买了电子书", "電子書"), ("主人喜歡貓", "主人喜欢猫")]
)
def test_both_scripts_find_each_other(best, stored, query):
    assert best([stored, "别的事"], query)[0] == stored


def test_both_scripts_score_alike(store):
    store.insert([EAST] * 2, [{"data": "主人喜歡貓", "user_id": "u"}, {"data": "别的事", "user_id": "u"}])
    simplified, traditional = (store.keyword_search(query)[0].score for query in ("主人喜欢猫", "主人喜歡貓"))
    assert simplified == traditional


def test_the_server_folds_as_python_does(store):
    """Every character that the fold changes, and every other one of the blocks around them."""
    store.create_col()
    points = [p for block in (range(0x20, 0xD800), range(0xE000, 0xFFFF)) for p in block] + [
        p for p in fold_table() if p > 0xFFFF
    ]
    step = 4000
    for start in range(0, len(points), step):
        text = "".join(chr(p) for p in points[start : start + step])
        answer = store.client.request(
            "POST",
            path_of(store.collection_name, "_analyze"),
            body={"tokenizer": "keyword", "char_filter": ["fold"], "text": text},
        )
        (token,) = answer["tokens"]
        assert token["token"] == fold(text)
        assert token["end_offset"] == len(text.encode("utf-16-le")) // 2  # offsets are those of the text as given
