"""Searching through the page: the results of a search, and a threshold that asks nothing of the search server."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from inspect_memories import TEA, USER
from inspect_pages import below, every, results, text_of, threshold_of

from mem_opensearch.fusion import parts_of
from mem_opensearch.rerank.configured import load_reranker

QUESTION = "使用者住在哪里？"


def post(page, path="/search", **body):
    return page.post(path, json={"query": QUESTION, "user": "amei"} | body if path == "/search" else body)


@pytest.mark.parametrize("mode", ["union", "rrf", "mem0"])
def test_the_results_are_those_of_a_search(remember, open_page, mode):
    searcher = remember(TEA)
    wanted = searcher.search(QUESTION, filters=USER, mode=mode, top_k=10, explain=True)
    answer = post(open_page(searcher), mode=mode, top_k=10)
    assert answer.status_code == 200
    assert results(answer.text) == [found.id for found in wanted.results]
    scores = [text_of(score) for score in every(answer.text, "span", class_="score")][: len(wanted.results)]
    assert scores == [f"{found.score:.3f}" for found in wanted.results]
    assert set(below(answer.text)) == set(sorted(wanted.gated)[:10])


def test_the_second_stage_is_that_of_a_search(remember, open_page):
    searcher = remember(TEA)
    wanted = searcher.search(QUESTION, filters=USER, top_k=3, explain=True, rerank=load_reranker("answers"))
    answer = post(open_page(searcher), rerank="answers", top_k=3)
    assert results(answer.text) == [found.id for found in wanted.results]
    moves = [text_of(each) for each in every(answer.text, "span", class_="moves")]
    for found, told in zip(wanted.results, moves, strict=True):
        stage = found.details["rerank"]
        assert told.endswith(f"→{stage['fused_rank']}→{stage['rank']}"), told


@pytest.mark.parametrize("mode", ["union", "rrf", "mem0"])
def test_a_bar_is_the_sum_of_its_signals(remember, open_page, mode):
    searcher = remember(TEA)
    (best,) = searcher.search(QUESTION, filters=USER, mode=mode, top_k=1, explain=True).results
    answer = post(open_page(searcher), mode=mode, top_k=1)
    bar = every(answer.text, "svg", class_="bar")[0]
    pieces = [piece for piece in bar if piece.get("class") not in {"track", "s-lost"}]
    added = {name: value for name, value in parts_of(best.details).items() if value > 0}
    assert [piece.get("class") for piece in pieces] == [f"s-{name}" for name in added]
    widths = [float(piece.get("width")) for piece in pieces]
    assert widths == pytest.approx(
        [100 * value / best.details["max_possible_score"] for value in added.values()], abs=0.01
    )
    assert sum(widths) == pytest.approx(100 * best.score, abs=0.05)


def test_moving_the_threshold_asks_nothing_of_the_server(remember, open_page, look):
    searcher = remember(TEA)
    page = open_page(searcher)
    key = look(page, QUESTION)
    before = page.inspector.requests
    counts = []
    for threshold in (0.0, 0.1, 0.3, 0.5, 1.0):
        answer = post(page, "/rank", look=key, threshold=threshold)
        counts.append(len(results(answer.text)))
        assert sum(threshold_of(answer.text)) > 0
    assert page.inspector.requests == before
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == len(TEA)
    for threshold, count in zip((0.0, 0.1, 0.3, 0.5, 1.0), counts, strict=True):
        found = searcher.search(QUESTION, filters=USER, top_k=50, threshold=threshold).results
        assert len(found) == count


def test_a_search_asks_as_much_as_a_search(remember, open_page):
    page = open_page(remember(TEA))
    post(page)  # looks at the index, and measures the background
    before = page.inspector.requests
    post(page)
    assert page.inspector.requests == before + 2


def test_side_by_side_with_mem0(remember, open_page):
    searcher = remember(TEA)
    page = open_page(searcher)
    answer = post(page, compare=True)
    assert results(answer.text, mem0=True) == [
        found.id for found in searcher.search(QUESTION, filters=USER, mode="mem0", top_k=50).results
    ]
    assert results(answer.text) == [found.id for found in searcher.search(QUESTION, filters=USER, top_k=50).results]
    first = every(answer.text, "button", class_="row")[0]
    place = results(answer.text, mem0=True).index(first.get("data-id")) + 1
    assert f"mem0: {place}" in text_of(first)
    key = re.search(r'data-look="([^"]+)"', answer.text)[1]
    before = page.inspector.requests
    assert results(post(page, "/rank", look=key, threshold=1.0).text, mem0=True) == []
    assert page.inspector.requests == before


def test_as_of_and_expired(remember, open_page):
    texts = {"old": "使用者住在里斯本", "new": "使用者住在柏林"}
    page = open_page(remember(texts))  # the second one is of 19 January
    assert set(results(post(page).text)) == {"old", "new"}
    assert results(post(page, as_of="2026-01-10T00:00").text) == ["old"]
    assert results(post(page, as_of="2026-01-10T00:00:00+08:00").text) == ["old"]
    assert post(page, as_of="yesterday").status_code == 400
    gone = open_page(remember({"gone": "使用者住在巴黎"}, expiration_date=datetime(2026, 2, 1, tzinfo=UTC).isoformat()))
    assert "gone" not in results(post(gone).text)
    assert "gone" in results(post(gone, show_expired=True).text)


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        ({"user": ""}, "ScopeError", "whose memory is it"),
        ({"user": "*"}, "ScopeError", "nobody in particular"),
        ({"query": " "}, "InvalidInputError", "blank"),
        ({"mode": "best"}, "InvalidInputError", "'mode'"),
        ({"top_k": 0}, "InvalidInputError", "'top_k'"),
        ({"top_k": 10_001}, "InvalidInputError", "'top_k'"),
        ({"threshold": 1.5}, "InvalidInputError", "'threshold'"),
        ({"filters": {}}, "InvalidInputError", "'filters' is unknown"),
        ({"rerank": "cohere"}, "ConfigError", "no reranker 'cohere'"),
    ],
)
def test_what_is_wrong_is_said(page, body, kind, said):
    answer = post(page, **body)
    assert answer.status_code == 400
    (error,) = every(answer.text, "div", class_="error")
    assert error.get("data-kind") == kind
    assert said in text_of(error)
    assert "Traceback" not in answer.text


def test_nothing_stored_nothing_found_nothing_passes(page, open_page, make_store, encoder, collection):
    assert "Nothing that matches is stored" in post(page, user="nobody").text
    answer = post(page, query="量子色动力学的渐近自由", threshold=0.99)
    assert "candidates lie below the threshold 0.99" in answer.text
    assert results(answer.text) == []
    assert len(below(answer.text)) > 0


def test_a_collection_that_does_not_exist_is_empty_and_stays_so(open_page, make_store, encoder):
    from mem_opensearch.search import Searcher

    store = make_store(embedding_model_dims=encoder.dims)
    page = open_page(Searcher(store, embedder=encoder))
    answer = post(page)
    assert answer.status_code == 200
    assert "Nothing that matches is stored" in answer.text
    assert page.post("/entities", json={"user": "amei"}).status_code == 200
    health = page.post("/health", json={})
    assert health.status_code == 200
    assert "does not exist yet" in health.text
    assert not store.col_info()["exists"]


def test_a_server_that_is_not_there(open_page, make_store, encoder):
    from mem_opensearch.search import Searcher

    store = make_store(url="http://127.0.0.1:9", embedding_model_dims=encoder.dims, max_retry_seconds=1)
    page = open_page(Searcher(store, embedder=encoder))
    for path, body in (
        ("/search", {"query": QUESTION, "user": "amei"}),
        ("/entities", {"user": "amei"}),
        ("/health", {}),
    ):
        answer = page.post(path, json=body)
        assert answer.status_code == 503, path
        (error,) = every(answer.text, "div", class_="error")
        assert error.get("data-kind") == "BackendUnavailable"
        assert "Traceback" not in answer.text


def test_a_search_that_is_not_kept_any_more(page, look):
    first = look(page)
    for _ in range(8):
        look(page)
    answer = post(page, "/rank", look=first)
    assert answer.status_code == 400
    assert "search again" in answer.text


def test_pages_of_many_results(remember, open_page, look):
    texts = {f"n{number:03}": f"第{number}次聊到旅行的计划" for number in range(120)}
    searcher = remember(texts, link=False)
    page = open_page(searcher)
    key = look(page, "旅行的计划", top_k=120)
    wanted = [found.id for found in searcher.search("旅行的计划", filters=USER, top_k=120).results]
    shown = [results(page.post("/rank", json={"look": key, "page": number}).text) for number in (1, 2, 3, 99)]
    assert [len(each) for each in shown] == [50, 50, len(wanted) - 100, len(wanted) - 100]
    assert [*shown[0], *shown[1], *shown[2]] == wanted
