"""One memory in the page: what it shares with the question, its links, its versions, why it is not there."""

from __future__ import annotations

import base64
import re

import pytest
from inspect_memories import HOSTILE, TEA, USER
from inspect_pages import every, text_of

from mem_opensearch.inspect.catalogue import LANGUAGES, sentences_of
from mem_opensearch.inspect.marks import Marker
from mem_opensearch.profiles import word_field
from mem_opensearch.search import Searcher

HOME = "使用者住在哪里？"


def marks_of(html):
    """Return (kind, text) of every marked piece of the memory."""
    (memory,) = every(html, "p", class_="memory")
    return [(mark.get("class").removeprefix("m-"), text_of(mark)) for mark in memory if mark.tag.endswith("}mark")]


def test_matched_tokens_are_marked_whole(page, look):
    answer = page.post("/memory", json={"look": look(page, "80度水温是0吗"), "id": "t1"})
    (memory,) = every(answer.text, "p", class_="memory")
    assert text_of(memory) == TEA["t1"]
    assert marks_of(answer.text) == [("word", "水温是80度")]


def test_a_digit_inside_a_number_is_no_match(page, look):
    answer = page.post("/memory", json={"look": look(page, "0 龙井"), "id": "t1"})
    assert [text for _, text in marks_of(answer.text)] == ["龙井"]


def test_identifiers_are_marked_in_any_spelling(page, look):
    answer = page.post("/memory", json={"look": look(page, "px441 是什么"), "id": "t3"})
    assert ("identifier", "ＰＸ－４４１") in marks_of(answer.text)


@pytest.mark.parametrize("profile", ["ik", "jieba", "bigram"])
def test_places_of_tokens_are_right(make_store, profile):
    store = make_store(analyzer=profile)
    store.create_col()
    marker = Marker(store, word_field(profile), None)
    text = "𠮷野家😀在臺北，水溫80度。臺北的茶 PX-441"
    marked = marker.mark(text, marker.question("台北 80 𠮷野家 px441 0"))
    assert "".join(piece.text for piece in marked.pieces) == text
    found = [piece.text for piece in marked.pieces if piece.kind]
    assert found.count("臺北") == 2
    assert any("80" in each for each in found)
    assert "PX-441" in found
    assert any(each.startswith("𠮷") for each in found)
    assert not any("😀" in each or "茶" in each for each in found)


def test_a_very_long_memory_is_marked_at_its_beginning(make_store):
    store = make_store()
    store.create_col()
    marker = Marker(store, word_field("ik"), None)
    text = "龙井茶。" * 20_000
    marked = marker.mark(text, marker.question("龙井茶"))
    assert "".join(piece.text for piece in marked.pieces) == text
    assert marked.pieces[-1].kind is None


def test_signals_are_those_of_a_search(remember, open_page, look):
    searcher = remember(TEA)
    page = open_page(searcher)
    answer = page.post("/memory", json={"look": look(page, HOME), "id": "m1"})
    details = searcher.why(HOME, "m1", filters=USER).details
    told = {text_of(row[0]): text_of(row[1]) for row in every(answer.text, "tr") if len(row) == 3}
    say = sentences_of("en")
    for signal, value in details["parts"].items():
        assert told[say[f"signal.{signal}"]] == f"{value:+.3f}"
    assert told["Score"] == f"{details['final_score']:.3f}"


def test_versions_of_a_fact_from_any_of_them(page, look):
    key = look(page, HOME)
    for asked in ("m1", "m2", "m3"):
        answer = page.post("/memory", json={"look": key, "id": asked})
        versions = [
            item for item in every(answer.text, "li") if item.get("class", "").split()[:1] in (["old"], ["now"])
        ]
        assert [item.get("class") for item in versions] == [
            f"{'old' if each != 'm3' else 'now'}{' this' if each == asked else ''}" for each in ("m1", "m2", "m3")
        ]
        assert [text_of(item[0]) for item in versions] == ["2026-03-30", "2026-04-13", "2026-04-27"]
        assert [text_of(item[1]) for item in versions] == [TEA[each] for each in ("m1", "m2", "m3")]
    alone = page.post("/memory", json={"look": key, "id": "t4"})
    assert "It replaces nothing" in alone.text


def test_a_version_whose_successor_was_changed_holds_again(remember, open_page, look, make_store, encoder):
    page = open_page(remember({"m1": TEA["m1"], "m2": TEA["m2"]}))
    make_store(embedding_model_dims=encoder.dims).update("m2", payload={"data": "使用者喜歡喝茶", **USER})
    answer = page.post("/memory", json={"look": look(page, HOME), "id": "m1"})
    assert "It replaces nothing" in answer.text


def test_entities_that_link_it(page, look):
    answer = page.post("/memory", json={"look": look(page, "Alice 推荐了什么"), "id": "t5"})
    assert "Alice" in [text_of(chip).split()[0] for chip in every(answer.text, "button", class_="chip")]


def test_raw_request_and_answer_without_credentials(remember, open_page, look, make_store, encoder):
    remember(TEA)
    store = make_store(embedding_model_dims=encoder.dims, user="reader", password="hunter2-secret")
    page = open_page(Searcher(store, embedder=encoder))
    key = look(page, HOME)
    answer = page.post("/memory", json={"look": key, "id": "m1"})
    exchanges = every(answer.text, "details", class_="exchange")
    assert all("open" not in each.attrib for each in exchanges)
    shown = [text_of(each) for each in exchanges]
    (search,) = [each for each in shown if "/_search?" in each]
    assert '"knn"' in search
    assert "508 more" in search  # of the vector
    assert '"_id": "m1"' in search
    assert '"_id": "m2"' not in search
    for secret in ("hunter2-secret", base64.b64encode(b"reader:hunter2-secret").decode(), "authorization"):
        assert secret not in answer.text


@pytest.mark.parametrize(
    ("memory_id", "options", "said"),
    [
        ("m3", {}, "It is result 1"),
        ("m1", {"top_k": 1}, "and 1 were asked for"),
        ("t6", {}, "lies below the threshold"),
        ("m3", {"as_of": "2026-02-01"}, "It was not there yet"),
        ("none", {}, "No such memory is stored"),
    ],
)
def test_why_not_this_memory(page, look, memory_id, options, said):
    answer = page.post("/why", json={"look": look(page, HOME, **options), "id": memory_id, "threshold": 0.1})
    assert answer.status_code == 200
    assert said in answer.text


def test_why_not_follows_the_threshold_without_a_search(page, look):
    key = look(page, HOME)
    before = page.inspector.requests
    assert "lies below the threshold 1" in page.post("/why", json={"look": key, "id": "m1", "threshold": 1}).text
    assert page.inspector.requests == before


def test_a_memory_of_somebody_else_is_not_shown(remember, open_page, look):
    searcher = remember({**TEA, "secret": "別人的秘密"}, link=False)
    other = searcher.store.config.model_copy()
    page = open_page(searcher)
    key = look(page, HOME)
    from mem_opensearch import OpenSearchVectorStore

    writer = OpenSearchVectorStore(other)
    writer.update("secret", payload={"data": "別人的秘密", "user_id": "other"})
    writer.count()
    writer.close()
    key = look(page, HOME)
    assert "It is not in this scope" in page.post("/why", json={"look": key, "id": "secret"}).text
    answer = page.post("/memory", json={"look": key, "id": "secret"})
    assert answer.status_code == 404
    assert "別人的秘密" not in answer.text


@pytest.mark.parametrize("memory_id", HOSTILE)
def test_hostile_texts_are_shown_as_text(remember, open_page, look, memory_id):
    page = open_page(remember({**TEA, **HOSTILE}, link=False))
    key = look(page, "茶会", threshold=0)
    listing = page.post("/rank", json={"look": key, "threshold": 0}).text
    detail = page.post("/memory", json={"look": key, "id": memory_id, "threshold": 0}).text
    for html in (listing, detail):
        assert every(html, "script") == []
        assert every(html, "img") == []
        assert not re.search(r"<[^>]*\son\w+=", html)
        assert not any(letter in html for letter in "\u202e\x1b\x00\u2028")
        assert "49" not in [text_of(each) for each in every(html, "span", class_="text")]
    (memory,) = every(detail, "p", class_="memory")
    told = text_of(memory)
    for letter in "\u202e\x1b\x00\u2028":
        if letter in HOSTILE[memory_id]:
            assert f"U+{ord(letter):04X}" in told
    plain = re.sub(r"U\+[0-9A-F]{4}", "", told)
    assert plain == re.sub(r"\s+", " ", re.sub("[\u202e\x1b\x00\u2028]", "", HOSTILE[memory_id])).strip()


def test_every_language_says_everything():
    english = sentences_of("en")
    for language in LANGUAGES:
        told = sentences_of(language)
        assert list(told) == list(english)
        for key, sentence in told.items():
            assert sorted(re.findall(r"{[^}]*}", sentence)) == sorted(re.findall(r"{[^}]*}", english[key])), key


@pytest.mark.parametrize(("accepted", "said"), [("zh-TW", "搜尋"), ("zh-CN", "搜索"), ("fr, en;q=0.5", "Search")])
def test_the_page_speaks_the_language_of_the_browser(page, accepted, said):
    answer = page.get("/", headers={"accept-language": accepted})
    assert said in [text_of(each) for each in every(answer.text, "button", class_="primary")]


def test_the_language_can_be_chosen(page):
    page.get("/", params={"lang": "zh-Hant"})
    assert '<html lang="zh-Hant">' in page.get("/", headers={"accept-language": "en"}).text
    assert '<html lang="zh-Hant">' in page.get("/", params={"lang": "xx"}).text
