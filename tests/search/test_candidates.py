"""What becomes a candidate, and what is let through: any signal can, and nothing else does."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.search import SearchOptions

NOW = datetime(2026, 9, 1, tzinfo=UTC)
USER = {"user_id": "u1"}

FILLER = [f"第{number}天的天气很好，适合散步" for number in range(80)]


def test_a_memory_that_shares_only_an_identifier_wins(remember, ids):
    """It is none of the nearest: eighty others are nearer, and the pool holds five."""
    memories = [(f"f{n}", text) for n, text in enumerate(FILLER)] + [("code", "ＰＸ－４４１")]
    searcher = remember(memories, options=SearchOptions(pool=5))
    answer = searcher.search("今天天气好，适合去散步吗？PX-441", filters=USER, explain=True, top_k=3)
    assert ids(answer)[0] == "code"
    details = answer.results[0].details
    assert details["gate"] == "identifier"
    assert details["semantic_score"] is not None, "what words alone found has its exact cosine too"


def test_a_memory_that_is_only_linked_is_found(remember, ids):
    """Neither meaning nor words bring it into a pool of one, and the link does."""
    searcher = remember(
        [
            ("named", "Alice 在设计部工作"),
            ("linked", "她推荐了中山区那家拉面店"),
            *((f"f{n}", t) for n, t in enumerate(FILLER)),
        ],
        options=SearchOptions(pool=1, size=2),
    )
    entities = searcher.entities
    entities.link("Alice", "named", USER)
    entities.link("Alice", "linked", USER)
    answer = searcher.search("关于 Alice 我们知道什么？", filters=USER, explain=True)
    assert ids(answer)[:2] == ["named", "linked"]
    assert answer.results[1].details["gate"] == "entity"
    assert answer.results[1].details["entities"] == ["Alice"]


def test_an_irrelevant_question_to_a_single_memory_finds_nothing(remember):
    """A fusion that scales by the best candidate would give 1.0 to whatever is there."""
    searcher = remember([("m1", "我每天早上喝一杯黑咖啡")])
    answer = searcher.search("量子力学中薛定谔方程的推导", filters=USER)
    assert answer.results == ()
    assert answer.empty.startswith("1 candidate below the threshold 0.1, best 0.0")
    assert answer.gated == {"m1"}


def test_nothing_stored_is_told_apart(remember, make_store):
    searcher = remember([("m1", "我喝咖啡")])
    assert (
        searcher.search("咖啡", filters={"user_id": "nobody"}).empty == "nothing that matches is stored in this scope"
    )


def test_a_collection_that_does_not_exist_is_empty(make_store, encoder):
    from mem_opensearch.search import Searcher

    answer = Searcher(make_store(embedding_model_dims=encoder.dims), embedder=encoder).search("咖啡", filters=USER)
    assert (answer.results, answer.empty) == ((), "nothing that matches is stored in this scope")


@pytest.mark.parametrize("mode", ["union", "rrf"])
def test_a_memory_has_the_same_score_however_many_are_asked_for(remember, mode):
    memories = [(f"f{n}", text) for n, text in enumerate(FILLER)]
    searcher = remember(memories)
    few, many = (searcher.search("哪天适合散步？", filters=USER, top_k=k, mode=mode) for k in (5, 50))
    assert len(few.results) == 5
    assert [(one.id, one.score) for one in few.results] == [(one.id, one.score) for one in many.results[:5]]
    assert all(0 <= one.score <= 1 for one in many.results)


def test_other_users_memories_are_no_candidates(remember, ids):
    searcher = remember([("mine", "我住在柏林"), ("theirs", "我住在柏林", {"user_id": "u2"})])
    answer = searcher.search("我住在哪里？", filters=USER)
    assert ids(answer) == ["mine"]
    assert answer.pool == {"mine"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": " "}, "blank"),
        ({"query": 5}, "expected a string"),
        ({"query": "咖啡", "top_k": 0}, "top_k"),
        ({"query": "咖啡", "threshold": 1.5}, "threshold"),
        ({"query": "咖啡", "threshold": True}, "threshold"),
        ({"query": "咖啡", "mode": "magic"}, "known are: union, rrf, mem0"),
        ({"query": "咖啡", "as_of": NOW.replace(tzinfo=None)}, "time zone"),
        ({"query": "咖啡", "asked_at": "2026-01-01"}, "time zone"),
    ],
)
def test_a_wrong_argument_says_what_it_can_be(remember, arguments, message):
    searcher = remember([("m1", "我喝咖啡")])
    with pytest.raises(InvalidInputError, match=message):
        searcher.search(**arguments)


def test_a_question_as_long_as_a_page_is_answered(remember, ids):
    """The clauses of all fields stay below the server's limit."""
    searcher = remember([("m1", "我喝咖啡")])
    page = "".join(chr(0x4E00 + (7 * n) % 20_000) for n in range(3000)) + "咖啡"
    assert searcher.search(page, filters=USER).degraded == ()


# -- when a part fails


def test_words_that_the_server_refuses_leave_the_meaning(remember, ids, monkeypatch):
    """The server itself answers 400; the answer says what is missing, and nothing pretends to be 0."""
    from mem_opensearch.search import request

    searcher = remember([("m1", "我每天早上喝一杯黑咖啡"), ("m2", "我住在柏林")])
    monkeypatch.setattr(request, "word_clauses", lambda *_, **__: [{"matsch": {"text": "咖啡"}}])
    answer = searcher.search("早上喝什么咖啡？", filters=USER, explain=True)
    assert ids(answer)[0] == "m1"
    (missing,) = answer.degraded
    assert missing.startswith("only meaning was searched, words and all else failed: ")
    assert "status 400" in missing
    details = answer.results[0].details
    assert details["bm25_score"] is None
    assert details["semantic_score"] > 0
    assert "黑咖啡" not in missing


def test_names_that_can_not_be_looked_up_leave_the_rest(remember, ids, monkeypatch):
    from mem_opensearch.search import names

    searcher = remember([("m1", "我每天早上喝一杯黑咖啡")])
    searcher.entities.link("咖啡", "m1", USER)
    monkeypatch.setattr(names, "_named", lambda *_: {"query": {"matsch": {}}})
    answer = searcher.search("早上喝什么咖啡？", filters=USER, explain=True)
    assert ids(answer) == ["m1"]
    assert answer.degraded[0].startswith("names and dates were not looked up: ")
    assert answer.results[0].details["entity_boost"] is None


def test_a_search_that_fails_altogether_is_an_error(make_store, encoder):
    from mem_opensearch.errors import BackendUnavailable
    from mem_opensearch.search import Searcher

    store = make_store(url="http://127.0.0.1:9", embedding_model_dims=encoder.dims, max_tries=1)
    with pytest.raises(BackendUnavailable):
        Searcher(store, embedder=encoder).search("咖啡", filters=USER)
