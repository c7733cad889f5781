"""Mastra's rerank and rerankWithScorer: scores and orders, worked by hand."""

import math

import numpy as np
import pytest

from mem_opensearch.rerank.mastra import rerank_with_scorer

pytestmark = pytest.mark.unit


class Known:
    """A scorer that knows the score of each text, and remembers how it was asked."""

    def __init__(self, scores, *, most_texts=None, most_characters=None):
        self.scores, self.most_texts, self.most_characters = scores, most_texts, most_characters
        self.name = "known"
        self.calls = []

    def score(self, query, texts):
        self.calls.append((query, list(texts)))
        return [self.scores[text] for text in texts]


def mastra(name, score, text):
    return {"id": name, "score": score, "metadata": {"text": text}}


def three(first, second, third):
    """Three results of the scores 0.9, 0.6, 0.8, and a scorer that gives their texts these scores.

    Their positions are 1 - 0/3 = 1, 1 - 1/3 = 2/3 and 1 - 2/3 = 1/3.
    """
    results = [mastra("a", 0.9, "甲"), mastra("b", 0.6, "乙"), mastra("c", 0.8, "丙")]
    return results, Known({"甲": first, "乙": second, "丙": third})


def ranked(results, scorer, **options):
    return [(one.result["id"], one.score) for one in rerank_with_scorer(results, "问", scorer, **options)]


@pytest.mark.parametrize(
    ("semantic", "weights", "expected"),
    [
        (
            (0.1, 0.95, 0.5),
            None,
            [
                ("b", 0.4 * 0.95 + 0.4 * 0.6 + 0.2 * 2 / 3),  # 0.38 + 0.24 + 0.13333 = 0.75333
                ("a", 0.4 * 0.1 + 0.4 * 0.9 + 0.2 * 1),  # 0.04 + 0.36 + 0.2 = 0.6
                ("c", 0.4 * 0.5 + 0.4 * 0.8 + 0.2 * 1 / 3),  # 0.2 + 0.32 + 0.06667 = 0.58667
            ],
        ),
        ((0.1, 0.95, 0.5), {"semantic": 1, "vector": 0, "position": 0}, [("b", 0.95), ("c", 0.5), ("a", 0.1)]),
        ((0.1, 0.95, 0.5), {"semantic": 0, "vector": 1, "position": 0}, [("a", 0.9), ("c", 0.8), ("b", 0.6)]),
        ((0.1, 0.95, 0.5), {"semantic": 0, "vector": 0, "position": 1}, [("a", 1), ("b", 2 / 3), ("c", 1 / 3)]),
        (
            (0.1, 0.95, 0.5),
            {"semantic": 0.7, "vector": 0.1},  # position stays 0.2
            [
                ("b", 0.665 + 0.06 + 0.4 / 3),  # 0.85833
                ("c", 0.35 + 0.08 + 0.2 / 3),  # 0.49667
                ("a", 0.07 + 0.09 + 0.2),  # 0.36
            ],
        ),
        (
            (0.0, 0.0, 1.0),  # a score of 0 is a score
            None,
            [
                ("c", 0.4 + 0.32 + 0.2 / 3),  # 0.78667
                ("a", 0 + 0.36 + 0.2),  # 0.56
                ("b", 0 + 0.24 + 0.4 / 3),  # 0.37333
            ],
        ),
        (
            (0.1, None, 0.5),  # b: the 0.4 of its semantic part is left out, and 0.4 + 0.2 stand for 1
            None,
            [
                ("b", (0.24 + 0.4 / 3) / 0.6),  # 0.62222; as if it had scored 0 it were 0.37333, and last
                ("a", 0.6),
                ("c", 0.58667),
            ],
        ),
        (
            (0.1, None, 0.5),  # nothing that b has counts, so its default weights do: the same 0.62222
            {"semantic": 1, "vector": 0, "position": 0},
            [("b", (0.24 + 0.4 / 3) / 0.6), ("c", 0.5), ("a", 0.1)],
        ),
        (
            (None, None, None),
            {"semantic": 0.5, "vector": 0.25, "position": 0.25},
            [
                ("a", (0.25 * 0.9 + 0.25 * 1) / 0.5),  # 0.95
                ("b", (0.25 * 0.6 + 0.25 * 2 / 3) / 0.5),  # 0.63333
                ("c", (0.25 * 0.8 + 0.25 * 1 / 3) / 0.5),  # 0.56667
            ],
        ),
    ],
)
def test_scores_by_hand(semantic, weights, expected):
    results, scorer = three(*semantic)
    assert ranked(results, scorer, weights=weights) == [
        (name, pytest.approx(score, abs=1e-5)) for name, score in expected
    ]


def test_details_say_what_a_score_is_made_of():
    results, scorer = three(0.1, None, 0)
    best = {one.result["id"]: one.details for one in rerank_with_scorer(results, "问", scorer)}
    assert (best["a"].semantic, best["a"].vector, best["a"].position) == (0.1, 0.9, 1)
    assert best["b"].semantic is None
    assert best["b"].position == pytest.approx(2 / 3)
    assert best["c"].semantic == 0
    assert all(details.query_analysis is None for details in best.values())


def test_a_vector_that_was_not_measured_is_left_out_too():
    results = [mastra("a", None, "甲"), mastra("b", 0.5, "乙")]
    first, second = rerank_with_scorer(results, "问", Known({"甲": 0.2, "乙": 0.2}))
    assert (first.result["id"], first.details.vector) == ("a", None)
    assert first.score == pytest.approx((0.4 * 0.2 + 0.2 * 1) / 0.6)
    assert second.score == pytest.approx(0.4 * 0.2 + 0.4 * 0.5 + 0.2 * 0.5)


@pytest.mark.parametrize(
    ("vector", "magnitude", "dominant", "factor"),
    [
        ([0.6, -0.8], 1.0, [1, 0], 1.0),
        ([3.0, 0.0, -4.0], 5.0, [2, 0, 1], 1.0),  # above 5 it must be
        ([0.0, 6.0], 6.0, [1, 0], 1.05),
        ([6.0, 8.0], 10.0, [1, 0], 1.05),
        ([0.0, 12.0], 12.0, [1, 0], 1.1 * 1.05),
        ([1.0, -1.0, 2.0, 1.0, 0.5, -3.0, 1.0], math.sqrt(17.25), [5, 2, 0, 1, 3], 1.0),  # of equals, the earlier ones
        (np.array([0.0, 6.0], dtype=np.float32), 6.0, [1, 0], 1.05),
        ([0.0, 0.0], 0.0, [0, 1], 1.0),
    ],
)
def test_the_query_vector_is_analysed_and_adjusts_all_scores(vector, magnitude, dominant, factor):
    results, scorer = three(0.1, 0.95, 0.5)
    plain = ranked(results, scorer)
    adjusted = rerank_with_scorer(results, "问", scorer, query_embedding=vector)
    assert [(one.result["id"], one.score) for one in adjusted] == [
        (name, pytest.approx(x * factor)) for name, x in plain
    ]
    for one in adjusted:
        assert one.details.query_analysis.magnitude == pytest.approx(magnitude)
        assert one.details.query_analysis.dominant_features == tuple(dominant)


def test_an_adjusted_score_ends_at_1_and_the_order_stays():
    # a: 0.4 x 0.8 + 0.4 x 0.9 + 0.2 x 1 = 0.88; b: 0.4 x 1 + 0.4 x 1 + 0.2 x 0.5 = 0.9. Times 1.155 they are 1.0164 and
    # 1.0395, and both are cut to 1. An order made after the cut would be that of ties, and a would come first.
    results = [mastra("a", 0.9, "甲"), mastra("b", 1.0, "乙")]
    scorer = Known({"甲": 0.8, "乙": 1.0})
    assert ranked(results, scorer) == [("b", pytest.approx(0.9)), ("a", pytest.approx(0.88))]
    assert ranked(results, scorer, query_embedding=[12.0]) == [("b", 1.0), ("a", 1.0)]


def test_equal_scores_keep_the_order_that_was_given():
    results = [mastra(f"m{i}", 0.5, "同") for i in range(20)]
    only_text = {"semantic": 1, "vector": 0, "position": 0}
    assert [name for name, _ in ranked(results, Known({"同": 0.5}), weights=only_text, top_k=20)] == [
        f"m{i}" for i in range(20)
    ]


@pytest.mark.parametrize("top_k", [1, 2, 3, 4, 1000])
def test_top_k_cuts_after_all_are_scored(top_k):
    results, scorer = three(0.1, 0.95, 0.5)
    assert [name for name, _ in ranked(results, scorer, top_k=top_k)] == ["b", "a", "c"][:top_k]
    assert len(scorer.calls[0][1]) == 3


def test_three_are_returned_unless_told():
    results = [mastra(f"m{i}", 0.5, "同") for i in range(9)]
    assert len(rerank_with_scorer(results, "问", Known({"同": 0.5}))) == 3


def test_a_right_memory_at_rank_12_can_come_first():
    results = [mastra(f"m{i}", 0.9 - 0.02 * i, f"第{i}条") for i in range(12)]
    scorer = Known({f"第{i}条": float(i == 11) for i in range(12)})
    (best,) = rerank_with_scorer(results, "问", scorer, top_k=1)
    assert best.result["id"] == "m11"  # 0.4 + 0.4 x 0.68 + 0.2 x 1/12 = 0.68867, over 0.4 x 0.9 + 0.2 = 0.56


def test_no_results_are_no_call():
    scorer = Known({})
    assert rerank_with_scorer([], "问", scorer) == []
    assert scorer.calls == []
