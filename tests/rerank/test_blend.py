"""One order of fused scores and those of a reranker."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_opensearch.rerank.blend import blended, is_constant, order_of

UNIT = st.floats(0, 1)
POOL = st.lists(st.tuples(UNIT, st.none() | UNIT), max_size=12).map(lambda pool: sorted(pool, key=lambda one: -one[0]))


@pytest.mark.parametrize(
    ("fused", "scores", "weight", "order"),
    [
        ([0.9, 0.5, 0.4], [0.1, 0.2, 0.9], 1.0, [2, 1, 0]),  # by the reranker
        ([0.9, 0.5, 0.4], [0.1, 0.2, 0.9], 0.0, [0, 1, 2]),  # by the fused scores
        ([0.8, 0.5], [0.5, 1.0], 0.5, [1, 0]),  # sqrt 0.4 = 0.632 against sqrt 0.5 = 0.707
        ([0.8, 0.5], [0.7, 1.0], 0.5, [0, 1]),  # sqrt 0.56 = 0.748
        ([0.9, 0.8, 0.7, 0.6], [0.1, None, 0.9, None], 1.0, [2, 1, 0, 3]),  # what has no score keeps its place
        ([0.9, 0.8], [0.0, 0.0], 0.5, [0, 1]),  # ties stay
        ([0.9, 0.8], [-40.0, 40.0], 0.5, [1, 0]),  # logits
        ([0.9, 0.8, 0.7], [50.0, 60.0, 70.0], 1.0, [2, 1, 0]),  # whose sigmoids are all 1.0
        ([], [], 0.5, []),
    ],
)
def test_the_order(fused, scores, weight, order):
    assert order_of(fused, scores, weight=weight) == order


@given(POOL, UNIT)
def test_nothing_is_lost_and_what_was_not_scored_stays(pool, weight):
    fused, scores = [one for one, _ in pool], [score for _, score in pool]
    order = order_of(fused, scores, weight=weight)
    assert sorted(order) == list(range(len(pool)))
    assert all(order[place] == place for place, score in enumerate(scores) if score is None)


@given(POOL, UNIT)
def test_the_scale_of_the_scores_is_no_matter(pool, weight):
    fused, scores = [one for one, _ in pool], [None if score is None else round(score, 3) for _, score in pool]
    halves = [None if score is None else score / 2 for score in scores]
    values, smaller = blended(fused, scores, weight=weight), blended(fused, halves, weight=weight)
    for value, half in zip(values, smaller, strict=True):
        assert (value is None) == (half is None)
        if value is not None:
            assert half == pytest.approx(value * 0.5**weight, abs=1e-12)


def test_logits_become_shares():
    assert blended([1.0], [2.0], weight=1.0) == [pytest.approx(1 / (1 + math.exp(-2)))]
    assert blended([1.0, 1.0], [-1000.0, 1000.0], weight=0.5) == [pytest.approx(0.0), 1.0]


@pytest.mark.parametrize(
    ("scores", "constant"),
    [([0.5, 0.5], True), ([0.5, None, 0.5], True), ([1e9, 1e9 + 0.1], True), ([0.5, 0.51], False), ([0.5], False)],
)
def test_constant(scores, constant):
    assert is_constant(scores) is constant
