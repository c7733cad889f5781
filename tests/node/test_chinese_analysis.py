"""IK and smartcn on the real server: tokens, user words, places in the text."""

from __future__ import annotations

import pytest

from .conftest import ask, tokens

PLACES = "我不喜欢北京大学的食堂"


def words(url, text, **how):
    return [token for token, _, _ in tokens(url, text, **how)]


def test_the_plugins_have_the_names_they_have_on_any_cluster(node):
    listed = ask(node.url, "/_nodes/plugins").body["nodes"].values()
    names = {plugin["name"] for each in listed for plugin in each["plugins"]}
    assert names == {"analysis-ik", "analysis-smartcn", "opensearch-knn"}


@pytest.mark.parametrize("how", ["analyzer", "tokenizer"])
def test_ik_smart_gives_each_place_to_one_word(node, how):
    found = tokens(node.url, PLACES, **{how: "ik_smart"})
    assert found == [("我", 0, 1), ("不喜欢", 1, 4), ("北京大学", 4, 8), ("的", 8, 9), ("食堂", 9, 11)]


@pytest.mark.parametrize("how", ["analyzer", "tokenizer"])
def test_ik_max_word_gives_all_words(node, how):
    found = tokens(node.url, PLACES, **{how: "ik_max_word"})
    assert {("北京大学", 4, 8), ("北京", 4, 6), ("大学", 6, 8), ("喜欢", 2, 4), ("不喜欢", 1, 4)} <= set(found)


def test_a_negation_is_not_dropped(node):
    assert "没有" in words(node.url, "他没有来", analyzer="ik_smart")
    assert "不" in words(node.url, "不 辣", analyzer="ik_smart")


def test_latin_words_are_lower_case_and_numbers_stay_whole(node):
    assert words(node.url, "用 OpenSearch 3.6.0 存 PX-441", analyzer="ik_smart") == [
        "用",
        "opensearch",
        "3.6.0",
        "存",
        "px-441",
    ]


@pytest.mark.parametrize("analyzer", ["ik_smart", "ik_max_word"])
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("昨天裴若谷来了", "裴若谷"),
        ("他是A型血的人", "a型血"),
        ("请给出專案代號甲吧", "專案代號甲"),
        ("请给出专案代号甲吧", "专案代号甲"),  # the same word after folding
        ("那台PX90型坏了", "px90型"),
    ],
)
def test_words_of_the_user_are_kept_whole(node, analyzer, text, word):
    assert word in words(node.url, text, analyzer=analyzer)


def test_places_are_those_of_the_text_before_a_char_filter(node):
    fold = [{"type": "mapping", "mappings": ["學 => 学", "(笑) => ", "Ａ => a"]}]
    found = tokens(node.url, "(笑)北京大學 (笑)食堂，Ａ座", char_filter=fold, tokenizer="ik_smart")
    assert found == [("北京大学", 3, 7), ("食堂", 11, 13), ("座", 15, 16)]


@pytest.mark.parametrize("tokenizer", ["ik_smart", "ik_max_word"])
def test_what_is_left_out_right_after_a_word_counts_as_lucenes_own_tokenizer_counts_it(node, tokenizer):
    fold = [{"type": "mapping", "mappings": ["(笑) => "]}]
    text = "好(笑) 坏"
    own = tokens(node.url, text, char_filter=fold, tokenizer=tokenizer)
    assert own == tokens(node.url, text, char_filter=fold, tokenizer="standard")


@pytest.mark.parametrize("tokenizer", ["ik_smart", "ik_max_word"])
@pytest.mark.parametrize("unit", ["我喜欢北京大学的食堂", "我喜欢北京大学的食堂。", "the price of px-441 is 3.6 元 "])
def test_a_long_text_gives_the_tokens_of_its_parts(node, tokenizer, unit):
    count = 9990 // len(unit)  # the index setting max_token_count allows 10,000 tokens in one _analyze
    one = tokens(node.url, unit, tokenizer=tokenizer)
    times = min(count, 9000 // len(one))
    assert times * len(unit) > 8192, "longer than two of IK's buffers"
    expected = [(word, n * len(unit) + begin, n * len(unit) + end) for n in range(times) for word, begin, end in one]
    assert tokens(node.url, unit * times, tokenizer=tokenizer) == expected


@pytest.mark.parametrize("size", [3999, 4000, 4001, 4095, 4096, 4097, 8191, 8192, 8193])
def test_no_character_is_lost_at_the_seams(node, size):
    found = tokens(node.url, "猋" * size, tokenizer="ik_smart")  # no word holds it: one token for each
    assert [begin for _, begin, _ in found] == list(range(size))


def test_a_run_of_latin_letters_longer_than_the_buffer_is_no_failure(node):
    found = tokens(node.url, "x" * 9000 + " 北京", tokenizer="ik_smart")
    assert found[-1] == ("北京", 9001, 9003)


def test_what_ik_does_not_know_is_passed_over(node):
    assert words(node.url, "🙂𠮷野家🙂" * 1500 + "北京", tokenizer="ik_smart")[-1] == "北京"
    assert words(node.url, "", tokenizer="ik_smart") == []
    assert words(node.url, " \n。", tokenizer="ik_smart") == []


def test_a_search_finds_and_marks_the_word(node):
    mapping = {"properties": {"t": {"type": "text", "analyzer": "ik_max_word", "search_analyzer": "ik_smart"}}}
    ask(node.url, "/marked", {"mappings": mapping}, method="PUT")
    ask(node.url, "/marked/_doc/1?refresh=true", {"t": PLACES}, method="PUT")
    body = {"query": {"match": {"t": "北京大学"}}, "highlight": {"fields": {"t": {}}}}
    (hit,) = ask(node.url, "/marked/_search", body).body["hits"]["hits"]
    assert hit["highlight"]["t"] == ["我不喜欢<em>北京大学</em>的食堂"]


@pytest.mark.parametrize("how", [{"analyzer": "smartcn"}, {"tokenizer": "smartcn_tokenizer"}])
def test_smartcn_segments(node, how):
    found = tokens(node.url, "我住在北京大学", **how)
    assert ("北京大学", 3, 7) in found
