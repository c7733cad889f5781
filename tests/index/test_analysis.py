"""What the templates make of Chinese text: one contract for each profile on each version, asked of real servers.

The texts of all cases are stored once per server and profile, each case for a user of its own.
"""

from __future__ import annotations

import itertools
import json
import uuid
from pathlib import Path

import pytest

import mem_opensearch
from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.client.encoding import path_of
from mem_opensearch.index import analyse_text
from mem_opensearch.text import fold
from mem_opensearch.text.fold import fold_table

VERSIONS = ("3.6.0", "2.19.1")
PROFILES = ("ik", "smartcn", "jieba", "bigram")
EAST = [1, 0, 0, 0]

CODE_STORED = ("打印机型号PX-441", "打印机型号PX441", "打印机型号PX 441", "印表機型號ＰＸ－４４１")
CODE_ASKED = ("PX-441", "px441", "PX 441", "ＰＸ－４４１", "Px441")
NUMERALS = ("7号楼", "24口", "52周", "李建光", "1号线", "7號樓", "24口交换机")

FILLER = "今天和同事讨论了项目的排期，大家都觉得时间有点紧，但是还是可以完成的。" * 40

# Case -> texts. The first is what its queries have to find above the others.
CASES = {
    **{
        f"code {number}": (stored, "打印机型号PX-414", "打印机型号PX-882", "打印机型号QX-441")
        for number, stored in enumerate(CODE_STORED)
    },
    "part of a code": ("型号PX-441", "型号PX-414"),
    "code with Han": ("借了祖-10给他", "借了祖-11给他"),
    "lone digit": ("修了自行车 10 次", "买了龙井茶 2 盒"),
    "Han first": ("公告：夜16 路绕行文星路。", "16 路公交车在长乐街改道。", "快16 路公交车在火车站改道。"),
    "Han last": ("箱子 CT-20-红 装着线材。", "箱子 CT-20-黑 装着录音机。"),
    "no hyphens": ("AB-CD-2 仓库里有十七件。", "SKU AC-BD-2 还剩九件。"),
    "long note": (
        "我妈妈的生日是三月八号。",
        "妈妈喜欢养花。",
        FILLER + "顺便说一句，妈妈上周来过，我们聊了很久，还看了老照片，生日的事情也提到了。" + FILLER,
    ),
    "question words": ("护照放在书房的抽屉里", "你说什么？在哪里？怎么了？谁知道？"),
    "rare": ("𠮷野先生开心😂", "吉野先生难过😭"),
    "letter": ("他是A型血", "他是B型血", "他是O型血"),
    **{f"numeral {word}": (f"会议改到{word}了", "会议改到别处了") for word in NUMERALS},
    "e-book": ("我買了電子書", "我买了机械表"),
    "cat": ("主人喜歡貓", "主人喜欢狗"),
    "diving": ("週末去潛水", "周末去爬山"),
    "machine": ("買了機械錶", "买了电子表"),
    "Taipei": ("我住在臺北的大安區", "我住在高雄的三民區"),
    "English": ("she drinks two coffees a day", "she drinks two teas a day"),
    "negation": ("我不吃香菜", "我吃香菜"),
    "negation 2": ("他没有驾照", "他有驾照"),
    "English negation": ("do not call me at night", "do call me at night"),
    "English negation 2": ("there is no sugar in it", "there is sugar in it"),
}
QUERIES = [
    *[(f"code {number}", query) for number in range(len(CODE_STORED)) for query in CODE_ASKED],
    ("part of a code", "441"),
    ("code with Han", "祖-10"),
    ("lone digit", "自行車 2"),
    ("Han first", "夜16路公交车在哪里改道？"),
    ("Han last", "ＣＴ－２０－紅 裡裝的是什麼？"),
    ("no hyphens", "ABCD2 还剩多少？"),
    ("long note", "妈妈的生日是哪天？"),
    ("question words", "护照放在哪里？"),
    *[("rare", query) for query in ("𠮷", "😂", "𠮷野")],
    ("letter", "A型血"),
    ("letter", "Ａ型血"),
    *[(f"numeral {word}", word) for word in NUMERALS],
    ("e-book", "电子书"),
    ("e-book", "電子書"),
    ("cat", "喜欢猫"),
    ("cat", "喜歡貓"),
    ("diving", "潜水"),
    ("machine", "机械"),
    *[("Taipei", query) for query in ("台北", "臺北", "大安区", "住在台北哪里？")],
    ("English", "coffee"),
    ("negation", "不吃香菜"),
    ("negation", "不"),
    ("negation 2", "没有驾照"),
    ("negation 2", "沒"),
    ("English negation", "not"),
    ("English negation 2", "no"),
]


@pytest.fixture(scope="module", params=itertools.product(VERSIONS, PROFILES), ids=" ".join)
def corpus(request, node_of):
    """A store of one profile on one version, with the texts of all cases."""
    version, profile = request.param
    store = OpenSearchVectorStore(
        url=node_of(version), collection_name=f"c-{uuid.uuid4().hex[:8]}", embedding_model_dims=4, analyzer=profile
    )
    payloads = [{"data": text, "user_id": case} for case, texts in CASES.items() for text in reversed(texts)]
    store.insert([EAST] * len(payloads), payloads)
    yield store
    store.delete_col()
    store.close()


@pytest.fixture
def profile(corpus):
    return corpus.config.analyzer


@pytest.fixture
def tokens(corpus):
    """Return the tokens of a text in the field of words, or in another one."""

    def tokens(text, field=None):
        analysis = analyse_text(corpus.client, text, collection=corpus.collection_name)
        found = {each.field: list(each.tokens) for each in analysis.fields}
        return found[field] if field else next(iter(found.values()))

    return tokens


@pytest.mark.parametrize(("case", "query"), QUERIES)
def test_the_right_memory_is_found_first(corpus, case, query):
    hits = corpus.keyword_search(query, filters={"user_id": case})
    assert hits[0].payload["data"] == CASES[case][0]
    assert len(hits) == 1 or hits[0].score > hits[1].score


def test_what_shares_nothing_with_the_query_is_not_found(corpus):
    hits = corpus.keyword_search("441", filters={"user_id": "part of a code"})
    assert [hit.payload["data"] for hit in hits] == ["型号PX-441"]


def test_both_scripts_score_alike(corpus):
    simplified, traditional = (
        corpus.keyword_search(query, filters={"user_id": "cat"})[0].score for query in ("主人喜欢猫", "主人喜歡貓")
    )
    assert simplified == traditional


def test_the_same_word_in_both_scripts_is_the_same_tokens(tokens):
    for field in (None, "text.bigram", "text.en"):
        assert tokens("臺北", field) == tokens("台北", field) == tokens("台北", field)
    assert tokens("臺北") == ["台北"]
    assert tokens("電子機械潛水") == tokens("电子机械潜水")


def test_traditional_text_is_segmented_as_words(tokens, profile):
    expected = {
        "ik": ["专案", "代号"],
        "smartcn": ["专案", "代", "号"],  # its dictionary lacks 代号
        "jieba": ["专案", "代号"],
        "bigram": ["专案", "案代", "代号"],
    }
    assert tokens("專案代號") == tokens("专案代号") == expected[profile]


def test_full_width_codes_are_the_half_width_ones(tokens):
    for field in (None, "text.bigram", "text.en", "text.code", "text.joined", "text.mixed"):
        assert tokens("ＰＸ－４４１", field) == tokens("px-441", field), field
    assert tokens("ＰＸ－４４１", "text.code") == ["px-441", "px", "441"]
    assert tokens("ＰＸ－４４１", "text.joined") == ["px441"]


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
def test_identifiers_are_kept_whole(tokens, profile, text, whole):
    assert whole in tokens(text, "text.code")
    if profile == "jieba":
        assert whole in tokens(text)


def test_english_is_stemmed_and_negation_is_kept(tokens, profile):
    assert tokens("coffees", "text.en") == tokens("coffee", "text.en")
    assert tokens("not no", "text.en") == ["not", "no"]
    assert tokens("不吃 没有", "text.bigram") == ["不吃", "没有"]
    if profile in {"jieba", "bigram"}:  # IK and smartcn drop the English ones; text.en has them
        assert tokens("not no") == ["not", "no"]
    assert "不" in "".join(tokens("我不吃香菜"))
    assert "没" in "".join(tokens("他没有驾照"))


def test_a_query_of_the_longest_kind_is_answered(corpus):
    """Long words with many words inside give the most terms, and a server refuses more than 1,024 of them."""
    query = "中华人民共和国国务院总理办公室北京航空航天大学计算机科学技术学院" * 20 + "A1-B2"
    assert corpus.keyword_search(query, filters={"user_id": "Taipei"}) is not None


@pytest.fixture(scope="module", params=VERSIONS)
def folded(request, node_of):
    """Return what the server's fold makes of a text, and its end offset in the text as given."""
    store = OpenSearchVectorStore(
        url=node_of(request.param), collection_name=f"c-{uuid.uuid4().hex[:8]}", embedding_model_dims=4
    )
    store.create_col()

    def fold_there(text):
        answer = store.client.request(
            "POST",
            path_of(store.collection_name, "_analyze"),
            body={"tokenizer": "keyword", "char_filter": ["fold"], "text": text},
        )
        (token,) = answer["tokens"]
        return token["token"], token["end_offset"]

    yield fold_there
    store.delete_col()
    store.close()


def test_the_fold_of_every_character_is_pythons(folded):
    """Every character that the fold changes, and every other one of the blocks around them."""
    points = [p for block in (range(0x20, 0xD800), range(0xE000, 0xFFFF)) for p in block]
    points += [p for p in fold_table() if p > 0xFFFF]
    for start in range(0, len(points), 4000):
        text = "".join(chr(p) for p in points[start : start + 4000])
        assert folded(text) == (fold(text), units(text))


@pytest.mark.parametrize("name", ["entity_zh", "keyword_zh", "temporal_zh"])
def test_the_fold_of_our_own_data_is_pythons(folded, name):
    folder = Path(mem_opensearch.__file__).parent / "demo" / "data" / name
    lines = [line for part in ("memories", "queries") for line in (folder / f"{part}.jsonl").open(encoding="utf-8")]
    rows = [json.loads(line) for line in lines]
    texts = [row.get("text") or row["query"] for row in rows]
    assert len(texts) > 300
    for start in range(0, len(texts), 200):
        text = "\n".join(texts[start : start + 200])
        assert folded(text) == (fold(text), units(text))


def units(text):
    """Return the length of a text as the server counts."""
    return len(text.encode("utf-16-le")) // 2


def test_highlighting_points_at_the_text_as_it_was_written(store):
    """The fold changes no offset: not after 恭弘, 䲰, an emoji, 𠮷 or a URL."""
    text = "恭弘䲰😂𠮷 https://example.org/臺北?x=1 我住在臺北的大安區，型號ＰＸ－４４１"
    store.insert([EAST], [{"data": text}], ["m"])
    fields = ("text", "text.bigram", "text.en", "text.code", "text.joined")
    for query, marked in [("台北", "臺北"), ("大安区", "大安區"), ("px-441", "ＰＸ－４４１")]:
        body = {
            "query": {"multi_match": {"query": query, "fields": list(fields)}},
            "highlight": {"number_of_fragments": 0, "fields": {field: {} for field in fields}},
        }
        store.list()  # shows the write
        (hit,) = store.client.request("POST", path_of(store.collection_name, "_search"), body=body)["hits"]["hits"]
        assert hit["highlight"]
        for field, (fragment,) in hit["highlight"].items():
            assert fragment.replace("<em>", "").replace("</em>", "") == text, field
        plain = ["".join(part.split("</em>")[0] for part in f.split("<em>")[1:]) for (f,) in hit["highlight"].values()]
        assert any(marked in found for found in plain), (query, hit["highlight"])
