"""Whom a question names, what it asks of them, and what is linked to the name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_opensearch.fusion import link_strengths, without_names

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("question", "names", "left"),
    [
        ("裴若谷建議我什麼時候拔智齒？", ["裴若谷"], "建議我什麼時候拔智齒？"),
        ("王小明的電話", ["小明", "王小明"], "的電話"),
        ("What did Alice say?", ["Alice"], "What did   say?"),
        ("Alice?", ["Alice"], "Alice?"),
        ("天氣", [], "天氣"),
        ("天氣", ["", " "], "天氣"),
    ],
)
def test_what_is_asked(question, names, left):
    assert without_names(question, names).strip() == left


def test_links_go_one_hop_and_no_further():
    entities = {"a": ["Alice", "cousin"], "b": ["cousin", "boat"], "c": ["boat"], "d": ["fridge"]}
    assert link_strengths(["Alice"], entities) == pytest.approx({"a": 1.0, "b": 0.8 / 1.1})


def test_what_many_share_links_less():
    entities = {"a": ["Alice", "office"]} | {f"m{i}": ["office"] for i in range(10)}
    assert link_strengths(["Alice"], entities)["m3"] == pytest.approx(0.8 / 2)


def test_the_best_of_several_links_counts():
    entities = {"a": ["Alice", "office", "cousin"], "b": ["office", "cousin"], "c": ["office"], "d": ["office"]}
    assert link_strengths(["Alice"], entities)["b"] == pytest.approx(0.8 / 1.1)


def test_a_memory_that_names_it_in_its_text_counts_too():
    assert link_strengths(["Alice"], {"m": ["cousin"], "n": ["cousin"]}, naming=["m"])["n"] == pytest.approx(0.8 / 1.1)


def test_a_name_that_nobody_holds_links_nothing():
    assert link_strengths(["Bob"], {"a": ["Alice"]}) == {}


@given(st.dictionaries(st.sampled_from("mnopq"), st.sets(st.sampled_from("ABCD"))), st.sets(st.sampled_from("ABCD")))
def test_strengths_lie_in_0_to_1(entities, names):
    strengths = link_strengths(names, entities)
    assert all(0 < strength <= 1 for strength in strengths.values())
    assert {memory for memory, strength in strengths.items() if strength == 1} == {
        memory for memory, held in entities.items() if held & names
    }
