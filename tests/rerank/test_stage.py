"""The second stage over scorers that help, fail, hang and lie."""

from __future__ import annotations

import logging
import math
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mem_opensearch.errors import ConfigError, InvalidInputError, RerankError
from mem_opensearch.rerank import Reranker
from mem_opensearch.search import Found

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass
class Scripted:
    """Calls a function for each batch, and remembers what it was given."""

    give: Callable[[str, Sequence[str]], Any]
    most_texts: int | None = None
    most_characters: int | None = None
    name: str = "scripted"
    calls: list[list[str]] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)

    def score(self, query, texts):
        with self.lock:
            self.calls.append(list(texts))
        return self.give(query, texts)


def by_text(scores: dict[str, float | None], **options: Any) -> Scripted:
    return Scripted(lambda query, texts: [scores.get(text) for text in texts], **options)


def failing(error: Exception | None = None, **options: Any) -> Scripted:
    def give(query, texts):
        raise error or RerankError("the service is down", scorer="scripted")

    return Scripted(give, **options)


TEXTS = [f"記憶 {number}" for number in range(20)]
POOL = [{"id": f"m{number}", "memory": text, "score": 1.0 - number / 100} for number, text in enumerate(TEXTS)]
ONLY_12 = by_text({text: float(text == TEXTS[12]) for text in TEXTS})


def ids(reranking):
    return [one.result["id"] for one in reranking.results]


def test_a_memory_at_rank_12_comes_first():
    reranking = Reranker(ONLY_12).run("哪個？", POOL, 5)
    assert ids(reranking) == ["m12", "m0", "m1", "m2", "m3"]
    first = reranking.results[0]
    assert (first.score, first.rerank_score) == (0.88, 1.0)
    assert first.details == {
        "scorer": "scripted",
        "reranked": True,
        "weight": 1.0,
        "fused_rank": 13,
        "rank": 1,
        "blended_score": 1.0,
        "truncated": False,
    }
    assert reranking.reranked
    assert reranking.degraded == ()


def test_the_pool_is_some_times_what_is_wanted():
    assert [Reranker(ONLY_12, pool=pool).pool_for(5) for pool in (1, 3, 5)] == [5, 15, 25]
    assert Reranker(ONLY_12).pool_for(9_000) == 10_000
    assert Reranker(ONLY_12).pool_for(20_000) == 20_000


def nan(query, texts):
    return [0.5, math.nan, *([0.1] * (len(texts) - 2))]


@pytest.mark.parametrize(
    ("scorer", "said"),
    [
        (failing(), "rerank: the service is down"),
        (failing(ValueError("記憶 0 is secret")), "rerank: scripted failed: ValueError"),
        (Scripted(lambda query, texts: [0.5] * len(texts)), "rerank: constant scores: the reranker had no effect"),
        (Scripted(nan), "rerank: scripted gave a score that is no number"),
        (Scripted(lambda query, texts: [math.inf] * len(texts)), "rerank: scripted gave a score that is no number"),
        (Scripted(lambda query, texts: ["0.5"] * len(texts)), "rerank: scripted gave a score that is no number"),
        (Scripted(lambda query, texts: [True] * len(texts)), "rerank: scripted gave a score that is no number"),
        (Scripted(lambda query, texts: [{}] * len(texts)), "rerank: scripted gave a score that is no number"),
        (Scripted(lambda query, texts: [0.5, 0.4]), "rerank: scripted gave 2 scores for 20 texts"),
        (Scripted(lambda query, texts: None), "rerank: scripted gave NoneType for 20 texts"),
    ],
)
def test_a_bad_backend_changes_nothing(scorer, said, caplog):
    with caplog.at_level(logging.WARNING, logger="mem_opensearch"):
        reranking = Reranker(scorer).run("哪個？", POOL, 5)
    assert ids(reranking) == ["m0", "m1", "m2", "m3", "m4"]
    assert reranking.degraded == (said,)
    assert not reranking.reranked
    assert [one.details["blended_score"] for one in reranking.results] == [None] * 5
    assert not any(one.details["reranked"] for one in reranking.results)
    assert caplog.messages == [said]
    assert "記憶" not in caplog.text
    with pytest.raises(RerankError, match=said.removeprefix("rerank: ")) as caught:
        Reranker(scorer, strict=True).run("哪個？", POOL, 5)
    assert "記憶" not in str(caught.value)
    assert caught.value.scorer == "scripted"


def test_constant_scores_are_no_scores():
    reranking = Reranker(Scripted(lambda query, texts: [0.0] * len(texts))).run("哪個？", POOL, 2)
    assert [one.rerank_score for one in reranking.results] == [None, None]


def test_a_slow_backend_ends_at_the_deadline():
    release = threading.Event()
    scorer = Scripted(lambda query, texts: release.wait(30) and [])
    begun = time.monotonic()
    reranking = Reranker(scorer, deadline=0.3).run("哪個？", POOL, 5)
    assert time.monotonic() - begun < 10  # and not 30
    release.set()
    assert ids(reranking) == ["m0", "m1", "m2", "m3", "m4"]
    assert reranking.degraded == ("rerank: timeout after 300 ms",)


def test_calls_that_hang_hold_their_places_and_nothing_else():
    release = threading.Event()
    scorer = Scripted(lambda query, texts: release.wait(30) and [0.0] * len(texts))
    stage = Reranker(scorer, deadline=0.2, concurrency=1)
    for _ in range(3):
        assert stage.run("哪個？", POOL, 5).degraded == ("rerank: timeout after 200 ms",)
    assert len(scorer.calls) == 1
    release.set()


def test_what_came_in_time_counts():
    release = threading.Event()

    def give(query, texts):
        if TEXTS[0] in texts:
            release.wait(30)
        return [float(text == TEXTS[12]) for text in texts]

    reranking = Reranker(Scripted(give, most_texts=10), deadline=0.5).run("哪個？", POOL, 20)
    release.set()
    assert reranking.degraded == ("rerank: timeout after 500 ms, 10 of 20 not scored",)
    assert reranking.reranked
    order = ids(reranking)
    assert order[:10] == [f"m{number}" for number in range(10)]  # what was not scored keeps its place
    assert order[10] == "m12"


def test_batches_are_as_long_as_the_backend_allows_and_some_at_once():
    running, most, lock = 0, 0, threading.Lock()

    def give(query, texts):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return [float(text.split()[1]) for text in texts]

    scorer = Scripted(give, most_texts=3)
    reranking = Reranker(scorer, concurrency=2).run("哪個？", POOL, 3)
    assert ids(reranking) == ["m19", "m18", "m17"]
    assert sorted(map(len, scorer.calls)) == [2, *[3] * 6]
    assert most == 2


def test_only_what_another_try_may_help_is_tried_again():
    def flaky(query, texts):
        if len(scorer.calls) < 3:
            raise RerankError("busy", scorer="scripted", retryable=True)
        return [float(text == TEXTS[7]) for text in texts]

    scorer = Scripted(flaky)
    assert ids(Reranker(scorer, attempts=3).run("哪個？", POOL, 1)) == ["m7"]
    assert len(scorer.calls) == 3
    refused = failing()
    Reranker(refused, attempts=3).run("哪個？", POOL, 1)
    assert len(refused.calls) == 1


def test_a_service_that_asks_to_wait_longer_than_the_deadline_is_not_waited_for():
    scorer = failing(RerankError("busy", scorer="scripted", retryable=True, retry_after=60.0))
    begun = time.monotonic()
    assert Reranker(scorer, attempts=5).run("哪個？", POOL, 1).degraded == ("rerank: busy",)
    assert time.monotonic() - begun < 3
    assert len(scorer.calls) == 1


def test_numbers_of_numpy_are_numbers():
    scorer = Scripted(lambda query, texts: list(np.linspace(0, 1, len(texts), dtype=np.float32)))
    first = Reranker(scorer).run("哪個？", POOL, 1).results[0]
    assert first.result["id"] == "m19"
    assert type(first.rerank_score) is float


def test_a_long_text_is_cut_at_the_end_of_a_sentence():
    scorer = Scripted(lambda query, texts: [float(len(text)) for text in texts], most_characters=10)
    pool = [
        {"id": "long", "memory": "他住在台北。他搬到高雄去了。", "score": 0.9},
        {"id": "short", "memory": "他住在台北。", "score": 0.8},
        {"id": "one sentence", "memory": "他住在一個很遠很遠的地方", "score": 0.7},
    ]
    results = Reranker(scorer).run("哪裡？", pool, 3).results
    assert scorer.calls == [["他住在台北。", "他住在台北。", "他住在一個很遠很遠的"]]
    assert {one.result["id"]: one.details["truncated"] for one in results} == {
        "long": True,
        "short": False,
        "one sentence": True,
    }


def test_results_of_ours_of_mem0_and_of_anybody():
    scorer = by_text({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4})
    mixed = [
        Found("1", 0.9, {"data": "a"}),
        {"id": "2", "memory": "b", "score": 0.8},
        {"id": "3", "text": "c", "score": 0.7},
        {"id": "4", "metadata": {"text": "d"}, "score": 0.6},
    ]
    given = [dict(one) if isinstance(one, dict) else one for one in mixed]
    results = Reranker(scorer).rerank("哪個？", mixed, 4)
    assert [one.result for one in results] == given[::-1]
    assert mixed == given


def test_what_has_no_text_is_not_scored():
    pool = [Found("1", 0.9, {}), Found("2", 0.8, {"data": "a"}), Found("3", 0.7, {"data": "b"})]
    results = Reranker(by_text({"a": 0.1, "b": 0.2})).rerank("哪個？", pool, 3)
    assert [(one.result.id, one.rerank_score) for one in results] == [("1", None), ("3", 0.2), ("2", 0.1)]


def test_nothing_to_rerank():
    scorer = by_text({})
    reranking = Reranker(scorer).run("哪個？", [], 5)
    assert (reranking.results, reranking.degraded, scorer.calls) == ([], (), [])


@pytest.mark.parametrize("score", [None, 1.5, -0.1, "0.5", True, math.nan])
def test_a_result_needs_a_score(score):
    with pytest.raises(InvalidInputError, match="result 'x' has the score"):
        Reranker(ONLY_12).run("哪個？", [{"id": "x", "memory": "a", "score": score}], 1)


@pytest.mark.parametrize("top_k", [0, -1])
def test_top_k_is_positive(top_k):
    with pytest.raises(InvalidInputError, match="expected 1 or more"):
        Reranker(ONLY_12).run("哪個？", POOL, top_k)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pool": 0}, "'pool' of the reranker is 0"),
        ({"pool": 2.5}, "'pool' of the reranker is 2.5"),
        ({"attempts": 0}, "'attempts'"),
        ({"concurrency": True}, "'concurrency'"),
        ({"weight": 1.1}, "'weight'"),
        ({"weight": math.nan}, "'weight'"),
        ({"deadline": 0}, "'deadline'"),
    ],
)
def test_options_are_checked(options, said):
    with pytest.raises(ConfigError, match=said):
        Reranker(ONLY_12, **options)
