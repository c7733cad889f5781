"""What holds for every rerank as Mastra does it, whatever is given."""

import copy

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mem_opensearch.rerank.mastra import rerank_with_scorer

pytestmark = pytest.mark.unit

shares = st.floats(0, 1)
measured = st.none() | shares
rows = st.lists(st.tuples(measured, measured, st.booleans()), max_size=12)
"""The scorer's score, the search's score, and whether there is a text."""
vectors = st.none() | st.lists(st.floats(-9, 9), min_size=1, max_size=8)


@st.composite
def weights(draw):
    parts = draw(st.lists(st.integers(0, 100), min_size=3, max_size=3).filter(any))
    return {name: part / sum(parts) for name, part in zip(("semantic", "vector", "position"), parts, strict=True)}


class Table:
    name = "table"
    most_texts = None
    most_characters = None

    def __init__(self, table):
        self.table = table

    def score(self, query, texts):
        return [self.table[int(text)][0] for text in texts]


def results_of(table):
    return [
        {"id": str(index), "score": score, "metadata": {"text": str(index)} if has_text else {}}
        for index, (_, score, has_text) in enumerate(table)
    ]


def rerank(table, weights, vector=None, top_k=99):
    return rerank_with_scorer(
        results_of(table), "问", Table(table), weights=weights, query_embedding=vector, top_k=top_k
    )


@given(rows, weights(), vectors, st.integers(1, 15))
def test_scores_are_in_0_to_1_best_first_and_the_results_are_those_given(table, weights, vector, top_k):
    best = rerank(table, weights, vector, top_k)
    scores = [one.score for one in best]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len(best) == min(top_k, len(table))
    assert len({one.result["id"] for one in best}) == len(best)


@given(rows, weights(), st.integers(1, 15))
def test_a_cut_keeps_the_best(table, weights, top_k):
    assert rerank(table, weights, top_k=top_k) == rerank(table, weights)[:top_k]


@given(rows, weights(), vectors)
def test_a_query_vector_never_changes_the_order_nor_lowers_a_score(table, weights, vector):
    plain, adjusted = rerank(table, weights), rerank(table, weights, vector)
    assert [one.result["id"] for one in adjusted] == [one.result["id"] for one in plain]
    assert all(after.score >= before.score for before, after in zip(plain, adjusted, strict=True))


@given(rows, weights())
def test_nothing_that_is_given_is_changed(table, weights):
    results = results_of(table)
    before = copy.deepcopy((results, weights))
    best = rerank_with_scorer(results, "问", Table(table), weights=weights, top_k=99)
    assert (results, weights) == before
    assert all(one.result is results[int(one.result["id"])] for one in best)


@given(st.integers(1, 9), shares, measured, weights(), st.randoms())
def test_equal_results_keep_the_order_that_they_come_in(n, vector, semantic, weights, random):
    results = [{"id": f"m{i}", "score": vector, "metadata": {"text": "0"}} for i in range(n)]
    random.shuffle(results)
    same = Table([(semantic,)])
    best = rerank_with_scorer(results, "问", same, weights=weights, top_k=n)
    assert [one.result["id"] for one in best] == [one["id"] for one in results]


@pytest.mark.parametrize("part", [0, 1], ids=["semantic", "vector"])
@given(rows.filter(bool), weights(), st.data())
def test_more_of_one_part_is_never_a_lower_score_nor_a_later_place(part, table, weights, data):
    index = data.draw(st.integers(0, len(table) - 1))
    assume(table[index][part] is not None)
    more = list(table[index])
    more[part] = data.draw(st.floats(more[part], 1))
    raised = [*table[:index], tuple(more), *table[index + 1 :]]

    def place_and_score(table):
        ((place, one),) = [x for x in enumerate(rerank(table, weights)) if x[1].result["id"] == str(index)]
        return place, one.score

    place, score = place_and_score(table)
    place_after, score_after = place_and_score(raised)
    assert score_after >= score
    assert place_after <= place


@given(measured, measured, weights(), st.integers(2, 12), st.data())
def test_an_earlier_place_is_never_a_lower_score(semantic, vector, weights, n, data):
    table = [(semantic, vector, True)] * n
    scores = {int(one.result["id"]): one.score for one in rerank(table, weights)}
    later = data.draw(st.integers(1, n - 1))
    assert scores[later - 1] >= scores[later]


@given(shares, shares, weights())
def test_a_text_that_was_not_scored_is_judged_by_what_was(vector, other, weights):
    # The same but for the missing score: between the same with a score of 0 and the same with a score of 1.
    assume(weights["vector"] + weights["position"] > 0)
    low, none, high = (
        {one.result["id"]: one.score for one in rerank([(semantic, vector, True), (other, other, True)], weights)}["0"]
        for semantic in (0.0, None, 1.0)
    )
    assert low - 1e-12 <= none <= high + 1e-12
