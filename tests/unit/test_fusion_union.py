"""The mode "union": arithmetic written out, the gate, talks, supersession, and what must never change."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_opensearch.errors import ConfigError, InvalidInputError
from mem_opensearch.fusion import (
    Background,
    Candidate,
    Question,
    Replacement,
    UnionWeights,
    background_of,
    fuse,
    passed,
    rrf,
)

pytestmark = pytest.mark.unit
NOW = datetime(2026, 8, 14, tzinfo=UTC)


def by_id(scored):
    return {one.id: one for one in scored}


def ids(scored):
    return [one.id for one in scored]


def test_a_score_is_the_weighted_sum_over_what_is_possible():
    (first, second) = fuse(
        [
            Candidate("m1", cosine=0.5, words=4.0, identifiers=1),
            Candidate("m2", cosine=0.8, words=1.0, identifiers=0),
        ]
    )
    assert first.id == "m1"
    assert first.parts == pytest.approx({"meaning": 0.5, "words": 0.7, "identifiers": 1.4})
    assert first.most == pytest.approx(1 + 0.7 + 1.4)
    assert first.score == pytest.approx(2.6 / 3.1)
    assert second.parts == pytest.approx({"meaning": 0.8, "words": 0.7 / 4})
    assert second.score == pytest.approx(0.975 / 3.1)


def test_an_identifier_outweighs_a_better_meaning():
    scored = fuse([Candidate("px441", cosine=0.3, words=3.0, identifiers=1), Candidate("px882", cosine=0.9, words=3.5)])
    assert ids(scored) == ["px441", "px882"]


def test_words_alone_can_win_where_the_cosine_is_below_mem0s_gate():
    (scored,) = fuse([Candidate("m", cosine=0.08, words=6.0, entity=0.9)])
    assert scored.gate == "words"
    assert scored.evidence == 1.0


def test_a_lone_memory_that_has_nothing_to_do_with_it_is_no_answer():
    (scored,) = fuse([Candidate("m", cosine=0.15, words=0.2)])
    assert scored.gate is None
    assert scored.score < 0.2
    assert passed([scored], limit=5) == []


def test_a_statement_that_fills_the_slot_asked_about_is_let_through():
    """What is my job now? "I was made head of testing" shares neither words nor, for many embedders, the meaning."""
    work = Question(slots=frozenset({"work"}))
    fills, other = (Candidate(name, cosine=0.12, words=0.0, same_slot=name == "fills") for name in ("fills", "other"))
    scored = by_id(fuse([fills, other], question=work))
    assert (scored["fills"].gate, scored["fills"].evidence) == ("slot", 0.1)
    assert scored["other"].gate is None


def test_particles_don_t_make_a_full_match():
    (scored,) = fuse([Candidate("m", cosine=0.0, words=0.3)])
    assert scored.parts["words"] == pytest.approx(0.7 * 0.3)  # of the floor 1.0, not of itself


def test_what_was_not_measured_adds_nothing_and_takes_no_room():
    (scored,) = fuse([Candidate("m", cosine=0.6)])
    assert dict(scored.parts) == {"meaning": 0.6}
    assert scored.most == 1.0
    assert scored.score == 0.6


def test_those_below_the_gate_come_last():
    scored = fuse([Candidate("far", cosine=0.1, words=0.45), Candidate("near", cosine=0.3, words=0.0)])
    assert [(one.id, one.gate) for one in scored] == [("near", "meaning"), ("far", None)]


def test_crowded_cosines_are_put_on_the_scale_of_the_reference():
    crowded = Background(0.8)
    scored = by_id(fuse([Candidate("near", cosine=0.92), Candidate("noise", cosine=0.81)], background=crowded))
    assert scored["near"].gate == "meaning"
    assert scored["noise"].gate is None
    assert scored["near"].parts["meaning"] == pytest.approx(0.13 + 0.87 * 0.6)


def test_the_background_is_the_mean_cosine_of_unrelated_vectors():
    background = background_of([[1, 0], [0, 1], [1, 1]])
    mean = (0 + 2 * 0.5**0.5) / 3
    assert background.mean == pytest.approx(mean)
    assert background.deviation == pytest.approx((((0 - mean) ** 2 + 2 * (0.5**0.5 - mean) ** 2) / 3) ** 0.5)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [([[1.0]], "at least 3"), ([[1.0], [0.0], [1.0]], "vector 1 is all zero"), ([[1.0]] * 3, "tells texts apart")],
)
def test_a_background_of_too_little_is_refused(vectors, message):
    with pytest.raises(InvalidInputError, match=message):
        background_of(vectors)


# -- talks


def talk(*words, **options):
    return [Candidate(f"t{i}", cosine=0.2, words=w, conversation="c", seq=i, **options) for i, w in enumerate(words)]


def test_the_answer_follows_the_turn_that_raises_the_topic():
    candidates = [*talk(5.0, 0.5, 0.0), Candidate("lone", cosine=0.2, words=0.5)]
    scored = by_id(fuse(candidates))
    assert scored["t1"].parts["context"] == pytest.approx(0.9 * 0.7)
    assert scored["t1"].follows == "t0"
    assert scored["t2"].parts["context"] == pytest.approx(0.9 * 0.8 * 0.7)
    assert scored["t2"].gate == "context"
    assert "context" not in scored["lone"].parts
    assert ids(fuse(candidates))[-1] == "lone"


def test_a_turn_that_only_asks_is_not_preferred_to_the_one_that_answers():
    asks, answers = talk(5.0, 2.5)
    assert ids(fuse([asks._replace(asks=True), answers]))[0] == "t1"


def test_a_turn_does_not_match_the_same_words_twice():
    scored = by_id(fuse(talk(5.0, 4.0, 4.0)))
    assert scored["t1"].parts["words"] == pytest.approx(0.56)
    assert scored["t1"].parts["context"] == pytest.approx(0.44)


def test_the_turn_after_an_identifier_passes_the_gate():
    first = Candidate("t0", cosine=0.0, words=0.1, identifiers=1, conversation="c", seq=0)
    second = Candidate("t1", cosine=0.0, words=0.0, conversation="c", seq=1)
    assert by_id(fuse([first, second]))["t1"].gate == "context"


def test_a_gap_in_the_pool_is_no_predecessor():
    first, _, _, fourth = talk(5.0, 0.0, 0.0, 0.0)
    assert "context" not in by_id(fuse([first, fourth]))["t3"].parts


def test_other_talks_are_not_mixed_up():
    scored = by_id(fuse([*talk(5.0), Candidate("x", cosine=0.2, words=0.0, conversation="d", seq=1)]))
    assert "context" not in scored["x"].parts


def test_lone_facts_are_scored_as_if_there_were_no_talks():
    facts = [Candidate(f"m{i}", cosine=c, words=w) for i, (c, w) in enumerate([(0.5, 1.0), (0.2, 3.0), (0.4, 0.0)])]
    assert fuse(facts) == fuse(facts, weights=UnionWeights(context=0.0))


# -- time


def test_a_named_day_outweighs_the_rest():
    scored = fuse([Candidate("that day", cosine=0.2, in_window=1.0), Candidate("other", cosine=0.9, in_window=0.0)])
    assert ids(scored) == ["that day", "other"]
    assert scored[0].gate == "time"


OLD = Candidate(
    "lisbon", cosine=0.6, words=4.0, created_at=NOW - timedelta(days=500), superseded_by=Replacement("berlin")
)
NEW = Candidate("berlin", cosine=0.3, words=1.0, created_at=NOW)


def test_the_newer_fact_takes_the_place_of_the_one_that_it_replaced():
    scored = fuse([OLD, NEW])
    assert ids(scored) == ["berlin", "lisbon"]
    new, old = scored
    assert new.replaces == "lisbon"
    assert new.raw == pytest.approx(0.6 + 0.7)
    assert old.superseded_by == "berlin"
    assert old.raw == pytest.approx(0.8 * new.raw)


def test_questions_about_the_past_want_the_older_one():
    scored = fuse([OLD, NEW], question=Question(about_the_past=True))
    assert ids(scored) == ["lisbon", "berlin"]
    assert scored[0].superseded_by is None


def test_a_replacement_of_something_else_than_what_is_asked_changes_nothing():
    moved = OLD._replace(superseded_by=Replacement("berlin", frozenset({"residence"})))
    assert ids(fuse([moved, NEW], question=Question(frozenset({"work"})))) == ["lisbon", "berlin"]
    assert ids(fuse([moved, NEW], question=Question(frozenset({"residence"})))) == ["berlin", "lisbon"]
    assert ids(fuse([moved, NEW])) == ["berlin", "lisbon"]


def test_a_replacement_that_is_not_in_the_pool_changes_nothing():
    assert fuse([OLD])[0].superseded_by is None


def test_a_chain_ends_at_what_holds():
    middle = Candidate("madrid", cosine=0.5, created_at=NOW - timedelta(days=100), superseded_by=Replacement("berlin"))
    first = OLD._replace(superseded_by=Replacement("madrid"))
    scored = fuse([first, middle, NEW])
    assert scored[0].id == "berlin"
    assert scored[0].raw == pytest.approx(1.3)


# -- what must never change

signals = st.builds(
    Candidate,
    id=st.uuids().map(str),
    cosine=st.none() | st.floats(-1, 1),
    words=st.none() | st.floats(0, 50),
    identifiers=st.none() | st.integers(0, 3),
    entity=st.none() | st.floats(0, 1),
    conversation=st.none() | st.sampled_from(["c", "d"]),
    seq=st.none() | st.integers(0, 5),
    asks=st.booleans(),
    in_window=st.none() | st.floats(0, 1),
    same_slot=st.booleans(),
)
pools = st.lists(signals, max_size=6, unique_by=lambda c: c.id)


@given(pools, st.data())
def test_scores_lie_in_0_to_1_and_are_the_sum_of_their_parts(pool, data):
    linked = [
        c._replace(superseded_by=Replacement(data.draw(st.sampled_from(pool)).id)) if data.draw(st.booleans()) else c
        for c in pool
    ]
    scored = fuse(linked)
    assert sorted(ids(scored)) == sorted(c.id for c in pool)
    for one in scored:
        assert 0 <= one.score <= 1
        assert one.raw == pytest.approx(sum(one.parts.values()), abs=1e-9)
        assert one.raw <= one.most + 1e-9
    kept = [one.raw for one in scored if one.gate]
    assert kept == sorted(kept, reverse=True)


@given(pools, st.randoms())
def test_the_order_of_the_candidates_does_not_matter(pool, chance):
    mixed = list(pool)
    chance.shuffle(mixed)
    assert fuse(mixed) == fuse(pool)


@given(pools)
def test_more_of_what_matches_nothing_changes_no_score(pool):
    more = [*pool, *(Candidate(f"extra{i}", cosine=0.0, words=0.0) for i in range(3))]
    if any(c.cosine is not None for c in pool) and any(c.words is not None for c in pool):
        after = by_id(fuse(more))
        assert all(after[one.id] == one for one in fuse(pool))


# -- what is refused


def test_a_candidate_that_stands_there_twice_is_refused():
    with pytest.raises(InvalidInputError, match="'m' is among the candidates twice"):
        fuse([Candidate("m", cosine=0.5), Candidate("m", words=1.0)])


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_out_of_its_range_is_refused(threshold):
    with pytest.raises(InvalidInputError, match="threshold"):
        fuse([], threshold=threshold)


def test_words_alone_fill_the_scale_where_no_vector_was_compared():
    (scored,) = fuse([Candidate("m", words=4.0)])
    assert scored.most == 0.7
    assert scored.score == 1.0


def test_no_signal_is_no_score():
    (scored,) = fuse([Candidate("m")])
    assert (scored.score, scored.gate) == (0.0, None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cosine": float("nan")}, "'cosine' of memory 'm' is nan"),
        ({"words": -1.0}, "'words' of memory 'm' is -1.0"),
        ({"entity": 1.5}, "'entity' of memory 'm' is 1.5"),
    ],
)
def test_a_signal_out_of_its_range_is_refused(values, message):
    for fused in (fuse, rrf):
        with pytest.raises(InvalidInputError, match=message):
            fused([Candidate("ok", cosine=1.0), Candidate("m", **values)])


def test_recency_halves_with_its_half_life():
    pool = [
        Candidate("old", cosine=0.5, created_at=NOW - timedelta(days=90)),
        Candidate("new", cosine=0.5, created_at=NOW),
    ]
    scored = by_id(fuse(pool, question=Question(asked_at=NOW), weights=UnionWeights(recency=0.2)))
    assert scored["new"].parts["recency"] == pytest.approx(0.2)
    assert scored["old"].parts["recency"] == pytest.approx(0.1)
    assert scored["old"].most == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("option", "value"),
    [("half_life", 0), ("words", -1), ("asks", 1.5), ("context_decay", 2), ("window", float("inf"))],
)
def test_a_weight_out_of_its_range_is_refused(option, value):
    with pytest.raises(ConfigError, match=f"'{option}'"):
        UnionWeights(**{option: value})


@pytest.mark.parametrize(
    "option",
    [
        "words",
        "identifiers",
        "entity",
        "context",
        "context_decay",
        "context_turns",
        "window",
        "slot",
        "asks",
        "superseded",
    ],
)
def test_every_weight_has_an_effect(option):
    pool = [
        *talk(5.0, 0.5, 0.2, asks=True),
        OLD._replace(identifiers=1, entity=0.8, in_window=1.0, same_slot=True),
        NEW,
    ]
    other = {"context_turns": 1, "context_decay": 0.1}.get(option, 0.35)
    base = {"recency": 0.1} if option == "half_life" else {}
    question = Question(asked_at=NOW + timedelta(days=5))
    before = fuse(pool, question=question, weights=UnionWeights(**base))
    assert fuse(pool, question=question, weights=UnionWeights(**base | {option: other})) != before


@pytest.mark.parametrize("values", [(1.0, 0.1), (0.5, 0.0), (0.5, 0.5), (float("nan"), 0.1)])
def test_a_background_out_of_its_range_is_refused(values):
    with pytest.raises(ConfigError, match="background"):
        Background(*values)


@given(st.floats(-0.9, 0.9), st.floats(0.001, 0.09), st.floats(-1, 1), st.floats(-1, 1))
def test_more_cosine_is_never_less_evidence(mean, deviation, one, other):
    background = Background(mean, deviation)
    low, high = sorted((one, other))
    assert 0 <= background.evidence(low) <= background.evidence(high) <= 1
    assert 0 <= background.scaled(low) <= background.scaled(high) <= 1
