"""Every score can be explained, and every absence."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mem_opensearch.fusion import parts_of
from mem_opensearch.fusion.normalisers import scale_of
from mem_opensearch.search import SearchOptions

USER = {"user_id": "u1"}
MEM0_KEYS = {
    "semantic_score",
    "bm25_score",
    "entity_boost",
    "raw_score",
    "max_possible_score",
    "final_score",
    "threshold",
}
FILLER = [(f"f{n}", f"第{n}天的天气很好，适合散步") for n in range(80)]


@pytest.mark.parametrize("mode", ["union", "rrf", "mem0"])
def test_details_hold_mem0s_keys_and_ours(remember, mode):
    searcher = remember([("px", "專案代號是ＰＸ－４４１"), ("tea", "我喜歡喝茶")])
    answer = searcher.search("专案代号 PX-441", filters=USER, mode=mode, explain=True)
    details = answer.results[0].details
    assert details.keys() >= MEM0_KEYS | {"mode", "gate", "tokens", "entities", "background", "degraded"}
    assert details["final_score"] == answer.results[0].score
    assert details["tokens"] == ["专案", "代号", "px-441", "px", "441"]
    assert details["background"]["source"] == "measured"


@pytest.mark.parametrize("mode", ["union", "rrf", "mem0"])
def test_the_parts_add_up(remember, mode):
    searcher = remember([("px", "專案代號是ＰＸ－４４１"), ("tea", "我喜歡喝茶，專案很忙")])
    results = searcher.search("专案代号 PX-441", filters=USER, mode=mode, threshold=0.0, explain=True).results
    assert {found.id for found in results} == {"px", "tea"}
    for found in results:
        details = found.details
        assert sum(parts_of(details).values()) == pytest.approx(details["raw_score"])
        assert details["raw_score"] / details["max_possible_score"] == pytest.approx(found.score)


def test_bm25_is_told_by_field(remember):
    searcher = remember([("px", "專案代號是ＰＸ－４４１")])
    (found,) = searcher.search("专案代号 PX-441", filters=USER, explain=True).results
    assert all(score > 0 for score in found.details["bm25"]["fields"].values())
    assert found.details["bm25"]["identifiers"] > 0


def test_in_mode_rrf_a_part_is_what_a_rank_adds(remember):
    searcher = remember([("px", "專案代號是ＰＸ－４４１"), ("tea", "我喜歡喝茶，專案很忙")])
    first, second = searcher.search("专案代号 PX-441", filters=USER, mode="rrf", explain=True).results
    assert first.details["ranks"] == {"meaning": 1, "words": 1, "identifiers": 1}
    assert second.details["ranks"] == {"meaning": 2, "words": 2}
    assert first.details["parts"] == pytest.approx({"meaning": 1 / 3, "words": 1 / 3, "identifiers": 1 / 3})
    assert second.details["parts"] == pytest.approx({"meaning": 61 / 62 / 3, "words": 61 / 62 / 3})
    assert first.details["union_score"] > second.details["union_score"]


@pytest.mark.parametrize("normaliser", ["share", "log", "zscore", "sigmoid", "saturation"])
def test_the_scale_of_bm25_is_an_option(remember, normaliser):
    memories = [("px", "專案代號是ＰＸ－４４１"), ("tea", "我喜歡喝茶，專案很忙")]
    searcher = remember(memories, options=SearchOptions(normaliser=normaliser))
    found = searcher.search("专案代号", filters=USER, explain=True).results
    assert [one.id for one in found] == ["px", "tea"]
    assert {one.details["normaliser"] for one in found} == {normaliser}
    scale = scale_of(normaliser, [one.details["bm25"]["words"] for one in found])
    for one in found:
        assert one.details["bm25_score"] == pytest.approx(scale(one.details["bm25"]["words"]))


def test_without_explain_there_are_no_details(remember):
    searcher = remember([("tea", "我喜歡喝茶")])
    assert searcher.search("喝茶", filters=USER).results[0].details is None


@pytest.mark.parametrize(
    ("memory_id", "reason", "says"),
    [
        ("px", "found", "it is result 1"),
        ("tea", "below_threshold", "below the threshold"),
        ("theirs", "filtered", "not in the scope"),
        ("gone", "expired", "show_expired=True"),
        ("nobody", "not_stored", "no memory 'nobody'"),
        ("far", "not_in_pool", "shares too few words"),
    ],
)
def test_why(remember, memory_id, reason, says):
    memories = [
        ("px", "專案代號是ＰＸ－４４１"),
        ("theirs", "专案代号是PX-441", {"user_id": "u2"}),
        ("gone", "专案代号是PX-441", {"expiration_date": "2020-01-01"}),
    ]
    memories += [("tea", "我喜歡喝茶")] if memory_id == "tea" else FILLER
    memories += [("far", "qwerty")]
    searcher = remember(memories, options=SearchOptions(pool=1))
    top_k = 1 if memory_id == "far" else 10
    question = "专案代号 PX-441 天气" if memory_id == "far" else "专案代号 PX-441"
    told = searcher.why(question, memory_id, filters=USER, top_k=top_k)
    assert (told.reason, says in told.sentence) == (reason, True), told.sentence


def test_why_it_is_ranked_low(remember):
    searcher = remember(FILLER)
    answer = searcher.search("哪天适合散步？", filters=USER, top_k=30)
    told = searcher.why("哪天适合散步？", answer.results[20].id, filters=USER, top_k=5)
    assert (told.reason, told.rank) == ("ranked_low", 21)
    assert f"'{answer.results[0].id}'" in told.sentence


def test_why_it_is_not_there_yet(remember):
    searcher = remember([("new", "我住在柏林", {"created_at": "2026-08-01T00:00:00+00:00"})])
    told = searcher.why("我住在哪里？", "new", filters=USER, as_of=datetime(2025, 1, 1, tzinfo=UTC))
    assert told.reason == "not_yet"


def test_the_background_is_measured_once_and_kept_with_the_index(remember, make_store, encoder):
    from mem_opensearch.search import Searcher

    searcher = remember([("tea", "我喜歡喝茶")])
    searcher.search("喝茶", filters=USER)
    again = make_store(embedding_model_dims=encoder.dims)
    mean, deviation = again.spec().background
    assert (mean, deviation) == (pytest.approx(0.131, abs=0.01), pytest.approx(0.082, abs=0.01))
    (vector,) = encoder.embed_queries(["喝茶"])
    answer = Searcher(again).search("喝茶", vector=vector, filters=USER, explain=True)
    assert answer.results[0].details["background"] == {"mean": mean, "deviation": deviation, "source": "measured"}


def test_without_an_embedder_the_background_is_assumed_and_says_so(make_store):
    from mem_opensearch.search import Searcher

    store = make_store()
    store.insert([[1, 0, 0, 0]], [{"data": "喝茶", **USER}], ["m1"])
    answer = Searcher(store).search("喝茶", vector=[1, 0, 0, 0], filters=USER, explain=True)
    assert answer.results[0].details["background"] == {"source": "assumed"}
