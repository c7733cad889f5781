"""Which memories are turns of one talk."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_opensearch.context import GAP, Place, Turn, only_asks, place_after, place_all
from mem_opensearch.errors import InvalidInputError
from mem_opensearch.text import fold

pytestmark = pytest.mark.unit
START = datetime(2026, 8, 14, 9, tzinfo=UTC)


def turn(name, minutes=0, *, scope=("u1", None, None), session=None):
    return Turn(name, scope, None if minutes is None else START + timedelta(minutes=minutes), session)


def places(*turns):
    return {name: (place.conversation, place.seq, place.previous) for name, place in place_all(turns).items()}


def test_turns_within_the_gap_are_one_talk():
    found = place_all([turn("a"), turn("b", 2), turn("c", 62)])
    assert len({place.conversation for place in found.values()}) == 1
    assert [(place.seq, place.previous) for place in found.values()] == [(0, None), (1, "a"), (2, "b")]


def test_a_longer_silence_begins_another():
    gap = GAP.total_seconds() / 60
    found = place_all([turn("a"), turn("b", gap), turn("c", 2 * gap + 1)])
    assert found["a"].conversation == found["b"].conversation != found["c"].conversation
    assert found["c"].seq == 0


def test_users_don_t_talk_into_each_other():
    found = place_all([turn("a"), turn("b", 1, scope=("u2", None, None)), turn("c", 2)])
    assert found["b"] == Place(found["b"].conversation, 0)
    assert found["c"].previous == "a"


def test_a_session_outweighs_the_time():
    found = place_all([turn("a", 0, session="s"), turn("b", 1, session="t"), turn("c", 9000, session="s")])
    assert found["c"] == Place(found["a"].conversation, 1, "a")
    assert found["b"].seq == 0


def test_a_memory_without_a_time_is_a_lone_fact():
    assert place_all([turn("a", None)]) == {}


def test_facts_of_one_call_keep_their_order():
    assert [place.previous for place in place_all([turn("x"), turn("a"), turn("m")]).values()] == [None, "x", "a"]


def test_one_by_one_is_the_same_as_all_at_once():
    turns = [turn("a"), turn("b", 5), turn("c", 300), turn("d", 301)]
    last, one_by_one = None, {}
    for each in turns:
        one_by_one[each.id] = place_after(each, last)
        last = (each, one_by_one[each.id])
    assert one_by_one == place_all(turns)


def test_another_scope_before_it_is_refused():
    with pytest.raises(InvalidInputError, match="'a' and 'b' are of different scopes"):
        place_after(turn("b", scope=("u2", None, None)), (turn("a"), Place("talk", 0)))


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(InvalidInputError, match="'a' has no time zone"):
        Turn("a", ("u1",), datetime(2026, 8, 14))  # noqa: DTZ001 - the fault that is tested


@given(st.lists(st.tuples(st.integers(0, 500), st.sampled_from(["u1", "u2"])), max_size=20))
def test_every_turn_follows_the_one_before(minutes):
    turns = [turn(f"m{i}", minute, scope=(user, None, None)) for i, (minute, user) in enumerate(minutes)]
    found = place_all(turns)
    assert len(found) == len(turns)
    for place in found.values():
        if place.previous is not None:
            before = found[place.previous]
            assert (before.conversation, before.seq + 1) == (place.conversation, place.seq)
        else:
            assert place.seq == 0


@pytest.mark.parametrize("text", ["想看哪一類的？", "Which kind do you like?", "你覺得呢？」", "好吗?~"])
def test_what_only_asks(text):
    assert only_asks(text)


@pytest.mark.parametrize("text", ["《小王子》怎么样？我很喜欢。", "I like it.", "", "why? because."])
def test_what_says_something(text):
    assert not only_asks(text)


@given(st.text(alphabet="好a?？!！。｡~～」』”’＂\"'＇)）｣ \u3000\n\x85", max_size=8))
def test_what_only_asks_is_told_without_the_fold_as_with_it(text):
    assert only_asks(text) is only_asks(fold(text))
    assert only_asks(text) is (re.search(r"\?[\s」』”’\"')~。!]*$", fold(text)) is not None)
