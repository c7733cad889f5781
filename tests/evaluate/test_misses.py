"""Every missed query says why it was missed, by what, and what would mend it; without a word of any memory."""

import json

import pytest

from mem_opensearch.evaluate import metrics, misses
from mem_opensearch.evaluate.metrics import Candidates

NOW = "2025-06-01T09:00:00+08:00"


def miss_of(report, query_id, place=0):
    miss = report.results[place].outcomes[query_id].miss
    (row,) = [row for row in report.to_json()["results"][place]["misses"] if row["query"] == query_id]
    assert row == {"query": query_id, **miss.to_json()}
    return miss


@pytest.fixture
def many(make_folder):
    """Seventy near the question, and one far off that shares its word or does not."""

    def make(far, query="龙井茶 0", **keys):
        near = [{"id": f"n{n}", "text": f"龙井茶第{n}种 {n % 5}"} for n in range(70)]
        return make_folder([*near, {"id": "far", **far}], [{"id": "q", "query": query, "relevant": ["far"], **keys}])

    return make


def test_not_in_the_pool_without_a_shared_word(many, run_evaluation):
    report = run_evaluation([many({"text": "看了电影 80"})], systems=["union", "semantic", "bm25", "mem0"])
    for place in range(4):
        miss = miss_of(report, "q", place)
        assert (miss.failure, miss.reason, miss.memory) == ("not_in_pool", "no_shared_word", "far")
        assert (miss.shared_words, miss.cosine) == (0, pytest.approx(0.173648, abs=1e-5))
        assert miss.sentence == "no shared word; by its cosine of 0.17 it stands at place 71 of its scope"
        assert miss.mend == misses.MENDS["no_shared_word"]
        assert (miss.rank, miss.beaten_by) == (None, None)


def test_not_in_the_pool_for_its_cosine(many, run_evaluation):
    report = run_evaluation([many({"text": "买了龙井茶 80"})], systems=["semantic", "mem0"])
    assert (miss_of(report, "q").reason, miss_of(report, "q").shared_words) == ("low_cosine", 1)
    mem0 = miss_of(report, "q", 1)
    assert (mem0.failure, mem0.reason) == ("ranked_low", "outside_meaning")  # its words were found


def test_expired(make_folder, run_evaluation):
    folder = make_folder(
        [
            {"id": "over", "text": "车停在三楼 20", "expiration_date": "2025-03-01T09:00:00+08:00"},
            {"id": "other", "text": "车停在家里 21", "expiration_date": "2999-01-01"},
        ],
        [{"id": "q", "query": "车停在哪里 20", "relevant": ["over"]}],
    )
    miss = miss_of(run_evaluation([folder], systems=["union"]), "q")
    assert (miss.failure, miss.reason, miss.memory) == ("not_in_pool", "expired", "over")
    assert miss.sentence.startswith("it expired before")
    assert miss.mend == misses.MENDS["expired"]


def test_not_yet_there(make_folder, run_evaluation):
    folder = make_folder(
        [
            {"id": "then", "text": "住在里斯本 20", "created_at": "2025-03-01T09:00:00+08:00"},
            {"id": "later", "text": "住在柏林 21", "created_at": "2026-03-01T09:00:00+08:00"},
        ],
        [{"id": "q", "query": "住在哪里 20", "relevant": ["later"], "asked_at": NOW}],
    )
    miss = miss_of(run_evaluation([folder], systems=["union"], as_of="asked_at"), "q")
    assert (miss.failure, miss.reason) == ("not_in_pool", "not_yet")
    assert "2025-06-01" in miss.sentence


def test_filtered_out(make_folder, run_evaluation):
    folder = make_folder(
        [
            {"id": "named", "text": "覃小川考上了大学 0", "user_id": "u", "entities": ["覃小川"]},
            {"id": "other", "text": "他后来读了博士 1", "user_id": "u"},
        ],
        [{"id": "q", "query": "覃小川读了博士吗 0", "relevant": ["other"], "user_id": "u"}],
    )
    miss = miss_of(run_evaluation([folder], systems=["filter-in"]), "q")
    assert (miss.failure, miss.reason, miss.mend) == ("not_in_pool", "filtered", misses.MENDS["filtered"])


@pytest.mark.parametrize("system", ["union", "rrf", "mem0", "mem0-builtin"])
def test_below_the_threshold(make_folder, run_evaluation, system):
    folder = make_folder(
        [{"id": "near", "text": "买了龙井茶 0"}, {"id": "far", "text": "看了电影 175"}],
        [{"id": "q", "query": "龙井茶 0", "relevant": ["far"]}],
    )
    miss = miss_of(run_evaluation([folder], systems=[system]), "q")
    assert (miss.failure, miss.reason) == ("below_threshold", "weak_evidence")
    assert miss.threshold == 0.1
    assert miss.evidence < 0.1
    assert "the threshold 0.1" in miss.sentence
    assert "lower `threshold` to 0.00" in miss.mend


@pytest.mark.parametrize("system", ["union", "rrf", "mem0"])
def test_ranked_low_for_its_words(make_folder, run_evaluation, system):
    folder = make_folder(
        [*({"id": f"w{n}", "text": f"龙井茶很香 {n}"} for n in range(3)), {"id": "right", "text": "绿色那种叶子 5"}],
        [{"id": "q", "query": "龙井茶很香 0", "relevant": ["right"]}],
    )
    miss = miss_of(run_evaluation([folder], systems=[system], top_k=1), "q")
    assert (miss.failure, miss.reason, miss.signal) == ("ranked_low", "held_down", "words")
    assert (miss.rank, miss.beaten_by) == (4, "w0")
    assert ("add the question's words to the dictionary" if system == "union" else "no weights") in miss.mend


def test_ranked_low_where_no_signals_are_told(tea_folder, run_evaluation):
    report = run_evaluation([tea_folder], systems=["semantic", "mem0-builtin"], top_k=2)
    for place in (0, 1):
        miss = miss_of(report, "q1", place)
        assert (miss.rank, miss.beaten_by, miss.signal) == (3, "m0", None)
        assert miss.sentence == "it stands at place 3; the best is 'm0'"


def test_every_missed_query_has_a_record_and_no_other_has(tea_folder, run_evaluation):
    (row,) = run_evaluation([tea_folder], systems=["union"], top_k=2).to_json()["results"]
    assert len(row["misses"]) == sum(row["failures"].values())
    assert {miss["class"] for miss in row["misses"]} <= set(metrics.FAILURES)
    assert "茶" not in json.dumps(row, ensure_ascii=False)  # ids alone


def library_of(**cosines):
    class Library:
        def facts(self, query_id, memory_id):
            from mem_opensearch.evaluate.seen import Facts

            return Facts(cosine=cosines[memory_id], place=9, shared_words=2)

    return Library()


def explain(candidates, *, ranking=("x",), relevant=("a", "b"), seen=None, **cosines):
    return misses.explain_miss(
        candidates,
        ranking=list(ranking),
        relevant=relevant,
        library=library_of(**({"a": 0.2, "b": 0.4} | cosines)),
        query_id="q",
        seen=seen,
    )


@pytest.mark.unit
def test_the_relevant_memory_that_came_farthest_is_told_of():
    assert explain(Candidates(frozenset())).memory == "b"  # the nearer one
    assert explain(Candidates(frozenset({"a"}), frozenset({"a"}))).memory == "a"
    both = Candidates(frozenset("ab"), frozenset("ab"), {"a": 0.09, "b": 0.01}, 0.1)
    assert (explain(both).memory, explain(both).evidence) == ("a", 0.09)
    assert explain(Candidates(frozenset("ab"), frozenset("b")), ranking=["x", "a"]).rank == 2


@pytest.mark.unit
def test_a_reranker_that_moved_it_down_is_named():
    from mem_opensearch.evaluate.seen import Seen

    details = {
        "x": {"parts": {"meaning": 0.5}, "evidence": 0.5, "threshold": 0.1},
        "a": {"parts": {"meaning": 0.6}, "evidence": 0.6, "threshold": 0.1},
    }
    seen = Seen(details, {"a": 1, "x": 2}, is_reranked=True)
    miss = explain(Candidates(frozenset("ax")), ranking=["x", "a"], relevant=["a"], seen=seen)
    assert (miss.reason, miss.rank) == ("reranked_down", 2)
    assert miss.sentence == "the search gave it place 1, and the reranker place 2"


@pytest.mark.unit
@pytest.mark.parametrize(
    ("parts", "winner", "signal"),
    [
        ({"meaning": 0.7}, {"meaning": 0.7, "words": 0.2}, "words"),
        ({"meaning": 0.3, "words": 0.4}, {"meaning": 0.8, "words": 0.6}, "meaning"),
        ({"meaning": 0.7, "superseded": -0.3}, {"meaning": 0.7}, "superseded"),
        ({"meaning": 0.7}, {"meaning": 0.7}, None),
        ({}, {"meaning": 0.7, "words": 0.7}, "meaning"),  # neither has a share: by name
    ],
)
def test_what_held_it_down(parts, winner, signal):
    assert misses.held_down_by(parts, winner) == signal
