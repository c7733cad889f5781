"""The mode "mem0" beside mem0's own functions, and values worked by hand."""

import random
import types

import pytest

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.fusion import mem0 as ours

pytestmark = pytest.mark.unit
theirs = pytest.importorskip("mem0.utils.scoring")


def test_raw_bm25_of_8_is_089_or_012():
    assert round(ours.normalise_bm25(8, midpoint=5.0, steepness=0.7), 2) == 0.89
    assert round(ours.normalise_bm25(8, midpoint=12.0, steepness=0.5), 2) == 0.12


def test_links_lose_weight():
    weights = [round(ours.link_weight(n), 3) for n in (1, 5, 10, 20, 50, 100, 200)]
    # 0.925 where n is 10: 1 / (1 + 0.001 x 81) = 0.92507
    assert weights == [1.0, 0.984, 0.925, 0.735, 0.294, 0.093, 0.025]


def test_sum_of_three_signals_by_hand():
    (score,) = ours.score_and_rank({"m": 0.62}, bm25={"m": 0.81}, boosts={"m": 0.43}, threshold=0.1, limit=5)
    assert score.raw_score == pytest.approx(1.86)
    assert score.max_possible_score == 2.5
    assert score.final_score == pytest.approx(0.744)


def test_the_cosine_alone_decides_at_the_gate():
    assert ours.score_and_rank({"m": 0.08}, bm25={"m": 0.95}, boosts={"m": 0.45}, threshold=0.1, limit=5) == []


@pytest.mark.parametrize(
    ("bm25", "boosts", "most"),
    [({}, {}, 1.0), ({"x": 0.5}, {}, 2.0), ({}, {"x": 0.2}, 1.5), ({"x": 0.5}, {"x": 0.2}, 2.5)],
)
def test_divisor_follows_the_signals_that_any_memory_has(bm25, boosts, most):
    (score,) = ours.score_and_rank({"m": 0.5}, bm25=bm25, boosts=boosts, threshold=0.1, limit=5)
    assert score.max_possible_score == most


@pytest.mark.parametrize("terms", range(20))
def test_sigmoid_is_mem0s(terms):
    assert ours.sigmoid_of(terms) == theirs.get_bm25_params("", lemmatized=" ".join("x" * terms))


def test_a_negative_number_of_terms_is_refused():
    with pytest.raises(InvalidInputError, match="-1 terms"):
        ours.sigmoid_of(-1)


def test_ranking_equals_mem0s_on_random_inputs():
    chance = random.Random(6)
    for _ in range(2000):
        ids = [f"m{i}" for i in range(chance.randrange(12))]
        cosines = {i: chance.choice([None, 0.0, 0.1, round(chance.random(), 2), chance.random()]) for i in ids}
        raw = {i: chance.random() * 25 for i in [*ids, "elsewhere"] if chance.random() < chance.choice([0.0, 0.6])}
        terms = chance.randrange(20)
        midpoint, steepness = ours.sigmoid_of(terms)
        bm25 = {i: ours.normalise_bm25(r, midpoint=midpoint, steepness=steepness) for i, r in raw.items()}
        assert bm25 == pytest.approx(
            {i: theirs.normalize_bm25(r, midpoint, steepness) for i, r in raw.items()}, abs=1e-9
        )
        boosts = {i: chance.random() / 2 for i in ids if chance.random() < chance.choice([0.0, 0.4])}
        threshold, limit = chance.choice([0.0, 0.1, 0.5]), chance.randrange(1, 15)
        expected = theirs.score_and_rank(
            [{"id": i, "score": c, "payload": {}} for i, c in cosines.items()],
            bm25,
            boosts,
            threshold,
            limit,
            explain=True,
        )
        found = ours.score_and_rank(cosines, bm25=bm25, boosts=boosts, threshold=threshold, limit=limit)
        assert [score.id for score in found] == [row["id"] for row in expected]
        for score, row in zip(found, expected, strict=True):
            for key, value in row["score_details"].items():
                assert getattr(score, key) == pytest.approx(value, abs=1e-9)


def test_boosts_equal_mem0s_on_random_inputs():
    main = pytest.importorskip("mem0.memory.main")
    chance = random.Random(7)
    for _ in range(2000):
        names = [
            chance.choice(["Alice", " alice ", "Bob", "裴若谷", "", "ALICE  Wu", "c3", "d4"])
            for _ in range(chance.randrange(14))
        ]
        stored = {
            name: [
                ours.EntityMatch(
                    chance.choice([0.5, 0.499, chance.random()]),
                    [chance.choice(["", f"m{chance.randrange(9)}"]) for _ in range(chance.choice([0, 1, 3, 60]))],
                )
                for _ in range(chance.randrange(4))
            ]
            for name in names
        }

        class Store:
            def search(self, *, query, vectors, top_k, filters):
                return [
                    types.SimpleNamespace(score=match.similarity, payload={"linked_memory_ids": match.memory_ids})
                    for match in stored[query]  # noqa: B023 - called before the next round
                ]

        memory = types.SimpleNamespace(
            _normalize_entity_text=main.Memory._normalize_entity_text,
            embedding_model=types.SimpleNamespace(embed_batch=lambda texts, _: [[0.0]] * len(texts)),
            entity_store=Store(),
        )
        expected = main.Memory._compute_entity_boosts(memory, [("PERSON", name) for name in names], {})
        matches = [match for name in ours.entities_to_look_up(names) for match in stored[name]]
        assert ours.entity_boosts(matches) == pytest.approx(expected, abs=1e-9)
