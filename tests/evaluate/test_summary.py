"""The numbers of a hand-made run equal those of the definitions, written out here again."""

from math import log2

import numpy as np
import pytest

from mem_opensearch.evaluate.datasets import Dataset, Memory, Query
from mem_opensearch.evaluate.report import Outcome, Report
from mem_opensearch.evaluate.summary import OTHERS, summarise

pytestmark = pytest.mark.unit

RUN = {  # query -> relevant, ranking, type: ties in what they score, one empty result, one that finds nothing right
    "q1": (["a"], ["a", "b", "c"], "fact"),
    "q2": (["b", "d"], ["a", "b", "c", "d"], "fact"),
    "q3": (["c"], [], "list"),
    "q4": (["e"], ["a", "b"], None),
    "q5": (["a", "b", "z"], ["x", "b"], "list"),
}
SECONDS = {"q1": 0.001, "q2": 0.005, "q3": 0.002, "q4": 0.004, "q5": 0.003}


@pytest.fixture
def result():
    ids = ["a", "b", "c", "d", "e", "x", "z"]
    dataset = Dataset(
        "hand",
        tuple(Memory(one, one) for one in ids),
        tuple(Query(name, name, tuple(right), type=kind) for name, (right, _, kind) in RUN.items()),
    )
    outcomes = {
        name: Outcome(tuple(rows), SECONDS[name], 1, failure=None if set(right) & set(rows) else "not_in_pool")
        for name, (right, rows, _) in RUN.items()
    }
    return summarise(dataset, system="s", embedder="e", outcomes=outcomes, depth=10)


def independent(names):
    """The definitions, by positions in lists and no library."""
    hit, recall5, reciprocal, gain = [], [], [], []
    for name in names:
        right, rows, _ = RUN[name]
        places = [place for place, row in enumerate(rows, 1) if row in right]
        hit.append(float(places[:1] == [1]))
        recall5.append(len(places) / len(right))
        reciprocal.append(1 / places[0] if places else 0.0)
        ideal = sum(1 / log2(1 + place) for place in range(1, len(right) + 1))
        gain.append(sum(1 / log2(1 + place) for place in places) / ideal)
    means = [float(np.mean(values)) for values in (hit, recall5, recall5, reciprocal, gain)]
    return dict(zip(["hit@1", "recall@5", "recall@10", "mrr@10", "ndcg@10"], means, strict=True))


def test_the_json_has_the_numbers_of_an_independent_computation(result):
    (row,) = Report(results=(result,), settings={}).to_json()["results"]
    assert row["metrics"] == pytest.approx(independent(RUN), abs=1e-6)
    assert row["metrics"]["mrr@10"] == pytest.approx((1 + 1 / 2 + 0 + 0 + 1 / 2) / 5)
    assert row["failures"] == {"not_in_pool": 2, "below_threshold": 0, "ranked_low": 0}
    assert row["latency_ms"] == {"p50": 3.0, "p95": pytest.approx(4.8)}
    assert row["recall_at"] == pytest.approx(
        {
            "1": 1 / 5,
            "2": (1 + 1 / 2 + 1 / 3) / 5,
            "3": (1 + 1 / 2 + 1 / 3) / 5,
            **dict.fromkeys(map(str, range(4, 11)), (1 + 1 + 1 / 3) / 5),
        },
        abs=1e-6,
    )


def test_each_kind_has_the_numbers_of_its_queries(result):
    (row,) = Report(results=(result,), settings={}).to_json()["results"]
    assert list(row["by"]) == ["type"]  # no query has a variant
    kinds = {OTHERS: ["q4"], "fact": ["q1", "q2"], "list": ["q3", "q5"]}
    assert list(row["by"]["type"]) == list(kinds)
    for kind, names in kinds.items():
        group = row["by"]["type"][kind]
        assert group["metrics"] == pytest.approx(independent(names), abs=1e-6)
        assert (group["queries"], group["missed"]) == (len(names), {OTHERS: 1, "fact": 0, "list": 1}[kind])
