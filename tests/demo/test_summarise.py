"""Ranks and counts, by hand."""

import pytest

from mem_opensearch.demo.results import ScoredHit
from mem_opensearch.demo.summarise import meaning_rank, parse_hit, rank_of

pytestmark = pytest.mark.unit


def test_counts_medians_and_means(result):
    ours, builtin, cosine = result.summary
    assert (ours.system, ours.first, ours.top3) == ("ours", 2, 2)
    assert (builtin.system, builtin.first, builtin.top3) == ("mem0-builtin", 0, 1)
    assert (cosine.system, cosine.first, cosine.top3) == ("cosine", 0, 1)
    assert (ours.milliseconds, builtin.milliseconds) == (5.0, 12.0)  # of 4, 5, 9 and of 11, 12, 40, three times each
    assert (ours.requests, ours.seconds, builtin.seconds) == (2.0, 1.25, 14.5)
    assert (cosine.milliseconds, cosine.requests, cosine.seconds) == (None, None, None)


@pytest.mark.parametrize(("ids", "rank"), [(["a", "b"], 1), (["b", "a"], 2), (["b"], None), ([], None)])
def test_rank(ids, rank):
    assert rank_of("a", ids) == rank


def test_a_tie_counts_against_the_right_one():
    assert meaning_rank("a", {"a": 0.5, "b": 0.5, "c": 0.4}) == 2


def test_a_result_of_mem0_becomes_a_value():
    details = {"semantic_score": 0.6, "bm25_score": 0.9, "entity_boost": 0.1, "final_score": 0.64, "threshold": 0.1}
    hit = parse_hit({"id": "m1", "memory": "文", "score": 0.64, "score_details": details})
    assert hit == ScoredHit(id="m1", text="文", semantic=0.6, bm25=0.9, entity=0.1, final=0.64)
