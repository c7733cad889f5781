"""The library's numbers are those of the formulas, worked out by hand."""

from math import log2

import numpy as np
import pytest

from mem_opensearch.errors import MemOpenSearchError, VectorError
from mem_opensearch.evaluate import metrics
from mem_opensearch.evaluate.vectors import CachingEmbedder

pytestmark = pytest.mark.unit


def score(ranking, relevant):
    return metrics.rank_metrics({"q": ranking}, {"q": relevant})


def test_one_relevant_row_at_each_rank():
    rows = [f"r{n}" for n in range(1, 13)]
    for rank in range(1, 13):
        assert score(rows, [f"r{rank}"]) == pytest.approx(
            {
                "hit@1": 1.0 if rank == 1 else 0.0,
                "recall@5": 1.0 if rank <= 5 else 0.0,
                "recall@10": 1.0 if rank <= 10 else 0.0,
                "mrr@10": 1 / rank if rank <= 10 else 0.0,
                "ndcg@10": 1 / log2(1 + rank) if rank <= 10 else 0.0,
            }
        )


def test_several_relevant_rows():
    rows = [f"r{n}" for n in range(1, 11)]
    assert score(rows, ["r2", "r7", "absent"]) == pytest.approx(
        {
            "hit@1": 0.0,
            "recall@5": 1 / 3,
            "recall@10": 2 / 3,
            "mrr@10": 1 / 2,
            "ndcg@10": (1 / log2(3) + 1 / log2(8)) / (1 / log2(2) + 1 / log2(3) + 1 / log2(4)),
        }
    )


def test_mean_counts_queries_that_found_nothing():
    relevant = {"a": ["x"], "b": ["y"], "c": ["z"], "d": ["w"]}
    found = metrics.rank_metrics({"a": ["x"], "b": [], "c": ["other"]}, relevant)
    assert found == pytest.approx(dict.fromkeys(metrics.MEASURES, 1 / 4))
    assert metrics.rank_metrics({"a": []}, {"a": ["x"]}) == dict.fromkeys(metrics.MEASURES, 0.0)


def test_order_is_the_one_given_whatever_the_ids():
    rows = [f"{n:03}" for n in range(400, 0, -1)]  # trec_eval would break ties by id
    assert score(rows, ["400"])["hit@1"] == 1.0
    assert score(rows, ["391"])["mrr@10"] == pytest.approx(1 / 10)
    assert score(rows, ["390"])["mrr@10"] == 0.0


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        (["new", "old"], True),
        (["old", "new"], False),
        (["x", "new"], True),  # the old one was not returned: it is below
        (["x", "old"], False),
        (["x"], False),  # neither: nothing was won
        ([], False),
        (["new2", "old", "new"], True),  # the best of several counts
    ],
)
def test_new_over_old(ranking, expected):
    assert metrics.is_new_over_old(ranking, relevant=["new", "new2"], stale=["old", "older"]) is expected


def test_new_must_stand_above_every_old_one():
    assert metrics.is_new_over_old(["older", "new", "old"], relevant=["new"], stale=["old", "older"]) is False


def test_missed_and_why():
    assert metrics.is_missed(["a", "b", "c"], relevant=["c"], top_k=2)
    assert not metrics.is_missed(["a", "b", "c"], relevant=["c", "z"], top_k=3)
    candidates = metrics.Candidates(pool=frozenset("abcd"), gated=frozenset("cd"))
    assert metrics.classify_miss(candidates, relevant=["b", "c"]) == "ranked_low"
    assert metrics.classify_miss(candidates, relevant=["c", "z"]) == "below_threshold"
    assert metrics.classify_miss(candidates, relevant=["z"]) == "not_in_pool"


def test_percentiles_are_numpys():
    values = [9.0, 1.0, 4.0, 16.0, 25.0, 36.0]
    for share in (0.0, 0.5, 0.95, 1.0):
        assert metrics.percentile(values, share) == pytest.approx(float(np.percentile(values, 100 * share)))
    assert metrics.percentile([7.0], 0.95) == 7.0


def test_each_text_is_embedded_once_and_only_that_takes_time(angle_embedder):
    inner = angle_embedder(seconds_per_call=0.02)
    embedder = CachingEmbedder(inner)
    assert (embedder.name, embedder.dims) == ("angle", 2)
    ticks = []
    first = embedder.embed_documents(["a 0", "b 90", "a 0"], lambda done, total: ticks.append((done, total)))
    assert first.round(6).tolist() == [[1, 0], [0, 1], [1, 0]]
    spent = embedder.seconds
    assert spent >= 0.02
    assert embedder.embed_documents(["b 90"]).round(6).tolist() == [[0, 1]]
    assert embedder.seconds == spent
    assert inner.calls == [["a 0", "b 90"]]
    assert ticks == [(2, 2)]
    embedder.embed_queries(["a 0"])  # a model may treat queries and documents differently
    assert inner.calls[1:] == [["a 0"]]


def test_vectors_of_the_wrong_shape_are_refused(angle_embedder):
    inner = angle_embedder()
    inner.dims = 3
    with pytest.raises(VectorError, match=r"embedder 'angle' returned an array of shape \(1, 2\).*expected \(1, 3\)"):
        CachingEmbedder(inner).embed_queries(["a 0"])


def test_an_embedder_s_failure_is_named(angle_embedder):
    inner = angle_embedder(seconds_per_call=-1)  # no time to sleep
    with pytest.raises(MemOpenSearchError, match="embedder 'angle' failed: ValueError"):
        CachingEmbedder(inner).embed_queries(["a 0"])
