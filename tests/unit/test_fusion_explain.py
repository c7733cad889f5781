"""Details add up to the score, and an empty result says why; rank fusion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.fusion import Candidate, Replacement, fuse, rrf, score_details, why_empty

pytestmark = pytest.mark.unit
MEM0_KEYS = {
    "semantic_score",
    "bm25_score",
    "entity_boost",
    "raw_score",
    "max_possible_score",
    "final_score",
    "threshold",
}


def test_details_hold_mem0s_keys_and_add_up():
    scored = fuse(
        [
            Candidate("m1", cosine=0.6, words=4.0, entity=0.8, conversation="c", seq=0, per_field={"text": 4.0}),
            Candidate("m2", cosine=-0.1, words=1.0, entity=0.0, conversation="c", seq=1),
        ]
    )
    details = score_details(scored, threshold=0.1)
    assert set(details["m1"]) > MEM0_KEYS
    assert details["m1"]["raw_score"] == pytest.approx(sum(details["m1"]["parts"].values()))
    assert details["m1"]["final_score"] == pytest.approx(
        details["m1"]["raw_score"] / details["m1"]["max_possible_score"]
    )
    assert details["m1"]["bm25"] == {"words": 4.0, "identifiers": None, "fields": {"text": 4.0}}
    assert details["m2"]["semantic_score"] == 0.0
    assert details["m2"]["bm25_score"] == 0.25
    assert details["m2"]["follows"] == {"id": "m1", "score": pytest.approx(0.63)}
    assert details["m1"]["ranks"] == {"meaning": 1, "words": 1, "entity": 1}
    assert details["m2"]["ranks"] == {"words": 2, "context": 1}


def test_what_was_not_measured_is_none_and_not_0():
    details = score_details(fuse([Candidate("m", words=1.0)]), threshold=0.1)["m"]
    assert details["semantic_score"] is None
    assert details["entity_boost"] is None
    assert details["bm25_score"] == 1.0


def test_supersession_is_told_on_both_sides():
    scored = fuse([Candidate("old", cosine=0.8, superseded_by=Replacement("new")), Candidate("new", cosine=0.3)])
    details = score_details(scored, threshold=0.1)
    assert details["new"]["replaces"] == "old"
    assert details["old"]["superseded_by"] == "new"


def test_why_a_result_is_empty():
    assert why_empty([], threshold=0.1) == "nothing that matches is stored in this scope"
    below = fuse([Candidate("a", cosine=0.5), Candidate("b", cosine=0.2)], threshold=0.9)
    assert why_empty(below, threshold=0.9) == "2 candidates below the threshold 0.9, best 0.43"
    assert why_empty(fuse([Candidate("a", cosine=0.5)]), threshold=0.1) is None


def test_rank_fusion_by_hand():
    first, second, third = rrf(
        [
            Candidate("a", cosine=0.9, words=1.0),
            Candidate("b", cosine=0.8, words=2.0),
            Candidate("c", cosine=0.1, words=0),
        ]
    )
    assert (first.id, second.id, third.id) == ("a", "b", "c")
    assert first.score == pytest.approx((1 / 61 + 1 / 62) / (2 / 61))
    assert first.score == second.score
    assert third.score == pytest.approx((1 / 63) / (2 / 61))
    assert third.ranks == {"meaning": 3}


def test_a_negative_k_is_refused():
    with pytest.raises(InvalidInputError, match="k is -1"):
        rrf([], k=-1)


def test_equal_values_share_a_rank():
    assert [one.ranks for one in rrf([Candidate("a", words=2.0), Candidate("b", words=2.0)])] == [{"words": 1}] * 2


@given(st.lists(st.tuples(st.none() | st.floats(-1, 1), st.none() | st.floats(0, 9)), max_size=8))
def test_rank_fusion_gives_scores_in_0_to_1_in_order(values):
    scores = [one.score for one in rrf([Candidate(f"m{i}", cosine=c, words=w) for i, (c, w) in enumerate(values)])]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 + 1e-9 for score in scores)
