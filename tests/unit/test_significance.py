"""Whether a difference may be chance: numbers that can be counted by hand."""

from __future__ import annotations

import random
from itertools import product

import pytest

from mem_opensearch.evaluate.metrics import rank_metrics, reciprocal_rank
from mem_opensearch.evaluate.significance import bootstrap_interval, holm, permutation_p


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1.0], 1.0),  # either sign is as extreme
        ([1, 1, 1], 2 / 8),
        ([1] * 10, 2 / 1024),
        ([3, 1], 2 / 4),  # 4, 2, -2, -4: two are as extreme as 4
        ([3, -1], 4 / 4),  # all are as extreme as 2
        ([2, 1, -1], 6 / 8),  # sums 4 2 2 0 0 -2 -2 -4: six are as extreme as 2
        ([], 1.0),
    ],
)
def test_p_counts_the_signs_that_are_as_extreme(differences, p):
    assert permutation_p(differences) == pytest.approx(p)
    assert permutation_p([-each for each in differences]) == pytest.approx(p)
    assert permutation_p([*differences, 0.0, 0.0]) == pytest.approx(p)  # what doesn't differ says nothing


def test_thirds_that_add_up_in_another_order_are_as_extreme():
    differences = [1 / 3, 0.1, -0.1, 1 / 7, -1 / 7, 0.2]
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in product((1, -1), repeat=6)]
    expected = sum(each >= sum(differences) - 1e-9 for each in sums) / 64
    assert permutation_p(differences) == pytest.approx(expected)


def test_drawn_permutations_agree_with_the_count():
    draw = random.Random(5)
    few = [draw.choice([-0.5, 0.25, 1.0]) for _ in range(12)]
    counted = permutation_p(few)
    drawn = permutation_p([each + 1e-9 for each in few] + [1e-10] * 8)  # too many to count, and the same test
    assert drawn == pytest.approx(counted, abs=0.02)
    assert drawn == permutation_p([each + 1e-9 for each in few] + [1e-10] * 8)


def test_p_of_a_sure_difference_is_the_least_that_can_be_drawn():
    assert permutation_p([1.0] * 200) == pytest.approx(1 / 10_001)


def test_p_is_spread_evenly_where_nothing_differs():
    draw = random.Random(3)
    values = [permutation_p([draw.gauss(0, 1) for _ in range(10)]) for _ in range(400)]
    assert sum(p <= 0.05 for p in values) / 400 == pytest.approx(0.05, abs=0.03)


@pytest.mark.parametrize(
    ("given", "adjusted"),
    [
        ([], []),
        ([0.2], [0.2]),
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # Holm 1979: times 4, 3, 2, 1, never falling
        ([0.5, 0.9], [1.0, 1.0]),
    ],
)
def test_holm(given, adjusted):
    assert holm(given) == pytest.approx(adjusted)


def test_users_are_drawn_and_not_their_queries():
    values = {f"a{n}": 1.0 for n in range(50)} | {f"b{n}": 0.0 for n in range(50)}
    by_user = bootstrap_interval(values, {query: query[0] for query in values})
    by_query = bootstrap_interval(values, {})
    assert by_user == (0.0, 1.0)  # one draw in four takes one user twice
    assert 0.38 < by_query[0] < 0.42
    assert 0.58 < by_query[1] < 0.62


def test_the_same_name_of_a_user_and_of_a_query_are_two():
    values = {"x": 1.0, "y": 0.0}
    assert bootstrap_interval(values, {"y": "x"}) == (0.0, 1.0)


def test_reciprocal_ranks_add_up_to_the_measure_of_the_field():
    draw = random.Random(1)
    rankings = {f"q{n}": draw.sample([f"m{k}" for k in range(14)], 14) for n in range(40)}
    relevant = {query: draw.sample([f"m{k}" for k in range(14)], 2) for query in rankings}
    ours = sum(reciprocal_rank(rankings[query], relevant=relevant[query]) for query in rankings) / 40
    assert ours == pytest.approx(rank_metrics(rankings, relevant)["mrr@10"])
