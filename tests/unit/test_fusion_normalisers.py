"""BM25 on a scale from 0 to 1, in five ways."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.fusion import Candidate, UnionWeights, fuse
from mem_opensearch.fusion.normalisers import NORMALISERS, scale_of

pytestmark = pytest.mark.unit
RAWS = st.lists(st.floats(0, 1000), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("normaliser", "raws", "raw", "value"),
    [
        ("share", [4.0, 1.0], 1.0, 0.25),
        ("share", [0.5], 0.5, 0.5),  # the best counts as 1.0 at least
        ("log", [3.0, 1.0], 1.0, 0.5),  # log 2 / log 4
        ("log", [3.0], 3.0, 1.0),
        ("zscore", [1.0, 3.0], 2.0, 0.5),  # the mean
        ("zscore", [1.0, 3.0], 3.0, 1 / (1 + math.exp(-1))),  # one deviation above it
        ("zscore", [1.0, 3.0, 0.0, 0.0], 3.0, 1 / (1 + math.exp(-1))),  # of what matches at all
        ("zscore", [2.0, 2.0], 2.0, 0.5),  # no deviation
        ("sigmoid", [9.0], 2.0, 0.5),
        ("sigmoid", [9.0], 4.0, 1 / (1 + math.exp(-1.4))),  # 0.7 x (4 - 2)
        ("saturation", [9.0], 4.0, 0.5),
        ("saturation", [9.0], 12.0, 0.75),
    ],
)
def test_by_hand(normaliser, raws, raw, value):
    assert scale_of(normaliser, raws)(raw) == pytest.approx(value)


@pytest.mark.parametrize("normaliser", NORMALISERS)
@given(raws=RAWS)
def test_in_bounds_and_in_order(normaliser, raws):
    scale = scale_of(normaliser, [*raws, None])
    values = [scale(raw) for raw in sorted(raws)]
    assert all(0.0 <= value <= 1.0 for value in values)
    assert values == sorted(values)
    assert scale(0.0) == 0.0


@pytest.mark.parametrize("normaliser", [name for name in NORMALISERS if name != "zscore"])
def test_the_best_hit_is_all_that_a_scale_depends_on(normaliser):
    """So that a memory has the same score however many are asked for."""
    assert scale_of(normaliser, [5.0, 2.0])(2.0) == scale_of(normaliser, [5.0, 4.0, 3.0, 2.0, 0.1])(2.0)


@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_a_score_is_made_of_it(normaliser):
    candidates = [Candidate("a", cosine=0.5, words=6.0), Candidate("b", cosine=0.5, words=1.5)]
    scored = fuse(candidates, normaliser=normaliser)
    scale = scale_of(normaliser, [6.0, 1.5])
    for one, raw in zip(scored, (6.0, 1.5), strict=True):
        assert one.parts["words"] == pytest.approx(UnionWeights().words * scale(raw))
        assert one.words_share == pytest.approx(scale(raw))
        assert one.evidence == fuse(candidates)[0 if raw == 6.0 else 1].evidence  # the gate knows no scale


def test_an_earlier_turn_is_on_the_same_scale():
    candidates = [
        Candidate("a", cosine=0.1, words=4.0, conversation="c", seq=0),
        Candidate("b", cosine=0.1, words=0.0, conversation="c", seq=1),
        Candidate("c", cosine=0.1, words=12.0),
    ]
    weights = UnionWeights()
    for normaliser in NORMALISERS:
        by_id = {one.id: one for one in fuse(candidates, normaliser=normaliser)}
        share = scale_of(normaliser, [4.0, 0.0, 12.0])(4.0)
        assert by_id["b"].parts["context"] == pytest.approx(weights.context * weights.words * share)


def test_an_unknown_one():
    with pytest.raises(InvalidInputError, match="known are: share, log, zscore, sigmoid, saturation"):
        fuse([], normaliser="minmax")
